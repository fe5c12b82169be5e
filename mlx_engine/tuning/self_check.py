"""Check that this build computes correctly on this machine, for `Slipstream --selftest`."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import mlx.core as mx
import numpy as np

from mlx_engine import kernels
from mlx_engine.decoding import noise
from mlx_engine.kernels import (
    attention_inputs,
    block_verify,
    delta_inputs,
    gated_delta_replay,
    kv_injection,
    verify_attention,
    verify_matmul,
)
from mlx_engine.kernels.agreement import MOST, off_by

CheckState = Literal["ok", "fail", "skipped"]


@dataclass(frozen=True)
class CheckResult:
    """The result of one check."""

    name: str
    state: CheckState
    detail: str


def check_device() -> Iterator[CheckResult]:
    """Name the device, and check a matrix product whose exact result is known."""
    has_metal = mx.metal.is_available()
    name = mx.device_info().get("device_name", "a GPU") if has_metal else "CPU"
    yield CheckResult("device", "ok", f"{name}, {'Metal' if has_metal else 'no Metal'}")
    rng = np.random.default_rng(0)
    left, right = (rng.integers(-8, 9, shape) for shape in ((96, 512), (512, 160)))
    product = mx.array(left.astype(np.float32)) @ mx.array(right.astype(np.float32))
    # Small integers: every sum is exact in any order, in float32 and in the format of matrix units.
    wrong = int((np.array(product) != left @ right).sum())
    yield CheckResult("matmul", "fail" if wrong else "ok", f"{wrong} of {product.size} entries are wrong" if wrong else "exact")


def check_kernels(build: Any = None) -> Iterator[CheckResult]:
    """Check every kernel against its reference. Without Metal they are skipped; tests pass the emulator as `build`."""
    for name in sorted(module.name for module in pkgutil.iter_modules(kernels.__path__)):
        kernel = importlib.import_module(f"{kernels.__name__}.{name}")
        if not hasattr(kernel, "metal"):
            continue  # not a kernel
        if build is None and not mx.metal.is_available():
            yield CheckResult(name, "skipped", "no Metal on this machine; the reference runs")
        elif name not in _CASES:
            yield CheckResult(name, "fail", "nothing checks this kernel; add a case to mlx_engine/tuning/self_check.py")
        else:
            yield _run(name, _CASES[name], build or mx.fast.metal_kernel)


def _run(name: str, case: Callable[[Any], str], build: Any) -> CheckResult:
    try:
        wrong = case(build)
    except Exception as error:  # whatever goes wrong in a driver, check the other kernels too
        wrong = f"{type(error).__name__}: {error}"
    return CheckResult(name, "fail" if wrong else "ok", wrong or "equals its reference")


_MOST = tuple((dtype, MOST[dtype]) for dtype in (mx.float32, mx.bfloat16))


def _difference(what: str, found: mx.array, expected: mx.array, most: float) -> str:
    """Describe a difference of more than `most`; empty if there is none."""
    share = off_by(found, expected)
    return "" if share <= most else f"{what}: off by {share:.2g} of the largest value, where {most:.2g} is allowed"


def _kv_injection(build: Any) -> str:
    frequencies = 10000.0 ** (mx.arange(0, 64, 2, dtype=mx.float32) / 64)
    for dtype, most in _MOST:
        mx.random.seed(1)
        projected = mx.random.normal((16, 3, 2, 2, 64)).astype(dtype)
        norm = (1 + 0.1 * mx.random.normal((3, 64))).astype(dtype)
        found = kv_injection.metal(projected, norm, frequencies, 37, 1e-6, build=build)
        expected = kv_injection.reference(projected.astype(mx.float32), norm.astype(mx.float32), frequencies, 37, 1e-6)
        if wrong := _difference(str(dtype), found, expected, most):
            return wrong
    return ""


def _attention_inputs(build: Any) -> str:
    frequencies = 10000.0 ** (mx.arange(0, 32, 2, dtype=mx.float32) / 32)
    for dtype, most in _MOST:
        for gated in (False, True):
            mx.random.seed(6)
            projected = mx.random.normal((16, (12 if gated else 8) * 64)).astype(dtype)
            q_norm, k_norm = ((1 + 0.1 * mx.random.normal((64,))).astype(dtype) for _ in range(2))
            found = attention_inputs.metal(projected, q_norm, k_norm, frequencies, 37, 4, 1e-6, 1.0, gated, build=build)
            projected, q_norm, k_norm = (array.astype(mx.float32) for array in (projected, q_norm, k_norm))
            expected = attention_inputs.reference(projected, q_norm, k_norm, frequencies, 37, 4, 1e-6, 1.0, gated)
            for what, one, other in zip(("queries", "keys", "values"), found, expected, strict=True):
                if wrong := _difference(f"{dtype}, {what}", one, other, most):
                    return wrong
    return ""


def _delta_inputs(build: Any) -> str:
    heads = delta_inputs.Heads(2, 64, 4, 64)
    for dtype, most in _MOST:
        mx.random.seed(7)
        projected = mx.random.normal((16, heads.columns)).astype(dtype)
        held, first = mx.random.normal((1, 19, heads.channels)).astype(dtype), mx.array([5], mx.int32)
        taps = mx.random.normal((heads.channels, 4, 1)).astype(dtype)
        log_rate, bias = mx.random.normal((4,)), mx.random.normal((4,)).astype(dtype)
        found = delta_inputs.metal(projected, held, taps, log_rate, bias, heads, first, build=build)
        projected, held, taps, bias = (array.astype(mx.float32) for array in (projected, held, taps, bias))
        expected = delta_inputs.reference(projected, held, taps, log_rate, bias, heads, first)
        for what in vars(expected):
            if wrong := _difference(f"{dtype}, {what}", getattr(found, what), getattr(expected, what), most):
                return wrong
    return ""


def _verify_matmul(build: Any) -> str:
    for dtype, most in _MOST:
        mx.random.seed(3)
        x, weight = mx.random.normal((16, 256)).astype(dtype), mx.random.normal((96, 256)).astype(dtype)
        expected = x.astype(mx.float32) @ weight.astype(mx.float32).T
        if wrong := _difference(f"{dtype}", verify_matmul.metal(x, weight, build=build), expected, most):
            return wrong
        for bits in (4, 8):
            packed, scales, biases = mx.quantize(weight, 64, bits)
            plain = mx.dequantize(packed, scales.astype(mx.float32), biases.astype(mx.float32), 64, bits)
            found = verify_matmul.metal(x, packed, scales, biases, 64, bits, build=build)
            if wrong := _difference(f"{bits} bits, {dtype}", found, x.astype(mx.float32) @ plain.T, most):
                return wrong
        residual = mx.random.normal((16, 48)).astype(dtype)
        found = verify_matmul.metal(x, weight, residual=residual, gated=True, build=build)
        plain, added = (array.astype(mx.float32) for array in (weight, residual))
        expected = verify_matmul.reference(x.astype(mx.float32), plain, residual=added, gated=True)
        if wrong := _difference(f"gate and residual, {dtype}", found, expected, most):
            return wrong
    return ""


def _verify_attention(build: Any) -> str:
    length = mx.array([200], mx.int32)
    for dtype, most in _MOST:
        for dim, window in ((64, 0), (128, 40), (256, 0)):
            mx.random.seed(4)
            queries = mx.random.normal((1, 4, 16, dim)).astype(dtype)
            keys, values = (mx.random.normal((1, 2, 256, dim)).astype(dtype) for _ in range(2))
            found = verify_attention.metal(queries, keys, values, length, dim**-0.5, True, window, build=build)
            queries, keys, values = (array.astype(mx.float32) for array in (queries, keys, values))
            expected = verify_attention.reference(queries, keys, values, length, dim**-0.5, True, window)
            if wrong := _difference(f"{dtype}, head dim {dim}", found, expected, most):
                return wrong
    return ""


def _gated_delta_replay(build: Any) -> str:
    key_heads, key_dim, value_heads, value_dim = 2, 64, 4, 64
    for dtype, most in _MOST:
        mx.random.seed(5)
        state = 0.1 * mx.random.normal((1, value_heads, value_dim, key_dim))
        tape = gated_delta_replay.Tape.empty(key_heads, key_dim, value_heads, value_dim, mx.float32)
        expected_tape, found_tape = tape, gated_delta_replay.Tape.empty(key_heads, key_dim, value_heads, value_dim, dtype)
        expected_state = found_state = state
        for kept in (0, 11):  # rows of the tape that were kept: none, and most of a block
            rows = [mx.random.normal((1, 16, key_heads, key_dim)) for _ in range(2)]
            queries, keys = (row / mx.linalg.norm(row, axis=-1, keepdims=True) for row in rows)
            values = mx.random.normal((1, 16, value_heads, value_dim))
            decay, beta = mx.random.uniform(0.8, 1.0, (1, 16, value_heads)), mx.random.uniform(shape=(1, 16, value_heads))
            queries, keys, values, beta = (array.astype(dtype) for array in (queries, keys, values, beta))
            on_device = mx.array([kept], mx.int32)
            found, found_state, found_tape = gated_delta_replay.metal(
                queries, keys, values, decay, beta, found_state, found_tape, on_device, build=build
            )
            queries, keys, values, beta = (array.astype(mx.float32) for array in (queries, keys, values, beta))
            expected, expected_state, expected_tape = gated_delta_replay.reference(
                queries, keys, values, decay, beta, expected_state, expected_tape, kept
            )
            for what, one, other in (("output", found, expected), ("state", found_state, expected_state)):
                if wrong := _difference(f"{dtype}, {what}", one, other, most):
                    return wrong
    return ""


def _block_verify(build: Any) -> str:
    mx.random.seed(2)
    logits, seed, first = mx.random.normal((16, 9000)) * 4, 987654321, 40
    words = mx.array([seed & 0xFFFFFFFF, seed >> 32], mx.uint32)
    sampled = block_verify.Draw(0.7, noise.gumbel(seed, first, 16, 9000), words, mx.array([first], mx.uint32))
    for draw in (None, sampled):
        choices = block_verify.reference(logits, mx.zeros((15,), mx.uint32), draw).choices
        drafts = mx.where(mx.arange(15) == 9, choices[:-1] + 1, choices[:-1]).astype(mx.uint32)
        expected = block_verify.reference(logits, drafts, draw)
        found = block_verify.metal(logits, drafts, draw, build=build)
        counted, right = found.count().tolist(), expected.count().tolist()
        if found.choices.tolist() != expected.choices.tolist() or counted != right:
            return f"{'greedy' if draw is None else 'sampled'}: counts {counted}, the reference {right}"
    return ""


_CASES: dict[str, Callable[[Any], str]] = {
    "attention_inputs": _attention_inputs,
    "block_verify": _block_verify,
    "delta_inputs": _delta_inputs,
    "gated_delta_replay": _gated_delta_replay,
    "kv_injection": _kv_injection,
    "verify_attention": _verify_attention,
    "verify_matmul": _verify_matmul,
}
