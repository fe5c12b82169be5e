"""Whether long work should wait for power, normal power mode, or cooling."""

from typing import Literal

from mlx_engine.hardware import sensors

WaitsFor = Literal["power", "low_power_mode", "cooling"]


def waits_for() -> WaitsFor | None:
    """Return what long work should wait for now, or None if it may run."""
    now = sensors.read()
    if now.is_hot:
        return "cooling"
    if now.saves_power:
        return "low_power_mode"
    return "power" if now.on_battery else None
