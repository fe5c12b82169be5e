"""Heat, power, and memory pressure of recorded computers."""

import logging
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlx_engine.cli.doctor import diagnose_conditions
from mlx_engine.contract.conditions import UNKNOWN, Conditions, Heat, Pressure
from mlx_engine.hardware import sensors
from tests.sensors_double import LAPTOP, Mac, write_files

CONDITIONS = st.builds(
    Conditions,
    st.sampled_from([None, "normal", "fair", "serious", "critical"]),
    st.sampled_from([None, False, True]),
    st.sampled_from([None, False, True]),
    st.none() | st.floats(0, 1),
    st.sampled_from([None, "normal", "warning", "critical"]),
)


@pytest.fixture
def mac(monkeypatch: pytest.MonkeyPatch) -> Mac:
    found = Mac()
    found.install(monkeypatch)
    return found


def of_linux(root: Path, **changed: str) -> Conditions:
    """Return the conditions of the recorded laptop with some files changed; `__` stands for a slash."""
    files = LAPTOP | {next(name for name in LAPTOP if name.endswith(key.replace("__", "/"))): text for key, text in changed.items()}
    return sensors.read(write_files(root, files))


@given(
    heat=st.integers(0, 3),
    saves_power=st.booleans(),
    source=st.sampled_from(["AC Power", "Battery Power", "UPS Power"]),
    charge=st.integers(0, 101),
    level=st.sampled_from([1, 2, 4]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_mac_tells_its_conditions_and_keeps_no_memory(
    mac: Mac, heat: int, saves_power: bool, source: str, charge: int, level: int
) -> None:
    mac.heat, mac.saves_power, mac.source, mac.level = heat, saves_power, source, level
    mac.sources[1]["Current Capacity"] = charge
    assert sensors.read() == Conditions(
        ("normal", "fair", "serious", "critical")[heat],  # type: ignore[arg-type]
        saves_power,
        source != "AC Power",
        min(charge / 100, 1.0),
        {1: "normal", 2: "warning", 4: "critical"}[level],  # type: ignore[arg-type]
    )
    assert mac.owned == []


def test_a_desktop_mac_has_no_charge(mac: Mac) -> None:
    mac.sources.clear()
    assert sensors.read() == Conditions("normal", False, False, None, "normal")


@pytest.mark.parametrize(
    ("broken", "unknown"),
    [
        ({"source": None}, ["on_battery", "charge"]),
        ({"sources": None}, ["on_battery", "charge"]),
        ({"sources": [{"Type": "InternalBattery", "Max Capacity": 100}]}, ["on_battery", "charge"]),
        ({"sources": [{}]}, ["on_battery", "charge"]),
        ({"heat": 7}, ["heat"]),
        ({"level": 77}, ["pressure"]),
    ],
)
def test_what_a_mac_does_not_tell_is_unknown(
    mac: Mac, broken: dict[str, Any], unknown: list[str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sensors, "_reported", set())
    for name, value in broken.items():
        setattr(mac, name, value)
    with caplog.at_level(logging.WARNING):
        assert [name for name, value in vars(sensors.read()).items() if value is None] == unknown
        sensors.read()
    assert len(caplog.records) == 1 and mac.owned == []


def test_a_mac_without_pyobjc_and_frameworks_knows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setitem(sys.modules, "Foundation", None)

    def missing(path: str | None) -> None:
        raise OSError("no such library")

    monkeypatch.setattr("ctypes.CDLL", missing)
    assert sensors.read() == UNKNOWN


def test_a_laptop_on_linux_tells_its_conditions(tmp_path: Path) -> None:
    assert of_linux(tmp_path) == Conditions("normal", False, False, 0.8, "normal")


@pytest.mark.parametrize(
    ("temperature", "heat"), [("89000", "normal"), ("90000", "fair"), ("95000", "serious"), ("100000", "critical")]
)
def test_heat_follows_the_temperatures_at_which_linux_acts(tmp_path: Path, temperature: str, heat: Heat) -> None:
    assert of_linux(tmp_path, thermal_zone1__temp=temperature).heat == heat


def test_a_battery_that_discharges_without_the_adapter_supplies_the_laptop(tmp_path: Path) -> None:
    unplugged = of_linux(tmp_path, AC__online="0", BAT0__status="Discharging", BAT0__capacity="31")
    assert (unplugged.on_battery, unplugged.charge) == (True, 0.31)
    assert of_linux(tmp_path, BAT0__status="Discharging").on_battery is False  # the adapter is too weak
    assert of_linux(tmp_path, BAT0__present="0").charge is None
    assert of_linux(tmp_path, platform_profile="low-power").saves_power is True


@pytest.mark.parametrize(
    ("meminfo", "stalls", "pressure"),
    [
        ("MemTotal: 1000 kB\nMemAvailable: 80 kB", "some avg10=9.99 avg60=0\nfull avg10=0.00", "normal"),
        ("MemTotal: 1000 kB\nMemAvailable: 79 kB", "some avg10=0.00\nfull avg10=0.00", "warning"),
        ("MemTotal: 1000 kB\nMemAvailable: 39 kB", "some avg10=0.00\nfull avg10=0.00", "critical"),
        ("MemTotal: 1000 kB\nMemAvailable: 500 kB", "some avg10=10.00\nfull avg10=9.00", "warning"),
        ("MemTotal: 1000 kB\nMemAvailable: 500 kB", "some avg10=40.00\nfull avg10=12.00", "critical"),
        ("MemTotal: 0 kB\nMemAvailable: 39 kB", "some avg10=0.00", "normal"),
        ("MemTotal\nMemAvailable: x kB", "nonsense", None),
        ("", "", None),
    ],
)
def test_linux_tells_memory_pressure(tmp_path: Path, meminfo: str, stalls: str, pressure: Pressure | None) -> None:
    root = write_files(tmp_path, LAPTOP | {"proc/meminfo": meminfo, "proc/pressure/memory": stalls})
    assert sensors.memory_pressure(root) == pressure


@given(st.dictionaries(st.sampled_from(sorted(LAPTOP)), st.none() | st.text(max_size=20)))
@settings(max_examples=60)
def test_no_file_of_linux_makes_reading_fail(tmp_path_factory: pytest.TempPathFactory, changed: dict[str, str | None]) -> None:
    files = {name: text for name, text in (LAPTOP | changed).items() if text is not None}
    root = write_files(tmp_path_factory.mktemp("linux"), files)
    found = sensors.read(root)
    assert isinstance(found, Conditions) and 0 <= (found.charge or 0.0) <= 1
    assert sensors.read(root / "nothing") == UNKNOWN


@given(CONDITIONS, CONDITIONS, CONDITIONS)
def test_the_worst_of_conditions_depends_on_no_order(one: Conditions, two: Conditions, three: Conditions) -> None:
    assert one.worst(two) == two.worst(one) and one.worst(one) == one == one.worst(UNKNOWN)
    assert one.worst(two).worst(three) == one.worst(two.worst(three))


@given(CONDITIONS)
def test_doctor_warns_of_what_slows_the_computer_down(now: Conditions) -> None:
    found = diagnose_conditions(now)
    slow = now.heat in ("serious", "critical") or now.saves_power or now.pressure == "critical"
    assert found.state == ("warn" if slow else "ok") and bool(found.advice) == bool(slow)
    assert found.detail.count("unknown") == [now.heat, now.saves_power, now.on_battery, now.pressure].count(None)
