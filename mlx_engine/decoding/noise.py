"""Keyed Gumbel noise: a pure function of seed, position, and token id.

With this noise, the token that Gumbel-max sampling chooses at a position depends only on the logits and the seed. The same seed
gives the same text, whatever the number of rows per pass. The generator is Threefry-2x32 with 20 rounds (Salmon et al., SC 2011).
The 64-bit seed is the key (low word first), (position, token id) is the counter, and the first output word is used.
"""

from collections.abc import Callable
from functools import cache

import mlx.core as mx

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def gumbel(seed: int, first_position: int | mx.array, rows: int, vocabulary: int) -> mx.array:
    """Return Gumbel noise, [rows, vocabulary] float32.

    Args:
        first_position: position of the first row; [1] uint32 if only the device knows it.
    """
    if isinstance(first_position, mx.array):
        positions = (first_position + mx.arange(rows, dtype=mx.uint32))[:, None]
    else:
        positions = mx.arange(first_position, first_position + rows, dtype=mx.uint32)[:, None]
    return _transform()(*key(seed), positions, mx.arange(vocabulary, dtype=mx.uint32)[None])


def key(seed: int) -> tuple[mx.array, mx.array]:
    """Return the low and high word of a 64-bit seed.

    The words are arrays, and thus inputs of a graph, so that all seeds share one graph.
    """
    return mx.array(seed & 0xFFFFFFFF, mx.uint32), mx.array(seed >> 32, mx.uint32)


def threefry(low: mx.array, high: mx.array, positions: mx.array, tokens: mx.array) -> mx.array:
    """Return the first output word for each counter (position, token id), uint32."""
    schedule = (low, high, low ^ high ^ mx.array(_PARITY, mx.uint32))
    a, b = positions + low, tokens + high
    for block in range(5):
        for shift in _ROTATIONS[block % 2]:
            a = a + b
            b = ((b << shift) | (b >> (32 - shift))) ^ a
        a = a + schedule[(block + 1) % 3]
        b = b + schedule[(block + 2) % 3] + mx.array(block + 1, mx.uint32)
    return a


def gumbel_of(low: mx.array, high: mx.array, positions: mx.array, tokens: mx.array) -> mx.array:
    """Return -log(-log u), where u = (top 23 bits + 0.5) / 2^23 is exact in float32."""
    bits = threefry(low, high, positions, tokens) >> 9
    uniform = (bits.astype(mx.float32) + 0.5) * (1.0 / (1 << 23))
    return -mx.log(-mx.log(uniform))


@cache
def _transform() -> Callable[..., mx.array]:
    """Return `gumbel_of`, compiled on Metal. On a CPU, compilation takes seconds."""
    return mx.compile(gumbel_of, shapeless=True) if mx.default_device().type == mx.gpu else gumbel_of
