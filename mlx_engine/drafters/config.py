"""What a published DFlash config.json says, in one shape.

Checkpoints are revised in place and place their fields differently, so everything is read from the file and nothing is tied to a
repository's name. Source of the field rules: z-lab's dflash 0.1.0 and the published configs.
"""

from dataclasses import dataclass
from typing import Any

from mlx_engine.errors import UserError


@dataclass(frozen=True)
class Rope:
    """Rotary embedding: `theta`, and the scaling block of the config (None for plain)."""

    theta: float
    scaling: dict | None
    max_positions: int


@dataclass(frozen=True)
class DrafterConfig:
    """A DFlash v1 drafter. One entry of `windows` and `causal` per layer; a window of None means full attention."""

    hidden_size: int
    intermediate_size: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    vocab_size: int
    norm_eps: float
    rope: Rope
    block_size: int
    taps: tuple[int, ...]  # target layers, 0-based, whose outputs are the context features
    mask_token: int
    attention_bias: bool
    windows: tuple[int | None, ...]  # a key is visible while query position - key position < window
    causal: tuple[bool, ...]  # whether a block row sees only the block rows before it
    embedding_scale: float
    output_multiplier: float
    softcap: float | None


def parse(config: dict) -> DrafterConfig:
    """Read a drafter's config.json.

    Raises:
        UserError: the architecture is not supported, or a field is missing or contradictory; the sentence names it.
    """
    architectures = config.get("architectures") or []
    if "DFlashDraftModel" not in architectures:
        name = ", ".join(map(str, architectures)) or "nothing"
        raise UserError(
            f"This drafter's architecture is {name}; Slipstream runs DFlashDraftModel. Pick a DFlash drafter, or decode plainly."
        )
    inner = config.get("dflash_config") or {}

    def field(name: str, default: Any = None) -> Any:
        value = inner.get(name, config.get(name, default))
        if value is None and default is None:
            raise UserError(f"The drafter's config.json lacks “{name}”. Download it again, or pick another drafter.")
        return value

    layers = int(field("num_hidden_layers"))
    hidden, heads = int(field("hidden_size")), int(field("num_attention_heads"))
    windows = _windows(config, layers)
    is_causal = config.get("is_causal", inner.get("is_causal"))
    block_size, taps = int(field("block_size")), tuple(int(tap) for tap in field("target_layer_ids"))
    if block_size < 2:
        raise UserError(f"The drafter's “block_size” is {block_size}; a block has at least 2 tokens.")
    if not taps:
        raise UserError("The drafter's “target_layer_ids” is empty, so it has nothing to condition on.")
    return DrafterConfig(
        hidden_size=hidden,
        intermediate_size=int(field("intermediate_size")),
        layers=layers,
        heads=heads,
        kv_heads=int(field("num_key_value_heads", heads)),
        head_dim=int(field("head_dim", hidden // heads)),
        vocab_size=int(field("vocab_size")),
        norm_eps=float(field("rms_norm_eps")),
        rope=_rope(config),
        block_size=block_size,
        taps=taps,
        mask_token=int(field("mask_token_id")),
        attention_bias=bool(config.get("attention_bias", False)),
        windows=windows,
        causal=tuple(bool(is_causal) if is_causal is not None else window is not None for window in windows),
        embedding_scale=float(inner.get("input_embedding_scale", config.get("input_embedding_scale", 1.0))),
        output_multiplier=float(inner.get("output_multiplier", config.get("output_multiplier", 1.0))),
        softcap=inner.get("final_logit_softcapping", config.get("final_logit_softcapping")),
    )


def _windows(config: dict, layers: int) -> tuple[int | None, ...]:
    types = config.get("layer_types") or ["full_attention"] * layers
    if len(types) != layers:
        raise UserError(f"The drafter's “layer_types” names {len(types)} layers, but “num_hidden_layers” is {layers}.")
    unknown = sorted(set(types) - {"full_attention", "sliding_attention"})
    if unknown:
        raise UserError(f"The drafter's “layer_types” has “{unknown[0]}”; Slipstream knows full_attention and sliding_attention.")
    window = int(config.get("sliding_window") or 0)
    if "sliding_attention" in types and window < 1:
        raise UserError("The drafter has sliding layers (“layer_types”) but no “sliding_window”.")
    return tuple(window if kind == "sliding_attention" else None for kind in types)


def _rope(config: dict) -> Rope:
    block = config.get("rope_parameters") or {}
    theta = config.get("rope_theta", block.get("rope_theta"))
    if theta is None:
        raise UserError("The drafter's config.json has no “rope_theta”, neither on top nor in “rope_parameters”.")
    scaling = config.get("rope_scaling") or block
    kind = scaling.get("rope_type", scaling.get("type", "default")) if scaling else "default"
    if kind not in ("default", "yarn"):
        raise UserError(f"The drafter's rope type is “{kind}”; Slipstream knows default and yarn.")
    return Rope(float(theta), scaling if kind == "yarn" else None, int(config.get("max_position_embeddings", 4096)))
