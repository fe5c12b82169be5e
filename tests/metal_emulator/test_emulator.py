"""The emulator does what MLX and Metal do with a kernel that is right."""

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.metal_emulator import compiler, metal_kernel
from tests.metal_emulator.text import as_cpp, parameters, reveal


def one(source: str, inputs: list, shape: tuple[int, ...], dtype: mx.Dtype, *, grid=None, threadgroup=None, **options) -> mx.array:
    call = {key: options.pop(key) for key in ("template", "init_value") if key in options}
    names = ["a", "b", "c"][: len(inputs)]
    kernel = metal_kernel(name="right", input_names=names, output_names=["y"], source=source, **options)
    size = max(1, int(np.prod(shape)))
    return kernel(
        inputs=inputs,
        output_shapes=[shape],
        output_dtypes=[dtype],
        grid=grid or (size, 1, 1),
        threadgroup=threadgroup or (min(size, 256), 1, 1),
        **call,
    )[0]


def test_the_text_that_is_compiled_is_the_text_that_mlx_hands_to_metal() -> None:
    """Only the template's instantiation goes, and `#line`s come in; the signature itself is pinned here."""
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
    metal = reveal(
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
def test_every_type_goes_in_and_comes_out_bit_for_bit(dtype) -> None:
    words = {1: mx.uint8, 2: mx.uint16, 4: mx.uint32, 8: mx.uint64}[dtype.size]
    bits = mx.random.randint(0, 2 if dtype == mx.bool_ else 2**7, (3, 50)).astype(words)
    given = bits.view(dtype)
    y = one("y[thread_position_in_grid.x] = a[thread_position_in_grid.x];", [given], (3, 50), dtype)
    assert y.dtype == dtype
    assert mx.array_equal(y.view(words), bits)


@pytest.mark.parametrize(("dtype", "metal_type"), [(mx.float16, "half"), (mx.bfloat16, "bfloat")])
def test_small_floats_are_read_and_rounded_as_mlx_does(dtype, metal_type) -> None:
    every = mx.arange(2**16, dtype=mx.uint16).view(dtype)
    wide = one("y[thread_position_in_grid.x] = float(a[thread_position_in_grid.x]);", [every], every.shape, mx.float32)
    assert mx.array_equal(wide, every.astype(mx.float32), equal_nan=True)
    mx.random.seed(1)
    floats = mx.random.randint(-(2**31), 2**31 - 1, (2**16,), dtype=mx.int32).view(mx.float32)
    small = one(f"y[thread_position_in_grid.x] = {metal_type}(a[thread_position_in_grid.x]);", [floats], floats.shape, dtype)
    assert mx.array_equal(small, floats.astype(dtype), equal_nan=True)


def test_sums_of_small_floats_round_after_every_step() -> None:
    a = mx.random.normal((100,)).astype(mx.bfloat16)
    b = mx.random.normal((100,)).astype(mx.bfloat16)
    source = "uint i = thread_position_in_grid.x;\n y[i] = a[i] * b[i] + a[i];"
    assert mx.array_equal(one(source, [a, b], (100,), mx.bfloat16), a * b + a)


@given(
    shape=st.tuples(*[st.integers(1, 5)] * 3),
    axes=st.permutations(range(3)),
    steps=st.tuples(*[st.sampled_from([1, 2, -1])] * 3),
    dtype=st.sampled_from([mx.float32, mx.bfloat16]),
)
def test_strides_are_those_of_the_array(shape, axes, steps, dtype) -> None:
    array = mx.arange(int(np.prod(shape))).reshape(shape).astype(dtype).transpose(axes)
    array = array[:: steps[0], :: steps[1], :: steps[2]]
    source = """
        uint i = thread_position_in_grid.x;
        int64_t at = 0;
        uint rest = i;
        for (int d = a_ndim - 1; d >= 0; --d) {
          at += (rest % a_shape[d]) * a_strides[d];
          rest /= a_shape[d];
        }
        y[i] = a[at];
    """
    for contiguous in (True, False):
        assert mx.array_equal(one(source, [array], array.shape, dtype, ensure_row_contiguous=contiguous), array)


def test_a_transposed_array_is_copied_only_when_it_shall_be_contiguous() -> None:
    array = mx.arange(12).reshape(3, 4).T
    source = "y[thread_position_in_grid.x] = a[thread_position_in_grid.x];"
    assert one(source, [array], (12,), mx.int32).tolist() == array.flatten().tolist()
    assert one(source, [array], (12,), mx.int32, ensure_row_contiguous=False).tolist() == list(range(12))


def test_positions_and_sizes_at_a_ragged_edge() -> None:
    source = """
        uint3 p = thread_position_in_grid;
        uint i = (p.z * threads_per_grid.y + p.y) * threads_per_grid.x + p.x;
        uint3 group = threadgroup_position_in_grid, place = thread_position_in_threadgroup, size = threads_per_threadgroup;
        y[7 * i] = int(group.x * 100 + group.y * 10 + group.z);
        y[7 * i + 1] = int(place.x * 100 + place.y * 10 + place.z);
        y[7 * i + 2] = int(size.x * 100 + size.y * 10 + size.z);
        y[7 * i + 3] = int(thread_index_in_threadgroup);
        y[7 * i + 4] = int(thread_index_in_simdgroup);
        y[7 * i + 5] = int(simdgroup_index_in_threadgroup * 10 + simdgroups_per_threadgroup);
        y[7 * i + 6] = int(dispatch_threads_per_threadgroup.x * 100 + threadgroups_per_grid.x * 10 + threadgroups_per_grid.y);
    """
    y = np.array(one(source, [], (2, 3, 7, 7), mx.int32, grid=(7, 3, 2), threadgroup=(4, 2, 1)))
    for z, yy, x in np.ndindex(2, 3, 7):
        group, place = (x // 4, yy // 2, z), (x % 4, yy % 2, 0)
        size = (4 if x < 4 else 3, 2 if yy < 2 else 1, 1)
        index = place[1] * size[0] + place[0]
        digits = lambda three: three[0] * 100 + three[1] * 10 + three[2]  # noqa: E731
        assert y[z, yy, x].tolist() == [digits(group), digits(place), digits(size), index, index % 32, 1, 400 + 20 + 2]


def test_atomics_count_whatever_the_order() -> None:
    source = """
        atomic_fetch_add_explicit(&y[a[thread_position_in_grid.x] % 8], 1, memory_order_relaxed);
        atomic_fetch_max_explicit(&y[8], a[thread_position_in_grid.x], memory_order_relaxed);
    """
    a = mx.random.randint(0, 1000, (500,))
    y = one(source, [a], (9,), mx.int32, atomic_outputs=True, init_value=0, grid=(500, 1, 1), threadgroup=(64, 1, 1))
    assert y.tolist() == [*np.bincount(np.array(a) % 8, minlength=8).tolist(), int(a.max().item())]


@pytest.mark.parametrize("dtype", [mx.float32, mx.bfloat16, mx.int32])
def test_an_initial_value_fills_what_is_not_written(dtype) -> None:
    y = one("if (thread_position_in_grid.x == 1) y[1] = 3;", [], (4,), dtype, init_value=2)
    assert y.astype(mx.float32).tolist() == [2, 3, 2, 2]


def test_simdgroup_operations_against_numpy() -> None:
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
    y = np.array(one(source, [mx.array(v)], (13, 32), mx.float32, grid=(32, 1, 1)))
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
    y = one(source, [a, b], (8, 8), mx.float32, grid=(32, 1, 1), template=[("T", dtype)])
    want = np.array(a.astype(mx.float32), np.float64) @ np.array(b.astype(mx.float32), np.float64).T + 1
    # nine float32 terms of a few units: eight roundings of 2^-24 each, some 1e-7 together; a wrong operand is off by about one
    np.testing.assert_allclose(np.array(y), want, rtol=1e-6, atol=1e-6)


def test_a_machine_without_a_compiler_is_told_how_to_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler.require()
    monkeypatch.setattr(compiler, "compilers", lambda: ())
    with pytest.raises(RuntimeError, match=r"To get one: (sudo apt-get|xcode-select)"):
        compiler.require()
