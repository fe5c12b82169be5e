"""Arrays in error messages."""

from typing import Any

import mlx.core as mx


def dtype_name(dtype: mx.Dtype) -> str:
    """A dtype's name without its module, such as "float32"."""
    return str(dtype).removeprefix("mlx.core.")


def array_text(array: mx.array) -> str:
    """Shape and dtype, such as "[16, 64] float32"."""
    return f"{list(array.shape)} {dtype_name(array.dtype)}"


def unsupported(kernel: str, *arguments: Any) -> ValueError:
    """The error for arguments that are outside a kernel's limits, which its `reference` documents."""
    texts = (array_text(each) if isinstance(each, mx.array) else str(each) for each in arguments)
    return ValueError(f"{kernel} does not support {', '.join(texts)}")
