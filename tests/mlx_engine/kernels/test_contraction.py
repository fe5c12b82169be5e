"""Kernels whose rows must have the same bits alone and in a block don't depend on which products and sums the compiler fuses.

A kernel is compiled once for single rows and once for blocks, and Metal's compiler may decide differently. The operands have so few
bits that the emulator's own products of matrices are exact, fused or not.
"""

import platform
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from mlx_engine.kernels import gated_delta_replay, verify_attention, verify_matmul
from mlx_engine.kernels.gated_delta_replay import Tape
from tests.metal_emulator import kernel, metal_kernel
from tests.metal_emulator.compiler import compilers

CPU_FLAGS = Path("/proc/cpuinfo")
FUSED = ["-O3", "-ffp-contract=fast", *(["-mfma"] if platform.machine() == "x86_64" else [])]


def drawn(*shape: int) -> mx.array:
    return mx.random.normal(shape).astype(mx.bfloat16).astype(mx.float32)


def product(added: bool) -> mx.array:
    x, packed = drawn(9, 256), mx.quantize(drawn(48, 256), 64, 4)
    residual = drawn(9, 24) if added else None
    return verify_matmul.metal(x, *packed, 64, 4, residual, added, build=metal_kernel)


def attention(sinks: bool) -> mx.array:
    queries, keys = drawn(1, 4, 9, 64), drawn(1, 2, 600, 64)
    values = mx.where(mx.random.uniform(shape=keys.shape) < 0.5, -2.0, 0.25)  # powers of 2, because weights have more bits
    arguments = mx.array([590], mx.int32), 0.123, True, 0, drawn(4) if sinks else None
    return verify_attention.metal(queries, keys, values, *arguments, row_exact=True, build=metal_kernel)


def recurrence(key_dim: int) -> list[mx.array]:
    def block() -> list[mx.array]:
        queries, keys = (0.2 * drawn(1, 4, 2, key_dim) for _ in range(2))
        decay, beta = (mx.random.uniform(0.5, 1, (1, 4, 2)) for _ in range(2))
        return [queries, keys, drawn(1, 4, 2, 16), decay, beta]

    state, tape = drawn(1, 2, 16, key_dim), Tape(*block()[1:])
    found = gated_delta_replay.metal(*block(), state, tape, mx.array([3], mx.int32), build=metal_kernel)
    return [found[0], found[1]]


CASES: dict[str, Any] = {
    "verify_matmul": lambda: product(False),
    "verify_matmul, gated, residual": lambda: product(True),
    "verify_attention": lambda: attention(False),
    "verify_attention, sinks": lambda: attention(True),
    "gated_delta_replay, 32 key dims": lambda: recurrence(32),
    "gated_delta_replay, 64 key dims": lambda: recurrence(64),
}


# Without the instruction, both variants are the same program on an x86 CPU, and the test couldn't fail
@pytest.mark.skipif(CPU_FLAGS.exists() and " fma" not in CPU_FLAGS.read_text() and bool(FUSED[2:]), reason="this CPU can't fuse")
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[] if at in (1, 3, 4) else [pytest.mark.long]) for at, case in enumerate(CASES)]
)
def test_the_bits_do_not_depend_on_what_the_compiler_fuses(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "SCHEDULES", kernel.SCHEDULES[:1])
    usual, *_ = compilers()
    results = []
    for options in ((), tuple(FUSED)):
        monkeypatch.setattr(kernel, "compilers", lambda options=options: (replace(usual, options=options),))
        mx.random.seed(3)
        found = CASES[case]()
        results.append(found if isinstance(found, list) else [found])
    for unfused, fused in zip(*results, strict=True):
        assert mx.array_equal(unfused, fused)
        assert mx.var(fused).item() > 0
