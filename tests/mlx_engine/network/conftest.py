"""A record and a switch of the test's own."""

from pathlib import Path

import pytest

from mlx_engine.network import offline


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv(offline.VARIABLE, raising=False)
    return tmp_path


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let servers on this computer count as other computers."""
    monkeypatch.setattr(offline, "is_this_computer", lambda host: False)
