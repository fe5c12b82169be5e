"""Recorded computers for `mlx_engine.hardware.sensors`: a Mac's frameworks, and a Linux laptop's files."""

import ctypes
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

# Of a laptop with an Intel processor, which is plugged in, cool, and at rest
LAPTOP = {
    "sys/class/thermal/thermal_zone0/type": "x86_pkg_temp",
    "sys/class/thermal/thermal_zone0/temp": "48000",
    "sys/class/thermal/thermal_zone0/trip_point_0_type": "passive",
    "sys/class/thermal/thermal_zone0/trip_point_0_temp": "-274000",
    "sys/class/thermal/thermal_zone1/type": "acpitz",
    "sys/class/thermal/thermal_zone1/temp": "45000",
    "sys/class/thermal/thermal_zone1/trip_point_0_type": "critical",
    "sys/class/thermal/thermal_zone1/trip_point_0_temp": "105000",
    "sys/class/thermal/thermal_zone1/trip_point_1_type": "passive",
    "sys/class/thermal/thermal_zone1/trip_point_1_temp": "95000",
    "sys/class/thermal/thermal_zone2/type": "iwlwifi_1",
    "sys/class/thermal/thermal_zone2/temp": "99000",
    "sys/class/power_supply/AC/type": "Mains",
    "sys/class/power_supply/AC/online": "1",
    "sys/class/power_supply/BAT0/type": "Battery",
    "sys/class/power_supply/BAT0/present": "1",
    "sys/class/power_supply/BAT0/status": "Not charging",
    "sys/class/power_supply/BAT0/capacity": "80",
    "sys/class/power_supply/mouse/type": "Battery",
    "sys/class/power_supply/mouse/scope": "Device",
    "sys/class/power_supply/mouse/status": "Discharging",
    "sys/class/power_supply/mouse/capacity": "5",
    "sys/firmware/acpi/platform_profile": "balanced",
    "proc/meminfo": "MemTotal: 1000 kB\nMemFree: 20 kB\nMemAvailable: 500 kB",
    "proc/pressure/memory": (
        "some avg10=0.22 avg60=0.05 avg300=0.01 total=318229\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=200117"
    ),
}


def write_files(root: Path, files: dict[str, str]) -> Path:
    """Write the files of a computer, and return their root."""
    for name, text in files.items():
        file = root / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n", encoding="utf-8")
    return root


@dataclass
class Mac:
    """A Mac whose state a test can change.

    Attributes:
        sources: what IOKit says of each power source.
        owned: objects of Core Foundation that weren't released yet.
    """

    heat: int = 0
    saves_power: bool = False
    source: str | None = "AC Power"
    sources: list[dict[str, Any]] = field(
        default_factory=lambda: [
            {"Type": "UPS", "Current Capacity": 10, "Max Capacity": 100},
            {"Type": "InternalBattery", "Current Capacity": 85, "Max Capacity": 100},
        ]
    )
    level: int = 1
    owned: list[int] = field(default_factory=list)
    _objects: list[Any] = field(default_factory=lambda: [None])

    def install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let this process find the Mac's frameworks."""
        process = SimpleNamespace(thermalState=lambda: self.heat, isLowPowerModeEnabled=lambda: self.saves_power)
        foundation = ModuleType("Foundation")
        foundation.NSProcessInfo = SimpleNamespace(processInfo=lambda: process)  # type: ignore[attr-defined]
        monkeypatch.setattr(sys, "platform", "darwin")
        monkeypatch.setitem(sys.modules, "Foundation", foundation)
        monkeypatch.setattr(ctypes, "CDLL", self.load)

    def load(self, path: str | None) -> Any:
        if path is None:
            return SimpleNamespace(sysctlbyname=self._sysctl)
        prefix = "IOPS" if path.endswith("/IOKit") else "CF"
        return SimpleNamespace(**{name: self._function(name) for name in dir(self) if name.startswith(prefix)})

    def _function(self, name: str) -> Any:
        """Return a function whose types can be declared, as those of ctypes."""

        def call(*arguments: Any) -> Any:
            assert len(call.argtypes) == len(arguments) and hasattr(call, "restype")  # type: ignore[attr-defined]
            return getattr(self, name)(*arguments)

        return call

    def _sysctl(self, name: bytes, value: Any, size: Any, new: Any, length: Any) -> int:
        assert name == b"kern.memorystatus_vm_pressure_level"
        value._obj.value = self.level
        return 0

    def _new(self, value: Any, owned: bool = False) -> int | None:
        if value is None:
            return None
        self._objects.append(value)
        if owned:
            self.owned.append(len(self._objects) - 1)
        return len(self._objects) - 1

    def IOPSCopyPowerSourcesInfo(self) -> int | None:
        return self._new(self.sources, owned=True)

    def IOPSCopyPowerSourcesList(self, info: int) -> int | None:
        return self._new(list(self._objects[info]), owned=True)

    def IOPSGetPowerSourceDescription(self, info: int, source: int) -> int | None:
        return source

    def IOPSGetProvidingPowerSourceType(self, info: int) -> int | None:
        return self._new(self.source)

    def CFArrayGetCount(self, array: int) -> int:
        return len(self._objects[array])

    def CFArrayGetValueAtIndex(self, array: int, index: int) -> int | None:
        return self._new(self._objects[array][index])

    def CFDictionaryGetValue(self, found: int, key: int) -> int | None:
        return self._new(self._objects[found].get(self._objects[key]))

    def CFNumberGetValue(self, number: int, kind: int, place: Any) -> bool:
        assert kind == 13
        place._obj.value = self._objects[number]
        return True

    def CFStringCreateWithCString(self, allocator: None, text: bytes, encoding: int) -> int | None:
        assert encoding == 0x08000100
        return self._new(text.decode(), owned=True)

    def CFStringGetCString(self, text: int, buffer: Any, size: int, encoding: int) -> bool:
        buffer.value = self._objects[text].encode()[: size - 1]
        return True

    def CFRelease(self, released: int) -> None:
        self.owned.remove(released)
