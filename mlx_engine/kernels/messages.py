"""Arrays in error messages, and the refusal of arguments that a kernel does not support."""

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import ParamSpec, TypeVar

import mlx.core as mx

P = ParamSpec("P")
R = TypeVar("R")


def dtype_name(dtype: mx.Dtype) -> str:
    """A dtype's name without its module, such as "float32"."""
    return str(dtype).removeprefix("mlx.core.")


def array_text(array: mx.array) -> str:
    """Shape and dtype, such as "[16, 64] float32"."""
    return f"{list(array.shape)} {dtype_name(array.dtype)}"


def if_supported(supports: Callable[..., bool]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Make a kernel's call raise ValueError for arguments that it does not support."""
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
