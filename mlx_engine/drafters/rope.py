"""Rotation frequencies of a drafter's positions, plain or yarn.

Own code because mlx-lm's yarn always rounds its correction range, which some published drafters turn off (`truncate: false`).
Source: YaRN, arXiv 2309.00071, sections 3.2 to 3.4, as implemented by transformers.
"""

import math

import mlx.core as mx

from mlx_engine.drafters.config import Rope


def frequencies(rope: Rope, dim: int) -> tuple[mx.array, float]:
    """Positions per radian of each pair, [dim / 2] float32, as `mx.fast.rope` takes them, and the factor on queries and keys."""
    plain = rope.theta ** (mx.arange(0, dim, 2, dtype=mx.float32) / dim)
    if rope.scaling is None:
        return plain, 1.0
    scaling = rope.scaling
    factor = float(scaling["factor"])
    original = float(scaling.get("original_max_position_embeddings") or rope.max_positions)

    def pair_turning(rotations: float) -> float:
        """Index, not whole, of the pair that turns this many times over the original context."""
        return dim * math.log(original / (rotations * 2 * math.pi)) / (2 * math.log(rope.theta))

    low, high = pair_turning(float(scaling.get("beta_fast") or 32)), pair_turning(float(scaling.get("beta_slow") or 1))
    if scaling.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    ramp = mx.clip((mx.arange(dim // 2, dtype=mx.float32) - low) / max(high - low, 0.001), 0, 1)
    inverse = ramp / (factor * plain) + (1 - ramp) / plain  # fast pairs keep their speed, slow ones are stretched
    return 1 / inverse, _attention_factor(scaling, factor)


def _attention_factor(scaling: dict, factor: float) -> float:
    if scaling.get("attention_factor") is not None:
        return float(scaling["attention_factor"])

    def scale(weight: float) -> float:
        return 0.1 * weight * math.log(factor) + 1.0 if factor > 1 else 1.0

    if scaling.get("mscale") and scaling.get("mscale_all_dim"):
        return scale(float(scaling["mscale"])) / scale(float(scaling["mscale_all_dim"]))
    return scale(1.0)
