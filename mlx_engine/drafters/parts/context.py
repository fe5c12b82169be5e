"""A drafter's context: the keys and values of all positions before the anchor.

A drafter that pairs each token with the features of the position before it also keeps the latest features (`pair`). Position 0 has
no such features, so its keys and values are never to be read.

Layers with the same window share one stacked array, which one slice update per round extends. Full-attention layers keep all rows.
Sliding layers keep the last `window` rows in temporal order and drop older ones when the array is full.

A queued round starts at a position that only the device knows. `place` prepares it: layers read up to the largest possible end, a
mask hides unfilled rows, and new rows are written at positions on the device. `settle` ends it.
"""

import copy
from collections.abc import Sequence

import mlx.core as mx

from mlx_engine.contract.limits import MAX_BLOCK_ROWS
from mlx_engine.hardware.device import DeviceSpan, write_rows

_STEP = 256  # rows by which an array grows
_FEATURES = "features"  # key of the latest features in `DraftContext.kinds`


class LayerContext:
    """The context of the layers that share one window (None: full attention).

    Attributes:
        first: absolute position of the oldest row.
        rows: number of rows; the largest possible number in a queued round.
    """

    def __init__(self, window: int | None) -> None:
        self.window = window
        self.first = 0
        self.rows = 0
        self._buffer: mx.array | None = None  # [2, L, H, capacity, D]
        self._span: DeviceSpan | None = None  # of a queued round

    def append(self, rows: mx.array) -> None:
        """Append the keys and values [2, L, H, S, D] of the next S positions."""
        if self._span is not None:
            assert self._buffer is not None
            positions = self._span.positions
            self._buffer = write_rows(self._buffer, rows, positions - self.first if self.first else positions)
            return
        count = rows.shape[3]
        if self.window is not None and count > max(self.window, MAX_BLOCK_ROWS):  # fewer rows may be dropped again
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
        """Drop `position` and all later positions."""
        self.rows = max(position - self.first, 0)
        self.first = min(self.first, position)

    def is_complete(self, position: int, end: int) -> bool:
        """Return whether a cut at `position` leaves all rows that a query at `end` reads."""
        return self.window is None or self.first <= max(0, end - self.window + 1) or position <= end - self.window + 1

    def copy(self, position: int) -> "LayerContext":
        """Copy the rows before `position` into an array without spare rows.

        The next append allocates a new array, so contexts that share the copy never overwrite each other's rows.
        """
        copied = LayerContext(self.window)
        held = max(position - self.first, 0)
        copied.rows = held if self.window is None else min(held, self.window)
        copied.first = min(self.first, position) + held - copied.rows
        if self._buffer is not None and copied.rows:
            copied._buffer = mx.contiguous(self._buffer[..., held - copied.rows : held, :])
        return copied

    def share(self) -> "LayerContext":
        """Return another context over this copy's buffer, which has no spare rows."""
        shared = LayerContext(self.window)
        # A handle of its own, because assigning to a slice changes only that handle
        shared.first, shared.rows, shared._buffer = self.first, self.rows, copy.copy(self._buffer)
        return shared

    @classmethod
    def of(cls, window: int | None, first: int, rows: mx.array | None) -> "LayerContext":
        """Return a context whose positions start at `first`.

        Args:
            window: as in the constructor.
            first: the first position.
            rows: keys and values, [2, L, H, S, D]; None for an empty context.
        """
        made = cls(window)
        made.first, made.rows, made._buffer = first, 0 if rows is None else rows.shape[3], rows
        return made

    def rows_between(self, start: int, end: int) -> mx.array | None:
        """Return the positions' keys and values, [2, L, H, end - start, D]; None if empty."""
        return None if self._buffer is None else self._buffer[..., start - self.first : end - self.first, :]

    def row(self, position: int | mx.array) -> mx.array | None:
        """Return the keys and values of one position, or None if empty."""
        return None if self._buffer is None else self._buffer[..., position - self.first, :]

    def place(self, span: DeviceSpan) -> None:
        """Make room for a queued round over `span`, and keep the rows that it may read."""
        buffer, start = self._buffer, span.start
        assert buffer is not None  # contains the prompt
        if span.maximum - self.first > buffer.shape[3]:
            oldest = self.first if self.window is None else max(self.first, start.minimum - self.window)
            self._make_room(oldest, start.maximum, span.maximum - start.maximum, buffer)
        self._span = span
        self.rows = start.maximum - self.first

    def settle(self, position: int) -> None:
        """End a queued round and keep only the rows before `position`."""
        self._span = None
        self.rows = position - self.first

    def _make_room(self, oldest: int, end: int, count: int, like: mx.array) -> None:
        """Move positions `oldest` to `end` into an array with at least `count` spare rows."""
        kept = end - oldest
        capacity = -(-(kept + count + (self.window or 0)) // _STEP) * _STEP
        fresh = mx.zeros((*like.shape[:3], capacity, like.shape[4]), dtype=like.dtype)
        if self._buffer is not None and kept:
            fresh[..., :kept, :] = self._buffer[..., oldest - self.first : end - self.first, :]
        self.rows -= oldest - self.first
        self.first = oldest
        self._buffer = fresh

    def layer(self, index: int) -> tuple[mx.array, mx.array] | None:
        """Return one layer's keys and values, [1, H, rows, D] each, or None if empty."""
        if self._buffer is None:
            return None
        held = self._buffer[:, index : index + 1, :, : self.rows]
        return held[0], held[1]

    @property
    def state(self) -> list[mx.array]:
        """Arrays to evaluate."""
        return [] if self._buffer is None else [self._buffer]


class DraftContext:
    """The context of all layers.

    Attributes:
        position: absolute position of the next row, that of the anchor.
        span: rows of a queued round, or None.
        kinds: contexts by window, and that of the latest features.
        confidence: log-odds [rows - 1] that the latest proposals are accepted; None if the drafter doesn't estimate them.

    Args:
        windows: the layers' windows.
        features: number of latest features to keep, at least the block size; 0 for a drafter that doesn't pair.
    """

    def __init__(self, windows: tuple[int | None, ...], features: int = 0) -> None:
        self.position = 0
        self.span: DeviceSpan | None = None
        self.confidence: mx.array | None = None
        self.kinds: dict[int | str | None, LayerContext] = {window: LayerContext(window) for window in windows}
        if features:
            self.kinds[_FEATURES] = LayerContext(features)

    def before(self, size: int) -> mx.array:
        """Return the features [1, size] before the anchor; zeros at position 0."""
        row = self.kinds[_FEATURES].row(self.start - 1) if self.span is not None or self.kinds[_FEATURES].rows else None
        return mx.zeros((1, size)) if row is None else row.reshape(1, size)

    def pair(self, features: mx.array) -> mx.array:
        """Return the features [S, F] of the positions before the next S positions.

        Args:
            features: those of the next S positions, which are kept.
        """
        before = self.before(features.shape[1]).astype(features.dtype)
        self.kinds[_FEATURES].append(features[None, None, None])
        return mx.concatenate([before, features[:-1]])

    def advance(self, rows: int) -> None:
        """Count `rows` appended positions, unless the round is queued."""
        if self.span is None:
            self.position += rows

    def drop(self, rows: int) -> None:
        """Drop the last `rows` positions, which must be fewer than the last append added."""
        self.position -= rows
        for kind in self.kinds.values():
            kind.rows -= rows

    @property
    def slides(self) -> bool:
        """Whether any layer has a window, so that a cut can't restore dropped rows."""
        return any(kind.window is not None for kind in self.kinds.values())

    def skip(self, rows: int) -> None:
        """Advance by `rows` positions that no layer will read."""
        self.position += rows
        for kind in self.kinds.values():
            kind.first, kind.rows = self.position, 0

    def reads(self, position: int, end: int) -> bool:
        """Return whether a query at `end` attends to `position` in any layer."""
        return any(kind.window is None or end - position < kind.window for kind in self.kinds.values())

    def reach(self, limit: int, end: int) -> int:
        """Return the largest safe cut position up to `limit`, for a query at `end`.

        Prefill must then inject the positions from the cut to `end` again, which restores the rows that a window dropped.
        """
        limit, features = min(limit, self.position), self.kinds.get(_FEATURES)
        sliding = [kind for kind in self.kinds.values() if kind.window is not None and kind is not features]
        reach = min([limit, *(end - kind.window + 1 for kind in sliding if kind.window and not kind.is_complete(limit, end))])
        return 0 if reach < 0 or (features is not None and features.first >= reach) else reach

    def cut(self, position: int) -> None:
        """Drop `position` and all later positions; see `reach` for safe positions."""
        self.position = position
        for kind in self.kinds.values():
            kind.cut(position)

    def copy(self, position: int | None = None) -> "DraftContext":
        """Copy the context before `position`, or all of it if None."""
        copied = DraftContext(())
        copied.position = self.position if position is None else position
        copied.kinds = {key: kind.copy(copied.position) for key, kind in self.kinds.items()}
        return copied

    def rows(self, start: int, end: int) -> list[mx.array]:
        """Return the full-attention layers' keys and values of these positions.

        Returns:
            One array [2, L, H, end - start, D], or none without such layers.
        """
        kind = self.kinds.get(None)
        found = kind.rows_between(start, end) if kind else None
        return [] if found is None else [found]

    def fill(self, pieces: Sequence[Sequence[mx.array]], position: int) -> None:
        """Fill the full-attention layers of this empty context up to `position`.

        Args:
            pieces: the `rows` of consecutive positions.
            position: number of positions.
        """
        self.position = position
        if None in self.kinds:
            self.kinds[None] = LayerContext.of(None, 0, mx.concatenate([rows for piece in pieces for rows in piece], axis=3))

    def freeze(self) -> list[LayerContext]:
        """Return a copy of the rows that a cut can't restore, for `thaw`."""
        return [kind.copy(self.position) for kind in self.kinds.values() if kind.window is not None]

    def thaw(self, frozen: list[LayerContext]) -> None:
        """Restore rows from `freeze` after a cut at the same position."""
        keys = [key for key, kind in self.kinds.items() if kind.window is not None]
        self.kinds.update((key, kind.share()) for key, kind in zip(keys, frozen, strict=False))  # none if a cut needs none

    def place(self, span: DeviceSpan) -> None:
        """Prepare a queued round over `span`, anchor first; `settle` must end it."""
        self.span = span
        for kind in self.kinds.values():
            kind.place(span)

    def settle(self, position: int) -> None:
        """End all queued rounds and keep only the positions before `position`."""
        self.position, self.span = position, None
        for kind in self.kinds.values():
            kind.settle(position)

    @property
    def start(self) -> int | mx.array:
        """Position of the next row: an int, or [1] int32 in a queued round."""
        return self.position if self.span is None else self.span.start.value

    @property
    def state(self) -> list[mx.array]:
        """Arrays to evaluate."""
        return [array for kind in self.kinds.values() for array in kind.state]
