"""Every kind of fault is found and reported with its line.

Each kernel here is correct except for one thing.
"""

import mlx.core as mx
import numpy as np
import pytest

from tests.metal_emulator import KernelFault, metal_kernel

THREADS = 64
SHIFT = """
    threadgroup float shared[64];
    uint i = thread_index_in_threadgroup;
    shared[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[i] = shared[63 - i];
"""


def run(source: str, *, threads: int = THREADS, threadgroup: int = THREADS, header: str = "", **options: bool) -> np.ndarray:
    kernel = metal_kernel(name="broken", input_names=["x"], output_names=["y"], source=source, header=header, **options)
    (y,) = kernel(
        inputs=[mx.arange(64).astype(mx.float32)],
        grid=(threads, 1, 1),
        threadgroup=(threadgroup, 1, 1),
        output_shapes=[(64,)],
        output_dtypes=[mx.float32],
    )
    return np.array(y)


def fault(source: str, **options: object) -> str:
    with pytest.raises(KernelFault) as raised:
        run(source, **options)  # type: ignore[arg-type]
    return str(raised.value)


def test_the_kernel_without_a_fault_passes() -> None:
    assert run(SHIFT).tolist() == list(range(63, -1, -1))


def test_a_missing_barrier_is_a_data_race_between_two_lines() -> None:
    message = fault(SHIFT.replace("threadgroup_barrier(mem_flags::mem_threadgroup);", ""))
    assert "data race" in message
    assert "broken (body):4" in message and "broken (body):6" in message


def test_a_barrier_for_the_wrong_memory_is_a_data_race() -> None:
    assert "data race" in fault(SHIFT.replace("mem_flags::mem_threadgroup", "mem_flags::mem_device"))
    assert "data race" in fault(SHIFT.replace("mem_flags::mem_threadgroup", "mem_flags::mem_none"))


def test_a_simdgroup_barrier_does_not_synchronize_other_simdgroups() -> None:
    neighbors = SHIFT.replace("threadgroup_barrier", "simdgroup_barrier").replace("63 - i", "i ^ 1")
    assert run(neighbors).tolist() == [i ^ 1 for i in range(64)]
    assert "data race" in fault(neighbors.replace("i ^ 1", "i ^ 32"))


def test_reusing_memory_without_a_barrier_is_a_data_race() -> None:
    reused = SHIFT + "shared[i] = 2 * y[i];\n threadgroup_barrier(mem_flags::mem_threadgroup);\n y[i] += shared[i ^ 1];\n"
    assert "data race" in fault(reused)
    run(reused.replace("shared[i] = 2", "threadgroup_barrier(mem_flags::mem_threadgroup);\n shared[i] = 2"))


def test_two_threadgroups_writing_one_element_are_a_data_race() -> None:
    message = fault("y[thread_position_in_grid.x % 64] = thread_position_in_grid.x;", threads=128)
    assert "data race" in message and "another threadgroup" in message


def test_threads_may_write_the_same_value_to_one_element() -> None:
    assert run("y[thread_position_in_grid.x % 64] = 1;", threads=128).tolist() == [1] * 64


def test_a_race_through_copied_structs_is_found() -> None:
    header = "struct Block { float values[16]; };\n"
    source = """
        threadgroup Block shared[64];
        uint i = thread_index_in_threadgroup;
        Block block;
        for (int k = 0; k < 16; k++) block.values[k] = x[i] + k;
        shared[i] = block;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        block = shared[63 - i];
        y[i] = block.values[15];
    """
    assert run(source, header=header).tolist() == [63 - i + 15 for i in range(64)]
    assert "data race" in fault(source.replace("threadgroup_barrier(mem_flags::mem_threadgroup);", ""), header=header)


def test_a_barrier_that_some_threads_never_reach_is_divergent() -> None:
    message = fault("if (thread_index_in_threadgroup < 10) return;\n" + SHIFT)
    assert "divergent threadgroup_barrier" in message and "broken (body):6" in message


def test_barriers_in_two_branches_are_divergent() -> None:
    branches = """
        if (thread_index_in_threadgroup < 32) threadgroup_barrier(mem_flags::mem_none);
        else threadgroup_barrier(mem_flags::mem_none);
        y[thread_index_in_threadgroup] = 0;
    """
    assert "divergent threadgroup_barrier" in fault(branches)


def test_a_simd_operation_on_some_lanes_only_is_divergent() -> None:
    some = "uint i = thread_index_in_threadgroup;\n float v = x[i];\n if (i % 2) v = simd_sum(v);\n y[i] = v;"
    message = fault(some)
    assert "divergent simd_sum" in message and "broken (body):3" in message


def test_a_shuffle_must_not_read_a_missing_lane() -> None:
    half = "uint i = thread_index_in_threadgroup;\n y[i] = simd_shuffle_xor(x[i], 16);"
    assert "reads lane 16, which does not exist" in fault(half, threads=40, threadgroup=40)


def test_reads_and_writes_out_of_bounds_name_the_buffer() -> None:
    assert "reads 4 bytes at byte 256 of x" in fault("y[thread_position_in_grid.x] = x[thread_position_in_grid.x + 1];")
    assert "reads 4 bytes at byte -4 of x" in fault("y[thread_position_in_grid.x] = x[int(thread_position_in_grid.x) - 1];")
    assert "writes 4 bytes at byte 256 of y" in fault("y[thread_position_in_grid.x + 1] = x[thread_position_in_grid.x];")
    assert "of shared, which has 256" in fault(SHIFT.replace("63 - i", "64 - i"))
    assert "broken (body):1" in fault("y[thread_position_in_grid.x] = x[thread_position_in_grid.x + 100000];")


def test_threadgroup_memory_starts_as_garbage_in_every_threadgroup() -> None:
    message = fault(SHIFT.replace("shared[i] = x[i];", ""))
    assert "uninitialized memory" in message and "broken (body):6" in message
    first_only = """
        threadgroup float shared[32];
        uint i = thread_index_in_threadgroup;
        if (threadgroup_position_in_grid.x == 0) shared[i] = 1;
        y[thread_position_in_grid.x] = shared[i];
    """
    assert "uninitialized memory" in fault(first_only, threadgroup=32)


def test_every_byte_of_an_output_must_be_written() -> None:
    message = fault("if (thread_position_in_grid.x < 63) y[thread_position_in_grid.x] = 0;")
    assert "nothing writes byte 252 of the output y" in message


def test_an_output_must_not_be_read_before_it_is_written() -> None:
    assert "uninitialized memory" in fault("y[thread_position_in_grid.x] += 1;")


def test_too_much_threadgroup_memory_is_refused() -> None:
    message = fault(SHIFT.replace("shared[64]", "shared[8193]"))
    assert "bytes of threadgroup memory; Metal allows 32768" in message
    run(SHIFT.replace("shared[64]", "shared[8192]"))


def test_too_many_threads_are_refused() -> None:
    assert "a threadgroup of 1025 threads; Metal allows 1024" in fault(SHIFT, threadgroup=1025, threads=1025)


def test_a_wrong_signature_does_not_compile() -> None:
    header = '#line 1 "shift.metal"\ninline void shift(const device half* x, device float* y, uint i) { y[i] = float(x[i]); }\n'
    message = fault("shift(x, y, thread_position_in_grid.x);", header=header)
    assert "does not compile" in message and "broken (body):1" in message
    with pytest.raises(ValueError, match="inputs"):
        kernel = metal_kernel(name="broken", input_names=["x"], output_names=["y"], source="y[0] = x[0];")
        kernel(inputs=[], grid=(1, 1, 1), threadgroup=(1, 1, 1), output_shapes=[(1,)], output_dtypes=[mx.float32])


def test_threadgroup_memory_must_be_declared_in_the_kernel_function() -> None:
    header = '#line 1 "shift.metal"\ninline void shift(uint i) {\n  threadgroup float shared[64];\n  shared[i] = 1;\n}\n'
    message = fault("shift(thread_position_in_grid.x);", header=header)
    assert "shift.metal:2" in message and "outside a kernel function" in message


def test_an_input_must_not_be_written() -> None:
    assert "write to the input x" in fault("const_cast<float*>(x)[0] = 1;")


def test_a_fault_in_a_header_function_is_reported_with_its_line() -> None:
    header = '#line 1 "shift.metal"\ninline float at(const device float* x,\n    uint i) {\n  return x[i];\n}\n'
    assert "shift.metal:3: out of bounds" in fault(
        "y[thread_position_in_grid.x] = at(x, thread_position_in_grid.x + 1);", header=header
    )


def test_a_local_variable_starts_as_garbage() -> None:
    assert not (
        run("float sum;\n sum += x[thread_position_in_grid.x];\n y[thread_position_in_grid.x] = sum;") == np.arange(64)
    ).any()
