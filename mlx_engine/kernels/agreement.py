"""Compare a kernel with its reference on the arrays that decoding passes to it."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from inspect import signature
from typing import Any

import mlx.core as mx
import numpy as np

from mlx_engine.kernels.block_verify import BlockVerdict
from mlx_engine.kernels.messages import array_text
from mlx_engine.kernels.operations import KERNELS, PLAIN, Operations

# Largest difference allowed against the reference in float32, as a share of the largest value: four units in the last place of a
# result rounded once to half precision, and a margin for sums in another order in float32.
MOST = {mx.float32: 1e-4, mx.float16: 4e-3, mx.bfloat16: 3e-2}


def off_by(found: mx.array, wanted: mx.array) -> float:
    """Return the largest difference as a share of the largest value; infinite if shapes differ, or if only one is finite."""
    if found.shape != wanted.shape:
        return float("inf")
    got, right = (np.array(array.astype(mx.float32)) for array in (found, wanted))
    if not np.isfinite(got).all() or not np.isfinite(right).all():
        return 0.0 if np.array_equal(got, right, equal_nan=True) else float("inf")
    most, largest = float(np.abs(got - right).max(initial=0.0)), float(np.abs(right).max(initial=0.0))
    return most / largest if largest else (0.0 if most == 0 else float("inf"))


@dataclass(frozen=True)
class Agreement:
    """The result of a comparison.

    Attributes:
        shapes: number of different sets of shapes, dtypes and settings compared.
        off: the largest difference, as a share of the largest value.
        wrong: a sentence about the first wrong result; empty if there is none.
    """

    shapes: int = 0
    off: float = 0.0
    wrong: str = ""


class Witness:
    """Replaces a kernel: returns its results, and compares some of them with the reference's in float32.

    Of the calls with the same shapes, dtypes and settings, it compares the first, second, fourth, eighth and so on. A context grows
    inside a buffer of one shape, so later calls matter too, and most calls are not slowed down.

    Args:
        name: the kernel's name.
        build: builds it.
    """

    def __init__(self, name: str, build: Any = mx.fast.metal_kernel) -> None:
        self._kernel: Any = KERNELS[name]
        self._name, self._build = name, build
        self._calls = Counter[Any]()
        self._off, self._wrong = 0.0, ""

    @property
    def agreement(self) -> Agreement:
        """The result so far."""
        return Agreement(len(self._calls), self._off, self._wrong)

    def operations(self) -> Operations:
        """Return plain MLX with this kernel, which is compared."""
        entry: dict[str, Any] = {self._name: self._run}
        return replace(PLAIN, **entry, traceable=False)

    def _run(self, *arguments: Any) -> Any:
        if not self._kernel.supports(*arguments):
            return self._kernel.reference(*arguments)
        found = self._kernel.metal(*arguments, build=self._build)
        case = self._case(arguments)
        self._calls[case] += 1
        if self._calls[case].bit_count() == 1:
            self._compare(found, self._kernel.reference(*_widened(arguments)))
        return found

    def _case(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Shapes, dtypes and settings. A number that may also be an array is a position, which differs in every call."""
        parameters = signature(self._kernel.reference).parameters.values()
        settings = tuple(
            argument
            for parameter, argument in zip(parameters, arguments, strict=False)
            if isinstance(argument, bool | int | float) and "mx.array" not in str(parameter.annotation)
        )
        return (*((tuple(array.shape), str(array.dtype)) for _, array in _arrays(arguments)), settings)

    def _compare(self, found: Any, wanted: Any) -> None:
        for (what, got), (_, right) in zip(_arrays(found), _arrays(wanted), strict=True):
            wrong = ""
            if mx.issubdtype(got.dtype, mx.floating):
                share, most = off_by(got, right), MOST[got.dtype]
                self._off = max(self._off, share)
                if share > most:
                    wrong = f"{what}, {array_text(got)}: off by {share:.2g} of the largest value, where {most:.2g} is allowed"
            elif not mx.array_equal(got, right).item():
                wrong = f"{what}, {array_text(got)}: not equal to the reference"
            self._wrong = self._wrong or wrong


def _arrays(value: Any) -> Iterator[tuple[str, mx.array]]:
    """The arrays in a result or an argument, with their names."""
    if isinstance(value, BlockVerdict):  # what it says, whether or not a kernel has counted
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
    """A copy with float32 arrays for those in half precision."""
    if isinstance(value, mx.array):
        return value.astype(mx.float32) if value.dtype in (mx.float16, mx.bfloat16) else value
    if isinstance(value, tuple):
        return tuple(_widened(each) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{each.name: _widened(getattr(value, each.name)) for each in fields(value)})
    return value
