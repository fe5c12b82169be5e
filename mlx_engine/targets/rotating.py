"""Adapter of mlx-lm's `RotatingKVCache`, a sliding-window K/V cache.

A pass of one row overwrites the oldest row in place, so the buffer is a ring. A pass of several rows builds a new buffer in
temporal order: the window's last rows, then the new rows. mlx-lm's `trim` leaves rejected rows in that buffer, where later passes
read them as old ones. This adapter slices them off, which gives the buffer that a pass of only the kept rows would build. If no row
is kept, it restores the state from before the pass.

A queued pass uses a `_Window`: a buffer in temporal order with spare rows. It overwrites no row that can still be visible, however
many rows of the previous pass are kept. Rows outside the window are dropped when the buffer is full.
"""

from typing import Any

import mlx.core as mx

from mlx_engine.hardware.device import DeviceSpan, write_rows
from mlx_engine.targets.cache_adapter import CacheAdapter, repeated

_STEP = 256  # spare rows of a new buffer


class _Window:
    """Keys and values of queued passes, [1, H, capacity, D] each, in temporal order.

    Row 0 is at position `first`.
    """

    def __init__(self, cache: Any) -> None:
        self.keys, self.values = (cache._temporal_order(held) for held in (cache.keys, cache.values))
        self.first = cache.offset - self.keys.shape[2]

    def reserve(self, span: DeviceSpan, size: int) -> None:
        """Make room for a pass, and keep the rows that it or earlier unread ones may read.

        The earliest of these passes begins one row before the first place where this one may begin.
        """
        if span.maximum - self.first <= self.keys.shape[2]:
            return
        oldest = max(self.first, span.start.minimum - 1 - size)
        begin, end = oldest - self.first, min(span.start.maximum - self.first, self.keys.shape[2])
        room = [(0, 0), (0, 0), (0, span.maximum - oldest - (end - begin) + _STEP), (0, 0)]
        self.keys, self.values = (mx.pad(held[..., begin:end, :], room) for held in (self.keys, self.values))
        self.first = oldest


class RotatingCache(CacheAdapter):
    """Adapter of a `RotatingKVCache`, which it replaces in queued passes."""

    def __init__(self, cache: Any) -> None:
        super().__init__(cache)
        self._before: Any = None  # state before the latest block, which doesn't write to these buffers
        self._window: _Window | None = None  # for queued passes

    def begin(self, block: bool) -> Any:
        self._before = self.cache.state if block else None
        return self.cache

    def rewind(self, rows: int, passed: int) -> None:
        cache, before, self._before = self.cache, self._before, None
        if not rows:
            return
        if before is None:
            raise ValueError(f"no rollback state for a pass of {passed} rows")
        if rows == passed:
            cache.state = before
            return
        held = cache.keys.shape[2]
        if cache._idx != held or rows > passed:
            raise ValueError(f"can't drop {rows} of {passed} rows: the buffer is not in temporal order")
        cache.keys = cache.keys[..., : held - rows, :]
        cache.values = cache.values[..., : held - rows, :]
        cache.offset -= rows
        cache._idx -= rows

    def place(self, span: DeviceSpan) -> "RotatingCache":
        if self._window is None:
            self._window = _Window(self.cache)
        self._window.reserve(span, self.cache.max_size)
        self._span = span
        self.offset = span.start.value  # of the first row, [1] int32
        self._oldest = max(self._window.first, span.start.minimum - self.cache.max_size + 1)  # visible position
        return self

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Write rows [1, H, S, D] and return the visible rows, [1, H, n, D]."""
        window = self._window
        assert window is not None
        at = self._span.positions - window.first if window.first else self._span.positions
        window.keys, window.values = write_rows(window.keys, keys, at), write_rows(window.values, values, at)
        begin, end = self._oldest - window.first, self._span.maximum - window.first
        return window.keys[..., begin:end, :], window.values[..., begin:end, :]

    def make_mask(self, rows: int, return_array: bool = False, window_size: int | None = None) -> mx.array:
        """Return the attention mask of the pass, [rows, n] bool."""
        query, key = self._span.positions[:, None], mx.arange(self._oldest, self._span.maximum)
        return (key <= query) & (query - key < (window_size or self.cache.max_size))

    def settle(self, start: int, kept: int, discarded: int) -> None:
        cache, window = self.cache, self._window
        assert window is not None
        end = start + kept - window.first
        held = min(min(start, cache.max_size - 1) + kept, end)  # all that later passes see, if a pass was queued after the next
        cache.keys, cache.values = (array[..., end - held : end, :] for array in (window.keys, window.values))
        cache.offset, cache._idx = start + kept, held
        self._window = None

    def release(self) -> None:
        self._before = self._window = None

    def grow(self, depth: int) -> None:
        cache = self.cache
        held = min(depth, cache.max_size)
        cache.keys, cache.values = repeated(cache.keys, held), repeated(cache.values, held)
        cache.offset, cache._idx = depth, held
