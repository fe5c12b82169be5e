"""verify_attention compared with float64 numpy, in the emulator; unsupported arguments are refused."""

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlx_engine.kernels import verify_attention
from tests.metal_emulator import metal_kernel
from tests.mlx_engine.kernels.exact import assert_close, float64

DTYPES = [mx.float32, mx.float16, mx.bfloat16]
few = settings(max_examples=settings.default.max_examples // 6)


def exact(queries, keys, values, length, scale, causal, window, sinks):
    """The definition in float64, and the same with absolute values, as a scale for errors."""
    queries, keys, values = (float64(array)[0] for array in (queries, keys, values))
    heads, block, _ = queries.shape
    keys, values = (np.repeat(array[:, :length], heads // len(array), 0) for array in (keys, values))
    row, key = length - block + np.arange(block)[:, None], np.arange(length)
    seen = np.ones((block, length), bool)
    if causal:
        seen &= key <= row
    if window:
        seen &= row - key < window
    scores = np.where(seen, queries @ keys.transpose(0, 2, 1) * scale, -np.inf)
    if sinks is not None:
        scores = np.concatenate([scores, np.broadcast_to(float64(sinks)[:, None, None], (heads, block, 1))], -1)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights = (weights / weights.sum(-1, keepdims=True))[..., :length]
    return (weights @ values)[None], (weights @ np.abs(values))[None], np.abs(scores[np.isfinite(scores)]).max()


def check(dtype, dim, kv_heads, grouped, block, length, spare, causal, window=0, sinks=False, loud=1.0):
    """Check random inputs: `spare` rows after the filled ones are NaN; `loud` is the spread of the scores."""
    mx.random.seed(length + 31 * block)
    queries = (loud * mx.random.normal((1, kv_heads * grouped, block, dim))).astype(dtype)
    filled = mx.arange(length + spare)[:, None] < length
    keys, values = (
        mx.where(filled, mx.random.normal((1, kv_heads, length + spare, dim)), float("nan")).astype(dtype) for _ in range(2)
    )
    arguments = (causal, window, mx.random.normal((kv_heads * grouped,)).astype(dtype) if sinks else None)
    scale, on_device = dim**-0.5, mx.array([length], mx.int32)
    want, size, score = exact(queries, keys, values, length, scale, *arguments)
    # a sum of dim products is off by less than dim + 2 roundings of their sizes, here at most as many as the largest score has, and
    # that enters each weight; the sums over the keys add their own
    error = 2.0**-24 * (2 * (dim + 4) * score * 4 + length + 16) * size
    result = verify_attention.metal(queries, keys, values, on_device, scale, *arguments, build=metal_kernel)
    assert_close(result, want, error)
    if dtype == mx.float32:
        keys, values = (mx.where(filled, array, 0) for array in (keys, values))
        assert_close(verify_attention.reference(queries, keys, values, on_device, scale, *arguments), want, error)


@pytest.mark.parametrize(
    ("dtype", "dim", "causal", "window"),
    [
        (mx.float32, 80, False, 0),
        (mx.float16, 128, True, 40),
        *(pytest.param(mx.bfloat16, dim, True, 0, marks=pytest.mark.long) for dim in (64, 256)),
    ],
)
@few
@given(
    shape=st.sampled_from([(1, 6), (2, 2), (3, 1)]), block=st.integers(5, 16), before=st.integers(0, 130), spare=st.integers(0, 40)
)
def test_it_matches_its_definition(dtype, dim, causal, window, shape, block, before, spare):
    check(dtype, dim, *shape, block, block + before, spare, causal, window)


def test_a_sink_takes_its_share_and_a_window_ends_inside_the_block():
    check(mx.float32, 64, 1, 2, 16, 90, 6, causal=False, window=5, sinks=True)


def test_scores_whose_exponential_overflows():
    check(mx.float32, 64, 1, 1, 8, 100, 0, causal=True, loud=200.0)


def test_one_row_over_one_key():
    check(mx.bfloat16, 64, 2, 2, 1, 1, 30, causal=True)


@pytest.mark.long
@pytest.mark.parametrize("dim", verify_attention.HEAD_DIMS)
@pytest.mark.parametrize("dtype", DTYPES)
@few
@given(
    shape=st.sampled_from([(1, 1), (1, 6), (1, 10), (2, 4), (3, 1)]),
    block=st.integers(1, 16),
    before=st.integers(0, 300) | st.just(2032),
    spare=st.integers(0, 300),
    causal=st.booleans(),
    window=st.sampled_from([0, 0, 1, 7, 64, 1024]),
    sinks=st.booleans(),
)
def test_every_head_dim_and_mask(dtype, dim, shape, block, before, spare, causal, window, sinks):
    check(dtype, dim, *shape, block, block + before, spare, causal, window, sinks)


def test_the_grid_does_not_depend_on_the_length():
    """One compiled graph serves every round: the kernel reads the length from an array that may be computed later."""
    grids = []

    def build(**options):
        kernel = metal_kernel(**options)

        def call(**arguments):
            grids.append((arguments["grid"], arguments["threadgroup"], arguments["template"], arguments["output_shapes"]))
            return kernel(**arguments)

        return call

    queries, keys = mx.zeros((1, 2, 4, 64)), mx.zeros((1, 1, 96, 64))
    for length in (4, 90):
        verify_attention.metal(queries, keys, keys, mx.array([length], mx.int32), 1.0, build=build)
    assert grids[:2] == grids[2:]


Q, K = mx.zeros((1, 4, 16, 64)), mx.zeros((1, 2, 100, 64))
N = mx.array([50], mx.int32)


UNSUPPORTED = {
    "too many rows": (mx.zeros((1, 4, 17, 64)), K, K, N, 1.0),
    "head dim": (mx.zeros((1, 4, 16, 72)), K, K, N, 1.0),
    "two sequences": (mx.zeros((2, 4, 16, 64)), K, K, N, 1.0),
    "dtype": (Q.astype(mx.int8), K, K, N, 1.0),
    "keys' dtype": (Q, K.astype(mx.float16), K, N, 1.0),
    "unequal groups of heads": (Q, mx.zeros((1, 3, 100, 64)), mx.zeros((1, 3, 100, 64)), N, 1.0),
    "fewer values than keys": (Q, K, K[:, :, :90], N, 1.0),
    "fewer keys than rows": (Q, K[:, :, :9], K[:, :, :9], N, 1.0),
    "length's shape": (Q, K, K, mx.array([50])[0], 1.0),
    "length's dtype": (Q, K, K, mx.array([50], mx.uint32), 1.0),
    "negative window": (Q, K, K, N, 1.0, True, -1),
    "sinks' shape": (Q, K, K, N, 1.0, True, 0, mx.zeros((2,))),
}


@pytest.mark.parametrize("arguments", UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_unsupported_arguments_are_refused(arguments):
    assert verify_attention.supports(Q, K, K, N, 1.0, True, 0, mx.zeros((4,)))
    assert not verify_attention.supports(*arguments)
    with pytest.raises(ValueError, match="verify_attention does not support"):
        verify_attention.metal(*arguments, build=metal_kernel)
