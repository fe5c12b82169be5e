"""Quiet mode: what it asks of the engine, and which background work waits."""

import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QCoreApplication, QObject, Signal

from app.session.quiet_mode import REST_SHARE, QuietMode
from mlx_engine.contract.conditions import UNKNOWN, Conditions
from mlx_engine.contract.requests import LoadPair, Rest
from mlx_engine.hardware import sensors
from tests.app.conftest import Begin, Start
from tests.app.scripted_engine import PAIR, ScriptedEngine, answer, commit, done

BATTERY, PLUGGED = Conditions(on_battery=True), Conditions(on_battery=False)


class Preferences(QObject):
    """The settings of quiet mode."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.values = {"quiet_mode": False, "quiet_on_battery": False}

    def __getattr__(self, name: str) -> bool:
        return self.values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("quiet"):
            self.values[name] = value
            self.changed.emit()
        else:
            super().__setattr__(name, value)


class Watch(QObject):
    """Conditions that a test changes."""

    changed = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.now, self.needed = UNKNOWN, False

    def set_needed(self, name: str, needed: bool) -> None:
        self.needed = needed


class Engine:
    """Records the share of each request to rest."""

    def __init__(self) -> None:
        self.shares: list[float] = []

    def submit(self, request: Rest, receive: object) -> None:
        self.shares.append(request.share)


STEPS = st.lists(st.sampled_from(["toggle", "quiet_mode", "quiet_on_battery", "battery", "plugged", "unknown"]), max_size=12)


@given(STEPS)
def test_the_engine_rests_exactly_while_quiet_mode_is_on(steps: list[str]) -> None:
    """It is on by its setting, or on battery if wanted. Toggling always turns it off or on."""
    assert QCoreApplication.instance() or QCoreApplication([])
    engine, preferences, watch = Engine(), Preferences(), Watch()
    quiet = QuietMode(engine, preferences, watch)  # type: ignore[arg-type]
    known: bool | None = False
    for step in steps:
        before = quiet.on
        if step == "toggle":
            quiet.toggle()
            assert quiet.on != before
        elif step in preferences.values:
            setattr(preferences, step, not preferences.values[step])
        else:
            watch.now = {"battery": BATTERY, "plugged": PLUGGED, "unknown": UNKNOWN}[step]
            watch.changed.emit()
        known = watch.now.on_battery if watch.now.on_battery is not None else known
        wanted = preferences.quiet_mode or (preferences.quiet_on_battery and known)
        assert quiet.on == bool(wanted) and quiet.is_automatic == (quiet.on and not preferences.quiet_mode)
        assert watch.needed == preferences.quiet_on_battery
        assert (engine.shares or [0.0])[-1] == (REST_SHARE if quiet.on else 0.0)
    assert all(one != two for one, two in zip([0.0, *engine.shares], engine.shares, strict=False)), "asked only if it changes"


class Resting(ScriptedEngine):
    """Records how long it may rest."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.shares: list[float] = []

    def run(self, request, cancel):  # type: ignore[no-untyped-def]
        if isinstance(request, Rest):
            self.shares.append(request.share)
        yield from super().run(request, cancel)


def test_the_menu_and_the_battery_turn_quiet_mode_on_and_off(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.session.conditions_watch.INTERVAL_MS", 5)
    engine = Resting()
    app = start(engine)
    quiet, action = app.services.quiet_mode, app.window.menus["quiet_mode"]
    assert not quiet.on and not action.isChecked()
    app.run("quiet_mode")
    app.until(lambda: engine.shares == [REST_SHARE])
    assert action.isChecked() and app.services.preferences.quiet_mode
    app.run("quiet_mode")
    app.until(lambda: engine.shares == [REST_SHARE, 0.0])
    assert not action.isChecked()
    app.services.preferences.quiet_on_battery = True
    now = [BATTERY]
    monkeypatch.setattr(sensors, "read", lambda: now[0])
    app.until(lambda: quiet.on)
    assert action.isChecked() and not app.services.preferences.quiet_mode
    now[0] = PLUGGED
    app.until(lambda: not quiet.on)
    assert not action.isChecked()


def test_a_note_below_the_composer_turns_quiet_mode_off(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.session.conditions_watch.INTERVAL_MS", 5)
    app = start(Resting())
    note, preferences = app.window.foot.quiet, app.services.preferences
    assert not note.isVisible()
    app.run("quiet_mode")
    assert note.isVisible() and note.label.text() == "Quiet mode: replies take about twice as long"
    note.button.click()
    assert not note.isVisible() and not preferences.quiet_mode
    monkeypatch.setattr(sensors, "read", lambda: BATTERY)
    preferences.quiet_on_battery = True
    app.until(note.isVisible)
    assert "on battery" in note.label.text()
    preferences.quiet_mode = True
    assert "on battery" not in note.label.text()
    preferences.quiet_mode = False
    assert "on battery" in note.label.text()
    note.button.click()
    assert not note.isVisible() and not app.services.quiet_mode.on and not preferences.quiet_on_battery


def test_replies_of_a_server_are_not_called_slower(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    app = start(Resting())
    app.run("quiet_mode")
    monkeypatch.setattr(type(app.loader), "sent_to", "server.example")
    app.loader.loaded.emit()
    assert app.services.quiet_mode.on and not app.window.foot.quiet.isVisible()
    app.services.preferences.quiet_mode = False


def test_quiet_mode_continues_after_a_restart(begin: Begin, tmp_path: Path) -> None:
    app = begin(Resting())
    app.services.preferences.quiet_mode = True
    app.quit()
    engine = Resting()
    again = begin(engine)
    assert again.services.quiet_mode.on
    again.until(lambda: engine.shares == [REST_SHARE])


def test_titles_wait_until_quiet_mode_is_off(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.session.chat_titles.IDLE_MS", 1)
    app = begin(Resting([answer("Ten minutes."), answer("Eight."), answer("Boiling an Egg")]))
    app.activity.use(LoadPair(Path("target")))
    app.until(lambda: not app.loader.running)
    app.services.preferences.quiet_mode = True
    app.ask("How do I boil an egg?")
    app.ask("And softer?")  # after the engine was idle
    assert len(app.engine.requests) == 2
    app.services.preferences.quiet_mode = False
    chat = app.session.chat.id
    app.until(lambda: app.library.entries[chat].title == "Boiling an Egg")


def test_a_new_pair_is_measured_when_quiet_mode_is_off(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("IDLE_MS", "PAUSE_MS", "RETRY_MS"):
        monkeypatch.setattr(f"app.session.measurements.{name}", 1)
    engine = Resting(pair=replace(PAIR, calibrated=False))
    engine.calibration_gate = threading.Event()
    app = begin(engine)
    calibration = app.loader.calibration
    app.until(lambda: engine.calibrations == 1)
    app.services.preferences.quiet_mode = True  # interrupts it
    app.until(lambda: calibration.waits_for == "quiet_mode" and not calibration.running)
    engine.calibration_gate.set()
    app.ask("Hi")
    assert engine.calibrations == 1
    app.services.preferences.quiet_mode = False
    app.until(lambda: engine.calibrations == 2 and not calibration.running)
    assert calibration.waits_for is None


def test_quiet_mode_pauses_a_running_tuning(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    app, paused = begin(), list[bool]()
    monkeypatch.setattr(app.services.tuning, "pause_for_quiet_mode", lambda: paused.append(True))
    app.services.preferences.quiet_mode = True
    app.services.preferences.quiet_mode = False
    assert paused == [True]


@pytest.mark.parametrize("pieces", [1, 4])
def test_a_reply_goes_on_if_quiet_mode_is_turned_on_and_off(begin: Begin, pieces: int) -> None:
    gates = [threading.Event() for _ in range(pieces)]
    engine = Resting([[part for gate in gates for part in (commit("a "), gate)] + [done()]])
    app = begin(engine)
    app.send("Hi")
    for number, gate in enumerate(gates, 1):
        app.until(lambda number=number: len(app.answer) == 2 * number)  # type: ignore[misc]
        app.services.quiet_mode.toggle()
        app.until(lambda number=number: len(engine.shares) == number)  # type: ignore[misc]
        gate.set()
    app.idle()
    assert app.answer == "a " * pieces
    app.services.preferences.quiet_mode = False
