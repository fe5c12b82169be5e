"""Reading the computer's heat, power, and memory pressure.

What can't be read is unknown: no error leaves this module. Reading takes less than a few milliseconds, but a driver on Linux can
take longer, so a window reads on another thread.
"""

import ctypes
import logging
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, get_args

from mlx_engine.contract.conditions import Conditions, Heat, Pressure, worst
from mlx_engine.hardware import cgroup
from mlx_engine.hardware.power_sources import PowerSources

log = logging.getLogger(__name__)

T = TypeVar("T")
_HEATS: tuple[Heat, ...] = get_args(Heat)  # in the order of NSProcessInfoThermalState
_LEVELS: dict[int, Pressure] = {1: "normal", 2: "warning", 4: "critical"}  # of the Mac's kernel
_NEAR = 5_000  # thousandths of a degree below the temperature from which Linux slows the processor down
_PROCESSORS = ("acpitz", "cpu", "gpu", "k10temp", "pkg", "soc", "tcpu")  # in names of thermal zones
_AVAILABLE: tuple[tuple[float, Pressure], ...] = ((0.04, "critical"), (0.08, "warning"))  # share of the memory on Linux
_STALLED = 10.0  # percent of the last 10 s in which programs waited for memory; one in ten is felt
_reported: set[str] = set()  # what has failed before, which is logged once


def read(root: Path = Path("/")) -> Conditions:
    """Return the current conditions.

    Args:
        root: of the file system on Linux; tests have another one.
    """
    if sys.platform == "darwin":
        process = process_info()
        on_battery, charge = _known("power source", lambda: PowerSources().read()) or (None, None)
        return Conditions(
            heat=_known("heat", lambda: _HEATS[process.thermalState()]),
            saves_power=_known("Low Power Mode", lambda: bool(process.isLowPowerModeEnabled())),
            on_battery=on_battery,
            charge=charge,
            pressure=memory_pressure(root),
        )
    on_battery, charge = _known("power source", lambda: _supplies(root)) or (None, None)
    return Conditions(
        heat=_known("heat", lambda: _heat(root)),
        saves_power=_known("power profile", lambda: _saves_power(root)),
        on_battery=on_battery,
        charge=charge,
        pressure=memory_pressure(root),
    )


def memory_pressure(root: Path = Path("/")) -> Pressure | None:
    """Return the memory pressure. On a Mac, "warning" comes before heavy paging."""
    if sys.platform == "darwin":
        return _known("memory pressure", lambda: _LEVELS[_sysctl("kern.memorystatus_vm_pressure_level")])
    readings: list[Pressure | None] = [
        _known("memory", lambda: _from_meminfo(root)),
        _known("memory stalls", lambda: _from_stalls(root / "proc/pressure/memory")),
        _known("control groups", lambda: _from_groups(root)),
    ]
    return worst(readings)


def process_info() -> Any:
    """Return NSProcessInfo of this process, or None on other systems."""
    if sys.platform != "darwin":
        return None
    try:
        from Foundation import NSProcessInfo

        return NSProcessInfo.processInfo()
    except ImportError:
        _report("process information, so the Mac may sleep during a reply")
        return None


def _known(name: str, reading: Callable[[], T | None]) -> T | None:
    """Return what `reading` does, or None if it fails, whatever the reason."""
    try:
        return reading()
    except Exception:  # files and frameworks that aren't as expected
        _report(name)
        return None


def _report(name: str) -> None:
    """Log the current exception, once for each name."""
    if name not in _reported:
        _reported.add(name)
        log.warning("Can't read the %s", name, exc_info=True)


def _sysctl(name: str) -> int:
    value, size = ctypes.c_int(), ctypes.c_size_t(ctypes.sizeof(ctypes.c_int))
    if ctypes.CDLL(None).sysctlbyname(name.encode(), ctypes.byref(value), ctypes.byref(size), None, ctypes.c_size_t(0)):
        raise OSError(name)
    return value.value


# Linux


def _heat(root: Path) -> Heat | None:
    """Return the processors' heat, by the temperatures at which the kernel acts."""
    found = [heat for zone in root.glob("sys/class/thermal/thermal_zone*") if (heat := _zone_heat(zone)) is not None]
    return max(found, key=_HEATS.index, default=None)


def _zone_heat(zone: Path) -> Heat | None:
    if not any(name in _text(zone / "type").lower() for name in _PROCESSORS):
        return None
    with suppress(OSError, ValueError):  # a zone that is off can't be read
        temperature = int(_text(zone / "temp"))
        limits: dict[str, int] = {}
        for file in zone.glob("trip_point_*_type"):
            kind, limit = _text(file), int(_text(file.with_name(file.name.replace("_type", "_temp"))))
            if limit > 0:  # others are off
                limits[kind] = min(limit, limits.get(kind, limit))
        slows = min((limits[kind] for kind in ("passive", "hot", "critical") if kind in limits), default=None)
        stops = min((limits[kind] for kind in ("hot", "critical") if kind in limits), default=None)
        if stops is not None and temperature >= stops - _NEAR:
            return "critical"
        if slows is None:
            return None
        return "serious" if temperature >= slows else "fair" if temperature >= slows - _NEAR else "normal"
    return None


def _saves_power(root: Path) -> bool | None:
    file = root / "sys/firmware/acpi/platform_profile"
    return _text(file) == "low-power" if file.is_file() else None


def _supplies(root: Path) -> tuple[bool | None, float | None]:
    """Return whether a battery supplies the computer, and the charge of its batteries."""
    folder = root / "sys/class/power_supply"
    supplies = [supply for supply in folder.glob("*") if _optional(supply / "scope") != "Device"]  # of a mouse
    batteries = [supply for supply in supplies if _text(supply / "type") == "Battery" and _optional(supply / "present") != "0"]
    plugged = any(_optional(supply / "online") == "1" for supply in supplies if supply not in batteries)
    charges = [float(text) / 100 for battery in batteries if (text := _optional(battery / "capacity"))]
    if not batteries:
        return (False if folder.is_dir() else None), None
    discharging = any(_optional(battery / "status") == "Discharging" for battery in batteries)
    return discharging and not plugged, min(sum(charges) / len(charges), 1.0) if charges else None


def _from_meminfo(root: Path) -> Pressure | None:
    """Derive the memory pressure from the share of available memory."""
    file = root / "proc/meminfo"
    if not file.is_file():
        return None
    lines = dict(line.split(":", 1) for line in file.read_text().splitlines() if ":" in line)
    return _from_share(int(lines["MemAvailable"].split()[0]) / int(lines["MemTotal"].split()[0]))


def _from_share(available: float) -> Pressure:
    return next((level for limit, level in _AVAILABLE if available < limit), "normal")


def _from_groups(root: Path) -> Pressure | None:
    """Derive the memory pressure from the limits of control groups."""
    groups = cgroup.memory_groups(root)
    shares = [_from_share(group.available / max(group.limit, 1)) for group in groups]
    return worst([*shares, *(_from_stalls(group.folder / "memory.pressure") for group in groups)])


def _from_stalls(file: Path) -> Pressure | None:
    """Derive the memory pressure from the time that programs waited for memory."""
    if not file.is_file():
        return None
    lines = (line.split(" ", 1) for line in file.read_text().splitlines())
    shares = {kind: float(rest.split("avg10=")[1].split()[0]) for kind, rest in lines}
    if shares.get("full", 0.0) >= _STALLED:
        return "critical"
    return "warning" if shares["some"] >= _STALLED else "normal"


def _text(file: Path) -> str:
    return file.read_text(errors="replace").strip()


def _optional(file: Path) -> str:
    with suppress(OSError):
        return _text(file)
    return ""
