"""The table of operations: a kernel that every layer calls is traced once for every set of shapes and settings.

No kernel can be called here: its reference replaces it and records the calls.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.kernels import verify_matmul
from mlx_engine.kernels.operations import ALL_ROWS, KERNELS, PLAIN, SEVERAL_ROWS, with_kernels
from tests import metal_emulator


@contextmanager
def asked() -> Iterator[list[str]]:
    """Record the names of kernels whose Metal call is made, in order."""
    seen: list[str] = []

    def noting(name: str, reference: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *given, **_: seen.append(name) or reference(*given)

    with pytest.MonkeyPatch.context() as patch:
        for name, kernel in KERNELS.items():
            patch.setattr(kernel, "metal", noting(name, kernel.reference))
        yield seen


def same(found: Any, wanted: Any) -> None:
    for ours, theirs in zip(*((each,) if isinstance(each, mx.array) else each for each in (found, wanted)), strict=True):
        # 1e-5: in a compiled function MLX fuses small operations, and a processor that multiplies and adds in one step rounds once
        # less there; on x86-64, where its C++ compiler uses none, they differ by nothing
        np.testing.assert_allclose(np.array(ours), np.array(theirs), rtol=1e-5, atol=1e-5)


def normal(*shape: int) -> mx.array:
    return mx.random.normal(shape)


@given(
    rows=st.lists(st.integers(1, 16), min_size=1, max_size=6),
    bits=st.sampled_from([4, 8, 16]),
    gated=st.booleans(),
    adds=st.booleans(),
)
def test_a_product_is_traced_once_for_each_number_of_rows(rows: list[int], bits: int, gated: bool, adds: bool) -> None:
    weights = (normal(64, 64), None, None) if bits == 16 else mx.quantize(normal(64, 64), 32, bits)
    with asked() as seen:
        operations = with_kernels()
        for count in rows:
            residual = normal(count, 32 if gated else 64) if adds else None
            arguments = (normal(count, 64), *weights, 32, bits, residual, gated)
            same(operations.verify_matmul(*arguments), PLAIN.verify_matmul(*arguments))
    assert seen == ["verify_matmul"] * len(set(rows))


def test_different_settings_for_the_same_shapes_get_separate_traces() -> None:
    weights, x = mx.quantize(normal(64, 64), 32, 4), normal(3, 64)
    queries, keys, length = normal(1, 4, 3, 64), normal(1, 2, 40, 64), mx.array([30], mx.int32)
    projected, norm, frequencies = normal(3, 8 * 64), normal(64), normal(16)
    with asked() as seen:
        operations = with_kernels()
        for _ in range(2):
            for gated in (False, True):
                arguments: tuple[Any, ...] = (x, *weights, 32, 4, None, gated)
                same(operations.verify_matmul(*arguments), PLAIN.verify_matmul(*arguments))
            for scale, causal, window in ((0.5, True, 0), (0.25, True, 0), (0.5, False, 0), (0.5, True, 7)):
                arguments = (queries, keys, keys, length, scale, causal, window)
                same(operations.verify_attention(*arguments), PLAIN.verify_attention(*arguments))
            for at, eps in ((5, 1e-6), (6, 1e-6), (5, 1e-2)):
                arguments = (projected, norm, norm, frequencies, mx.array([at], mx.int32), 4, eps)
                same(operations.attention_inputs(*arguments), PLAIN.attention_inputs(*arguments))
    assert [seen.count(name) for name in ("verify_matmul", "verify_attention", "attention_inputs")] == [2, 4, 2]


def test_traces_for_a_shorter_context_are_dropped() -> None:
    with asked() as seen:
        operations = with_kernels()
        for capacity in (256, 256, 512, 512, 256, 256):
            keys = normal(1, 2, capacity, 64)
            arguments = (normal(1, 4, 3, 64), keys, keys, mx.array([30], mx.int32), 0.5)
            same(operations.verify_attention(*arguments), PLAIN.verify_attention(*arguments))
    assert len(seen) == 3


def test_layers_with_windows_keep_their_traces_next_to_layers_without() -> None:
    with asked() as seen:
        operations = with_kernels()
        for capacity, window in ((512, 0), (256, 40)) * 3:
            keys = normal(1, 2, capacity, 64)
            arguments = (normal(1, 4, 3, 64), keys, keys, mx.array([30], mx.int32), 0.5, True, window)
            same(operations.verify_attention(*arguments), PLAIN.verify_attention(*arguments))
    assert len(seen) == 2


def test_unsupported_calls_run_the_reference_every_time() -> None:
    with asked() as seen:
        operations = with_kernels()
        for count in [verify_matmul.ROWS + 1] * 2:
            x, weight = normal(count, 64), normal(64, 64)
            same(operations.verify_matmul(x, weight), PLAIN.verify_matmul(x, weight))
    assert seen == []


def test_a_kernel_that_cannot_be_traced_is_called_every_time() -> None:
    """Builders other than MLX's, such as the emulator, compute immediately."""
    with asked() as seen:
        operations = with_kernels(build=metal_emulator.metal_kernel)
        for _ in range(3):
            operations.verify_matmul(normal(2, 64), normal(64, 64))
    assert seen == ["verify_matmul"] * 3


def test_a_failed_trace_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    x, weight, calls = normal(2, 64), normal(64, 64), []

    def fails_once(*given: Any) -> mx.array:
        calls.append(given)
        return 1 / 0 if len(calls) == 1 else verify_matmul.reference(*given)

    monkeypatch.setattr(verify_matmul, "metal", fails_once)
    operations = with_kernels(("verify_matmul",))
    with pytest.raises(ZeroDivisionError):
        operations.verify_matmul(x, weight)
    same(operations.verify_matmul(x, weight), PLAIN.verify_matmul(x, weight))
    assert len(calls) == 2


def test_other_numbers_of_rows_than_wanted_run_as_plain_mlx() -> None:
    queries, keys, length = normal(1, 4, 3, 64), normal(1, 2, 40, 64), mx.array([30], mx.int32)
    logits, norm, frequencies = normal(3, 100), normal(64), normal(16)
    with asked() as seen:
        for wanted in (ALL_ROWS, SEVERAL_ROWS, frozenset({1}), frozenset[int]()):
            operations = with_kernels(dict.fromkeys(KERNELS, wanted))
            for rows in (1, 3):
                operations.verify_matmul(normal(rows, 64), normal(8, 64))
                operations.verify_attention(queries[:, :, :rows], keys, keys, length, 1.0)
                operations.attention_inputs(normal(rows, 8 * 64), norm, norm, frequencies, 5, 4, 1e-6)
                operations.block_verify(logits[:rows], mx.zeros((rows - 1,), mx.uint32) if rows > 1 else None, None)
            each = ["verify_matmul", "verify_attention", "attention_inputs", "block_verify"]
            assert seen == each * len(wanted & {1, 3})
            seen.clear()
    assert with_kernels(()) == PLAIN
