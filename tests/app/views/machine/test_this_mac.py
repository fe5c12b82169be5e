"""The page about this machine: measured on the engine's thread, interrupted by a reply."""

import threading
from collections.abc import Callable
from dataclasses import replace

import pytest
from PySide6.QtCore import QPointF, QRectF, QSizeF, Qt
from PySide6.QtGui import QPainterPath, QPainterPathStroker, QPen

from app.session import measurements, memory_reader
from app.storage.wording import size
from app.system import power
from app.system.macos import Activity
from app.views.machine import memory_bar, this_mac
from app.views.machine.this_mac import DOT_RADIUS, ThisMacDialog, about, label_place
from app.window.help import HelpDialog
from mlx_engine.cli import doctor
from mlx_engine.cli.bench import roofline_table
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.machine_events import KernelRows, KernelSaving, KernelsSelected, KernelTrial, Roofline
from mlx_engine.models.fit import gigabytes
from tests.app.conftest import Running, Session
from tests.app.scripted_engine import FACTS, MEMORY, PAIR, ROOFLINE, ScriptedEngine, reason


def opened(running: Running) -> ThisMacDialog:
    running.run("this_mac")
    page = running.window.dialogs.find(ThisMacDialog)
    assert page is not None
    return page


def test_the_page_measures_once_and_again_on_request(begin: Callable[..., Running]) -> None:
    engine = ScriptedEngine()
    running = begin(engine)
    page = opened(running)
    running.until(lambda: running.roofline_runner.found is not None and not running.roofline_runner.running)
    assert threading.get_ident() not in engine.threads
    assert page.chip.text() == "Some Chip"
    assert (page.memory.figure.text(), page.compute.figure.text()) == ("273.0 GB/s", "8.1 TFLOP/s")
    assert "61 tokens per second" in page.ceiling.text()
    assert {name: row.bar.fraction for name, row in page.phases.items()} == {
        phase.name: ROOFLINE.reached(phase) for phase in ROOFLINE.phases
    }
    assert page.phases["plain"].text.text() == "89% of the memory limit · 1 token in 18.4 ms"
    assert "of the compute limit" in page.phases["prefill"].text.text()
    page.again.click()
    running.until(lambda: not running.roofline_runner.running)
    page.close()
    assert opened(running) is not page
    assert engine.measured == [False, True], "a known result is shown, not measured again"


def test_a_message_stops_the_measurement_and_is_answered(begin: Callable[..., Session]) -> None:
    engine = ScriptedEngine()
    engine.measure_gate = threading.Event()  # never opens
    running = begin(engine)
    page = opened(running)
    running.until(lambda: bool(engine.measured))
    assert page.bar.isVisible() and not page.again.isEnabled()
    running.ask("Hello?")
    assert running.answer == "Fine."
    running.until(lambda: not running.roofline_runner.running)
    assert page.state.text() == "Measurement stopped." and page.again.isEnabled()


def test_closing_the_page_stops_the_measurement(begin: Callable[..., Running]) -> None:
    engine = ScriptedEngine()
    engine.measure_gate = threading.Event()
    running = begin(engine)
    page = opened(running)
    running.until(lambda: bool(engine.measured))
    page.close()
    running.until(lambda: not running.roofline_runner.running)
    assert running.roofline_runner.found is None


def test_an_error_is_shown_and_chatting_still_works(begin: Callable[..., Running], monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ScriptedEngine()

    def fail(cancel: threading.Event, again: bool) -> None:
        raise UserError("gpu_failed", "No.")

    monkeypatch.setattr(engine, "roofline", fail)
    running = begin(engine)
    page = opened(running)
    running.until(lambda: bool(running.roofline_runner.error))
    assert page.error.label.text() == "No." and page.error.isVisible()
    page.error.help.click()
    dialog = running.window.dialogs.find(HelpDialog)
    assert dialog is not None and dialog.page == "troubleshooting"
    running.ask("Hello?")


def test_the_page_is_drawn_light_and_dark_and_without_a_measurement(begin: Callable[..., Running]) -> None:
    running = begin()
    running.roofline_runner.found = None
    page = opened(running)
    running.until(lambda: not running.roofline_runner.running)
    pictures = []
    for appearance in ("light", "dark"):
        running.theme.set_appearance(appearance)  # type: ignore[arg-type]
        pictures.append(page.chart.grab().toImage())
    assert pictures[0] != pictures[1]
    running.roofline_runner.forget()
    assert page.about.text() == "Not measured yet." and not page.chart.isVisible()


@pytest.mark.parametrize("width", [360, 560])
def test_names_in_the_roofline_chart_cover_no_dot_name_or_line(width: int) -> None:
    """They were on the line, and two lines below their dots."""
    plot, dots = QRectF(0, 0, width, 160), [QPointF(x * width, y) for x, y in ((0.46, 33), (0.42, 38), (0.15, 110), (0.87, 34))]
    line = QPainterPath(QPointF(0, 143))
    line.lineTo(0.45 * width, 25)
    line.lineTo(width, 25)
    roof = QPainterPathStroker(QPen(Qt.GlobalColor.black, 2)).createStroke(line)
    taken = [QRectF(dot - QPointF(DOT_RADIUS, DOT_RADIUS), QSizeF(2 * DOT_RADIUS, 2 * DOT_RADIUS)) for dot in dots]
    for dot in dots:
        place = label_place(dot, QSizeF(100, 18), plot, taken, roof)
        assert plot.contains(place) and not roof.intersects(place) and not any(place.intersects(other) for other in taken)
        assert abs(place.center().y() - dot.y()) <= 2 * 18
        taken.append(place)


def test_texts_of_figures() -> None:
    assert this_mac.rate(88.8e9) == "89 GFLOP/s"
    slow = replace(FACTS, device="CPU", blas="wheel")
    assert "reference BLAS" in this_mac.about(slow) and "BLAS" not in this_mac.about(FACTS)
    assert this_mac.remark(ROOFLINE) == ""
    fast = replace(ROOFLINE.phases[1], seconds=0.001)
    assert "processor cache" in this_mac.remark(Roofline(FACTS, (fast,)))
    assert "memory limits it" in this_mac.ceiling(ROOFLINE, "Pair")
    cached = this_mac.ceiling(Roofline(FACTS, (fast,)), "Pair")
    assert "processor cache" in cached and "per second" not in cached, "a limit that is exceeded is none"
    assert this_mac.ceiling(Roofline(FACTS, ROOFLINE.phases[:1]), "Pair") == ""


def test_the_page_shows_the_kernels_and_tests_them_again(begin: Callable[..., Running]) -> None:
    short, long = (KernelRows(depth, 9, 16) for depth in (256, 6144))
    saving = (KernelSaving(short, -0.01, 0.002), KernelSaving(long, 0.05, 0.002))
    trials = (
        KernelTrial("verify_attention", reason("5.0% less time in passes of 9–16 tokens in long contexts"), (long,), saving),
        KernelTrial("block_verify", reason("not faster")),
    )
    engine = ScriptedEngine(pair=replace(PAIR, kernels=KernelsSelected(trials, (256, 6144), 2500, saved=True)))
    running = begin(engine)
    page = opened(running)
    running.until(lambda: running.roofline_runner.found is not None and not running.roofline_runner.running)
    assert page.kernels.text().splitlines() == [
        "Metal kernels",
        "verify_attention: on · 5.0% less time in passes of 9–16 tokens in long contexts",
        "block_verify: off · not faster",
        "Long-context kernels are used at 2,500 tokens and above.",
    ]
    engine.trials = trials[1:]
    page.test_kernels.click()
    running.until(lambda: engine.proofs == [0] and not running.roofline_runner.running)
    assert page.kernels.text().splitlines() == ["Metal kernels", "block_verify: off · not faster"]
    assert page.state.text().startswith("Measured")


def test_the_page_shows_tests_of_kernels_in_the_background(start: Callable[..., Running], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("IDLE_MS", "PAUSE_MS"):
        monkeypatch.setattr(measurements, name, 20)
    engine = ScriptedEngine(pair=replace(PAIR, kernels_selected=False))
    engine.proof_gate, engine.trials = threading.Event(), (KernelTrial("block_verify", reason("not faster")),)
    held: dict[str, bool] = {}
    monkeypatch.setattr(Activity, "set_held", lambda _, name, on, reason="": held.update({name: on}))
    running = start(engine)
    page, calibration = opened(running), running.loader.calibration
    running.until(lambda: bool(engine.proofs) and calibration.progress is not None and not running.roofline_runner.running)
    running.until(lambda: page.state.text() == "Trying…")
    assert page.bar.isVisible() and page.bar.fraction == pytest.approx(calibration.progress.fraction) and page.kernels.isHidden()
    assert held["calibration"]
    engine.proof_gate.set()
    running.until(lambda: calibration.kernels is not None and not calibration.running)
    assert page.kernels.text().endswith("block_verify: off · not faster") and page.bar.isHidden()
    running.until(lambda: not held["calibration"])


@pytest.mark.parametrize(
    ("why", "text"), [("power", "connected to power"), ("low_power_mode", "Low Power Mode is off"), ("cooling", "cooled down")]
)
def test_the_page_says_why_kernels_are_not_tested(
    begin: Callable[..., Running], monkeypatch: pytest.MonkeyPatch, why: str, text: str
) -> None:
    monkeypatch.setattr(measurements, "IDLE_MS", 20)
    monkeypatch.setattr(measurements, "PAUSE_MS", 20)
    monkeypatch.setattr(power, "waits_for", lambda: why)
    running = begin(ScriptedEngine(pair=replace(PAIR, kernels_selected=False)))
    page = opened(running)
    running.until(lambda: text in page.state.text())


@pytest.mark.parametrize(("installed", "shown"), [(8 << 30, "8 GB"), (16 << 30, "16 GB"), (int(23.5 * 2**30), "24 GB")])
def test_installed_memory_is_the_same_everywhere(installed: int, shown: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is counted as About This Mac does; other sizes are decimal, as in the Finder."""
    monkeypatch.setattr(doctor, "total_memory", lambda: installed)
    assert doctor._memory().detail == shown
    facts = replace(FACTS, memory_bytes=installed)
    assert f"{shown} of memory, " in about(facts)
    assert f", {shown}, " in roofline_table(Roofline(facts, ()))
    assert size(16e9) == "16.0 GB" and gigabytes(16e9) == "16.0 GB"


def test_the_page_shows_what_holds_the_memory(begin: Callable[..., Running]) -> None:
    running = begin(ScriptedEngine())
    page = opened(running)
    memory = page.memory_bar
    running.until(memory.isVisible)
    assert memory.summary.text() == "13.7 GB available · up to 38.7 GB for models · 2.6 GB reserved for running replies"
    shown = {owner: entry.label.text() for owner, entry in memory.entries.items() if entry.isVisible()}
    assert shown == {
        "target": "Model 18.6 GB",
        "drafter": "Drafter 1.7 GB",
        "images": "Images 900 MB",
        "replies": "Running replies 1.3 GB",
        "snapshots": "Earlier prompts 2.4 GB",
        "workspace": "Computing 350 MB",
        "buffers": "Unused buffers 420 MB",
        "window": "Slipstream itself 310 MB",
        "others": "Other apps and the system 11.9 GB",
    }, "every part of the ledger, and nothing else"
    assert memory.bar.accessibleDescription().startswith("Model: 18.6 GB, Drafter: 1.7 GB")
    assert memory.warning.isHidden()
    colors = [memory.bar.grab().toImage().pixelColor(3, 7).name()]
    running.theme.set_appearance("dark")
    colors.append(memory.bar.grab().toImage().pixelColor(3, 7).name())
    assert colors == ["#0a61b9", "#5aa9f5"]


def test_the_page_follows_the_ledger_only_while_it_is_open(begin: Callable[..., Running], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_reader, "INTERVAL_MS", 10)
    engine = ScriptedEngine()
    running = begin(engine)
    page = opened(running)
    running.until(page.memory_bar.isVisible)
    engine.memory = replace(MEMORY, parts=(("target", 2_000_000), ("replies", 3)), reserved=0)
    running.until(lambda: not page.memory_bar.entries["drafter"].isVisible())
    assert page.memory_bar.entries["target"].label.text() == "Model 2 MB"
    assert not page.memory_bar.entries["replies"].isVisible(), "less than a megabyte"
    page.close()
    running.ask("Hello?")  # a reading requested before the page closed is made before the reply
    readings = engine.memory_readings
    running.ask("Hello again?")
    assert engine.memory_readings == readings


@pytest.mark.parametrize(("step", "text"), [(1, "freed"), (2, "freed"), (3, "one reply runs"), (4, "paused"), (6, "refused")])
def test_the_page_says_what_is_done_about_a_lack_of_memory(step: int, text: str) -> None:
    assert text in memory_bar.state(replace(MEMORY, step=step))
    assert not memory_bar.state(MEMORY)
