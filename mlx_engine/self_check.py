"""Does this build compute rightly on this machine? Answers for `Slipstream --selftest`, step by step and in words."""

import importlib
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import mlx.core as mx
import numpy as np

from mlx_engine import kernels
from mlx_engine.decoding import noise
from mlx_engine.kernels import block_verify, kv_injection

State = Literal["ok", "fail", "skipped"]


@dataclass(frozen=True)
class Step:
    """What was tried, how it went, and what there is to say of it."""

    name: str
    state: State
    detail: str


def check_device() -> Iterator[Step]:
    """Which device this is, and one matrix product on it whose exact result is known."""
    has_metal = mx.metal.is_available()
    name = mx.device_info().get("device_name", "a GPU") if has_metal else "CPU"
    yield Step("device", "ok", f"{name}, {'Metal' if has_metal else 'no Metal'}")
    draw = np.random.default_rng(0)
    left, right = (draw.integers(-8, 9, shape) for shape in ((96, 512), (512, 160)))
    product = mx.array(left.astype(np.float32)) @ mx.array(right.astype(np.float32))
    # Small whole numbers: every sum is exact in any order, in float32 and in what matrix units round it to.
    wrong = int((np.array(product) != left @ right).sum())
    yield Step("matmul", "fail" if wrong else "ok", f"{wrong} of {product.size} entries are wrong" if wrong else "exact")


def check_kernels(build: Any = None) -> Iterator[Step]:
    """Every kernel of ours against its reference. Without Metal they are skipped; tests pass the emulator as `build`."""
    for name in sorted(module.name for module in pkgutil.iter_modules(kernels.__path__)):
        kernel = importlib.import_module(f"{kernels.__name__}.{name}")
        if not hasattr(kernel, "metal"):
            yield Step(name, "skipped", "has no Metal version")
        elif build is None and not mx.metal.is_available():
            yield Step(name, "skipped", "no Metal here; the reference is what runs")
        elif name not in _CASES:
            yield Step(name, "fail", "nothing checks this kernel; give it a case in mlx_engine/self_check.py")
        else:
            yield _step(name, _CASES[name], build or mx.fast.metal_kernel)


def _step(name: str, case: Callable[[Any], str], build: Any) -> Step:
    try:
        wrong = case(build)
    except Exception as error:  # whatever a driver makes of a kernel, the other steps are still of interest
        wrong = f"{type(error).__name__}: {error}"
    return Step(name, "fail" if wrong else "ok", wrong or "equals its reference")


def _kv_injection(build: Any) -> str:
    for dtype, most in ((mx.float32, 1e-4), (mx.bfloat16, 3e-2)):
        mx.random.seed(1)
        projected = mx.random.normal((16, 3, 2, 2, 64)).astype(dtype)
        norm = (1 + 0.1 * mx.random.normal((3, 64))).astype(dtype)
        frequencies = 10000.0 ** (mx.arange(0, 64, 2, dtype=mx.float32) / 64)
        found = kv_injection.metal(projected, norm, frequencies, 37, 1e-6, build=build).astype(mx.float32)
        wanted = kv_injection.reference(projected.astype(mx.float32), norm.astype(mx.float32), frequencies, 37, 1e-6)
        error = float(np.abs(np.array(found) - np.array(wanted)).max() / np.abs(np.array(wanted)).max())
        if not error <= most:
            return f"{dtype}: differs by {error:.2g} of the largest value, where {most:.2g} is allowed"
    return ""


def _block_verify(build: Any) -> str:
    mx.random.seed(2)
    logits, seed, first = mx.random.normal((16, 9000)) * 4, 987654321, 40
    words = mx.array([seed & 0xFFFFFFFF, seed >> 32], mx.uint32)
    sampled = block_verify.Draw(0.7, noise.gumbel(seed, first, 16, 9000), words, mx.array([first], mx.uint32))
    for draw in (None, sampled):
        choices, _ = block_verify.reference(logits, mx.zeros((15,), mx.uint32), draw)
        drafts = mx.where(mx.arange(15) == 9, choices[:-1] + 1, choices[:-1]).astype(mx.uint32)
        wanted = block_verify.reference(logits, drafts, draw)
        found = block_verify.metal(logits, drafts, draw, build=build)
        if [one.tolist() for one in found] != [one.tolist() for one in wanted]:
            return f"{'greedy' if draw is None else 'sampled'}: chose {found[1].tolist()}, the reference {wanted[1].tolist()}"
    return ""


_CASES: dict[str, Callable[[Any], str]] = {"kv_injection": _kv_injection, "block_verify": _block_verify}
