"""Whether tests of kernels wait, with fakes of NSProcessInfo and IOKit."""

import ctypes
import logging
import sys
from types import ModuleType, SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.system import power


@pytest.fixture
def mac(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A Mac whose state a test can change."""
    state = SimpleNamespace(heat=0, saves_power=False, left=-2.0)
    process = SimpleNamespace(thermalState=lambda: state.heat, isLowPowerModeEnabled=lambda: state.saves_power)
    foundation = ModuleType("Foundation")
    foundation.NSProcessInfo = SimpleNamespace(processInfo=lambda: process)  # type: ignore[attr-defined]
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setitem(sys.modules, "Foundation", foundation)

    class Estimate:
        restype: object = None

        def __call__(self) -> float:
            assert self.restype is ctypes.c_double
            return float(state.left)

    def load(path: str) -> SimpleNamespace:
        assert path.endswith("/IOKit")
        if state.left is None:
            raise OSError("no such library")
        return SimpleNamespace(IOPSGetTimeRemainingEstimate=Estimate())

    monkeypatch.setattr(ctypes, "CDLL", load)
    return state


@given(heat=st.integers(0, 3), saves_power=st.booleans(), left=st.sampled_from([-2.0, -1.0, 0.0, 5400.0]))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_long_work_waits_for_power_for_normal_mode_and_for_cooling(
    mac: SimpleNamespace, heat: int, saves_power: bool, left: float
) -> None:
    mac.heat, mac.saves_power, mac.left = heat, saves_power, left
    expected = {
        "cooling": heat >= 2,
        "low_power_mode": saves_power,
        "power": left != -2.0,
    }  # also while the estimate isn't known yet
    assert power.waits_for() == next((why for why, holds in expected.items() if holds), None)


def test_nothing_waits_if_the_power_source_is_unknown(mac: SimpleNamespace, caplog: pytest.LogCaptureFixture) -> None:
    mac.left = None
    with caplog.at_level(logging.ERROR):
        assert power.waits_for() is None
    assert "power source" in caplog.text


def test_nothing_waits_on_other_systems(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "linux")
    assert power.waits_for() is None
