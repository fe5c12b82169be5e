"""The injected context: keys and values of every drafter layer for all positions before the anchor.

Layers that attend alike share one stacked array, written by one slice update a round. Full layers grow; sliding layers keep the
last `window` rows, always in temporal order, and drop older ones when the array is full.
"""

import mlx.core as mx

_STEP = 256  # rows by which an array grows


class LayerContext:
    """Context of the layers that share one window (None: full attention).

    `rows` positions are held, the oldest of them at absolute position `first`.
    """

    def __init__(self, window: int | None) -> None:
        self.window = window
        self.first = 0
        self.rows = 0
        self._buffer: mx.array | None = None  # [2, L, H, capacity, D]

    def append(self, rows: mx.array) -> None:
        """Add keys and values, [2, L, H, S, D], of the S positions that follow."""
        count = rows.shape[3]
        if self.window is not None and count > self.window:
            dropped = count - self.window
            self.first += self.rows + dropped
            self.rows = 0
            rows, count = rows[..., dropped:, :], self.window
        if self._buffer is None or self.rows + count > self._buffer.shape[3]:
            self._make_room(rows, count)
        buffer = self._buffer
        assert buffer is not None
        buffer[..., self.rows : self.rows + count, :] = rows
        self.rows += count

    def drop(self, rows: int) -> None:
        """Forget the last `rows` positions; the next ones overwrite them. What a window needs of older ones is still there."""
        self.rows -= rows

    def _make_room(self, rows: mx.array, count: int) -> None:
        kept = self.rows if self.window is None else min(self.rows, self.window)
        capacity = -(-(kept + count + (self.window or 0)) // _STEP) * _STEP
        shape = (*rows.shape[:3], capacity, rows.shape[4])
        fresh = mx.zeros(shape, dtype=rows.dtype)
        if self._buffer is not None and kept:
            fresh[..., :kept, :] = self._buffer[..., self.rows - kept : self.rows, :]
        self.first += self.rows - kept
        self.rows = kept
        self._buffer = fresh

    def layer(self, index: int) -> tuple[mx.array, mx.array] | None:
        """Keys and values of one layer, [1, H, rows, D] each, or None while there is no context."""
        if self._buffer is None:
            return None
        held = self._buffer[:, index : index + 1, :, : self.rows]
        return held[0], held[1]

    @property
    def nbytes(self) -> int:
        """Bytes of the array, spare rows included."""
        return 0 if self._buffer is None else self._buffer.nbytes

    @property
    def state(self) -> list[mx.array]:
        """What to evaluate for the context to be computed."""
        return [] if self._buffer is None else [self._buffer]


class DraftContext:
    """All layers' context. `position` is the absolute position of the next row, which is that of the anchor."""

    def __init__(self, windows: tuple[int | None, ...]) -> None:
        self.position = 0
        self.kinds = {window: LayerContext(window) for window in dict.fromkeys(windows)}

    def drop(self, rows: int) -> None:
        """Forget the last `rows` positions, which have to be fewer than were appended last."""
        self.position -= rows
        for kind in self.kinds.values():
            kind.drop(rows)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(kind.nbytes for kind in self.kinds.values())

    @property
    def state(self) -> list[mx.array]:
        """What to evaluate for the context to be computed."""
        return [array for kind in self.kinds.values() for array in kind.state]
