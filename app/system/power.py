"""Whether long work should wait for power, normal power mode, or cooling.

Nothing waits on other systems than macOS.
"""

import ctypes
import logging
import sys
from typing import Literal

from app.system.macos import process_info

log = logging.getLogger(__name__)

WaitsFor = Literal["power", "low_power_mode", "cooling"]

_UNLIMITED = -2.0  # kIOPSTimeRemainingUnlimited
_SERIOUS = 2  # NSProcessInfoThermalStateSerious
_IOKIT = "/System/Library/Frameworks/IOKit.framework/IOKit"


def waits_for() -> WaitsFor | None:
    """Return what long work should wait for now, or None if it may run."""
    if sys.platform != "darwin":
        return None
    process = process_info()
    try:
        if process is not None and process.thermalState() >= _SERIOUS:
            return "cooling"
        if process is not None and process.isLowPowerModeEnabled():
            return "low_power_mode"
        return "power" if _battery_left() != _UNLIMITED else None
    except (OSError, AttributeError):
        log.exception("Can't read the power source")
        return None


def _battery_left() -> float:
    """Return the time until the battery is empty.

    Returns:
        -1 while it isn't known yet, -2 if the Mac doesn't run on a battery.
    """
    estimate = ctypes.CDLL(_IOKIT).IOPSGetTimeRemainingEstimate
    estimate.restype = ctypes.c_double
    return float(estimate())
