"""What surrounds a reply: the computer's heat, power, and memory."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, get_args

Heat = Literal["normal", "fair", "serious", "critical"]  # as macOS grades it, the best first
Pressure = Literal["normal", "warning", "critical"]


@dataclass(frozen=True)
class Conditions:
    """The state of the computer at a time. What isn't known is None.

    Attributes:
        heat: how hot it is. From “serious” on, the system slows it down.
        saves_power: whether Low Power Mode is on, or its equivalent.
        on_battery: whether it runs on its battery.
        charge: of the battery, from 0 to 1; None without one.
        pressure: how much memory other programs need.
    """

    heat: Heat | None = None
    saves_power: bool | None = None
    on_battery: bool | None = None
    charge: float | None = None
    pressure: Pressure | None = None

    @property
    def is_hot(self) -> bool:
        """Whether the system slows the computer down to cool it."""
        return self.heat in ("serious", "critical")

    def __str__(self) -> str:
        """Return all values in a line, such as "heat normal, power adapter, battery 85%"."""
        power = {None: "power source unknown", False: "power adapter", True: "on battery"}[self.on_battery]
        mode = {None: "Low Power Mode unknown", False: "Low Power Mode off", True: "Low Power Mode on"}[self.saves_power]
        charge = [] if self.charge is None else [f"battery {self.charge:.0%}"]
        return ", ".join((f"heat {self.heat or 'unknown'}", mode, power, *charge, f"memory pressure {self.pressure or 'unknown'}"))

    def worst(self, other: "Conditions") -> "Conditions":
        """Return the worse of each value."""
        charges = [charge for charge in (self.charge, other.charge) if charge is not None]
        return Conditions(
            heat=max(self.heat, other.heat, key=_HEATS.index),
            saves_power=max(self.saves_power, other.saves_power, key=_SWITCH.index),
            on_battery=max(self.on_battery, other.on_battery, key=_SWITCH.index),
            charge=min(charges, default=None),
            pressure=worst((self.pressure, other.pressure)),
        )


def worst(pressures: Iterable[Pressure | None]) -> Pressure | None:
    """Return the highest pressure that is known, or None."""
    return max(pressures, key=_PRESSURES.index, default=None)


_HEATS: tuple[Heat | None, ...] = (None, *get_args(Heat))
_PRESSURES: tuple[Pressure | None, ...] = (None, *get_args(Pressure))
_SWITCH: tuple[bool | None, ...] = (None, False, True)
UNKNOWN = Conditions()
