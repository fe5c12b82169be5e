"""What towers share: steps of a pass, rotary positions, and attention."""

import math
from collections.abc import Iterator
from functools import partial

import mlx.core as mx
import mlx.nn as nn
import numpy as np

from mlx_engine.vision.image_rules import SCORES, PreparedImage

_GELU = 2 * math.sqrt(2 / math.pi)
_FUSED = (64, 80, 128)  # head sizes of Metal's fused attention (MLX 0.32)


class Tower(nn.Module):
    """A network that turns an image into soft tokens."""

    dtype: mx.Dtype = mx.float32

    def steps(self, image: PreparedImage) -> Iterator[mx.array]:
        """Yield what each step of a pass computes, last the soft tokens [tokens, hidden].

        A step is the embedding of the patches, a block [patches, width], or the projection. Nothing is evaluated, except on a CPU
        for large images. A caller that evaluates each step can stop in between.
        """
        raise NotImplementedError

    def __call__(self, image: PreparedImage) -> mx.array:
        """Return the soft tokens of an image, [tokens, hidden], as they enter the target.

        With deepstack, what its first layers add follows in each row: [tokens, n * hidden].
        """
        *_, tokens = self.steps(image)
        return tokens


class Parts(nn.Module):
    """Modules and arrays under the names of a checkpoint."""

    def __init__(self, **parts: nn.Module | mx.array | list[nn.Module]) -> None:
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)


@partial(mx.compile, shapeless=True)
def gelu(x: mx.array) -> mx.array:
    """Return GELU as its approximation with tanh does.

    A sigmoid gives the same values, and takes a CPU less time.
    """
    return x * mx.sigmoid(_GELU * (x + 0.044715 * x * x * x))


def frequencies(theta: float, count: int) -> np.ndarray:
    """Return the rotary frequencies of one axis, float32 [count]."""
    return (1 / theta ** (np.arange(count, dtype=np.float32) / np.float32(count))).astype(np.float32)


def rotate(x: mx.array, angles: mx.array) -> mx.array:
    """Rotate each part of every head, half against half.

    Args:
        x: [patches, heads, size].
        angles: float32 [patches, parts, size / parts / 2].
    """
    patches, heads, _ = x.shape
    first, second = mx.split(x.astype(mx.float32).reshape(patches, heads, angles.shape[1], 2, -1), 2, axis=3)
    cosine, sine = mx.cos(angles)[:, None, :, None], mx.sin(angles)[:, None, :, None]
    rotated = mx.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=3)
    return rotated.reshape(x.shape).astype(x.dtype)


def fused_size(size: int) -> int | None:
    """Return the size to which heads are padded for a kernel that stores no scores."""
    return next((each for each in _FUSED if size <= each), None) if mx.default_device() == mx.gpu else None


def attend(queries: mx.array, keys: mx.array, values: mx.array, scale: float) -> mx.array:
    """Return the attention of all patches to all, [patches, heads * size].

    Scores never exist as a whole: a GPU computes them inside a kernel, and elsewhere some queries are computed at a time.

    Args:
        queries: [patches, heads, size]; keys and values may have fewer heads.
    """
    patches, heads, size = queries.shape
    q, k, v = (x.transpose(1, 0, 2)[None] for x in (queries, keys, values))
    if fused := fused_size(size):
        q, k, v = (mx.pad(x, [(0, 0), (0, 0), (0, 0), (0, fused - size)]) for x in (q, k, v))
        return _rows(mx.fast.scaled_dot_product_attention(q, k, v, scale=scale))[:, :, :size].reshape(patches, -1)
    rows = max(1, SCORES // (heads * patches))
    chunks = []
    for first in range(0, patches, rows):
        chunks.append(_rows(mx.fast.scaled_dot_product_attention(q[:, :, first : first + rows], k, v, scale=scale)))
        if rows < patches:
            mx.eval(chunks[-1])  # otherwise, the scores of several chunks could exist at a time
    return mx.concatenate(chunks).reshape(patches, -1)


def _rows(x: mx.array) -> mx.array:
    return x[0].transpose(1, 0, 2)
