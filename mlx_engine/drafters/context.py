"""The drafter's context: injected keys and values of all positions before the anchor.

Layers that share a window share one stacked array, written by one slice update per round. Full layers grow. Sliding layers keep the
last `window` rows in temporal order, and drop older ones when the array is full.

A round may begin at a position that only the device knows. `place` prepares for it: keys and values are then read up to the last
row that can be filled, a mask hides the rows that are not, and rows are written where the device says. `settle` ends it.
"""

import copy

import mlx.core as mx

from mlx_engine.device import DeviceSpan, write_rows

_STEP = 256  # rows by which an array grows


class LayerContext:
    """Context of the layers that share one window (None: full attention).

    Attributes:
        first: absolute position of the oldest row.
        rows: number of rows; in a placed round, the largest it can be.
    """

    def __init__(self, window: int | None) -> None:
        self.window = window
        self.first = 0
        self.rows = 0
        self._buffer: mx.array | None = None  # [2, L, H, capacity, D]
        self._span: DeviceSpan | None = None  # of a placed round

    def append(self, rows: mx.array) -> None:
        """Add keys and values, [2, L, H, S, D], of the S positions that follow."""
        if self._span is not None:
            assert self._buffer is not None
            positions = self._span.positions
            self._buffer = write_rows(self._buffer, rows, positions - self.first if self.first else positions)
            return
        count = rows.shape[3]
        if self.window is not None and count > self.window:
            dropped = count - self.window
            self.first += self.rows + dropped
            self.rows = 0
            rows, count = rows[..., dropped:, :], self.window
        if self._buffer is None or self.rows + count > self._buffer.shape[3]:
            end = self.first + self.rows
            self._make_room(self.first if self.window is None else max(self.first, end - self.window), end, count, rows)
        buffer = self._buffer
        assert buffer is not None
        buffer[..., self.rows : self.rows + count, :] = rows
        self.rows += count

    def cut(self, position: int) -> None:
        """Drop every position from `position` on."""
        self.rows = max(position - self.first, 0)
        self.first = min(self.first, position)

    def is_complete(self, position: int, end: int) -> bool:
        """Whether a query at `end` still finds all positions before a cut at `position`."""
        return self.window is None or self.first <= max(0, end - self.window + 1) or position <= end - self.window + 1

    def copy(self, position: int) -> "LayerContext":
        """Copy the rows before `position` into an array without spare rows.

        The first append finds the array full and makes a new one, so nothing that shares it is ever overwritten.
        """
        copied = LayerContext(self.window)
        held = max(position - self.first, 0)
        copied.rows = held if self.window is None else min(held, self.window)
        copied.first = min(self.first, position) + held - copied.rows
        if self._buffer is not None and copied.rows:
            copied._buffer = mx.contiguous(self._buffer[..., held - copied.rows : held, :])
        return copied

    def share(self) -> "LayerContext":
        """Return another context on the buffer of this copy, which has no spare rows."""
        shared = LayerContext(self.window)
        # its own handle: assigning to a slice changes the handle it goes through
        shared.first, shared.rows, shared._buffer = self.first, self.rows, copy.copy(self._buffer)
        return shared

    def place(self, span: DeviceSpan) -> None:
        """Make room for a round over `span`, and keep the rows that it can attend to."""
        buffer, start = self._buffer, span.start
        assert buffer is not None  # it holds the prompt
        if span.maximum - self.first > buffer.shape[3]:
            oldest = self.first if self.window is None else max(self.first, start.minimum - self.window)
            self._make_room(oldest, start.maximum, span.maximum - start.maximum, buffer)
        self._span = span
        self.rows = start.maximum - self.first

    def settle(self, position: int) -> None:
        """End a placed round, and keep only the rows before `position`."""
        self._span = None
        self.rows = position - self.first

    def _make_room(self, oldest: int, end: int, count: int, like: mx.array) -> None:
        """Move positions `oldest` to `end` into a new array with room for `count` more."""
        kept = end - oldest
        capacity = -(-(kept + count + (self.window or 0)) // _STEP) * _STEP
        fresh = mx.zeros((*like.shape[:3], capacity, like.shape[4]), dtype=like.dtype)
        if self._buffer is not None and kept:
            fresh[..., :kept, :] = self._buffer[..., oldest - self.first : end - self.first, :]
        self.rows -= oldest - self.first
        self.first = oldest
        self._buffer = fresh

    def layer(self, index: int) -> tuple[mx.array, mx.array] | None:
        """Keys and values of one layer, [1, H, rows, D] each, or None without a context."""
        if self._buffer is None:
            return None
        held = self._buffer[:, index : index + 1, :, : self.rows]
        return held[0], held[1]

    @property
    def state(self) -> list[mx.array]:
        """Arrays to evaluate, so that the context is computed."""
        return [] if self._buffer is None else [self._buffer]


class DraftContext:
    """The context of all layers.

    Attributes:
        position: absolute position of the next row, which is the anchor's.
        span: of a placed round.
        kinds: contexts by window.
    """

    def __init__(self, windows: tuple[int | None, ...]) -> None:
        self.position = 0
        self.span: DeviceSpan | None = None
        self.kinds = {window: LayerContext(window) for window in dict.fromkeys(windows)}

    def drop(self, rows: int) -> None:
        """Drop the last `rows` positions, fewer than the last append added."""
        self.position -= rows
        for kind in self.kinds.values():
            kind.rows -= rows

    @property
    def slides(self) -> bool:
        """Whether any layer has a window. A cut doesn't restore what a window dropped."""
        return any(window is not None for window in self.kinds)

    def skip(self, rows: int) -> None:
        """Skip `rows` positions that every window would drop unread."""
        self.position += rows
        for kind in self.kinds.values():
            kind.first, kind.rows = self.position, 0

    def reads(self, position: int, end: int) -> bool:
        """Whether a query at `end` attends to `position` in any layer."""
        return any(window is None or end - position < window for window in self.kinds)

    def reach(self, limit: int, end: int) -> int:
        """Return the last safe position for a cut, at most `limit`, for a query at `end`.

        What a window has dropped before the cut must be injected again, by prefill, between the cut and `end`.
        """
        limit = min(limit, self.position)
        short = [kind.window for kind in self.kinds.values() if kind.window is not None and not kind.is_complete(limit, end)]
        return max(min([limit, *(end - window + 1 for window in short)]), 0)

    def cut(self, position: int) -> None:
        """Drop every position from `position` on. `reach` returns a safe position."""
        self.position = position
        for kind in self.kinds.values():
            kind.cut(position)

    def copy(self, position: int | None = None) -> "DraftContext":
        """Copy everything before `position` (None: everything)."""
        copied = DraftContext(tuple(self.kinds))
        copied.position = self.position if position is None else position
        copied.kinds = {window: kind.copy(copied.position) for window, kind in self.kinds.items()}
        return copied

    def freeze(self) -> list[LayerContext]:
        """Copy the sliding layers' rows, for `thaw`."""
        return [kind.copy(self.position) for window, kind in self.kinds.items() if window is not None]

    def thaw(self, frozen: list[LayerContext]) -> None:
        """Restore the rows that `freeze` returned at this position, after a cut there."""
        for kind in frozen:
            self.kinds[kind.window] = kind.share()

    def place(self, span: DeviceSpan) -> None:
        """Prepare a round over `span`, anchor first. Only `settle` or `place` may follow."""
        self.span = span
        for kind in self.kinds.values():
            kind.place(span)

    def settle(self, position: int) -> None:
        """End all placed rounds: hold exactly the positions before `position`."""
        self.position, self.span = position, None
        for kind in self.kinds.values():
            kind.settle(position)

    @property
    def start(self) -> int | mx.array:
        """Position of the next row: an int, or [1] int32 in a placed round."""
        return self.position if self.span is None else self.span.start.value

    @property
    def state(self) -> list[mx.array]:
        """Arrays to evaluate, so that the context is computed."""
        return [array for kind in self.kinds.values() for array in kind.state]
