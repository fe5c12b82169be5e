"""Background calibration: a new pair is calibrated while the engine is idle, and requests go first."""

import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from PySide6.QtCore import QTimer
from pytestqt.qtbot import QtBot

import app.session.measurements
from app.session.engine_adapter import EngineAdapter
from app.session.measurements import RooflineRunner
from app.session.pair_session import PairLoader
from app.system import power
from mlx_engine.contract.machine_events import KernelRows, KernelsSelected, KernelTrial
from mlx_engine.contract.requests import GenerationRequest, LoadPair, Message
from mlx_engine.engine.host import EngineHost
from tests.app.conftest import PATIENCE_MS
from tests.app.scripted_engine import PAIR, ScriptedEngine, reason

ASK = GenerationRequest(messages=(Message("user", "Hello"),))
NewPair = tuple[ScriptedEngine, EngineAdapter, PairLoader]


def rest(qtbot: QtBot, thread: EngineAdapter, loading: PairLoader) -> None:
    """Wait until nothing is running and nothing will start."""
    timers = loading.findChildren(QTimer)
    assert timers
    qtbot.waitUntil(lambda: not thread.busy and not any(timer.isActive() for timer in timers), timeout=PATIENCE_MS)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("IDLE_MS", "PAUSE_MS", "RETRY_MS"):
        monkeypatch.setattr(app.session.measurements, name, 20)


@pytest.fixture
def new_pair(qtbot: QtBot) -> Iterator[NewPair]:
    engine = ScriptedEngine(pair=replace(PAIR, calibrated=False))
    host = EngineHost(lambda: engine)
    thread = EngineAdapter(host)
    loading = PairLoader(thread)
    loading.load(LoadPair())
    yield engine, thread, loading
    assert host.wait(120)


def test_a_new_pair_is_calibrated_once_when_idle(qtbot: QtBot, new_pair: NewPair) -> None:
    engine, thread, loading = new_pair
    qtbot.waitUntil(lambda: engine.calibrations == 1, timeout=PATIENCE_MS)
    rest(qtbot, thread, loading)
    assert engine.calibrations == 1


def test_a_request_interrupts_calibration_which_starts_again(qtbot: QtBot, new_pair: NewPair) -> None:
    engine, thread, loading = new_pair
    engine.calibration_gate = threading.Event()
    qtbot.waitUntil(lambda: engine.calibrations == 1, timeout=PATIENCE_MS)
    thread.submit(ASK, lambda deliveries: None)  # answered only if the measurement gives way
    qtbot.waitUntil(lambda: engine.requests == [ASK] and engine.calibrations == 2, timeout=PATIENCE_MS)
    engine.calibration_gate.set()
    rest(qtbot, thread, loading)
    assert engine.calibrations == 2


def test_kernels_are_selected_after_calibration_and_give_way_too(qtbot: QtBot) -> None:
    engine = ScriptedEngine(pair=replace(PAIR, calibrated=False, kernels_selected=False))
    engine.proof_gate = threading.Event()
    host = EngineHost(lambda: engine)
    thread = EngineAdapter(host)
    loading = PairLoader(thread)
    loading.load(LoadPair())
    qtbot.waitUntil(lambda: engine.proofs == [1], timeout=PATIENCE_MS)  # after one calibration
    thread.submit(ASK, lambda deliveries: None)
    qtbot.waitUntil(lambda: engine.requests == [ASK] and engine.proofs == [1, 1], timeout=PATIENCE_MS)
    engine.proof_gate.set()
    rest(qtbot, thread, loading)
    assert (engine.calibrations, engine.proofs) == (1, [1, 1])
    assert host.wait(120)


def test_selected_kernels_cause_another_calibration(qtbot: QtBot) -> None:
    engine = ScriptedEngine(pair=replace(PAIR, calibrated=False, kernels_selected=False))
    engine.trials = (
        KernelTrial("kv_injection", reason("faster"), (KernelRows(256, 2, 16),)),
        KernelTrial("block_verify", reason("not faster")),
    )
    host = EngineHost(lambda: engine)
    thread = EngineAdapter(host)
    loading = PairLoader(thread)
    loading.load(LoadPair())
    qtbot.waitUntil(lambda: engine.calibrations == 2, timeout=PATIENCE_MS)
    rest(qtbot, thread, loading)
    assert (engine.calibrations, engine.proofs) == (2, [1])
    assert host.wait(120)


def test_turning_all_kernels_off_causes_another_calibration(qtbot: QtBot) -> None:
    used = KernelsSelected((KernelTrial("kv_injection", reason("faster"), (KernelRows(256, 2, 16),)),))
    engine = ScriptedEngine(pair=replace(PAIR, kernels=used))
    engine.trials = (KernelTrial("kv_injection", reason("not faster")),)
    host = EngineHost(lambda: engine)
    thread = EngineAdapter(host)
    loading = PairLoader(thread)
    kernel_tests = RooflineRunner(thread)
    kernel_tests.kernels_selected.connect(loading.calibration.use)
    loading.load(LoadPair())
    qtbot.waitUntil(lambda: loading.pair is not None and not thread.busy, timeout=PATIENCE_MS)
    kernel_tests.test_kernels()
    qtbot.waitUntil(lambda: engine.proofs == [0], timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: engine.calibrations == 1, timeout=PATIENCE_MS)
    rest(qtbot, thread, loading)
    assert engine.calibrations == 1
    assert host.wait(120)


@pytest.mark.parametrize("complete", [False, True])
def test_kernels_that_fail_in_a_reply_do_not_replace_the_selection(qtbot: QtBot, complete: bool) -> None:
    engine = ScriptedEngine(pair=replace(PAIR, kernels_selected=False))
    host = EngineHost(lambda: engine)
    thread = EngineAdapter(host)
    loading = PairLoader(thread)
    loading.load(LoadPair())
    qtbot.waitUntil(lambda: loading.pair is not None, timeout=PATIENCE_MS)
    loading.calibration.use(KernelsSelected((KernelTrial("kv_injection", reason("failed")),), saved=True, complete=complete))
    rest(qtbot, thread, loading)
    assert len(engine.proofs) == (not complete)
    assert host.wait(120)


def test_a_calibrated_pair_is_not_calibrated_again(qtbot: QtBot) -> None:
    engine = ScriptedEngine()
    host = EngineHost(lambda: engine)
    thread = EngineAdapter(host)
    loading = PairLoader(thread)
    loading.load(LoadPair())
    qtbot.waitUntil(lambda: loading.pair is not None, timeout=PATIENCE_MS)
    rest(qtbot, thread, loading)
    assert engine.calibrations == 0 and engine.proofs == []
    assert host.wait(120)


def test_kernels_are_tested_in_parts_with_pauses_and_progress(qtbot: QtBot) -> None:
    engine = ScriptedEngine(pair=replace(PAIR, kernels_selected=False))
    engine.proof_parts, engine.trials = 3, (KernelTrial("kv_injection", reason("not faster")),)
    host = EngineHost(lambda: engine)
    thread = EngineAdapter(host)
    loading = PairLoader(thread)
    calibration, seen = loading.calibration, list[tuple[bool, float | None]]()
    calibration.changed.connect(lambda: seen.append((calibration.running, calibration.progress and calibration.progress.fraction)))
    loading.load(LoadPair())
    qtbot.waitUntil(lambda: calibration.kernels is not None and not calibration.running, timeout=PATIENCE_MS)
    assert len(engine.proofs) == 3
    assert [(running, progress) for running, progress in seen if progress is not None and not running] == [
        (False, pytest.approx(0.1)),
        (False, pytest.approx(0.2)),
    ]
    assert seen[0] == seen[-1] == (False, None)
    assert host.wait(120)


@pytest.mark.parametrize("why", ["power", "low_power_mode", "cooling"])
def test_kernels_are_not_tested_on_battery_in_low_power_mode_or_while_the_mac_is_hot(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    answers = [why, why, None]
    monkeypatch.setattr(power, "waits_for", lambda: answers.pop(0))
    engine = ScriptedEngine(pair=replace(PAIR, calibrated=False, kernels_selected=False))
    host = EngineHost(lambda: engine)
    thread = EngineAdapter(host)
    loading = PairLoader(thread)
    waited: list[tuple[str | None, int]] = []
    loading.calibration.changed.connect(lambda: waited.append((loading.calibration.waits_for, len(engine.proofs))))
    loading.load(LoadPair())
    qtbot.waitUntil(lambda: len(engine.proofs) == 1 and not thread.busy, timeout=PATIENCE_MS)
    assert engine.calibrations == 1, "calibration takes seconds, and doesn't wait"
    assert [each for each in waited if each[0]] == [(why, 0)] * 2 and not answers
    assert host.wait(120)
