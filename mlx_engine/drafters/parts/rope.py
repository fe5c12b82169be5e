"""RoPE frequencies of a drafter, of all kinds.

mlx-lm's yarn always rounds its correction range, which some published drafters turn off (`truncate: false`).

Sources: YaRN, arXiv 2309.00071, sections 3.2 to 3.4, and Llama 3.1's reference code, both as implemented by transformers.
"""

import math
from dataclasses import dataclass

import mlx.core as mx

from mlx_engine.drafters.parts.rope_config import RopeConfig


@dataclass(frozen=True)
class Rotation:
    """The rotary embedding of a layer's queries and keys."""

    frequencies: mx.array  # positions per radian, [dim / 2] float32
    scale: float = 1.0

    @classmethod
    def of(cls, rope: RopeConfig, dim: int) -> "Rotation":
        return cls(*frequencies(rope, dim))

    def __call__(self, heads: mx.array, start: int | mx.array) -> mx.array:
        """Rotate heads [B, heads, rows, D] from `start` on: [B], or one for all.

        `start` is the position of the first row: one per block, [B], or one for all.
        """
        if self.scale != 1.0:
            heads = heads * self.scale
        dim = heads.shape[-1]
        return mx.fast.rope(heads, dim, traditional=False, base=None, scale=1.0, offset=start, freqs=self.frequencies)


def frequencies(rope: RopeConfig, dim: int) -> tuple[mx.array, float]:
    """Return RoPE's frequencies and the scale of rotated queries and keys.

    Returns:
        Positions per radian, [dim / 2] float32, and the scale.
    """
    plain = rope.theta ** (mx.arange(0, dim, 2, dtype=mx.float32) / dim)
    if rope.kind == "partial":
        turning = int(rope.share * dim) // 2
        plain = rope.theta ** (mx.arange(turning, dtype=mx.float32) / turning)
        return mx.concatenate([plain, mx.full(dim // 2 - turning, 1e30)]), 1.0
    if rope.kind == "proportional":  # the last pairs hardly rotate, as weights must be finite
        return mx.where(mx.arange(dim // 2) < int(rope.share * dim // 2), plain, 1e30), 1.0
    if rope.kind == "yarn":
        return _stretched(plain, _yarn_share(rope, dim), rope.factor), _attention_factor(rope)
    if rope.kind == "llama3":
        turns = rope.original / (2 * math.pi * plain)
        return _stretched(plain, 1 - mx.clip((turns - rope.beta_slow) / (rope.beta_fast - rope.beta_slow), 0, 1), rope.factor), 1.0
    return plain * rope.factor, 1.0


def _stretched(plain: mx.array, share: mx.array, factor: float) -> mx.array:
    """Slow down each pair's rotation by up to `factor`, in proportion to its share."""
    return 1 / (share / (factor * plain) + (1 - share) / plain)


def _yarn_share(rope: RopeConfig, dim: int) -> mx.array:
    def pair_turning(rotations: float) -> float:
        """Return the index of the pair with this many rotations over the original context."""
        return dim * math.log(rope.original / (rotations * 2 * math.pi)) / (2 * math.log(rope.theta))

    low, high = pair_turning(rope.beta_fast), pair_turning(rope.beta_slow)
    if rope.truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    return mx.clip((mx.arange(dim // 2, dtype=mx.float32) - low) / max(high - low, 0.001), 0, 1)


def _attention_factor(rope: RopeConfig) -> float:
    if rope.attention_factor is not None:
        return rope.attention_factor

    def scale(weight: float) -> float:
        return 0.1 * weight * math.log(rope.factor) + 1.0 if rope.factor > 1 else 1.0

    if rope.mscale and rope.mscale_all_dim:
        return scale(rope.mscale) / scale(rope.mscale_all_dim)
    return scale(1.0)
