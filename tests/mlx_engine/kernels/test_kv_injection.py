"""kv_injection against float64 numpy, in the emulator: kernel and reference match one definition."""

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.kernels import kv_injection
from tests.examples import sampled
from tests.metal_emulator import metal_kernel
from tests.mlx_engine.kernels.exact import ROUNDING, float64

DTYPES = [mx.float32, mx.float16, mx.bfloat16]


def exact(projected, k_norm, frequencies, first_position, eps, scale):
    """The definition in float64, except for the angle, which is float32 by contract; and the error scale."""
    projected, k_norm = float64(projected), float64(k_norm)
    keys, values = projected[:, :, 0], projected[:, :, 1]
    keys = keys / np.sqrt((keys**2).mean(-1, keepdims=True) + eps) * k_norm[None, :, None] * scale
    positions = np.float32(first_position + np.arange(len(keys)))
    angle = (positions[:, None] * (np.float32(1) / np.array(frequencies))).astype(np.float64)[:, None, None]
    low, high = np.split(keys, 2, axis=-1)
    cos, sin = np.cos(angle), np.sin(angle)
    rotated = np.concatenate([low * cos - high * sin, low * sin + high * cos], -1)
    size = np.concatenate([abs(low * cos) + abs(high * sin), abs(low * sin) + abs(high * cos)], -1)
    layout = (1, 2, 0, 3)
    return np.stack([rotated.transpose(layout), values.transpose(layout)]), size.transpose(layout)


def drawn(dtype, rows, layers, heads, dim, extra, seed):
    """A slice of a wider projection, norms near one, frequencies with an infinite last one; none contiguous."""
    mx.random.seed(seed)
    projected = mx.random.normal((rows, layers + extra, 2, heads, dim)).astype(dtype)[:, extra:]
    k_norm = (1 + 0.1 * mx.random.normal((dim, layers))).astype(dtype).T
    frequencies = 1e6 ** (mx.arange(dim // 2) / (dim // 2))
    frequencies = mx.where(mx.arange(dim // 2) == dim // 2 - 1, mx.inf, frequencies)
    return projected, k_norm, mx.repeat(frequencies, 2)[::2]


def follows(found, want, size, roundings):
    """Check that values are copied, and that keys differ only by `roundings` and a float32 sum and cosine."""
    error = 1.01 * roundings * ROUNDING[found.dtype] * size + 1e-5 * size + 1e-7
    found = float64(found)
    assert (found[1] == want[1]).all()
    assert (abs(found[0] - want[0]) <= error).all()


@sampled(6)
@given(
    dtype=st.sampled_from(DTYPES),
    rows=st.integers(1, 20),
    layers=st.integers(1, 4),
    heads=st.integers(1, 3),
    dim=st.sampled_from([16, 80, 128, 256]),
    extra=st.integers(0, 2),
    first=st.integers(0, 100_000),
    scale=st.sampled_from([1.0, 1.1386]),
    seed=st.integers(0, 99),
)
def test_kernel_and_reference_match_the_definition(dtype, rows, layers, heads, dim, extra, first, scale, seed):
    given = drawn(dtype, rows, layers, heads, dim, extra, seed)
    want, size = exact(*given, first, 1e-6, scale)
    # of the norm, of its weight, of the scale and with it, and of the result
    follows(kv_injection.metal(*given, first, 1e-6, scale, build=metal_kernel), want, size, roundings=5)
    # on a CPU MLX's rotation also rounds cosine and sine, and every product
    follows(kv_injection.reference(*given, first, 1e-6, scale), want, size, roundings=7)


def test_the_first_position_may_be_on_the_device():
    given = drawn(mx.bfloat16, 16, 5, 8, 128, 0, 3)
    on_host = kv_injection.metal(*given, 4097, 1e-6, build=metal_kernel)
    on_device = kv_injection.metal(*given, mx.array([4000], mx.int32) + 97, 1e-6, build=metal_kernel)
    assert mx.array_equal(on_host, on_device)
    assert mx.array_equal(kv_injection.reference(*given, 4097, 1e-6), kv_injection.reference(*given, mx.array(4097), 1e-6))


def test_one_dispatch_whatever_the_number_of_layers():
    for layers in (1, 8):
        given = drawn(mx.bfloat16, 16, layers, 2, 64, 0, 3)
        seen = []
        mx.export_function(seen.append, lambda *arrays: kv_injection.metal(*arrays, 7, 1e-6), *given)
        assert [entry["name"] for entry in seen if entry["type"] == "primitive"] == ["CustomKernel"]


SUPPORTED = {"projected": mx.zeros((2, 1, 2, 1, 64)), "k_norm": mx.ones((1, 64)), "frequencies": mx.ones((32,))}
UNSUPPORTED = {
    "dtype": {"projected": mx.zeros((2, 1, 2, 1, 64), mx.int32)},
    "odd head dim": {"projected": mx.zeros((2, 1, 2, 1, 65))},
    "small head dim": {"projected": mx.zeros((2, 1, 2, 1, 8))},
    "not keys and values": {"projected": mx.zeros((2, 1, 3, 1, 64))},
    "four dimensions": {"projected": mx.zeros((2, 1, 2, 64))},
    "norm's dtype": {"k_norm": mx.ones((1, 64), mx.float16)},
    "number of frequencies": {"frequencies": mx.ones((64,))},
}


@pytest.mark.parametrize("change", UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_unsupported_arguments_are_refused(change):
    assert kv_injection.supports(**SUPPORTED)
    assert not kv_injection.supports(**(SUPPORTED | change))
    with pytest.raises(ValueError, match="kv_injection does not support"):
        kv_injection.metal(**(SUPPORTED | change), first_position=0, eps=1e-6, build=metal_kernel)
