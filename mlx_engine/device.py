"""Passes that are queued before the host has read the pass before them: only the device knows where they begin."""

from dataclasses import dataclass

import mlx.core as mx


def runs_beside_host() -> bool:
    """Whether the device runs one pass while the host builds the next. A CPU does one after the other."""
    return mx.default_device().type == mx.gpu


@dataclass(frozen=True)
class DevicePosition:
    """A position on the device; the host may know only its bounds.

    Attributes:
        value: the position, [1] int32.
        minimum: the smallest it can be.
        maximum: the largest it can be.
        kept: number of rows kept of the previous pass, [1] int32, if the host has not read that pass.
    """

    value: mx.array
    minimum: int
    maximum: int
    kept: mx.array | None = None

    @classmethod
    def known(cls, position: int) -> "DevicePosition":
        """A position that the host knows."""
        return cls(mx.array([position], mx.int32), position, position)

    def span(self, rows: int) -> "DeviceSpan":
        """The next `rows` rows from here on."""
        return DeviceSpan(self, self.value + mx.arange(rows), self.value + rows)


@dataclass(frozen=True)
class DeviceSpan:
    """The rows of one pass: their `positions` [S] int32, and the position after the last, `end` [1] int32."""

    start: DevicePosition
    positions: mx.array
    end: mx.array

    @property
    def maximum(self) -> int:
        """The largest that `end` can be."""
        return self.start.maximum + self.positions.size


def write_rows(buffer: mx.array, rows: mx.array, positions: mx.array) -> mx.array:
    """Write rows [.., S, D] into a buffer [.., capacity, D] at positions [S] int32; in place unless the buffer is shared.

    One dispatch. `mx.slice_update` takes two, because it computes its offset first.
    """
    axis = buffer.ndim - 2
    return mx.put_along_axis(buffer, positions.reshape(*[1] * axis, -1, 1), rows, axis=axis)
