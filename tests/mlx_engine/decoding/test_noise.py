"""Keyed noise against an independent Threefry: a function of seed, position and token only."""

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.decoding.noise import gumbel, gumbel_of, key, threefry

seeds = st.integers(0, 2**64 - 1)
words = st.integers(0, 2**32 - 1)


def threefry_by_the_paper(key: tuple[int, int], counter: tuple[int, int]) -> tuple[int, int]:
    """Threefry-2x32, 20 rounds, in Python integers, from Salmon et al. (SC 2011)."""
    mask = 0xFFFFFFFF
    keys = [key[0], key[1], 0x1BD11BDA ^ key[0] ^ key[1]]
    x, y = (counter[0] + keys[0]) & mask, (counter[1] + keys[1]) & mask
    for turn in range(20):
        x = (x + y) & mask
        by = (13, 15, 26, 6, 17, 29, 16, 24)[turn % 8]
        y = ((y << by | y >> (32 - by)) & mask) ^ x
        if turn % 4 == 3:
            s = turn // 4 + 1
            x, y = (x + keys[s % 3]) & mask, (y + keys[(s + 1) % 3] + s) & mask
    return x, y


@pytest.mark.parametrize(
    ("words_of_key", "counter", "output"),
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_threefry_gives_the_known_answers_of_random123(words_of_key, counter, output):
    assert threefry_by_the_paper(words_of_key, counter) == output
    seed = words_of_key[0] | words_of_key[1] << 32
    ours = threefry(*key(seed), mx.array([counter[0]], mx.uint32), mx.array([counter[1]], mx.uint32))
    assert ours.item() == output[0]


@given(seeds, words, words)
def test_threefry_agrees_with_the_paper(seed, position, token):
    ours = threefry(*key(seed), mx.array([position], mx.uint32), mx.array([token], mx.uint32)).item()
    assert ours == threefry_by_the_paper((seed & 0xFFFFFFFF, seed >> 32), (position, token))[0]


@given(seeds, st.integers(0, 40000), st.integers(1, 16), st.integers(1, 300), st.data())
def test_noise_depends_on_seed_position_and_token_only(seed, first, rows, vocabulary, data):
    noise = np.array(gumbel(seed, first, rows, vocabulary))
    row, token = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, vocabulary - 1))
    wider = np.array(gumbel(seed, first + row, 1, vocabulary + 50))
    assert noise[row, token] == wider[0, token]


@given(seeds, st.integers(0, 40000))
def test_noise_is_the_gumbel_transform_of_the_integer(seed, position):
    noise = np.array(gumbel(seed, position, 1, 64))[0]
    for token in (0, 17, 63):
        bits = threefry_by_the_paper((seed & 0xFFFFFFFF, seed >> 32), (position, token))[0] >> 9
        want = -np.log(-np.log((np.float64(bits) + 0.5) / 2**23))
        # the inner log rounds once, which limits the outer one near u = 1
        assert abs(noise[token] - want) <= 4 * np.spacing(np.float32(max(abs(want), 1.0)))


def test_noise_follows_the_gumbel_distribution():
    values = np.sort(np.array(gumbel(20261120, 0, 16, 4096)).ravel())
    expected = np.exp(-np.exp(-values))
    steps = np.arange(1, values.size + 1) / values.size
    assert np.abs(steps - expected).max() < 1.95 / np.sqrt(values.size)  # Kolmogorov-Smirnov at 0.1%
    assert np.isfinite(values).all()


@pytest.mark.long
def test_fused_noise_equals_unfused_noise():
    """Neither fusing nor the number of rows changes a bit. A C++ compiler replaces Metal's here."""
    fused = mx.compile(gumbel_of, shapeless=True)
    for seed, rows in ((7, 16), (2**63 + 11, 3), (7, 1)):
        positions = mx.arange(40, 40 + rows, dtype=mx.uint32)[:, None]
        noise = fused(*key(seed), positions, mx.arange(500, dtype=mx.uint32)[None])
        assert np.array_equal(np.array(noise), np.array(gumbel(seed, 40, rows, 500)))
