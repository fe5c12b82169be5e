"""Sliding-window K/V caches (mlx-lm's `RotatingKVCache`).

A pass of one row overwrites the oldest row in place, so the buffer is a ring. A pass of several rows builds a new buffer in
temporal order: the window's last rows, then its own. mlx-lm's `trim` moves only the offsets and leaves the rejected rows in that
buffer, where they are taken for a ring's older part. Here they are cut off: what is left is the buffer that a pass of the kept rows
alone would have built. If none is kept, the state before the pass is put back.

A pass that begins at a place which only the device knows runs on a buffer of ours, in temporal order and with spare rows: nothing
that a row sees is written over, whichever of the rows before it are kept. What a window has dropped goes when the buffer is full.
"""

from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import RotatingKVCache

from mlx_engine.positions import Span, written

_STEP = 256  # rows by which a buffer is longer than a window at first


class Undo:
    """How to take a pass of several rows back out of one cache; made before the pass.

    It holds the buffers from before the pass, which that pass only reads, until it is dropped.
    """

    def __init__(self, cache: RotatingKVCache) -> None:
        self._cache: Any = cache
        self._before = cache.state

    def rewind(self, rows: int, passed: int) -> None:
        """Drop the last `rows` of the `passed` tokens of the latest pass."""
        cache = self._cache
        if rows == passed:
            cache.state = self._before
            return
        held = cache.keys.shape[2]
        if cache._idx != held or rows > passed:
            raise ValueError(f"asked to drop {rows} of {passed} rows of a cache that is not in temporal order")
        cache.keys = cache.keys[..., : held - rows, :]
        cache.values = cache.values[..., : held - rows, :]
        cache.offset -= rows
        cache._idx -= rows


class _Window:
    """Keys and values, [1, H, capacity, D] each, in temporal order, row 0 at position `first`; passes that are queued share it."""

    def __init__(self, cache: Any) -> None:
        self.keys, self.values = (cache._temporal_order(held) for held in (cache.keys, cache.values))
        self.first = cache.offset - self.keys.shape[2]

    def reserve(self, span: Span, size: int) -> None:
        """Make room for a pass. What its rows may see stays, and what the pass before it may leave."""
        if span.reach - self.first <= self.keys.shape[2]:
            return
        oldest = max(self.first, span.place.least - size)
        begin, end = oldest - self.first, min(span.place.most - self.first, self.keys.shape[2])
        room = [(0, 0), (0, 0), (0, span.reach - oldest - (end - begin) + _STEP), (0, 0)]
        self.keys, self.values = (mx.pad(held[..., begin:end, :], room) for held in (self.keys, self.values))
        self.first = oldest


class Placed:
    """Stands for a cache, which holds something already, in a pass over `span`; `before` did in the pass before."""

    def __init__(self, cache: RotatingKVCache, span: Span, before: "Placed | None" = None) -> None:
        self._cache: Any = cache
        self._window: _Window = _Window(cache) if before is None else before._window
        window = self._window
        window.reserve(span, cache.max_size)
        self._span = span
        self.offset = span.place.at  # of the first row, [1] int32
        self._from = max(window.first, span.place.least - cache.max_size + 1)  # the oldest that a row may see

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Write the pass's rows, [1, H, rows, D] each; all that its attention may see, [1, H, as many as it can be, D]."""
        window = self._window
        at = self._span.positions - window.first if window.first else self._span.positions
        window.keys, window.values = written(window.keys, keys, at), written(window.values, values, at)
        begin, end = self._from - window.first, self._span.reach - window.first
        return window.keys[..., begin:end, :], window.values[..., begin:end, :]

    def make_mask(self, rows: int, return_array: bool = False, window_size: int | None = None) -> mx.array:
        """Which of what `update_and_fetch` hands out each row sees, [rows, that many] bool."""
        query, key = self._span.positions[:, None], mx.arange(self._from, self._span.reach)
        return (key <= query) & (query - key < (window_size or self._cache.max_size))

    def settle(self, start: int, kept: int) -> None:
        """The pass began at `start`, and its first `kept` rows count: the cache is as a pass of those alone leaves it."""
        cache, window = self._cache, self._window
        held, end = min(start, cache.max_size - 1) + kept, start + kept - window.first
        cache.keys, cache.values = (array[..., end - held : end, :] for array in (window.keys, window.values))
        cache.offset, cache._idx = start + kept, held
