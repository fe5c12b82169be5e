"""Record the texts that MLX would pass to Metal."""

from collections.abc import Sequence
from typing import Any

import mlx.core as mx

from tests.metal_emulator.text import MetalText, metal_text

_METAL_KERNEL = mx.fast.metal_kernel


class Recorder:
    """A replacement for `mx.fast.metal_kernel` that records texts and returns zeros."""

    def __init__(self) -> None:
        self.texts: dict[str, MetalText] = {}  # by text

    def __call__(self, **definition: Any) -> Any:
        kernel = _METAL_KERNEL(**definition)

        def call(inputs: Sequence[Any], output_shapes: Any, output_dtypes: Any, **rest: Any) -> list[mx.array]:
            arrays = [array if isinstance(array, mx.array) else mx.array(array) for array in inputs]
            metal = metal_text(kernel, arrays, output_shapes=output_shapes, output_dtypes=output_dtypes, **rest)
            self.texts.setdefault(metal.text, metal)
            return [mx.zeros(shape, dtype) for shape, dtype in zip(output_shapes, output_dtypes, strict=True)]

        return call
