"""The kinds of drafters. This is their only list.

Reading configs needs no MLX. It is imported when a drafter is made.
"""

from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from mlx_engine.contract.errors import UserError
from mlx_engine.drafters.dflash.config import KIND as DFLASH
from mlx_engine.drafters.dflash2.config import KIND as DFLASH2
from mlx_engine.drafters.dspark.config import KIND as DSPARK
from mlx_engine.drafters.eagle3.config import KIND as EAGLE3
from mlx_engine.drafters.gemma4_assistant.config import KIND as ASSISTANT
from mlx_engine.drafters.mtp.config import KIND as MTP
from mlx_engine.drafters.parts.config_fields import contradiction, unexpected
from mlx_engine.drafters.parts.drafter_config import DrafterConfig
from mlx_engine.drafters.parts.kind import DrafterKind
from mlx_engine.drafters.parts.published_fields import architectures, is_speculators

if TYPE_CHECKING:
    import mlx.core as mx

    from mlx_engine.drafters.drafter import Drafter
    from mlx_engine.drafters.parts.ends import TargetEnd
    from mlx_engine.drafters.parts.tensors import Tensors

KINDS: dict[str, DrafterKind] = {kind.name: kind for kind in (DFLASH, DFLASH2, DSPARK, MTP, EAGLE3, ASSISTANT)}


def kind_of(config: dict) -> DrafterKind:
    """Return the kind of drafter that a config.json describes.

    Raises:
        UserError: its kind is unknown or ambiguous.
    """
    names = set(architectures(config))
    if is_speculators(config):
        field = "speculators_model_type"
        found = [kind for kind in KINDS.values() if kind.speculators and kind.speculators == config.get(field)]
        if found and names and not names.intersection(found[0].speculators_architectures):
            raise contradiction("architectures", [*architectures(config)], field, found[0].speculators)
    else:
        field = "architectures"
        found = [kind for kind in KINDS.values() if names.intersection(kind.architectures)]
        found = found or [kind for kind in KINDS.values() if kind.recognizes(config)]
    if len(found) != 1:
        raise unexpected(field, config.get(field), ", ".join(KINDS))
    return found[0]


def parse(config: dict) -> DrafterConfig:
    """Return the validated config of a drafter's config.json.

    Raises:
        UserError: the architecture is unsupported, or a field is unknown, missing, or contradictory.
    """
    return kind_of(config).read(config)


def looks_like_drafter(config: dict) -> bool:
    """Return whether a config.json belongs to a drafter, supported or not."""
    names = " ".join(architectures(config))
    return (
        "dflash_config" in config
        or "speculators_model_type" in config
        or str(config.get("model_type")).endswith("_mtp")
        or any(kind.resembles and kind.resembles in names for kind in KINDS.values())
    )


def kind_name(config: dict) -> str:
    """Return the name of a drafter's kind, or its architecture if it isn't supported."""
    try:
        return kind_of(config).name
    except UserError:
        return next(iter(architectures(config)), str(config.get("model_type")))


def make(
    config: DrafterConfig,
    weights: "dict[str, mx.array]",
    dtype: "mx.Dtype",
    embed: "TargetEnd",
    head: "TargetEnd",
    bits: int = 16,
    layers: Sequence[Any] = (),
) -> "Drafter":
    """Return a drafter.

    Args:
        config: from `parse`.
        weights: tensors by published name. All must be used. The dict is emptied.
        dtype: dtype of all computations. Drafters whose activations exceed the range of float16 use bfloat16 instead of it.
        embed: the target's embedding, with its scale.
        head: the target's head.
        bits: bits per weight of floating-point matrices: 4, 8, or 16 (unquantized).
        layers: the target's layers.

    Raises:
        UserError: a tensor is missing, unexpected, misshapen, or not finite.
    """
    import mlx.core as mx

    from mlx_engine.drafters.parts.tensors import Tensors

    kind, wide = KINDS[config.kind], dtype
    if kind.overflows and dtype == mx.float16:
        wide, ends = mx.bfloat16, (embed, head)
        embed, head = (lambda ids: ends[0](ids).astype(wide)), (lambda hidden: ends[1](hidden.astype(dtype)))
    own = _module(config, "tensors").renamed(weights) if kind.renames else weights
    tensors = Tensors(own, wide, config.stored, bits)
    own.clear()  # frees each published tensor once it is taken
    weights.clear()
    drafter = build(config, tensors, embed, head, layers)
    tensors.finish()
    mx.eval(drafter.parameters())
    return drafter


def build(
    config: DrafterConfig, tensors: "Tensors", embed: "TargetEnd", head: "TargetEnd", layers: Sequence[Any] = ()
) -> "Drafter":
    """Return a drafter made of its tensors, with the other arguments of `make`."""
    drafter: Drafter = _module(config, "model").build(tensors, config, embed, head, layers)
    return drafter


def tapped(config: DrafterConfig, layers: Sequence[Any]) -> tuple[int, ...]:
    """Return the taps in a target with these layers."""
    return _module(config, "model").tapped(layers) if config.reads_target_keys else config.tapped(len(layers))


def _module(config: DrafterConfig, name: str) -> Any:
    return import_module(f"{__package__}.{KINDS[config.kind].folder}.{name}")
