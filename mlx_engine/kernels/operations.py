"""The operations that decoding uses, as a table: plain MLX, or kernels in its place."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from types import ModuleType
from typing import Any

import mlx.core as mx

from mlx_engine.kernels import (
    attention_inputs,
    block_verify,
    delta_inputs,
    gated_delta_replay,
    kv_injection,
    verify_attention,
    verify_matmul,
)
from mlx_engine.kernels.attention_inputs import Inputs
from mlx_engine.kernels.block_verify import BlockVerdict
from mlx_engine.kernels.delta_inputs import Rows
from mlx_engine.kernels.gated_delta_replay import Tape


@dataclass(frozen=True)
class Operations:
    """What a pair runs. Every entry but the last has the contract of its module's `reference`.

    Attributes:
        traceable: whether no entry reads the contents of arrays, so that code that calls them can be compiled.
    """

    kv_injection: Callable[..., mx.array] = kv_injection.reference
    block_verify: Callable[..., BlockVerdict] = block_verify.reference
    attention_inputs: Callable[..., Inputs] = attention_inputs.reference
    delta_inputs: Callable[..., Rows] = delta_inputs.reference
    gated_delta_replay: Callable[..., tuple[mx.array, mx.array, Tape]] = gated_delta_replay.reference
    verify_attention: Callable[..., mx.array] = verify_attention.reference
    verify_matmul: Callable[..., mx.array] = verify_matmul.reference
    traceable: bool = True

    @property
    def kernels(self) -> list[str]:
        """Names of the entries that are not plain MLX."""
        return [name for name in KERNELS if getattr(self, name) is not getattr(PLAIN, name)]


PLAIN = Operations()
KERNELS: dict[str, ModuleType] = {
    "kv_injection": kv_injection,
    "block_verify": block_verify,
    "attention_inputs": attention_inputs,
    "delta_inputs": delta_inputs,
    "gated_delta_replay": gated_delta_replay,
    "verify_attention": verify_attention,
    "verify_matmul": verify_matmul,
}
# Kernels that every layer calls: the argument whose third dimension grows with the context, if there is one
_PER_LAYER: dict[str, int | None] = {"attention_inputs": None, "verify_attention": 1, "verify_matmul": None}


def with_kernels(names: tuple[str, ...] = tuple(KERNELS), build: Any = mx.fast.metal_kernel) -> Operations:
    """The table with these kernels, built by `build`. Arguments that a kernel does not support run as plain MLX."""
    entries: dict[str, Any] = {
        name: _CompiledKernel(name) if build is mx.fast.metal_kernel and name in _PER_LAYER else partial(_run, KERNELS[name], build)
        for name in names
    }
    return replace(PLAIN, **entries)


def _run(kernel: Any, build: Any, *arguments: Any) -> Any:
    return kernel.metal(*arguments, build=build) if kernel.supports(*arguments) else kernel.reference(*arguments)


class _CompiledKernel:
    """A kernel's call, traced once for every set of shapes and settings.

    Otherwise MLX would build the kernel's signature on every call, which takes the host longer than the rest of a layer. Kernels
    that run once per round are not compiled.
    """

    def __init__(self, name: str) -> None:
        self._kernel: Any = KERNELS[name]
        self._growing = _PER_LAYER[name]
        self._length = -1
        self._call: Any = None

    def __call__(self, *arguments: Any) -> Any:
        if not self._kernel.supports(*arguments):
            return self._kernel.reference(*arguments)
        length = 0 if self._growing is None else arguments[self._growing].shape[2]
        if length != self._length:  # drop traces for a shorter context
            self._call, self._length = mx.compile(partial(self._kernel.metal)), length
        return self._call(*arguments)
