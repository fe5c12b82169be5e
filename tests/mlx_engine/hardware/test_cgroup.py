"""Memory limits of recorded control groups count in the budget and in the pressure."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mlx_engine.hardware import cgroup, machine, memory, sensors
from tests.sensors_double import write_files

GB = 1 << 30
NO_STALLS = "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0"
STALLS = NO_STALLS.replace("full avg10=0.00", "full avg10=25.00")


def version_2(limit: str, current: int, files: int = 0, stalls: str = NO_STALLS, high: str = "max") -> dict[str, str]:
    """The files of an app's group, whose limit systemd sets on the group above it."""
    slice_ = "sys/fs/cgroup/user.slice"
    return {
        "proc/self/cgroup": "0::/user.slice/app.scope",
        "sys/fs/cgroup/cgroup.controllers": "cpu memory",  # the root group has no limits
        f"{slice_}/memory.max": f"{limit}",
        f"{slice_}/memory.high": f"{high}",
        f"{slice_}/memory.current": f"{current}",
        f"{slice_}/memory.stat": f"anon {current - files}\nactive_file {files // 2}\ninactive_file {files - files // 2}",
        f"{slice_}/memory.pressure": stalls,
        f"{slice_}/app.scope/memory.max": "max",
        f"{slice_}/app.scope/memory.high": "max",
        f"{slice_}/app.scope/memory.current": f"{current}",
        f"{slice_}/app.scope/memory.stat": "active_file 0\ninactive_file 0",
        f"{slice_}/app.scope/memory.pressure": NO_STALLS,
    }


def version_1(limit: int, usage: int, files: int = 0, path: str = "/docker/abc") -> dict[str, str]:
    """The files as a container sees them: its group is the root of the mount, whatever its path."""
    folder = "sys/fs/cgroup/memory"
    return {
        "proc/self/cgroup": f"5:cpu,cpuacct:{path}\n4:memory:{path}\n0::{path}",
        f"{folder}/memory.limit_in_bytes": f"{limit}",
        f"{folder}/memory.usage_in_bytes": f"{usage}",
        f"{folder}/memory.stat": f"inactive_file 1\ntotal_active_file {files // 2}\ntotal_inactive_file {files - files // 2}",
    }


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(cgroup, "ROOT", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    "files",
    [version_1(GB, 3 * GB // 4, GB // 4), version_2(str(GB), 3 * GB // 4, GB // 4), version_2("max", GB // 2, high=str(GB))],
    ids=["version 1", "version 2", "memory.high"],
)
def test_a_group_limits_the_memory_for_models(root: Path, files: dict[str, str]) -> None:
    write_files(root, files)
    (group,) = cgroup.memory_groups()
    assert (group.limit, group.used, group.available) == (GB, GB // 2, GB // 2)
    assert machine.total_memory() == GB
    assert memory.working_set() == machine.working_set(None) == 3 * GB // 4
    limit, free = machine.allocation_limit(None), machine.free_memory()
    assert limit is not None and limit <= 0.95 * GB
    assert free is not None and free <= GB // 2


@pytest.mark.parametrize(
    "files", [version_1(0x7FFFFFFFFFFFF000, GB), version_2("max", GB), {}], ids=["version 1", "version 2", "none"]
)
def test_without_a_limit_the_machine_decides(root: Path, files: dict[str, str]) -> None:
    unlimited = machine.total_memory()
    write_files(root, files)
    assert cgroup.memory_groups() == [] and cgroup.memory_limit() is None
    assert machine.total_memory() == unlimited


@given(used=st.integers(0, 1100), files=st.integers(0, 1100), is_new=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pressure_follows_what_a_group_has_left(tmp_path: Path, used: int, files: int, is_new: bool) -> None:
    write_files(tmp_path, version_2("1000", used + files, files) if is_new else version_1(1000, used + files, files))
    left = max(1000 - used, 0) / 1000
    expected = "critical" if left < 0.04 else "warning" if left < 0.08 else "normal"
    assert sensors.memory_pressure(tmp_path) == expected


def test_stalls_in_a_group_are_pressure(tmp_path: Path) -> None:
    assert sensors.memory_pressure(write_files(tmp_path, version_2("1000", 100))) == "normal"
    assert sensors.memory_pressure(write_files(tmp_path, version_2("1000", 100, stalls=STALLS))) == "critical"


@given(st.dictionaries(st.sampled_from([*version_2("9", 1), *version_1(9, 1)]), st.text("09:/ maxfile_", max_size=30)))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_file_of_a_group_makes_reading_fail(tmp_path_factory: pytest.TempPathFactory, files: dict[str, str]) -> None:
    root = write_files(tmp_path_factory.mktemp("root"), version_2("1000", 1) | files)
    assert sensors.memory_pressure(root) in (None, "normal", "warning", "critical")
    limit = cgroup.memory_limit(root)
    assert limit is None or limit >= 0
