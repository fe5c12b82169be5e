"""verify_matmul compared with float64 numpy, in the emulator; unsupported arguments are refused."""

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlx_engine.kernels import verify_matmul
from tests.metal_emulator import metal_kernel
from tests.mlx_engine.kernels.exact import assert_close, float64

DENSE = (None, None)
KINDS = [DENSE, *((bits, group) for bits in (4, 8) for group in (32, 64, 128))]
DTYPES = [mx.float32, mx.float16, mx.bfloat16]
few = settings(max_examples=settings.default.max_examples // 5)


def others(*kinds):
    """Types that `make test-all` compiles, too."""
    return [pytest.param(*each, marks=pytest.mark.long) for each in kinds]


def made(dtype, kind, rows, columns, depth, before=0):
    """Arguments of a product, and the unpacked weights; `before`: rows of the buffers before the weight's first."""
    bits, group = kind
    mx.random.seed(rows + 17 * columns + 301 * depth)
    x = mx.random.normal((rows, depth)).astype(dtype)
    weight = mx.random.normal((before + columns, depth)).astype(dtype)
    if bits is None:
        return (x, weight[before:]), float64(weight)[before:]
    packed, scales, biases = (array[before:] for array in mx.quantize(weight, group_size=group, bits=bits))
    values = np.array(packed)[..., None] >> np.arange(0, 32, bits, dtype=np.uint32) & (2**bits - 1)
    spread = np.repeat(float64(scales), group, 1), np.repeat(float64(biases), group, 1)
    return (x, packed, scales, biases, group, bits), values.reshape(columns, depth) * spread[0] + spread[1]


def silu(x):
    return x / (1 + np.exp(-x))


def check(dtype, kind, rows, columns, depth, before=0):
    arguments, weight = made(dtype, kind, rows, columns, depth, before)
    x = float64(arguments[0])
    # a sum of n terms in float32, whatever its order, is off by less than n roundings of the sum of their sizes; with a scale and a
    # bias the terms are q * scale and bias, each of them larger than the weight
    size = np.abs(weight)
    if len(arguments) > 2:
        biases = np.abs(float64(arguments[3])).repeat(arguments[4], 1)
        size = size + 2 * biases
    error = (depth + 8) * 2.0**-24 * (np.abs(x) @ size.T)
    result = verify_matmul.metal(*arguments, build=metal_kernel)
    assert_close(result, x @ weight.T, error)
    if dtype == mx.float32:
        assert_close(verify_matmul.reference(*arguments), x @ weight.T, error)
    return arguments, result


@pytest.mark.parametrize(
    ("dtype", "kind"), [(mx.float32, (8, 32)), (mx.bfloat16, (4, 64)), *others((mx.float16, (4, 32)), (mx.bfloat16, (8, 128)))]
)
@few
@given(rows=st.integers(9, 16), columns=st.integers(1, 40), groups=st.integers(1, 12), before=st.integers(0, 3))
def test_a_quantized_product_matches_its_definition(dtype, kind, rows, columns, groups, before):
    check(dtype, kind, rows, columns, min(groups * kind[1], 640), before)


@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16])
@few
@given(rows=st.integers(1, 8), columns=st.integers(1, 40), depth=st.integers(8, 300), before=st.integers(0, 3))
def test_a_dense_product_matches_its_definition_at_any_size(dtype, rows, columns, depth, before):
    check(dtype, DENSE, rows, columns, depth, before)


@pytest.mark.parametrize(("dtype", "kind"), [(mx.bfloat16, (4, 64)), *others((mx.float32, DENSE))])
def test_twice_as_many_simdgroups_share_the_long_rows_of_a_narrow_weight(dtype, kind):
    check(dtype, kind, 9, 20, 1152)


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", DTYPES)
@few
@given(
    rows=st.integers(1, 16),
    columns=st.integers(1, 100) | st.integers(2040, 2100),
    groups=st.integers(1, 40),
    tail=st.integers(0, 31),
    before=st.integers(0, 3),
)
def test_every_kind_of_weight(dtype, kind, rows, columns, groups, tail, before):
    depth = min(groups, 4 if columns > 100 else 40) * (kind[1] or 32)
    check(dtype, kind, rows, columns, depth + (tail if kind == DENSE else 0), before)


@pytest.mark.parametrize(
    ("dtype", "kind"), [(mx.bfloat16, DENSE), (mx.float16, (4, 64)), *others((mx.float32, DENSE), (mx.float32, (8, 32)))]
)
@few
@given(
    rows=st.integers(1, 16),
    columns=st.integers(1, 20) | st.integers(1010, 1040),
    groups=st.integers(1, 4),
    gated=st.booleans(),
    added=st.booleans(),
    before=st.integers(0, 2),
)
def test_gate_and_residual_match_their_definition(dtype, kind, rows, columns, groups, gated, added, before):
    arguments, weight = made(dtype, kind, rows, 2 * columns if gated else columns, groups * (kind[1] or 24), before)
    x = float64(arguments[0])
    size = np.abs(weight)
    if len(arguments) > 2:
        size = size + 2 * np.abs(float64(arguments[3])).repeat(arguments[4], 1)
    want, error = x @ weight.T, (x.shape[1] + 8) * 2.0**-24 * (np.abs(x) @ size.T)
    if gated:  # silu is nowhere steeper than 1.1; its own computation and the product with the other half round five times more
        (gate, other), (off, more) = np.split(want, 2, 1), np.split(error, 2, 1)
        want = silu(gate) * other
        error = 1.1 * off * (np.abs(other) + more) + np.abs(silu(gate)) * more + 2.0**-21 * np.abs(want)
    residual = mx.random.normal((rows, columns)).astype(dtype) if added else None
    if residual is not None:
        want = want + float64(residual)
        error = error + 2.0**-23 * np.abs(want)
    given = (*arguments, *(None, None, 64, 4)[len(arguments) - 2 :], residual, gated)
    assert_close(verify_matmul.metal(*given, build=metal_kernel), want, error)
    if dtype == mx.float32:
        assert_close(verify_matmul.reference(*given), want, 1.01 * error)


@pytest.mark.parametrize("kind", [DENSE, pytest.param((4, 64), marks=pytest.mark.long)])
@pytest.mark.parametrize("rows", [13, 39])
def test_a_row_has_the_same_bits_alone_and_in_a_block(kind, rows):
    arguments, block = check(mx.bfloat16, kind, rows, 24, 640)
    for row in (0, 9, 12, rows - 1):
        alone = verify_matmul.metal(arguments[0][row : row + 1], *arguments[1:], build=metal_kernel)
        assert mx.array_equal(alone[0], block[row])


@pytest.mark.parametrize(("kind", "gated"), [(DENSE, True), ((4, 64), False), *others(((8, 32), True))])
@few
@given(data=st.data(), rows=st.integers(17, 64))
def test_a_row_has_the_same_bits_at_any_place_among_any_rows(kind, gated, data, rows):
    """Rows of other replies, in any order: the tile, and the place in it, don't matter."""
    arguments, _ = made(mx.bfloat16, kind, rows, 48, 256)
    how = (*arguments[1:], *(None, None, 64, 4)[len(arguments) - 2 :])
    residual = None if gated else mx.random.normal((rows, 48)).astype(mx.bfloat16)
    whole = verify_matmul.metal(arguments[0], *how, residual, gated, build=metal_kernel)
    order = data.draw(st.permutations(range(rows)))[: data.draw(st.integers(1, rows))]
    chosen = mx.array(order)
    some = verify_matmul.metal(
        arguments[0][chosen], *how, None if residual is None else residual[chosen], gated, build=metal_kernel
    )
    assert mx.array_equal(some, whole[chosen])


X, W = mx.zeros((16, 64)), mx.zeros((8, 64))
PACKED, SCALES = mx.zeros((8, 8), mx.uint32), mx.zeros((8, 1))


UNSUPPORTED = {
    "too many rows": (mx.zeros((65, 64)), W),
    "dtype": (X.astype(mx.int32), W),
    "weight's dtype": (X, W.astype(mx.bfloat16)),
    "one dimension": (X[0], W),
    "weight's columns": (X, W[:, :63]),
    "no biases": (X, PACKED, SCALES),
    "bits": (X, PACKED, SCALES, SCALES, 64, 3),
    "group size": (X, PACKED, SCALES, SCALES, 16, 4),
    "dense rows under 8 elements": (X[:, :7], W[:, :7]),
    "columns that do not divide into groups": (X, PACKED, SCALES, SCALES, 128, 4),
    "columns at 8 bits": (X, PACKED, SCALES, SCALES, 64, 8),
    "scales' dtype": (X, PACKED, SCALES.astype(mx.float16), SCALES, 64, 4),
    "odd number of gated rows": (X, W[:7], None, None, 64, 4, None, True),
    "residual's shape": (X, W, None, None, 64, 4, X),
    "residual's shape, gated": (X, W, None, None, 64, 4, mx.zeros((16, 8)), True),
}


@pytest.mark.parametrize("arguments", UNSUPPORTED.values(), ids=UNSUPPORTED)
def test_unsupported_arguments_are_refused(arguments):
    assert verify_matmul.supports(X, W) and verify_matmul.supports(X, PACKED, SCALES, SCALES)
    assert verify_matmul.supports(X, W, None, None, 64, 4, mx.zeros((16, 4)), True)
    assert not verify_matmul.supports(*arguments)
    with pytest.raises(ValueError, match="verify_matmul does not support"):
        verify_matmul.metal(*arguments, build=metal_kernel)
