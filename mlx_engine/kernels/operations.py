"""The table of operations that decoding uses, each in plain MLX or as a kernel."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import ModuleType
from typing import Any

import mlx.core as mx

from mlx_engine.contract.limits import MAX_BLOCK_ROWS
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
from mlx_engine.kernels.delta_inputs import DeltaRows
from mlx_engine.kernels.gated_delta_replay import Tape

Rows = frozenset[int]  # numbers of rows of a pass; the last of MAX_BLOCK_ROWS stands for more, too
ALL_ROWS: Rows = frozenset(range(1, MAX_BLOCK_ROWS + 1))
SEVERAL_ROWS: Rows = ALL_ROWS - {1}


@dataclass(frozen=True)
class Operations:
    """The operations of a pair. Each has the contract of its module's `reference`.

    Attributes:
        traceable: whether callers can be compiled, because no operation reads array contents.
        rows: numbers of rows of a pass for which each kernel is used; a kernel that is missing here is used for all.
        row_exact: whether a row's result must not depend on the number of rows in a pass (`targets.exact`).
    """

    kv_injection: Callable[..., mx.array] = kv_injection.reference
    block_verify: Callable[..., BlockVerdict] = block_verify.reference
    attention_inputs: Callable[..., Inputs] = attention_inputs.reference
    delta_inputs: Callable[..., DeltaRows] = delta_inputs.reference
    gated_delta_replay: Callable[..., tuple[mx.array, mx.array, Tape]] = gated_delta_replay.reference
    verify_attention: Callable[..., mx.array] = verify_attention.reference
    verify_matmul: Callable[..., mx.array] = verify_matmul.reference
    traceable: bool = True
    rows: Mapping[str, Rows] = field(default_factory=dict, hash=False)
    row_exact: bool = False

    @property
    def kernels(self) -> list[str]:
        """Names of the operations that are kernels."""
        return [name for name in KERNELS if getattr(self, name) is not getattr(PLAIN, name)]

    def kernel(self, name: str) -> "RowKernel":
        """Return an operation's kernel, if it has one."""
        operation = getattr(self, name)
        return RowKernel(None if operation is getattr(PLAIN, name) else operation, self.rows.get(name, ALL_ROWS))


@dataclass(frozen=True)
class RowKernel:
    """A kernel, or None for plain MLX, and the numbers of rows for which it is used."""

    run: Callable[..., Any] | None = None
    rows: Rows = ALL_ROWS

    def at(self, rows: int) -> Callable[..., Any] | None:
        """Return what runs a pass of `rows` rows: the kernel, or None for plain MLX."""
        return self.run if runs(rows, self.rows) else None


PLAIN = Operations()
# Kernels of row-exact passes
ROW_EXACT = ("verify_matmul", "verify_attention", "attention_inputs", "delta_inputs", "gated_delta_replay")
_MODULES = (kv_injection, block_verify, attention_inputs, delta_inputs, gated_delta_replay, verify_attention, verify_matmul)
KERNELS: dict[str, ModuleType] = {module.__name__.rpartition(".")[2]: module for module in _MODULES}
# Kernels that every layer calls -> index of the argument whose third dimension grows with the context
_PER_LAYER: dict[str, int | None] = {"attention_inputs": None, "verify_attention": 1, "verify_matmul": None}
_WINDOW = 6  # index of `verify_attention`'s argument `window`
_ROW_AXES = {"verify_attention": 2, "gated_delta_replay": 1}  # row axis of the first argument; 0 for other kernels


def with_kernels(
    kernels: Collection[str] | Mapping[str, Rows] = tuple(KERNELS), build: Any = mx.fast.metal_kernel, row_exact: bool = False
) -> Operations:
    """Return operations with these kernels; the others are plain MLX.

    Args:
        kernels: names of the kernels, which are used for any number of rows; or a mapping from names to numbers of rows.
        build: creates a kernel; tests pass the emulator's.
        row_exact: whether a row's result must not depend on the number of rows in a pass.

    Raises:
        ValueError: a row-exact kernel would be used only for some numbers of rows, although plain MLX may round differently.
    """
    given = kernels if isinstance(kernels, Mapping) else dict.fromkeys(kernels, ALL_ROWS)
    used = {name: rows for name, rows in given.items() if rows}
    if not used:
        return PLAIN
    if row_exact and any(rows != ALL_ROWS for rows in used.values()):
        raise ValueError("row-exact kernels must be used for all numbers of rows")
    compiled = _PER_LAYER if build is mx.fast.metal_kernel else {}
    entries: dict[str, Any] = {
        name: (_CompiledKernel if name in compiled else _Kernel)(name, build, rows) for name, rows in used.items()
    }
    if row_exact and "verify_attention" in entries:
        entries["verify_attention"].how["row_exact"] = True
    return replace(PLAIN, **entries, rows=used, row_exact=row_exact)


def runs(rows: int, used: Rows) -> bool:
    """Return whether a kernel that is `used` for some rows runs a pass of `rows`."""
    return min(rows, MAX_BLOCK_ROWS) in used


def most_rows(name: str) -> int:
    """Return the largest number of rows that a kernel supports.

    They are those of a stream, but for products, those of a pass.
    """
    return verify_matmul.ROWS if name == "verify_matmul" else verify_attention.ROWS


class _Kernel:
    """A kernel that falls back to its reference for other rows and arguments."""

    def __init__(self, name: str, build: Any, rows: Rows) -> None:
        self._name, self._build, self._rows = name, build, rows
        self.how: dict[str, Any] = {}  # keyword arguments of `metal`
        self._kernel: Any = KERNELS[name]

    def __call__(self, *arguments: Any) -> Any:
        rows = arguments[0].shape[_ROW_AXES.get(self._name, 0)]
        if not runs(rows, self._rows) or not self._kernel.supports(*arguments):
            return self._kernel.reference(*arguments)
        return self._run(*arguments)

    def _run(self, *arguments: Any) -> Any:
        return self._kernel.metal(*arguments, build=self._build, **self.how)


class _CompiledKernel(_Kernel):
    """A kernel whose call is traced once per set of shapes and settings.

    Without the trace, MLX rebuilds the kernel's signature on every call, which takes the host longer than the rest of a layer.
    Kernels that run once per round are not compiled.
    """

    def __init__(self, name: str, build: Any, rows: Rows) -> None:
        super().__init__(name, build, rows)
        self._calls: dict[Any, tuple[int, Any]] = {}  # kind of layer -> context length, traced call

    def _run(self, *arguments: Any) -> Any:
        growing = _PER_LAYER[self._name]
        kind, length = None, 0
        if growing is not None:
            _, heads, length, dim = arguments[growing].shape
            kind = heads, dim, arguments[_WINDOW : _WINDOW + 1]
        if kind not in self._calls or self._calls[kind][0] != length:  # the context grew: old traces are useless
            self._calls[kind] = length, mx.compile(partial(self._kernel.metal, **self.how))
        return self._calls[kind][1](*arguments)
