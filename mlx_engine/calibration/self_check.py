"""Check that this build computes correctly on this machine.

Used by `Slipstream --selftest` and before kernel trials.
"""

from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import mlx.core as mx
import numpy as np

from mlx_engine.decoding import noise
from mlx_engine.kernels import block_verify, delta_inputs, gated_delta_replay
from mlx_engine.kernels.agreement import CheckedKernel
from mlx_engine.kernels.operations import KERNELS

CheckState = Literal["ok", "fail", "skipped"]


@dataclass(frozen=True)
class CheckResult:
    """The result of one check."""

    name: str
    state: CheckState
    detail: str


def check_device() -> Iterator[CheckResult]:
    """Report the device, and check a matrix product with a known exact result."""
    has_metal = _uses_metal()
    name = mx.device_info().get("device_name", "a GPU") if has_metal else "CPU"
    yield CheckResult("device", "ok", f"{name}, {'Metal' if has_metal else 'no Metal'}")
    rng = np.random.default_rng(0)
    left, right = (rng.integers(-8, 9, shape) for shape in ((96, 512), (512, 160)))
    product = mx.array(left.astype(np.float32)) @ mx.array(right.astype(np.float32))
    # Sums of small integers are exact in any order, in float32 and in the formats of matrix units
    wrong = int((np.array(product) != left @ right).sum())
    yield CheckResult("matmul", "fail" if wrong else "ok", f"{wrong} of {product.size} entries are wrong" if wrong else "exact")


def check_kernels(build: Any = mx.fast.metal_kernel) -> Iterator[CheckResult]:
    """Check every kernel against its reference, or skip them all without Metal.

    Tests pass the emulator as `build`.
    """
    for name in sorted(KERNELS):
        if build is mx.fast.metal_kernel and not _uses_metal():
            yield CheckResult(name, "skipped", "Metal isn't used; the reference is")
        elif name not in _CASES:
            yield CheckResult(name, "fail", "not tested; add a case to mlx_engine/calibration/self_check.py")
        else:
            wrong = _result(difference(name, build))
            yield CheckResult(name, "fail" if wrong else "ok", wrong or "matches its reference")


def _uses_metal() -> bool:
    return mx.default_device().type == mx.gpu and mx.metal.is_available()


def difference(name: str, build: Any) -> Generator[None, None, str]:
    """Describe a kernel's first difference from its reference; empty if none.

    Yields after each case, because each compiles a kernel.
    """
    checked, count = CheckedKernel(name, build), 0
    run = getattr(checked.operations(), name)
    try:
        for dtype in (mx.float32, mx.bfloat16):
            mx.random.seed(1)
            for arguments in _CASES[name](dtype):
                run(*arguments)
                count += 1
                yield
    except Exception as error:  # a driver may raise anything; check the other kernels too
        return f"{type(error).__name__}: {error}"
    found = checked.agreement
    return found.wrong or ("" if found.shapes == count else f"{count - found.shapes} of {count} cases were not compared")


def _result(steps: Generator[None, None, str]) -> str:
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return str(end.value)


def _random(dtype: mx.Dtype, *shape: int) -> mx.array:
    return mx.random.normal(shape).astype(dtype)


def _norm(dtype: mx.Dtype, *shape: int) -> mx.array:
    return (1 + 0.1 * mx.random.normal(shape)).astype(dtype)


def _frequencies(dim: int) -> mx.array:
    return 10000.0 ** (mx.arange(0, dim, 2, dtype=mx.float32) / dim)


def _kv_injection(dtype: mx.Dtype) -> Iterator[tuple]:
    yield _random(dtype, 16, 3, 2, 2, 64), _norm(dtype, 3, 64), _frequencies(64), 37, 1e-6


def _attention_inputs(dtype: mx.Dtype) -> Iterator[tuple]:
    for gated in (False, True):
        projected = _random(dtype, 16, (12 if gated else 8) * 64)
        yield projected, _norm(dtype, 64), _norm(dtype, 64), _frequencies(32), 37, 4, 1e-6, 1.0, gated


def _delta_inputs(dtype: mx.Dtype) -> Iterator[tuple]:
    heads = delta_inputs.DeltaHeads(2, 64, 4, 64)
    held, first = _random(dtype, 1, 19, heads.channels), mx.array([5], mx.int32)
    taps, log_rate, bias = _random(dtype, heads.channels, 4, 1), mx.random.normal((4,)), _random(dtype, 4)
    yield _random(dtype, 16, heads.columns), held, taps, log_rate, bias, heads, first


def _verify_matmul(dtype: mx.Dtype) -> Iterator[tuple]:
    x, weight = _random(dtype, 16, 256), _random(dtype, 96, 256)
    yield x, weight
    for bits in (4, 8):
        yield x, *mx.quantize(weight, 64, bits), 64, bits
    yield x, weight, None, None, 64, 4, _random(dtype, 16, 48), True


def _verify_attention(dtype: mx.Dtype) -> Iterator[tuple]:
    for dim, window in ((64, 0), (128, 40), (256, 0)):
        keys, values = (_random(dtype, 1, 2, 256, dim) for _ in range(2))
        yield _random(dtype, 1, 4, 16, dim), keys, values, mx.array([200], mx.int32), dim**-0.5, True, window


def _gated_delta_replay(dtype: mx.Dtype) -> Iterator[tuple]:
    key_heads, key_dim, value_heads, value_dim = 2, 64, 4, 64
    state = 0.1 * mx.random.normal((1, value_heads, value_dim, key_dim))
    tape = gated_delta_replay.Tape.empty(key_heads, key_dim, value_heads, value_dim, dtype)
    for kept in (0, 11):  # kept rows of the tape: none, and most of a block
        rows = [mx.random.normal((1, 16, key_heads, key_dim)) for _ in range(2)]
        queries, keys = ((row / mx.linalg.norm(row, axis=-1, keepdims=True)).astype(dtype) for row in rows)
        decay, beta = mx.random.uniform(0.8, 1.0, (1, 16, value_heads)), mx.random.uniform(shape=(1, 16, value_heads))
        values, on_device = _random(dtype, 1, 16, value_heads, value_dim), mx.array([kept], mx.int32)
        arguments = (queries, keys, values, decay, beta.astype(dtype), state, tape, on_device)
        yield arguments
        _, state, tape = gated_delta_replay.reference(*arguments)


def _block_verify(dtype: mx.Dtype) -> Iterator[tuple]:
    logits, seed, first = _random(dtype, 16, 9000) * 4, 987654321, 40
    words = mx.array([seed & 0xFFFFFFFF, seed >> 32], mx.uint32)
    sampled = block_verify.Draw(0.7, noise.gumbel(seed, first, 16, 9000), words, mx.array([first], mx.uint32))
    for draw in (None, sampled):
        choices = block_verify.reference(logits, mx.zeros((15,), mx.uint32), draw).choices
        yield logits, mx.where(mx.arange(15) == 9, choices[:-1] + 1, choices[:-1]).astype(mx.uint32), draw


_ALL = (_attention_inputs, _block_verify, _delta_inputs, _gated_delta_replay, _kv_injection, _verify_attention, _verify_matmul)
_CASES: dict[str, Callable[[mx.Dtype], Iterator[tuple]]] = {case.__name__.removeprefix("_"): case for case in _ALL}
