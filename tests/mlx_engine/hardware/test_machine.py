"""What is known of this machine."""

import os
from types import SimpleNamespace

import pytest

from mlx_engine.hardware import machine


@pytest.mark.parametrize(
    ("chip", "kernel", "found"),
    [
        ("Apple M5", "25.2.0", True),
        ("Apple M5 Max\n", "25.10.1", True),
        ("Apple M10 Ultra", "26.0.0", True),
        ("Apple M5 Pro", "25.1.0", False),
        ("Apple M5 Pro", "24.6.0", False),
        ("Apple M4 Max", "25.2.0", False),
        ("Apple M1", "26.0.0", False),
        ("Apple processor", "25.2.0", False),
        ("", "", False),
    ],
)
def test_accelerators_need_an_m5_and_macos_26_2(monkeypatch: pytest.MonkeyPatch, chip: str, kernel: str, found: bool) -> None:
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(sysname="Darwin", release=kernel))
    monkeypatch.setattr(machine, "_output", lambda *command: chip)
    machine.has_accelerators.cache_clear()
    assert machine.has_accelerators() is found
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(sysname="Linux", release=kernel))
    machine.has_accelerators.cache_clear()
    assert not machine.has_accelerators()


def test_a_mac_that_does_not_name_its_chip_has_no_accelerators(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*command: str) -> str:
        raise OSError

    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(sysname="Darwin", release="25.2.0"))
    monkeypatch.setattr(machine, "_output", fail)
    machine.has_accelerators.cache_clear()
    assert not machine.has_accelerators()
    machine.has_accelerators.cache_clear()
