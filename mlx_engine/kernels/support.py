"""Helpers for all kernels: dtype names, array descriptions, and argument checks."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

import mlx.core as mx

DTYPES = (mx.float32, mx.float16, mx.bfloat16)  # of all kernels

P = ParamSpec("P")
R = TypeVar("R")


def dtype_name(dtype: mx.Dtype) -> str:
    """Return a dtype's name, such as "float32"."""
    return str(dtype).removeprefix("mlx.core.")


def array_text(array: mx.array) -> str:
    """Return an array's shape and dtype, such as "[16, 64] float32"."""
    return f"{list(array.shape)} {dtype_name(array.dtype)}"


def if_supported(supports: Callable[..., bool]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a kernel call to raise ValueError for unsupported arguments."""
    names = signature(supports).parameters

    def decorate(metal: Callable[P, R]) -> Callable[P, R]:
        @wraps(metal)
        def checked(*arguments: P.args, **options: P.kwargs) -> R:
            named = {name: value for name, value in options.items() if name in names}
            if not supports(*arguments, **named):
                given = (*arguments, *named.values())
                texts = (array_text(each) if isinstance(each, mx.array) else str(each) for each in given)
                raise ValueError(f"{metal.__module__.rpartition('.')[2]} does not support {', '.join(texts)}")
            return metal(*arguments, **options)

        return checked

    return decorate
