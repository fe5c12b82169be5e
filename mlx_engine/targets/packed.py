"""Passes over the rows of several streams, one stream's after the other's.

Every operation that reads weights runs once, over all rows. Attention, convolutions, and recurrences run per stream, on the cache
objects that the stream would have alone. A row's results are the same in any company where the matrix products of all rows are;
docs/exactness.md says where.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.rope_utils import DynamicNTKScalingRoPE


@dataclass(frozen=True)
class Packing:
    """How the rows of a pass are divided among streams.

    Attributes:
        rows: number of each stream's rows.
        starts: what RoPE takes as the position of each stream's first row, an int or [1] int32.
    """

    rows: tuple[int, ...]
    starts: tuple[int | mx.array, ...]

    @cached_property
    def _cuts(self) -> list[int]:
        return list(accumulate(self.rows[:-1]))

    @cached_property
    def positions(self) -> mx.array:
        """What RoPE takes as the position of each row, [R] int32."""
        counted = [start + mx.arange(rows, dtype=mx.int32) for start, rows in zip(self.starts, self.rows, strict=True)]
        return mx.concatenate(counted)

    def split(self, array: mx.array, axis: int = 1) -> list[mx.array]:
        """Return each stream's rows of an array with all rows along `axis`."""
        return list(mx.split(array, self._cuts, axis=axis))


@dataclass(frozen=True)
class PackedMasks:
    """The attention mask of each stream, which models pass on to attention."""

    parts: tuple[Any, ...]


@dataclass(frozen=True)
class PackedHeads:
    """The cached keys or values of each stream, which models pass on to attention."""

    packing: Packing
    parts: tuple[mx.array, ...]


class PackedCache:
    """The cache objects of one layer, one per stream."""

    offset = 0  # `PackedRope` has the positions

    def __init__(self, packing: Packing, parts: Sequence[Any]) -> None:
        self.packing, self.parts = packing, tuple(parts)

    def __getitem__(self, index: int) -> "PackedCache":
        """Return the parts of compound caches."""
        return PackedCache(self.packing, [part[index] for part in self.parts])

    def make_mask(self, rows: int, **options: Any) -> PackedMasks | None:
        """Return the attention masks of the pass."""
        parts = [part.make_mask(own, **options) for part, own in zip(self.parts, self.packing.rows, strict=True)]
        return None if all(part is None for part in parts) else PackedMasks(tuple(parts))

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[PackedHeads, PackedHeads]:
        """Store rows [1, H, R, D], and return what each stream sees."""
        rows = (self.packing.split(each, axis=2) for each in (keys, values))
        held = [part.update_and_fetch(*own) for part, *own in zip(self.parts, *rows, strict=True)]
        fetched_keys, fetched_values = zip(*held, strict=True)
        return PackedHeads(self.packing, fetched_keys), PackedHeads(self.packing, fetched_values)


def masks_of(mask: Any, packing: Packing) -> Sequence[Any]:
    """Return each stream's mask."""
    return mask.parts if isinstance(mask, PackedMasks) else [mask] * len(packing.rows)


def by_stream(run: Callable[..., mx.array], cache: Any, mask: Any, *arrays: mx.array) -> mx.array:
    """Run a function per stream, or once if the pass has one stream.

    Args:
        run: takes a cache object, a mask, and rows of the arrays. It returns as many rows, [1, S, ..].
        cache: a layer's cache object.
        mask: of the pass.
        arrays: all rows, [1, R, ..] each.
    """
    if not isinstance(cache, PackedCache):
        return run(cache, mask, *arrays)
    rows = (cache.packing.split(each) for each in arrays)
    return mx.concatenate([run(*own) for own in zip(cache.parts, masks_of(mask, cache.packing), *rows, strict=True)], axis=1)


class PackedRope(nn.Module):
    """Stand-in for a RoPE module during a pass: x [1, heads, R, D] -> rotated x."""

    def __init__(self, rope: Any, packing: Packing) -> None:
        super().__init__()
        self._rope, self._packing = rope, packing
        self._is_dynamic = isinstance(rope, DynamicNTKScalingRoPE)  # frequencies depend on the stream's length

    def __call__(self, x: mx.array, offset: Any = 0) -> mx.array:
        packing = self._packing
        if self._is_dynamic:
            rows = zip(packing.split(x, axis=2), packing.starts, strict=True)
            return mx.concatenate([self._rope(own, offset=start) for own, start in rows], axis=2)
        # As a batch, because only sequences of a batch have positions of their own
        turned: mx.array = self._rope(x.transpose(2, 1, 0, 3), offset=packing.positions)
        return turned.transpose(2, 1, 0, 3)


class PerStream(nn.Module):
    """Stand-in for an attention module that runs per stream: [1, R, H] -> [1, R, H]."""

    def __init__(self, own: Any) -> None:
        super().__init__()
        self._own = own

    def __call__(self, x: mx.array, mask: Any = None, cache: Any = None) -> mx.array:
        return by_stream(lambda part, own_mask, rows: self._own(rows, own_mask, part), cache, mask, x)
