"""Images in a pass over a prompt: embeddings, positions, and masks."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from mlx_engine.targets.growing import ShiftedCache
from mlx_engine.vision.image_rules import MaskRule

_NO_TOKEN = 0  # the padding token, whose per-layer inputs images have


@dataclass(frozen=True)
class ImageRows:
    """The parts of images in one chunk of a prompt.

    Attributes:
        rows: number of rows in the chunk.
        ranges: first row and end of each image, in order.
        features: the images' embeddings, and what each of the first layers adds to its output, [total rows of the ranges, n * H].
        positions: time, row, and column positions of all rows, int32 [3, rows]; None if positions count tokens.
        mask: whether an image's tokens also see later ones of the same image: in no layer; in sliding layers; or in every layer,
            which then ignore the window inside an image. Unless "causal", an image must be in one chunk.
        sections: see `position_rows`.
    """

    rows: int
    ranges: tuple[tuple[int, int], ...]
    features: mx.array
    positions: np.ndarray | None = None
    mask: MaskRule = "causal"
    sections: tuple[int, ...] = ()

    @cached_property
    def _numbers(self) -> mx.array:
        """The number of each row's image, from 1, and 0 for text; int32 [rows]."""
        numbers = np.zeros(self.rows, np.int32)
        for number, (start, end) in enumerate(self.ranges, 1):
            numbers[start:end] = number
        return mx.array(numbers)

    def text(self, tokens: mx.array) -> mx.array:
        """Return token ids [rows] with padding for images."""
        return mx.where(self._numbers == 0, tokens, _NO_TOKEN)

    @cached_property
    def _indices(self) -> mx.array:
        """The rows of the images, int32."""
        return mx.array(np.concatenate([np.arange(*each, dtype=np.int32) for each in self.ranges]))

    def place(self, embedded: mx.array) -> mx.array:
        """Return embeddings [1, rows, H] with those of the images in place."""
        embedded[:, self._indices] = self.features[:, : embedded.shape[-1]].astype(embedded.dtype)
        return embedded

    def depth(self, hidden: int) -> int:
        """Return how many of the first layers add something."""
        return self.features.shape[-1] // hidden - 1

    def deepen(self, output: mx.array, layer: int) -> mx.array:
        """Return a layer's output [1, rows, H] with what the images add to it."""
        start = (layer + 1) * output.shape[-1]
        added = self.features[:, start : start + output.shape[-1]]
        return output.at[:, self._indices].add(added.astype(output.dtype))

    def cache(self, cache: Any) -> Any:
        """Return the cache object for a layer's pass, given mlx-lm's or a shifted one."""
        return ImageCache(cache, self) if hasattr(cache, "update_and_fetch") else cache

    def open(self, mask: mx.array) -> mx.array:
        """Let the tokens of an image see each other.

        Args:
            mask: causal, [rows, keys] bool. The last keys are those of these rows.
        """
        numbers = self._numbers
        same = (numbers[:, None] == numbers) & (numbers > 0)
        if self.mask == "sliding":
            same &= mx.arange(self.rows)[:, None] < mx.arange(self.rows)  # earlier rows stay within the window
        return mask | mx.pad(same, [(0, 0), (mask.shape[1] - self.rows, 0)])


class ImageCache(ShiftedCache):
    """A cache during a pass with images."""

    def __init__(self, cache: Any, images: ImageRows) -> None:
        super().__init__(cache, 0)
        self._images = images

    def make_mask(self, rows: int, return_array: bool = False, window_size: int | None = None) -> Any:
        """Return the attention mask of the pass, open inside images."""
        images = self._images
        if rows == 1 or images.mask == "causal" or (images.mask == "sliding" and window_size is None):
            return super().make_mask(rows, return_array, window_size)
        return images.open(super().make_mask(rows, True, window_size))


class DeepenedLayer:
    """Stand-in for a layer that adds to the rows of images."""

    def __init__(self, layer: Any, images: ImageRows, index: int) -> None:
        self._layer, self._images, self._index = layer, images, index

    def __call__(self, *args: Any, **kwargs: Any) -> mx.array:
        return self._images.deepen(self._layer(*args, **kwargs), self._index)

    def __getattr__(self, name: str) -> Any:  # models read flags from their layers
        return getattr(self._layer, name)


class ThreeRowRope(nn.Module):
    """Stand-in for a RoPE module: x [1, heads, rows, D] -> rotated x.

    Each row has three positions. Rows of text get the same bits as from the module.

    Args:
        rope: the module.
        positions: time, row, and column positions, int32 [3, rows].
        sections: see `position_rows`.
    """

    def __init__(self, rope: Any, positions: np.ndarray, sections: tuple[int, ...]) -> None:
        super().__init__()
        self._rope = rope
        self._positions = [mx.array(row) for row in positions]
        self._sections = sections

    def __call__(self, x: mx.array, offset: Any = 0) -> mx.array:
        rows = x.transpose(2, 1, 0, 3)  # a batch, because only sequences of a batch have positions of their own
        time, row, column = (self._rope(rows, offset=each) for each in self._positions)
        pairs = position_rows(self._rope.dims // 2, self._sections)
        by = mx.array(pairs[np.arange(x.shape[-1]) % pairs.size])
        return mx.where(by == 0, time, mx.where(by == 1, row, column)).transpose(2, 1, 0, 3)


def position_rows(pairs: int, sections: tuple[int, ...]) -> np.ndarray:
    """Return which position rotates each pair of elements, int32 [pairs].

    The three take turns until their `sections` are used up. The first one, time, rotates the rest.
    """
    index = np.arange(pairs, dtype=np.int32)
    return np.where(index < 3 * np.array(sections)[index % 3], index % 3, 0)
