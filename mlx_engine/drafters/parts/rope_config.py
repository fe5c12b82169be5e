"""The rotary embedding in a drafter's config.json."""

from dataclasses import dataclass

from mlx_engine.drafters.parts.config_fields import ConfigFields, contradiction, number, unexpected


@dataclass(frozen=True)
class RopeConfig:
    """Rotary embedding of a kind: default, partial, proportional, linear, llama3, yarn"""

    theta: float
    kind: str = "default"
    factor: float = 1.0
    original: float = 0.0  # positions of the unscaled model
    beta_fast: float = 32.0  # yarn: turns over `original`; llama3: high_freq_factor
    beta_slow: float = 1.0  # llama3: low_freq_factor
    truncate: bool = True  # yarn: round the range of partly scaled pairs outwards
    attention_factor: float | None = None
    mscale: float = 0.0
    mscale_all_dim: float = 0.0
    share: float = 1.0  # partial, proportional: share of the pairs that rotate


def read_rope(fields: ConfigFields, partial: str = "", copied: bool = False) -> RopeConfig:
    """Return the rotary embedding of a drafter's config.

    Args:
        fields: the config.
        partial: a supported kind in which only some pairs rotate.
        copied: whether the share of such pairs is copied from the target, and has no effect.
    """
    parameters, scaling = fields.block("rope_parameters"), fields.block("rope_scaling")
    for name in scaling.keys() & parameters.keys() - {"rope_theta"}:
        if scaling[name] != parameters[name]:
            raise contradiction(name, scaling[name], f"rope_parameters.{name}", parameters[name])
    both = {**parameters, **scaling}
    theta, inner = fields.get("rope_theta"), parameters.get("rope_theta")
    if theta is not None and inner is not None and theta != inner:
        raise contradiction("rope_theta", theta, "rope_parameters.rope_theta", inner)
    theta = number("rope_theta", inner if theta is None else theta, above=1.0)
    kind = both.get("rope_type") or both.get("type") or "default"
    if kind == partial:
        return RopeConfig(theta, kind, share=number("partial_rotary_factor", both.get("partial_rotary_factor"), 1.0, above=0.0))
    if kind not in ("default", "linear", "llama3", "yarn"):
        raise unexpected("rope_type", kind, "default, linear, llama3, yarn")
    if both.get("partial_rotary_factor") not in (None, 1) and not copied:
        raise unexpected("partial_rotary_factor", both["partial_rotary_factor"], "1")
    if kind == "default":
        return RopeConfig(theta)

    def value(name: str, default: float | None = None, above: float = 1e-6) -> float:
        return number(name, both.get(name), default, above)

    factor = value("factor")
    if kind == "linear":
        return RopeConfig(theta, kind, factor)
    original = value("original_max_position_embeddings", fields.number("max_position_embeddings", 4096, above=0.0))
    names = ("high_freq_factor", "low_freq_factor") if kind == "llama3" else ("beta_fast", "beta_slow")
    defaults = (None, None) if kind == "llama3" else (32.0, 1.0)
    fast, slow = (value(name, default) for name, default in zip(names, defaults, strict=True))
    if fast <= slow:
        raise contradiction(names[0], fast, names[1], slow)
    truncate = both.get("truncate")
    if truncate is not None and not isinstance(truncate, bool):
        raise unexpected("truncate", truncate, "boolean")
    attention = None if both.get("attention_factor") is None else value("attention_factor")
    scales = (value(name, 0.0, -1e15) for name in ("mscale", "mscale_all_dim"))
    return RopeConfig(theta, kind, factor, original, fast, slow, truncate is not False, attention, *scales)
