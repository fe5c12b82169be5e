"""delta_inputs against float64 numpy, in the emulator: kernel and reference match one definition."""

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.kernels import delta_inputs
from mlx_engine.kernels.delta_inputs import DeltaHeads
from tests.examples import sampled
from tests.metal_emulator import metal_kernel
from tests.mlx_engine.kernels.exact import assert_close, float64

DTYPES = [mx.float32, mx.float16, mx.bfloat16]
HEADS = DeltaHeads(2, 32, 4, 16)


def drawn(dtype, rows, width, heads, seed, rates=mx.float32):
    """A random product, the rows before it, the convolution's weights, and realistic rates."""
    mx.random.seed(seed)
    projected = mx.random.normal((rows, heads.columns)).astype(dtype)
    held = mx.random.normal((1, width - 1, heads.channels)).astype(dtype)
    taps = mx.random.normal((heads.channels, width, 1)).astype(dtype)
    log_rate = mx.log(mx.random.uniform(0.01, 16, (heads.values,))).astype(rates)
    return projected, held, taps, log_rate, (1 + mx.random.normal((heads.values,))).astype(dtype), heads


def exact(projected, held, taps, log_rate, bias, heads):
    """The definition in float64: each output, and the error that float32 may cause."""
    projected, held, taps, log_rate, bias = (float64(array) for array in (projected, held[0], taps[..., 0], log_rate, bias))
    rows, channels, width = len(projected), heads.channels, taps.shape[1]
    convolved = np.concatenate([held, projected[:, :channels]])
    terms = np.stack([convolved[tap : tap + rows] * taps[:, tap] for tap in range(width)])
    out, off = terms.sum(0), (width + 2) * 2.0**-24 * np.abs(terms).sum(0)
    off = 1.1 * off + 2.0**-21 * np.abs(out)  # silu is nowhere steeper than 1.1
    out = out / (1 + np.exp(-out))

    def part(begin, count, dim):
        return (x[:, begin : begin + count * dim].reshape(1, rows, count, dim) for x in (out, off))

    def unit(x, error, factor):
        length = np.sqrt((x**2).sum(-1, keepdims=True) + 1e-6)
        moved = np.sqrt((error**2).sum(-1, keepdims=True)) / length
        return x / length * factor, (error / length + np.abs(x) / length * (moved + (x.shape[-1] + 8) * 2.0**-24)) * factor

    wide = heads.keys * heads.key_dim
    queries = unit(*part(0, heads.keys, heads.key_dim), heads.key_dim**-0.5)
    keys = unit(*part(wide, heads.keys, heads.key_dim), 1.0)
    values = tuple(part(2 * wide, heads.values, heads.value_dim))
    b, a = np.split(projected[:, -2 * heads.values :], 2, axis=1)
    softplus, rate = np.logaddexp(a + bias, 0), np.exp(log_rate)
    decay = np.exp(-rate * softplus)
    # of a number that is itself a float32 product, exp moves by as much as that is off
    wrong = decay * (2.0**-21 * rate * (softplus + np.abs(a) + np.abs(bias)) + 2.0**-22)
    beta = 1 / (1 + np.exp(-b))
    return [queries, keys, values, (decay[None], wrong[None]), (beta[None], 2.0**-21 * beta[None]), (convolved[None], 0.0)]


@sampled(6)
@given(
    dtype=st.sampled_from(DTYPES),
    rows=st.integers(1, 20),
    width=st.integers(2, 5),
    keys=st.integers(1, 3),
    group=st.integers(1, 3),
    dims=st.sampled_from([(16, 16), (48, 16), (16, 80), (128, 128)]),
    half=st.booleans(),
    around=st.one_of(st.none(), st.tuples(st.integers(0, 16), st.integers(0, 3))),
    seed=st.integers(0, 99),
)
def test_the_kernel_matches_the_definition(dtype, rows, width, keys, group, dims, half, around, seed):
    """`around` rows come before and after those that the convolution reads; the device is told where they begin."""
    given = drawn(dtype, rows, width, DeltaHeads(keys, dims[0], keys * group, dims[1]), seed, dtype if half else mx.float32)
    projected, held, *others = given
    first = 0
    if around is not None:
        others_rows = [mx.full((1, count, held.shape[2]), 9.0, dtype) for count in around]
        held, first = mx.concatenate([others_rows[0], held, others_rows[1]], axis=1), mx.array([around[0]], mx.int32)
    found = delta_inputs.metal(projected, held, *others, first, build=metal_kernel)
    for name, (want, error) in zip(vars(found), exact(*given), strict=True):
        assert_close(getattr(found, name), want, error)
    for name, array in vars(delta_inputs.reference(projected, held, *others, first)).items():
        assert mx.array_equal(array, getattr(delta_inputs.reference(*given), name))


@given(rows=st.integers(1, 16), width=st.integers(2, 5), seed=st.integers(0, 99))
def test_the_reference_matches_the_definition_in_float32(rows, width, seed):
    given = drawn(mx.float32, rows, width, HEADS, seed)
    found = delta_inputs.reference(*given)
    for name, (want, error) in zip(vars(found), exact(*given), strict=True):
        assert_close(getattr(found, name), want, 2 * error)  # it rounds at every step


def test_a_row_has_the_same_bits_alone_and_in_a_block():
    projected, held, *others = drawn(mx.bfloat16, 9, 4, HEADS, 7)
    block = delta_inputs.metal(projected, held, *others, build=metal_kernel)
    for row in (0, 8):
        alone = delta_inputs.metal(projected[row : row + 1], block.convolved[:, row : row + 3], *others, build=metal_kernel)
        names = ("queries", "keys", "values", "decay", "beta")
        assert all(mx.array_equal(getattr(alone, name)[:, 0], getattr(block, name)[:, row]) for name in names)
        assert mx.array_equal(alone.convolved, block.convolved[:, row : row + 4])


PROJECTED, HELD, WEIGHTS, RATE, BIAS, _ = drawn(mx.float32, 3, 4, HEADS, 0)


SUPPORTED = dict(projected=PROJECTED, held=HELD, taps=WEIGHTS, log_rate=RATE, bias=BIAS, heads=HEADS)
UNSUPPORTED = {
    "dtype": {"projected": PROJECTED.astype(mx.int32)},
    "held rows' dtype": {"held": HELD.astype(mx.float16)},
    "rate's dtype": {"log_rate": RATE.astype(mx.float16)},
    "key dim": {"heads": DeltaHeads(2, 8, 4, 16)},
    "columns": {"projected": PROJECTED[:, 1:]},
    "too many taps": {"taps": mx.zeros((HEADS.channels, 9, 1))},
    "too few held rows": {"held": HELD[:, 1:]},
    "first row's dtype": {"first": mx.array([0], mx.uint32)},
    "first row beyond the held rows": {"first": 1},
    "bias's shape": {"bias": BIAS[1:]},
}


@pytest.mark.parametrize("change", UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_unsupported_arguments_are_refused(change):
    assert delta_inputs.supports(**SUPPORTED)
    assert not delta_inputs.supports(**(SUPPORTED | change))
    with pytest.raises(ValueError, match="delta_inputs does not support"):
        delta_inputs.metal(**(SUPPORTED | change), build=metal_kernel)
