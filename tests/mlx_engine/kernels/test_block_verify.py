"""block_verify compared with numpy, in the emulator: choices, accepted drafts, next token; its noise with Threefry's paper."""

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metal import kernel_source
from mlx_engine.decoding import noise
from mlx_engine.kernels import block_verify
from mlx_engine.kernels.block_verify import Draw
from tests.examples import sampled
from tests.metal_emulator import metal_kernel
from tests.mlx_engine.kernels.exact import float64

DTYPES = [mx.float32, mx.float16, mx.bfloat16]
ULP = 2.0**-23


def threefry_by_the_paper(seed, positions, tokens):
    """First output words of Threefry-2x32 with 20 rounds, in numpy, from the text of Salmon et al. (SC 2011)."""
    low, high = np.uint32(seed & 0xFFFFFFFF), np.uint32(seed >> 32)
    keys = [low, high, np.uint32(0x1BD11BDA) ^ low ^ high]
    x, y = np.broadcast_arrays(positions.astype(np.uint32)[:, None] + low, tokens.astype(np.uint32)[None] + high)
    for turn in range(20):
        x = x + y
        by = np.uint32((13, 15, 26, 6, 17, 29, 16, 24)[turn % 8])
        y = (y << by | y >> np.uint32(32 - by)) ^ x
        if turn % 4 == 3:
            s = turn // 4 + 1
            x, y = x + keys[s % 3], y + keys[(s + 1) % 3] + np.uint32(s)
    return x


def gumbel_in_float64(seed, first, rows, vocabulary):
    bits = threefry_by_the_paper(seed, first + np.arange(rows), np.arange(vocabulary))
    return -np.log(-np.log(((bits >> np.uint32(9)) + 0.5) / 2.0**23))


def draw_of(seed, first, rows, vocabulary, temperature):
    words = mx.array([seed & 0xFFFFFFFF, seed >> 32], mx.uint32)
    return Draw(temperature, noise.gumbel(seed, first, rows, vocabulary), words, mx.array([first], mx.uint32))


def drafts_that_keep(choices, kept):
    """Drafts whose first `kept` and all after the next one are confirmed; None for one row."""
    if len(choices) == 1:
        return None
    drafts = np.array(choices[:-1], np.uint32)
    if kept < len(drafts):
        drafts[kept] += 1
    return mx.array(drafts, mx.uint32)


def agree(found, choices, kept):
    counted = found.count()
    assert found.choices.dtype == counted.dtype == mx.uint32
    assert found.choices.tolist() == list(choices)
    assert counted.tolist() == [kept, choices[kept]]
    assert found.read() == (tuple(choices[:kept]), choices[kept])


logits_of = st.sampled_from(["normal", "few values", "masked"])


def drawn_logits(dtype, rows, vocabulary, kind, seed):
    """Random logits: with few values most rows have ties; masked, most tokens are at minus infinity, as after a filter."""
    mx.random.seed(seed)
    if kind == "few values":
        return mx.random.randint(0, 3, (rows, vocabulary)).astype(dtype)
    logits = (4 * mx.random.normal((rows, vocabulary))).astype(dtype)
    if kind == "masked":
        logits = mx.where(mx.random.uniform(shape=logits.shape) < 0.9, mx.array(-mx.inf, dtype), logits)
    return logits


@sampled(6)
@given(
    dtype=st.sampled_from(DTYPES),
    rows=st.integers(1, 32),
    vocabulary=st.integers(8, 20_000),
    kind=logits_of,
    seed=st.integers(0, 99),
    data=st.data(),
)
def test_greedy_choices_are_the_largest_logits_and_ties_go_to_the_lowest_id(dtype, rows, vocabulary, kind, seed, data):
    logits = drawn_logits(dtype, rows, vocabulary, kind, seed)
    choices = float64(logits).argmax(-1).tolist()
    kept = data.draw(st.integers(0, rows - 1))
    drafts = drafts_that_keep(choices, kept)
    agree(block_verify.reference(logits, drafts), choices, kept)
    agree(block_verify.metal(logits, drafts, build=metal_kernel), choices, kept)


@sampled(6)
@given(
    dtype=st.sampled_from(DTYPES),
    rows=st.integers(1, 16),
    vocabulary=st.integers(8, 3000),
    kind=st.sampled_from(["normal", "few values"]),
    temperature=st.floats(0.05, 2.0),
    seed=st.integers(0, 2**64 - 1),
    first=st.integers(0, 300_000),
    data=st.data(),
)
def test_sampled_choices_follow_the_keyed_noise(dtype, rows, vocabulary, kind, temperature, seed, first, data):
    logits = drawn_logits(dtype, rows, vocabulary, kind, seed % 100)
    temperature = float(np.float32(temperature))
    scores = float64(logits) / temperature + gumbel_in_float64(seed, first, rows, vocabulary)
    kept = data.draw(st.integers(0, rows - 1))
    draw = draw_of(seed, first, rows, vocabulary, temperature)
    for way in (block_verify.reference, lambda *given: block_verify.metal(*given, build=metal_kernel)):
        picked = way(logits, drafts_that_keep(scores.argmax(-1), rows), draw).choices
        best, got = scores.max(-1), scores[np.arange(rows), np.array(picked)]
        # one quotient, four ulp of noise on either side, one sum
        assert (best - got <= 12 * ULP * np.maximum(1, abs(best))).all()
        agree(way(logits, drafts_that_keep(picked.tolist(), kept), draw), picked.tolist(), kept)


def test_a_row_of_minus_infinity_still_gives_a_valid_token():
    logits = mx.full((2, 20_000), -mx.inf)
    for way in (block_verify.reference, lambda *given: block_verify.metal(*given, build=metal_kernel)):
        agree(way(logits, mx.array([0], mx.uint32)), [0, 0], 1)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 17))
def test_the_kernels_integers_are_threefrys_and_its_noise_is_within_four_ulp(seed, first):
    kernel = metal_kernel(
        name="keyed_noise",
        input_names=["seed", "first"],
        output_names=["bits", "values"],
        header=kernel_source("keyed_noise"),
        source="""
            const uint token = thread_position_in_grid.x, row = thread_position_in_grid.y;
            const uint at = row * threads_per_grid.x + token;
            bits[at] = keyed_bits(seed[0], seed[1], first[0] + row, token);
            values[at] = keyed_gumbel(seed[0], seed[1], first[0] + row, token);
        """,
    )
    words, position = mx.array([seed & 0xFFFFFFFF, seed >> 32], mx.uint32), mx.array([first], mx.uint32)
    bits, values = kernel(
        inputs=[words, position],
        grid=(500, 4, 1),
        threadgroup=(100, 1, 1),
        output_shapes=[(4, 500)] * 2,
        output_dtypes=[mx.uint32, mx.float32],
    )
    assert (np.array(bits) == threefry_by_the_paper(seed, first + np.arange(4), np.arange(500))).all()
    for other in (np.array(noise.gumbel(seed, first, 4, 500)), gumbel_in_float64(seed, first, 4, 500)):
        # where the value is small an ulp of one counts: the inner logarithm is near one there, and has its own last bit
        assert (abs(np.array(values) - other) <= 4 * ULP * np.maximum(1, abs(other))).all()


@pytest.mark.parametrize("vocabulary", [151_936, 262_144])
def test_large_vocabularies(vocabulary):
    logits = drawn_logits(mx.bfloat16, 16, vocabulary, "normal", 1)
    choices = float64(logits).argmax(-1).tolist()
    agree(block_verify.metal(logits, drafts_that_keep(choices, 9), build=metal_kernel), choices, 9)


@pytest.mark.long
def test_a_large_vocabulary_sampled():
    logits = drawn_logits(mx.bfloat16, 16, 248_320, "normal", 1)
    draw = draw_of(2**63 + 5, 1000, 16, 248_320, 0.7)
    plain = block_verify.reference(logits, mx.zeros((15,), mx.uint32), draw)
    fused = block_verify.metal(logits, mx.zeros((15,), mx.uint32), draw, build=metal_kernel)
    assert plain.choices.tolist() == fused.choices.tolist() and plain.count().tolist() == fused.count().tolist()


@pytest.mark.parametrize("rows", [1, 16])
@pytest.mark.parametrize("sampled", [False, True])
def test_two_dispatches_and_nothing_else(rows, sampled):
    words, first = mx.array([5, 6], mx.uint32), mx.array([70], mx.uint32)

    def verify(logits, *drafts):
        draw = Draw(0.7, noise.gumbel(5, 70, rows, 300), words, first) if sampled else None
        found = block_verify.metal(logits, drafts[0] if drafts else None, draw)
        return found.choices, found.count()

    seen = []
    mx.export_function(seen.append, verify, mx.zeros((rows, 300)), *([mx.zeros((15,), mx.uint32)] if rows == 16 else []))
    assert [entry["name"] for entry in seen if entry["type"] == "primitive"] == ["CustomKernel"] * 2


UNSUPPORTED = {
    "dtype": (mx.zeros((2, 100), mx.int32), mx.zeros((1,), mx.uint32)),
    "too many rows": (mx.zeros((33, 100)), mx.zeros((32,), mx.uint32)),
    "small vocabulary": (mx.zeros((2, 7)), mx.zeros((1,), mx.uint32)),
    "as many drafts as rows": (mx.zeros((2, 100)), mx.zeros((2,), mx.uint32)),
    "no drafts for two rows": (mx.zeros((2, 100)), None),
    "drafts for one row": (mx.zeros((1, 100)), mx.zeros((0,), mx.uint32)),
    "drafts' dtype": (mx.zeros((2, 100)), mx.zeros((1,), mx.int32)),
    "three dimensions": (mx.zeros((1, 2, 100)), mx.zeros((1,), mx.uint32)),
}


@pytest.mark.parametrize("arguments", UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_unsupported_arguments_are_refused(arguments):
    assert block_verify.supports(mx.zeros((2, 100)), mx.zeros((1,), mx.uint32)) and block_verify.supports(mx.zeros((1, 100)), None)
    assert not block_verify.supports(*arguments)
    with pytest.raises(ValueError, match="block_verify does not support"):
        block_verify.metal(*arguments, build=metal_kernel)
