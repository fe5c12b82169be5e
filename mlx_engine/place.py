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
