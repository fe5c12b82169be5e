"""Compare a kernel with its reference on the arrays of real passes.

The reference runs on the CPU in float64: on some GPUs, MLX's float32 is less exact than the kernels.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from inspect import signature
from typing import Any

import mlx.core as mx
import numpy as np

from mlx_engine.kernels.block_verify import BlockVerdict
from mlx_engine.kernels.operations import KERNELS, PLAIN, Operations
from mlx_engine.kernels.support import array_text

# Largest allowed difference from the float64 reference, as a share of the largest value: four ulp of a result rounded once to half
# precision, and in float32 a margin for a different summation order
MOST = {mx.float32: 1e-4, mx.float16: 4e-3, mx.bfloat16: 3e-2}


def off_by(found: mx.array, wanted: mx.array) -> float:
    """Return the largest difference as a share of the largest value.

    Returns infinity if the shapes differ, or if NaN or infinity occurs in only one array.
    """
    if found.shape != wanted.shape:
        return float("inf")
    got, right = (np.array(array.astype(mx.float64, stream=mx.cpu)) for array in (found, wanted))
    if not np.isfinite(got).all() or not np.isfinite(right).all():
        return 0.0 if np.array_equal(got, right, equal_nan=True) else float("inf")
    most, largest = float(np.abs(got - right).max(initial=0.0)), float(np.abs(right).max(initial=0.0))
    return most / largest if largest else (0.0 if most == 0 else float("inf"))


@dataclass(frozen=True)
class Agreement:
    """The result of comparing a kernel with its reference.

    Attributes:
        shapes: number of distinct sets of shapes, dtypes, and settings compared.
        off: the largest difference, as a share of the largest value.
        wrong: description of the first wrong result; empty if there is none.
    """

    shapes: int = 0
    off: float = 0.0
    wrong: str = ""


class CheckedKernel:
    """A kernel that compares some of its results with the float64 reference.

    Of the calls with equal shapes, dtypes, and settings, it compares calls 1, 2, 4, 8, and so on. Later calls matter too, because a
    context grows inside a buffer of constant shape, but most calls keep their speed.

    Args:
        name: the kernel's name.
        build: creates the kernel.
        how: more keyword arguments of `metal`.

    Attributes:
        agreement: the result so far.
    """

    def __init__(self, name: str, build: Any = mx.fast.metal_kernel, **how: Any) -> None:
        self._kernel: Any = KERNELS[name]
        self._name, self._how = name, {"build": build, **how}
        self._calls = Counter[Any]()
        self._off, self._wrong = 0.0, ""

    @property
    def agreement(self) -> Agreement:
        return Agreement(len(self._calls), self._off, self._wrong)

    def operations(self) -> Operations:
        """Return plain MLX operations, with this kernel instead of its reference."""
        entry: dict[str, Any] = {self._name: self._run}
        return replace(PLAIN, **entry, traceable=False)

    def _run(self, *arguments: Any) -> Any:
        if not self._kernel.supports(*arguments):
            return self._kernel.reference(*arguments)
        found = self._kernel.metal(*arguments, **self._how)
        case = self._case(arguments)
        self._calls[case] += 1
        if self._calls[case].bit_count() == 1:
            self._compare(found, arguments)
        return found

    def _case(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the shapes, dtypes, and settings of a call.

        A number that may also be an array is a position, which differs in every call.
        """
        parameters = signature(self._kernel.reference).parameters.values()
        settings = tuple(
            argument
            for parameter, argument in zip(parameters, arguments, strict=False)
            if isinstance(argument, bool | int | float) and "mx.array" not in str(parameter.annotation)
        )
        return (*((tuple(array.shape), str(array.dtype)) for _, array in _arrays(arguments)), settings)

    def _compare(self, found: Any, arguments: tuple[Any, ...]) -> None:
        if sample := getattr(self._kernel, "sample", None):
            found, arguments = sample(found, *arguments)
        with _on_cpu():
            wanted = [array for _, array in _arrays(self._kernel.reference(*_widened(arguments)))]
            mx.eval(wanted)
        for (what, got), right in zip(_arrays(found), wanted, strict=True):
            wrong = ""
            if mx.issubdtype(got.dtype, mx.floating):
                share, most = off_by(got, right), MOST[got.dtype]
                self._off = max(self._off, share)
                if share > most:
                    wrong = f"{what}, {array_text(got)}: off by {share:.2g} of the largest value; allowed: {most:.2g}"
            elif not mx.array_equal(got, right).item():
                wrong = f"{what}, {array_text(got)}: differs from the reference"
            self._wrong = self._wrong or wrong


@contextmanager
def _on_cpu() -> Iterator[None]:
    """Run MLX on the CPU, without compiling functions.

    To compile them for a CPU, MLX needs a C++ compiler, which few Macs have.
    """
    mx.disable_compile()
    try:
        with mx.stream(mx.cpu):
            yield
    finally:
        mx.enable_compile()


def _arrays(value: Any) -> Iterator[tuple[str, mx.array]]:
    """Yield the arrays in a result or an argument, with their names."""
    if isinstance(value, BlockVerdict):  # compare the results, whether or not a kernel has counted
        yield from (("the choices", value.choices), ("the count", value.count()))
    elif isinstance(value, mx.array):
        yield "the result", value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _arrays(each)
    elif is_dataclass(value):
        for each in fields(value):
            yield from ((each.name, array) for _, array in _arrays(getattr(value, each.name)))


def _widened(value: Any) -> Any:
    """Return a copy with all numbers cast to float64."""
    if isinstance(value, mx.array):
        return value.astype(mx.float64) if mx.issubdtype(value.dtype, mx.floating) else value
    if isinstance(value, tuple):
        return tuple(_widened(each) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{each.name: _widened(getattr(value, each.name)) for each in fields(value)})
    return value
