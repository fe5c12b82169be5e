"""Whether tests of kernels wait for power, normal power mode, or cooling."""

import pytest
from hypothesis import HealthCheck, given, settings

from app.system import power
from mlx_engine.contract.conditions import Conditions
from mlx_engine.hardware import sensors
from tests.mlx_engine.hardware.test_sensors import CONDITIONS


@given(now=CONDITIONS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_long_work_waits_for_power_for_normal_mode_and_for_cooling(monkeypatch: pytest.MonkeyPatch, now: Conditions) -> None:
    monkeypatch.setattr(sensors, "read", lambda: now)
    expected = {"cooling": now.heat in ("serious", "critical"), "low_power_mode": now.saves_power, "power": now.on_battery}
    assert power.waits_for() == next((why for why, holds in expected.items() if holds), None)
