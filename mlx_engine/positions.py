"""Where a pass begins when only the device knows: it is queued before the one before it has been read."""

from dataclasses import dataclass

import mlx.core as mx


@dataclass(frozen=True)
class Place:
    """A position, `at` [1] int32 on the device. The host knows that it is at least `least` and at most `most`."""

    at: mx.array
    least: int
    most: int
    kept: mx.array | None = None  # rows of the pass before, [1] int32, if nobody has read it: the pass begins after them

    @classmethod
    def known(cls, position: int) -> "Place":
        """One that the host knows."""
        return cls(mx.array([position], mx.int32), position, position)

    def span(self, rows: int) -> "Span":
        """So many rows from here on."""
        return Span(self, self.at + mx.arange(rows), self.at + rows)


@dataclass(frozen=True)
class Span:
    """The rows of a pass: they stand at `positions` [S] int32, and the next one will stand at `end` [1] int32."""

    place: Place
    positions: mx.array
    end: mx.array

    @property
    def reach(self) -> int:
        """What `end` is at most."""
        return self.place.most + self.positions.size


def written(buffer: mx.array, rows: mx.array, positions: mx.array) -> mx.array:
    """A buffer [.., capacity, D] with rows [.., S, D] at these positions [S] int32 of it; in place where nothing else holds it.

    One dispatch. `mx.slice_update` at a start that only the device knows takes two: it has its offset computed first.
    """
    axis = buffer.ndim - 2
    return mx.put_along_axis(buffer, positions.reshape(*[1] * axis, -1, 1), rows, axis=axis)
