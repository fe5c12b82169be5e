"""Keyed noise: a Gumbel value for every (seed, position, token id), and nothing else it depends on.

Gumbel-max sampling with such noise makes the choice at a position a function of the logits and the seed alone, so the same seed
gives the same text however many rows a pass has. Threefry-2x32 with 20 rounds (Salmon et al., SC 2011): the 64-bit seed is the key
(low word first), (position, token id) the counter, the first output word the random integer.
"""

import mlx.core as mx

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def threefry(seed: int, positions: mx.array, tokens: mx.array) -> mx.array:
    """First output words, uint32, of counters (position, token id); the two uint32 arrays broadcast."""
    key = (seed & 0xFFFFFFFF, (seed >> 32) & 0xFFFFFFFF)
    schedule = (*key, key[0] ^ key[1] ^ _PARITY)
    a, b = positions + mx.array(schedule[0], mx.uint32), tokens + mx.array(schedule[1], mx.uint32)
    for block in range(5):
        for turn in _ROTATIONS[block % 2]:
            a = a + b
            b = ((b << turn) | (b >> (32 - turn))) ^ a
        a = a + mx.array(schedule[(block + 1) % 3], mx.uint32)
        b = b + mx.array((schedule[(block + 2) % 3] + block + 1) & 0xFFFFFFFF, mx.uint32)
    return a


def gumbel(seed: int, first_position: int, rows: int, vocabulary: int) -> mx.array:
    """Gumbel noise [rows, vocabulary], float32, for the positions from `first_position` on.

    u = (top 23 bits + 0.5) / 2^23 is exact in float32 and never 0 or 1.
    """
    positions = mx.arange(first_position, first_position + rows, dtype=mx.uint32)[:, None]
    bits = threefry(seed, positions, mx.arange(vocabulary, dtype=mx.uint32)[None]) >> 9
    uniform = (bits.astype(mx.float32) + 0.5) * (1.0 / (1 << 23))
    return -mx.log(-mx.log(uniform))
