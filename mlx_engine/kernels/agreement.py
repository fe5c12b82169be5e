"""Does a kernel give what its reference gives, on the very arrays that the decoding loop hands it?"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, is_dataclass, replace
from inspect import signature
from typing import Any

import mlx.core as mx
import numpy as np

from mlx_engine.kernels.block_verify import Verdict
from mlx_engine.kernels.operations import KERNELS, PLAIN, Operations

# What a kernel may be off by, as a share of the largest value, against the reference in float32: four units in the last place of a
# result that is rounded once to half precision, and room for another order of summing in float32.
MOST = {mx.float32: 1e-4, mx.float16: 4e-3, mx.bfloat16: 3e-2}


def off_by(found: mx.array, wanted: mx.array) -> float:
    """The largest difference as a share of the largest value; infinite where shapes differ, or only one is finite."""
    if found.shape != wanted.shape:
        return float("inf")
    got, right = (np.array(array.astype(mx.float32)) for array in (found, wanted))
    if not np.isfinite(got).all() or not np.isfinite(right).all():
        return 0.0 if np.array_equal(got, right, equal_nan=True) else float("inf")
    most, largest = float(np.abs(got - right).max(initial=0.0)), float(np.abs(right).max(initial=0.0))
    return most / largest if largest else (0.0 if most == 0 else float("inf"))


@dataclass(frozen=True)
class Agreement:
    """What came of comparing: over how many sets of shapes, dtypes and settings, and the largest difference as a share of the
    largest value.

    `wrong` is a sentence about the first result that is not the reference's; empty if all were.
    """

    shapes: int = 0
    off: float = 0.0
    wrong: str = ""


class Witness:
    """Stands in for a kernel in a pair's table: hands on its results, and holds some against the reference's in float32.

    Of the calls with the same shapes, dtypes and settings these are the first, second, fourth, eighth and so on: a context grows
    inside a buffer of one shape, and a reply is not held up for long.

    Args:
        name: of the kernel.
        build: makes it.
    """

    def __init__(self, name: str, build: Any = mx.fast.metal_kernel) -> None:
        self._kernel: Any = KERNELS[name]
        self._name, self._build = name, build
        self._calls = Counter[Any]()
        self._off, self._wrong = 0.0, ""

    @property
    def agreement(self) -> Agreement:
        """What came of it so far."""
        return Agreement(len(self._calls), self._off, self._wrong)

    def operations(self) -> Operations:
        """Plain MLX, but for this kernel with its witness."""
        return replace(PLAIN, **{self._name: self._run}, traceable=False)

    def _run(self, *arguments: Any) -> Any:
        if self._kernel.unsupported(*arguments):
            return self._kernel.reference(*arguments)
        found = self._kernel.metal(*arguments, build=self._build)
        sort = self._sort(arguments)
        self._calls[sort] += 1
        if self._calls[sort].bit_count() == 1:
            self._compare(found, self._kernel.reference(*_widened(arguments)))
        return found

    def _sort(self, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        """Shapes, dtypes and settings; a number that might as well be an array is a place, and every call has another."""
        parameters = signature(self._kernel.reference).parameters.values()
        settings = tuple(
            argument
            for parameter, argument in zip(parameters, arguments, strict=False)
            if isinstance(argument, bool | int | float) and "mx.array" not in str(parameter.annotation)
        )
        return (*((tuple(array.shape), str(array.dtype)) for array in _arrays(arguments)), settings)

    def _compare(self, found: Any, wanted: Any) -> None:
        for what, got, right in zip(_names(found), _arrays(found), _arrays(wanted), strict=True):
            if mx.issubdtype(got.dtype, mx.floating):
                share, most = off_by(got, right), MOST[got.dtype]
                self._off = max(self._off, share)
                if share > most:
                    self._say(f"{what}, {_shape(got)}: off by {share:.2g} of the largest value, where {most:.2g} is allowed")
            elif not mx.array_equal(got, right).item():
                self._say(f"{what}, {_shape(got)}: not the reference's")

    def _say(self, sentence: str) -> None:
        self._wrong = self._wrong or sentence


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    """The arrays in a result or an argument, with their names."""
    if isinstance(value, Verdict):  # what it says, not whether a kernel has made that already
        yield from (("the choices", value.choices), ("the count", value.count()))
    elif isinstance(value, mx.array):
        yield "the result", value
    elif isinstance(value, tuple | list):
        for each in value:
            yield from _parts(each)
    elif is_dataclass(value):
        for each in fields(value):
            yield from ((each.name, array) for _, array in _parts(getattr(value, each.name)))


def _names(value: Any) -> list[str]:
    return [name for name, _ in _parts(value)]


def _arrays(value: Any) -> list[mx.array]:
    return [array for _, array in _parts(value)]


def _widened(value: Any) -> Any:
    """With float32 for every half precision in it."""
    if isinstance(value, mx.array):
        return value.astype(mx.float32) if value.dtype in (mx.float16, mx.bfloat16) else value
    if isinstance(value, tuple):
        return tuple(_widened(each) for each in value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{each.name: _widened(getattr(value, each.name)) for each in fields(value)})
    return value


def _shape(array: mx.array) -> str:
    return f"{list(array.shape)} {str(array.dtype).removeprefix('mlx.core.')}"
