"""The device, and positions that only it knows, for queued passes."""

from dataclasses import dataclass

import mlx.core as mx


def runs_beside_host() -> bool:
    """Return whether the device runs a pass while the host builds the next one."""
    return mx.default_device().type == mx.gpu


def use_cpu() -> None:
    """Compute on the CPU in this process from now on, even if there is a GPU."""
    mx.set_default_device(mx.cpu)


@dataclass(frozen=True)
class DevicePosition:
    """A position on the device. The host may know only its bounds.

    Attributes:
        value: position, [1] int32.
        minimum: lower bound.
        maximum: upper bound.
        kept: number of rows kept from the previous pass, [1] int32; None if the host has read that pass.
    """

    value: mx.array
    minimum: int
    maximum: int
    kept: mx.array | None = None

    @classmethod
    def known(cls, position: int) -> "DevicePosition":
        """Return a position that the host knows."""
        return cls(mx.array([position], mx.int32), position, position)

    def span(self, rows: int) -> "DeviceSpan":
        """Return the span of the next `rows` rows."""
        return DeviceSpan(self, self.value + mx.arange(rows), self.value + rows, self.value)


@dataclass(frozen=True)
class DeviceSpan:
    """The rows of a pass.

    Attributes:
        start: of the first row.
        positions: of all rows, [S] int32.
        end: after the last row, [1] int32.
        turned: what RoPE takes as the position of the first row, [1] int32.
    """

    start: DevicePosition
    positions: mx.array
    end: mx.array
    turned: mx.array

    @property
    def maximum(self) -> int:
        """Upper bound of `end`."""
        return self.start.maximum + self.positions.size


def write_rows(buffer: mx.array, rows: mx.array, positions: mx.array) -> mx.array:
    """Write rows [.., S, D] to a buffer [.., capacity, D] at positions [S] int32.

    Takes one dispatch, and works in place unless the buffer is shared. `mx.slice_update` takes two dispatches, because it computes
    its offset first.
    """
    axis = buffer.ndim - 2
    return mx.put_along_axis(buffer, positions.reshape(*[1] * axis, -1, 1), rows, axis=axis)
