"""attention_inputs against float64 numpy, in the emulator: kernel and reference match one definition."""

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.kernels import attention_inputs
from tests.examples import sampled
from tests.metal_emulator import metal_kernel
from tests.mlx_engine.kernels.exact import ROUNDING, float64

DTYPES = [mx.float32, mx.float16, mx.bfloat16]


def drawn(dtype, rows, heads, kv_heads, dim, rotated, gated, seed):
    """A random product for all heads, norms near one, and frequencies with an infinite last one."""
    mx.random.seed(seed)
    projected = mx.random.normal((rows, ((2 if gated else 1) * heads + 2 * kv_heads) * dim)).astype(dtype)
    q_norm, k_norm = ((1 + 0.1 * mx.random.normal((dim,))).astype(dtype) for _ in range(2))
    frequencies = 1e6 ** (mx.arange(rotated // 2) / (rotated // 2))
    return projected, q_norm, k_norm, mx.where(mx.arange(rotated // 2) == rotated // 2 - 1, mx.inf, frequencies)


def exact(projected, q_norm, k_norm, frequencies, first, heads, eps, scale, gated):
    """The definition in float64, except for the angle, which is float32 by contract: each output and its error scale."""
    x, dim, rotated = float64(projected), q_norm.size, 2 * frequencies.size
    x = x.reshape(len(x), -1, dim)
    wide = 2 * heads if gated else heads
    keys, values = np.split(x[:, wide:], 2, axis=1)
    positions = np.float32(first + np.arange(len(x)))
    angle = (positions[:, None] * (np.float32(1) / np.array(frequencies))).astype(np.float64)[:, None]
    cos, sin = np.cos(angle), np.sin(angle)

    def rotate(part, norm):
        part = part / np.sqrt((part**2).mean(-1, keepdims=True) + eps) * float64(norm)
        low, high, rest = np.split(part, [rotated // 2, rotated], axis=-1)
        low, high = scale * low, scale * high
        size = np.concatenate([abs(low * cos) + abs(high * sin), abs(low * sin) + abs(high * cos), abs(rest)], -1)
        return np.concatenate([low * cos - high * sin, low * sin + high * cos, rest], -1), size

    queries = rotate(x[:, :wide:2] if gated else x[:, :wide], q_norm)
    return [[part.transpose(1, 0, 2)[None] for part in both] for both in (queries, rotate(keys, k_norm), (values, 0 * values))]


def follows(found, want, roundings):
    """Check that values are copied, and that queries and keys differ only by `roundings` and a float32 sum and cosine."""
    for name, got, (right, size) in zip(("queries", "keys", "values"), found, want, strict=True):
        error = 0 if name == "values" else 1.01 * roundings * ROUNDING[got.dtype] * size + 1e-5 * size + 1e-7
        assert got.shape == right.shape, name
        assert (abs(float64(got) - right) <= error).all(), name


@sampled(6)
@given(
    dtype=st.sampled_from(DTYPES),
    rows=st.integers(1, 20),
    heads=st.integers(1, 5),
    kv_heads=st.integers(1, 3),
    dim=st.sampled_from([16, 80, 128, 256]),
    part=st.sampled_from([1.0, 0.5, 0.25]),
    first=st.integers(0, 100_000),
    scale=st.sampled_from([1.0, 1.1386]),
    gated=st.booleans(),
    seed=st.integers(0, 99),
)
def test_kernel_and_reference_match_the_definition(dtype, rows, heads, kv_heads, dim, part, first, scale, gated, seed):
    given = drawn(dtype, rows, heads, kv_heads, dim, int(dim * part) // 2 * 2, gated, seed)
    want = exact(*given, first, heads, 1e-6, scale, gated)
    # of the norm, of its weight, of the scale and with it, and of the result
    follows(attention_inputs.metal(*given, first, heads, 1e-6, scale, gated, build=metal_kernel), want, roundings=5)
    # on a CPU MLX's rotation also rounds cosine and sine, and every product
    follows(attention_inputs.reference(*given, first, heads, 1e-6, scale, gated), want, roundings=7)


def test_the_first_position_may_be_on_the_device():
    given = drawn(mx.bfloat16, 16, 4, 2, 128, 128, False, 3)
    on_host = attention_inputs.metal(*given, 4097, 4, 1e-6, build=metal_kernel)
    on_device = attention_inputs.metal(*given, mx.array([4000], mx.int32) + 97, 4, 1e-6, build=metal_kernel)
    assert all(mx.array_equal(*both) for both in zip(on_host, on_device, strict=True))


def test_a_row_has_the_same_bits_alone_and_in_a_block():
    projected, *others = drawn(mx.bfloat16, 13, 4, 2, 128, 64, True, 5)
    block = attention_inputs.metal(projected, *others, 70, 4, 1e-6, 1.0, True, build=metal_kernel)
    for row in (0, 12):
        alone = attention_inputs.metal(projected[row : row + 1], *others, 70 + row, 4, 1e-6, 1.0, True, build=metal_kernel)
        assert all(mx.array_equal(one[:, :, 0], many[:, :, row]) for one, many in zip(alone, block, strict=True))


SUPPORTED = {
    "projected": mx.zeros((2, 256)),
    "q_norm": mx.ones((64,)),
    "k_norm": mx.ones((64,)),
    "frequencies": mx.ones((32,)),
    "first_position": 0,
    "heads": 2,
}


UNSUPPORTED = {
    "dtype": {"projected": mx.zeros((2, 256), mx.int32)},
    "no rows": {"projected": mx.zeros((0, 256))},
    "odd head dim": {"q_norm": mx.ones((66 * 8 + 1,))},
    "norm's dtype": {"k_norm": mx.ones((64,), mx.float16)},
    "too many frequencies": {"frequencies": mx.ones((33,))},
    "frequencies' dtype": {"frequencies": mx.ones((32,), mx.float16)},
    "as many values as keys": {"heads": 3},
    "no columns for keys": {"heads": 2, "gated": True},
}


@pytest.mark.parametrize("change", UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_unsupported_arguments_are_refused(change):
    assert attention_inputs.supports(**SUPPORTED)
    assert not attention_inputs.supports(**(SUPPORTED | change))
    with pytest.raises(ValueError, match="attention_inputs does not support"):
        attention_inputs.metal(**(SUPPORTED | change), eps=1e-6, build=metal_kernel)
