"""The config of drafters that fill a block in one pass."""

from dataclasses import dataclass
from typing import Any

from mlx_engine.contract.limits import MAX_BLOCK_ROWS
from mlx_engine.drafters.parts.drafter_config import DrafterConfig
from mlx_engine.drafters.parts.published_fields import PublishedFields


@dataclass(frozen=True, kw_only=True)
class BlockConfig(DrafterConfig):
    """The config of a drafter that fills a block of masks."""

    first_row: int = 1  # first row of the drafter's block that proposes a token; 0: that of the anchor
    attention_bias: bool
    causal: tuple[bool, ...]  # per layer: whether a block row sees only earlier block rows
    embedding_scale: float


def block_fields(
    fields: PublishedFields, usual: bool | None = None, first_row: int | None = None, partial: str = "", copied: bool = False
) -> dict[str, Any]:
    """Return the arguments of `BlockConfig`.

    Args:
        fields: the config.
        usual: as for `PublishedFields.causality`.
        first_row: as in `BlockConfig`; None if the config says whether the anchor's row proposes.
        partial, copied: as for `PublishedFields.common`.
    """
    common = fields.common(partial, copied)  # first, because it bounds the number of layers
    types = fields.layer_types(common["layers"])
    if first_row is None:
        first_row = 0 if fields.flag("sample_from_anchor") else 1
    size = fields.whole("block_size", None, 1 + first_row, MAX_BLOCK_ROWS - 1 + first_row)
    return {
        **common,
        "first_row": first_row,
        "block_size": size + 1 - first_row,
        "taps": fields.taps(common["layers"], common["target_layers"]),
        "mask_token": fields.whole("mask_token_id", least=0),
        "attention_bias": bool(fields.flag("attention_bias")),
        "windows": fields.windows(types),
        "causal": fields.causality(types, usual),
        "embedding_scale": fields.number("input_embedding_scale", 1.0, above=0.0),
    }
