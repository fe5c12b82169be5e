"""The operations that the decoding loop takes from this room, as a table: plain MLX, or kernels in its place."""

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
from mlx_engine.kernels.block_verify import Verdict
from mlx_engine.kernels.delta_inputs import Rows
from mlx_engine.kernels.gated_delta_replay import Tape


@dataclass(frozen=True)
class Operations:
    """What a pair runs. Every entry but the last has the contract of its file's `reference`.

    `traceable`: none of them looks at numbers, so that what calls them can be compiled.
    """

    kv_injection: Callable[..., mx.array] = kv_injection.reference
    block_verify: Callable[..., Verdict] = block_verify.reference
    attention_inputs: Callable[..., Inputs] = attention_inputs.reference
    delta_inputs: Callable[..., Rows] = delta_inputs.reference
    gated_delta_replay: Callable[..., tuple[mx.array, mx.array, Tape]] = gated_delta_replay.reference
    verify_attention: Callable[..., mx.array] = verify_attention.reference
    verify_matmul: Callable[..., mx.array] = verify_matmul.reference
    traceable: bool = True

    @property
    def kernels(self) -> list[str]:
        """Names of those that are not plain MLX."""
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


# Of what every layer calls, the argument whose third dimension grows with the context, if there is one
_EVERY_LAYER: dict[str, int | None] = {"attention_inputs": None, "verify_attention": 1, "verify_matmul": None}


def with_kernels(names: tuple[str, ...] = tuple(KERNELS), build: Any = mx.fast.metal_kernel) -> Operations:
    """The table with these kernels in place of plain MLX; `build` makes a kernel. What one cannot take is done plainly."""
    entries: dict[str, Any] = {
        name: _Compiled(name) if build is mx.fast.metal_kernel and name in _EVERY_LAYER else partial(_run, KERNELS[name], build)
        for name in names
    }
    return replace(PLAIN, **entries)


def _run(kernel: Any, build: Any, *arguments: Any) -> Any:
    return kernel.reference(*arguments) if kernel.unsupported(*arguments) else kernel.metal(*arguments, build=build)


class _Compiled:
    """A kernel's call, traced once for every set of shapes and settings.

    At every other call MLX would put the kernel's signature together anew, which takes the host longer than all the rest of a
    layer. The loop's other kernels are called once a round.
    """

    def __init__(self, name: str) -> None:
        self._kernel: Any = KERNELS[name]
        self._growing = _EVERY_LAYER[name]
        self._length = -1
        self._call: Any = mx.compile(self._traced)

    def __call__(self, *arguments: Any) -> Any:
        if self._kernel.unsupported(*arguments):
            return self._kernel.reference(*arguments)
        length = self._length if self._growing is None else arguments[self._growing].shape[2]
        if length != self._length:  # traces for a shorter context have had their day
            self._call, self._length = mx.compile(self._traced), length
        return self._call(*arguments)

    def _traced(self, *arguments: Any) -> Any:
        return self._kernel.metal(*arguments)
