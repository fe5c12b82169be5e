"""Correct kernels give the results that MLX and Metal give."""

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.metal_emulator import metal_kernel
from tests.metal_emulator.text import as_cpp, metal_text, parameters


def run(source: str, inputs: list, shape: tuple[int, ...], dtype: mx.Dtype, *, grid=None, threadgroup=None, **options) -> mx.array:
    call = {key: options.pop(key) for key in ("template", "init_value") if key in options}
    names = ["a", "b", "c"][: len(inputs)]
    kernel = metal_kernel(name="correct", input_names=names, output_names=["y"], source=source, **options)
    size = max(1, int(np.prod(shape)))
    return kernel(
        inputs=inputs,
        output_shapes=[shape],
        output_dtypes=[dtype],
        grid=grid or (size, 1, 1),
        threadgroup=threadgroup or (min(size, 256), 1, 1),
        **call,
    )[0]


def test_the_compiled_text_is_the_text_that_mlx_passes_to_metal() -> None:
    """Only the template instantiation is removed, and `#line` directives are added.

    The signature is pinned here.
    """
    source = "  y[thread_position_in_grid.x] = T(x[thread_position_in_grid.x * x_strides[0]]) + T(few[0]) + T(number);\n"
    header = '#line 1 "some.metal"\ninline float twice(float a) { return a + a; }\n'
    kernel = mx.fast.metal_kernel(
        name="pinned",
        input_names=["x", "few", "number"],
        output_names=["y"],
        source=source,
        header=header,
        ensure_row_contiguous=False,
    )
    inputs = [mx.zeros((8, 2), mx.bfloat16), mx.zeros((7,), mx.int32), mx.array(1.5)]
    metal = metal_text(
        kernel,
        inputs,
        template=[("T", mx.float16), ("N", 3), ("B", True)],
        output_shapes=[(8,)],
        output_dtypes=[mx.float16],
        grid=(8, 1, 1),
        threadgroup=(4, 1, 1),
    )
    function = "custom_kernel_pinned__float16_t_3_1_bfloat16_t_int32_tc_floats_float16_t"
    signature = f"""template <typename T, int N, bool B>
[[kernel]] void {function}(
  const device bfloat16_t* x [[buffer(0)]],
  const constant int64_t* x_strides [[buffer(1)]],
  const constant int32_t* few [[buffer(2)]],
  const constant float& number [[buffer(3)]],
  device float16_t* y [[buffer(4)]],
  uint3 thread_position_in_grid [[thread_position_in_grid]]) {{
"""
    instance = f"{function}<float16_t, 3, 1>"
    assert metal.text == (
        f'{header}{signature}{source}\n}}\n\ntemplate [[host_name("{function}")]] [[kernel]] decltype({instance}) {instance};\n'
    )
    assert (metal.grid, metal.threadgroup) == ((8, 1, 1), (4, 1, 1))
    assert [parameter.name for parameter in parameters(metal)] == [
        "x",
        "x_strides",
        "few",
        "number",
        "y",
        "thread_position_in_grid",
    ]
    written = as_cpp(metal, header, "pinned")
    assert header in written and source in written
    assert signature.replace(" constant ", " ") in written


@pytest.mark.parametrize(
    "dtype",
    [
        mx.float32,
        mx.float16,
        mx.bfloat16,
        mx.int8,
        mx.int16,
        mx.int32,
        mx.int64,
        mx.uint8,
        mx.uint16,
        mx.uint32,
        mx.uint64,
        mx.bool_,
    ],
)
def test_every_type_is_copied_bit_for_bit(dtype) -> None:
    words = {1: mx.uint8, 2: mx.uint16, 4: mx.uint32, 8: mx.uint64}[dtype.size]
    bits = mx.random.randint(0, 2 if dtype == mx.bool_ else 2**7, (3, 50)).astype(words)
    array = bits.view(dtype)
    y = run("y[thread_position_in_grid.x] = a[thread_position_in_grid.x];", [array], (3, 50), dtype)
    assert y.dtype == dtype
    assert mx.array_equal(y.view(words), bits)


@pytest.mark.parametrize(("dtype", "metal_type"), [(mx.float16, "half"), (mx.bfloat16, "bfloat")])
def test_16_bit_floats_are_read_and_rounded_like_in_mlx(dtype, metal_type) -> None:
    values = mx.arange(2**16, dtype=mx.uint16).view(dtype)
    wide = run("y[thread_position_in_grid.x] = float(a[thread_position_in_grid.x]);", [values], values.shape, mx.float32)
    assert mx.array_equal(wide, values.astype(mx.float32), equal_nan=True)
    mx.random.seed(1)
    floats = mx.random.randint(-(2**31), 2**31 - 1, (2**16,), dtype=mx.int32).view(mx.float32)
    small = run(f"y[thread_position_in_grid.x] = {metal_type}(a[thread_position_in_grid.x]);", [floats], floats.shape, dtype)
    assert mx.array_equal(small, floats.astype(dtype), equal_nan=True)


def test_16_bit_arithmetic_rounds_after_every_operation() -> None:
    a = mx.random.normal((100,)).astype(mx.bfloat16)
    b = mx.random.normal((100,)).astype(mx.bfloat16)
    source = "uint i = thread_position_in_grid.x;\n y[i] = a[i] * b[i] + a[i];"
    assert mx.array_equal(run(source, [a, b], (100,), mx.bfloat16), a * b + a)


@given(
    shape=st.tuples(*[st.integers(1, 5)] * 3),
    axes=st.permutations(range(3)),
    steps=st.tuples(*[st.sampled_from([1, 2, -1])] * 3),
    dtype=st.sampled_from([mx.float32, mx.bfloat16]),
)
def test_strides_are_those_of_the_input(shape, axes, steps, dtype) -> None:
    array = mx.arange(int(np.prod(shape))).reshape(shape).astype(dtype).transpose(axes)
    array = array[:: steps[0], :: steps[1], :: steps[2]]
    source = """
        uint i = thread_position_in_grid.x;
        int64_t offset = 0;
        uint rest = i;
        for (int d = a_ndim - 1; d >= 0; --d) {
          offset += (rest % a_shape[d]) * a_strides[d];
          rest /= a_shape[d];
        }
        y[i] = a[offset];
    """
    for contiguous in (True, False):
        assert mx.array_equal(run(source, [array], array.shape, dtype, ensure_row_contiguous=contiguous), array)


def test_a_transposed_input_is_copied_only_if_it_must_be_contiguous() -> None:
    array = mx.arange(12).reshape(3, 4).T
    source = "y[thread_position_in_grid.x] = a[thread_position_in_grid.x];"
    assert run(source, [array], (12,), mx.int32).tolist() == array.flatten().tolist()
    assert run(source, [array], (12,), mx.int32, ensure_row_contiguous=False).tolist() == list(range(12))


def test_positions_and_sizes_when_the_grid_is_not_a_multiple_of_the_threadgroup() -> None:
    source = """
        uint3 p = thread_position_in_grid;
        uint i = (p.z * threads_per_grid.y + p.y) * threads_per_grid.x + p.x;
        uint3 group = threadgroup_position_in_grid, local = thread_position_in_threadgroup, size = threads_per_threadgroup;
        y[7 * i] = int(group.x * 100 + group.y * 10 + group.z);
        y[7 * i + 1] = int(local.x * 100 + local.y * 10 + local.z);
        y[7 * i + 2] = int(size.x * 100 + size.y * 10 + size.z);
        y[7 * i + 3] = int(thread_index_in_threadgroup);
        y[7 * i + 4] = int(thread_index_in_simdgroup);
        y[7 * i + 5] = int(simdgroup_index_in_threadgroup * 10 + simdgroups_per_threadgroup);
        y[7 * i + 6] = int(dispatch_threads_per_threadgroup.x * 100 + threadgroups_per_grid.x * 10 + threadgroups_per_grid.y);
    """
    y = np.array(run(source, [], (2, 3, 7, 7), mx.int32, grid=(7, 3, 2), threadgroup=(4, 2, 1)))
    for z, yy, x in np.ndindex(2, 3, 7):
        group, local = (x // 4, yy // 2, z), (x % 4, yy % 2, 0)
        size = (4 if x < 4 else 3, 2 if yy < 2 else 1, 1)
        index = local[1] * size[0] + local[0]
        digits = lambda three: three[0] * 100 + three[1] * 10 + three[2]  # noqa: E731
        assert y[z, yy, x].tolist() == [digits(group), digits(local), digits(size), index, index % 32, 1, 400 + 20 + 2]


def test_atomics_give_the_same_result_in_every_order() -> None:
    source = """
        atomic_fetch_add_explicit(&y[a[thread_position_in_grid.x] % 8], 1, memory_order_relaxed);
        atomic_fetch_max_explicit(&y[8], a[thread_position_in_grid.x], memory_order_relaxed);
    """
    a = mx.random.randint(0, 1000, (500,))
    y = run(source, [a], (9,), mx.int32, atomic_outputs=True, init_value=0, grid=(500, 1, 1), threadgroup=(64, 1, 1))
    assert y.tolist() == [*np.bincount(np.array(a) % 8, minlength=8).tolist(), int(a.max().item())]


@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16, mx.int32])
def test_init_value_fills_elements_that_are_not_written(dtype) -> None:
    y = run("if (thread_position_in_grid.x == 1) y[1] = 3;", [], (4,), dtype, init_value=2)
    assert y.astype(mx.float32).tolist() == [2, 3, 2, 2]


def test_simdgroup_operations_match_numpy() -> None:
    source = """
        uint i = thread_index_in_simdgroup;
        float v = a[i];
        y[i] = simd_sum(v);
        y[32 + i] = simd_max(v);
        y[64 + i] = simd_min(v);
        y[96 + i] = simd_prefix_inclusive_sum(v);
        y[128 + i] = simd_prefix_exclusive_sum(v);
        y[160 + i] = simd_shuffle(v, ushort(31 - i));
        y[192 + i] = simd_shuffle_xor(v, 5);
        y[224 + i] = simd_shuffle_and_fill_down(v, -1.0f, 3);
        y[256 + i] = simd_shuffle_and_fill_up(v, -1.0f, 3);
        y[288 + i] = simd_broadcast(v, 9);
        y[320 + i] = float(popcount(uint64_t(simd_ballot(v > 10))));
        y[352 + i] = quad_sum(v);
        y[384 + i] = simd_any(v > 30) && !simd_all(v > 10);
    """
    v = np.arange(32, dtype=np.float32) + 0.5
    lanes = np.arange(32)
    y = np.array(run(source, [mx.array(v)], (13, 32), mx.float32, grid=(32, 1, 1)))
    ones = np.ones(32)
    want = [v.sum() * ones, v.max() * ones, v.min() * ones, v.cumsum(), v.cumsum() - v, v[::-1], v[lanes ^ 5]]
    want += [np.append(v[3:], [-1] * 3), np.append([-1] * 3, v[:-3]), v[9] * ones, (v > 10).sum() * ones]
    want += [v.reshape(8, 4).sum(1).repeat(4), ones]
    np.testing.assert_array_equal(y, np.stack(want))


@pytest.mark.parametrize("dtype", [mx.float32, mx.float16, mx.bfloat16])
def test_simdgroup_matrices_multiply(dtype) -> None:
    source = """
        simdgroup_matrix<T, 8, 8> left, right;
        simdgroup_matrix<float, 8, 8> sum = make_filled_simdgroup_matrix<float, 8, 8>(1.0f);
        simdgroup_load(left, a, 8);
        simdgroup_load(right, b, 8, ulong2(0, 0), true);
        simdgroup_multiply_accumulate(sum, left, right, sum);
        simdgroup_store(sum, y, 8);
    """
    a, b = (mx.random.normal((8, 8)).astype(dtype) for _ in range(2))
    y = run(source, [a, b], (8, 8), mx.float32, grid=(32, 1, 1), template=[("T", dtype)])
    want = np.array(a.astype(mx.float32), np.float64) @ np.array(b.astype(mx.float32), np.float64).T + 1
    # Nine float32 terms of magnitude 1: eight roundings of 2^-24 each, about 1e-7 together. A wrong operand is off by about 1.
    np.testing.assert_allclose(np.array(y), want, rtol=1e-6, atol=1e-6)
