"""`--selftest` passes for a good build and fails for a broken one."""

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from mlx_engine import kernels
from mlx_engine.calibration import self_check
from mlx_engine.calibration.self_check import CheckResult
from mlx_engine.hardware import device
from mlx_engine.kernels import block_verify, gated_delta_replay, kv_injection, verify_attention, verify_matmul
from mlx_engine.kernels.operations import KERNELS as OPERATIONS
from tests.metal_emulator import metal_kernel
from tests.packaging import ROOT, script

KERNELS = [block_verify, gated_delta_replay, kv_injection, verify_attention, verify_matmul]


def run(*options: str, **patches: str) -> tuple[int, dict[str, Any], str]:
    """In a process of its own, as it is run; `patches` are lines of code that break something first."""
    code = "\n".join(
        [*patches.values(), "import sys; from app.__main__ import main", f"sys.exit(main(['--selftest', *{options!r}]))"]
    )
    process = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    return process.returncode, json.loads(process.stdout), process.stderr


def states(report: dict[str, Any]) -> dict[str, str]:
    return {step["name"]: step["state"] for step in report["steps"]}


def test_this_build_passes() -> None:
    status, report, err = run()
    assert status == 0 and report["ok"], (report, err)
    found = states(report)
    for step in ("device", "matmul", "plain reply", "dflash reply", "identical", "qt plugins", "window"):
        assert found[step] == "ok"
    assert found["queued dflash reply"] == ("ok" if device.runs_beside_host() else "skipped"), err
    assert "64 tokens of 64" in str(report)
    assert all(step["seconds"] >= 0 for step in report["steps"]) and report["seconds"] >= report["steps"][-1]["seconds"]
    assert report["metal"] is mx.metal.is_available()


@pytest.mark.long
def test_where_the_device_runs_beside_the_host_rounds_are_queued_and_layers_compiled() -> None:
    _, report, err = run(
        "--no-window",
        queued="from mlx_engine.hardware import device; device.runs_beside_host = lambda: True",
        compiled="from mlx_engine.targets import target; target.runs_beside_host = lambda: True",
        count="from mlx_engine.targets.compiled import LayerFunction as F; seen = []; own = F.__call__",
        note="F.__call__ = lambda self, *args: seen.append(1) or own(self, *args)",
        ahead="from mlx_engine.hardware.device import DevicePosition as Q; rounds = []; span = Q.span",
        noted="Q.span = lambda *a: rounds.append(1) or span(*a)",
        say="import atexit, sys; atexit.register(lambda: print(len(seen), len(rounds), file=sys.stderr))",
    )
    assert states(report)["queued dflash reply"] == states(report)["identical"] == "ok"
    layers, rounds = map(int, err.splitlines()[-1].split())
    assert layers >= 2 * rounds > 4


def test_a_failed_check_does_not_stop_the_others(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    from app import selftest

    shown = CheckResult("window", "ok", "opened")
    monkeypatch.setattr(selftest, "demo_pair", lambda: (Path("/nowhere"), Path("/nowhere")))
    monkeypatch.setattr(selftest, "_check_window", lambda: iter([shown]))
    assert selftest.run_selftest([]) == 1
    report = json.loads(capsys.readouterr().out)
    assert not report["ok"] and [states(report)[name] for name in ("matmul", "replies", "window")] == ["ok", "fail", "ok"]


def test_the_cpu_is_checked_where_metal_is_present_but_may_not_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from app import selftest

    used: list[Any] = []
    monkeypatch.setattr(mx.metal, "is_available", lambda: True)
    monkeypatch.setattr(mx, "set_default_device", used.append)
    monkeypatch.setattr(selftest, "_check_replies", lambda: iter(()))
    assert selftest.run_selftest(["--cpu", "--no-window"]) == 0 and used == [mx.cpu]
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] and not report["metal"]
    assert {states(report)[name] for name in OPERATIONS} == {"skipped"}


def test_a_plugin_of_qt_that_does_not_load_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from app import selftest

    monkeypatch.setattr(selftest, "PLUGINS", (*selftest.PLUGINS, "imageformats/libqnothing"))
    result = selftest._check_plugins()
    assert result.state == "fail" and result.detail.startswith("imageformats/libqnothing: ") and "libqsvg" not in result.detail


def test_the_bundle_has_the_plugins_that_the_self_test_loads() -> None:
    from app import selftest

    assert {f"{name}.dylib" for name in selftest.PLUGINS + selftest.MAC_PLUGINS} == set(script("check_bundle.py").qt.PLUGINS)


def test_require_metal_fails_without_metal(capsys: pytest.CaptureFixture[str]) -> None:
    from app import selftest

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mx.metal, "is_available", lambda: False)
        patch.setattr(selftest, "_checks", lambda *options: iter([("device", self_check.check_device)]))
        assert selftest.run_selftest([]) == 0
        assert selftest.run_selftest(["--require-metal"]) == 1
        assert selftest.run_selftest(["--requiremetal"]) == 2
    assert "unknown arguments of --selftest: --requiremetal" in capsys.readouterr().out


@pytest.mark.long  # in make test, every kernel has tests of its own
def test_every_kernel_equals_its_reference_in_the_emulator() -> None:
    steps = list(self_check.check_kernels(metal_kernel))
    assert [step for step in steps if step.state != "ok"] == []
    assert len(steps) >= len(KERNELS)


@pytest.mark.parametrize("kernel", [KERNELS[0], *(pytest.param(kernel, marks=pytest.mark.long) for kernel in KERNELS[1:])])
def test_a_wrong_kernel_is_found(kernel: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The test above shows that a right kernel passes."""
    right = kernel.metal

    def wrong(*arguments: Any, **options: Any) -> Any:
        found = right(*arguments, **options)
        if isinstance(found, block_verify.BlockVerdict):
            return replace(found, choices=found.choices + 1)
        return found * 1.1 if isinstance(found, mx.array) else (found[0], found[1] + 1, *found[2:])

    name = kernel.__name__.rpartition(".")[2]
    monkeypatch.setattr(kernel, "metal", wrong)
    assert self_check._result(self_check.difference(name, metal_kernel))


def test_an_unchecked_kernel_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(self_check, "_CASES", {})

    def steps() -> Iterator[CheckResult]:
        yield from self_check.check_kernels(metal_kernel)

    assert {step.state for step in steps()} == {"fail"}
    assert kernels.__path__
