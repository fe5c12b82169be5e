"""The Tune Drafter window, with scripts in place of the process that tunes."""

import json
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QApplication

from app.session.tuning_run import RemainingTime
from app.storage.database import FILE
from app.storage.store import Store
from app.system import json_process
from app.views.models.picker_dialog import PickerDialog
from app.views.tuning import tune_dialog
from app.views.tuning.tune_dialog import GainTable, TuneDialog, why_not_kept
from app.widgets.theme import Theme
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import Tuned
from mlx_engine.contract.requests import LoadPair, Message
from mlx_engine.hardware import machine
from mlx_engine.models.downloads.download_queue import text_to_json
from mlx_engine.models.files.checkpoint import weights_checksum
from mlx_engine.models.files.tuning_files import LoraRecord, lora_path, run_folder, save_run_progress, save_run_prompts
from tests.app.conftest import Running, Start
from tests.app.scripted_engine import PAIR, ScriptedEngine, commit, done
from tests.app.test_store import chat_of, save

Play = Callable[..., None]
READ, WAIT = "order = sys.stdin.readline()", "sys.stdin.read()"  # steps of a script
PAUSED = {"event": "paused"}
KEPT = Tuned(3.2, 4.0, 4.0, 3.98, True, "tuned.safetensors", 12)


def step(number: int, total: int) -> dict[str, Any]:
    text = EngineText.of("tuning_replies", "Generating reply {number} of {total}", number=number, total=total)
    return {"event": "progress", "fraction": number / total / 2, "step": text_to_json(text)}


def result(found: Tuned) -> dict[str, Any]:
    return {"event": "result", **asdict(found)}


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Play:
    """Runs a script in place of the process: JSON objects to print, and lines of Python."""

    def use(*steps: dict[str, Any] | str) -> None:
        lines = [each if isinstance(each, str) else f"print({json.dumps(each)!r}, flush=True)" for each in steps]
        script = "\n".join(["import os, sys", *lines])
        monkeypatch.setattr(json_process.child, "command", lambda module: (sys.executable, ["-S", "-E", "-c", script]))

    return use


def opened(start: Start, folders: tuple[Path, Path | None], tmp_path: Path, **options: Any) -> tuple[Running, TuneDialog]:
    """Load a pair and open the window, with everything read."""
    app = start(data=tmp_path, loaded=False, **options)
    app.start()
    app.until(lambda: app.loader.progress is None)
    app.activity.use(LoadPair(*folders))
    app.until(lambda: app.loader.progress is None)
    return app, dialog(app)


def dialog(app: Running) -> TuneDialog:
    app.window.dialogs.show_tuning()
    found = app.dialog(TuneDialog)
    app.until(lambda: not app.services.tuning.reading)
    return found


def ended(app: Running) -> None:
    runner = app.services.tuning
    app.until(lambda: not runner.running and not runner.reading)


def test_tune_dialog_says_what_a_run_uses_and_needs(begin: Start, folders: tuple[Path, Path], tmp_path: Path) -> None:
    _, window = opened(begin, folders, tmp_path)
    assert window.prompts.text() == "12 from 12 chats, and 64 general ones. Private chats are left out."
    assert "64.0 GB free" in window.memory.text() and "until tuning ends" in window.disk.text()
    assert window.main.text() == "Start" and window.main.isEnabled() and window.notice.isHidden()
    assert window.pause.isHidden() and window.remove.isHidden() and window.reload.isHidden() and window.discard.isHidden()


def test_a_run_shows_progress_is_paused_and_continued(begin: Start, folders: tuple[Path, Path], tmp_path: Path, play: Play) -> None:
    order = tmp_path / "order.json"
    folder = run_folder(*folders)
    play(READ, f"open({str(order)!r}, 'w').write(order)", *(step(number, 9) for number in range(1, 6)), WAIT, PAUSED)
    app, window = opened(begin, folders, tmp_path)
    runner = app.services.tuning
    window.main.click()
    app.until(lambda: window.state.text() == "Generating reply 5 of 9")
    assert window.bar.fraction == pytest.approx(5 / 18) and "left for this part" in window.time.text()
    assert window.pause.isVisible() and not window.main.isVisible()
    sent = json.loads(order.read_text())
    assert [prompt[-1][1] for prompt in sent["prompts"]] == [f"Question {number}?" for number in range(12)]
    assert (sent["target"], sent["drafter"]) == tuple(map(str, folders))
    folder.mkdir(parents=True)
    save_run_prompts(folder, [(Message("user", "Question 1?"),)])
    save_run_progress(folder, 0.25)
    window.pause.click()
    assert window.state.text() == "Pausing…" and not window.pause.isEnabled()
    ended(app)
    assert window.state.text() == "Paused at 25%. Nothing is lost." and window.main.text() == "Continue" and not runner.error
    play(READ, result(KEPT))
    window.main.click()
    ended(app)
    assert runner.result == KEPT


def test_a_double_click_on_start_does_not_pause(begin: Start, folders: tuple[Path, Path], tmp_path: Path, play: Play) -> None:
    play(READ, step(1, 9), WAIT, PAUSED)
    app, window = opened(begin, folders, tmp_path)
    runner = app.services.tuning
    window.main.click()
    app.until(lambda: runner.progress is not None and window.pause.isVisible())
    for kind, pauses in ((QEvent.Type.MouseButtonDblClick, False), (QEvent.Type.MouseButtonPress, True)):
        for each in (kind, QEvent.Type.MouseButtonRelease):
            at, left = QPointF(window.pause.rect().center()), Qt.MouseButton.LeftButton
            on_screen = window.pause.mapToGlobal(at)
            QApplication.sendEvent(window.pause, QMouseEvent(each, at, on_screen, left, left, Qt.KeyboardModifier.NoModifier))
        assert runner.pausing == pauses
    ended(app)


def test_a_kept_result_is_shown_and_loaded_when_no_reply_runs(
    begin: Start, folders: tuple[Path, Path], tmp_path: Path, play: Play
) -> None:
    play(READ, result(KEPT))
    gate = threading.Event()
    engine = ScriptedEngine([[commit("One"), gate, done()]])
    app, window = opened(begin, folders, tmp_path, engine=engine)
    window.main.click()
    ended(app)
    assert [cell.text() for cell in (window.gains.rows[0].name, *window.gains.rows[0].cells)] == [
        "Your messages",
        "3.20",
        "4.00",
        "+25.0%",
    ]
    assert [cell.text() for cell in (window.gains.rows[1].name, *window.gains.rows[1].cells)] == [
        "General prompts",
        "4.00",
        "3.98",
        "−0.5%",
    ]
    assert window.reload.isVisible() and "Reload the pair" in window.outcome.text()
    app.send("Hello")
    app.until(lambda: app.activity.busy)
    loaded = len(engine.loaded)
    window.reload.click()
    assert "when the reply ends" in window.outcome.text() and len(engine.loaded) == loaded
    gate.set()
    app.until(lambda: len(engine.loaded) == loaded + 1)
    assert engine.loaded[-1] == folders
    app.until(lambda: app.loader.progress is None)


def test_a_result_that_was_not_kept_says_why(begin: Start, folders: tuple[Path, Path], tmp_path: Path, play: Play) -> None:
    app, window = opened(begin, folders, tmp_path)
    for found, reason in (
        (replace(KEPT, after=3.1, kept=False), "didn't rise for your messages"),
        (replace(KEPT, general_after=3.0, kept=False), "fell by more than 1% on general prompts"),
    ):
        play(READ, result(found))
        window.main.click()
        ended(app)
        assert reason in window.outcome.text() == why_not_kept(found.before, found.after)
        assert window.gains.isVisible() and window.reload.isHidden() and window.main.text() == "Tune Again"


def test_a_process_that_fails_leaves_a_clear_message_and_can_be_continued(
    begin: Start, folders: tuple[Path, Path], tmp_path: Path, play: Play
) -> None:
    app, window = opened(begin, folders, tmp_path)
    full = EngineText.of("no_disk_to_tune", "Tuning always leaves {size:.0f} GB free.", size=5.0)
    garbage = ("sys.stdout.buffer.write(bytes(range(256)) * 20)", "print('[1]')", 'print(\'{"event": "progress"}\')', "x")
    for steps, reason in (
        ((READ, step(2, 9), "os.kill(os.getpid(), 9)"), "stopped unexpectedly. You can"),
        ((READ, *garbage), "stopped unexpectedly. Details are in"),
        (("sys.exit(3)",), "stopped unexpectedly. You can"),
        ((READ, {"event": "failed", "reason": text_to_json(full)}), "leaves 5 GB"),
    ):
        play(*steps)
        window.main.click()
        ended(app)
        assert window.error.isVisible() and reason in window.error.label.text()
        assert window.main.isVisible() and window.main.isEnabled()
    play(READ, result(KEPT))
    window.main.click()
    ended(app)
    assert window.error.isHidden() and app.services.tuning.result == KEPT


@pytest.mark.parametrize("missing", ["program", "log folder"])
def test_a_process_that_cannot_start_says_so(
    begin: Start, folders: tuple[Path, Path], tmp_path: Path, play: Play, monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    play(READ, result(KEPT))
    if missing == "program":
        monkeypatch.setattr(json_process.child, "command", lambda module: (str(tmp_path / "missing"), []))
    app, window = opened(begin, folders, tmp_path)
    if missing == "log folder":
        app.services.tuning._log_file = tmp_path / "missing" / "tuning.log"
    window.main.click()
    ended(app)
    assert "Can't start tuning" in window.error.label.text() and window.main.isEnabled()


def test_memory_that_does_not_suffice_is_said_before_the_start(
    begin: Start, folders: tuple[Path, Path], tmp_path: Path, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    play(f"open({str(started)!r}, 'w')")
    monkeypatch.setattr(machine, "free_memory", lambda: 100_000_000)
    app, window = opened(begin, folders, tmp_path)
    window.main.click()
    ended(app)
    assert "only 100 MB is free" in window.error.label.text() and window.main.isEnabled()
    assert not started.exists()


def test_the_demo_pair_and_pairs_without_a_drafter_are_not_tuned(begin: Start, folders: tuple[Path, Path], tmp_path: Path) -> None:
    app = begin(data=tmp_path)
    window = dialog(app)
    assert "part of Slipstream" in window.notice.label.text() and not window.main.isEnabled() and window.models.isVisible()
    assert window.notice.y() < window.about.y(), "before the text about what tuning would do"
    app.activity.use(LoadPair(folders[0]))
    app.until(lambda: app.loader.progress is None)
    assert "has no drafter" in window.notice.label.text() and not window.main.isEnabled()
    app.activity.use(LoadPair(*folders))
    app.until(lambda: app.services.tuning.surveyed is not None and not app.services.tuning.reading)
    assert window.notice.isHidden() and window.main.isEnabled()


def test_choosing_the_command_again_reads_the_messages_again(begin: Start, folders: tuple[Path, Path], tmp_path: Path) -> None:
    """“Chat some more first” stayed after more chats while the window was open."""
    app, window = opened(begin, folders, tmp_path)
    with closing(Store(tmp_path / FILE)) as store:
        save(store, chat_of("One more?"))
    assert dialog(app) is window and window.prompts.text().startswith("13 from 13 chats")


def test_the_models_window_leads_to_it_from_the_loaded_pair(begin: Start, folders: tuple[Path, Path], tmp_path: Path) -> None:
    app = begin(data=tmp_path)
    app.window.dialogs.show_models()
    models, picker = app.dialog(PickerDialog), app.services.picker
    picker.add(*map(str, folders), "Mine")
    app.until(lambda: picker.rows.selected.startswith("folder:"))
    models.card.main.click()
    app.until(lambda: app.window.dialogs.find(PickerDialog) is None)
    assert picker.rows.current is not None and picker.state(picker.rows.current) == "loaded"
    app.window.dialogs.show_models()
    models = app.dialog(PickerDialog)
    tune = models.card.tune
    assert tune.isVisible() and tune.isEnabled() and tune.toolTip() == ""
    tune.click()
    assert app.window.dialogs.find(TuneDialog) is not None
    picker.rows.select("demo")
    assert not tune.isVisible()


def test_the_models_window_says_why_the_demo_pair_is_not_tuned(begin: Start, tmp_path: Path) -> None:
    """The button was enabled, and led to a refusal."""
    app = begin(data=tmp_path)
    app.window.dialogs.show_models()
    models = app.dialog(PickerDialog)
    app.until(lambda: bool(app.services.picker.rows.matching))
    app.services.picker.rows.select("demo")
    tune = models.card.tune
    assert tune.isVisible() and not tune.isEnabled()
    assert "part of Slipstream" in tune.toolTip() and "part of Slipstream" in tune.accessibleDescription()
    assert not app.can("tune"), "nor from the menu"
    app.run("tune")
    assert "part of Slipstream" in app.notices[-1] and app.window.dialogs.find(TuneDialog) is None


def test_the_stored_result_is_shown_removed_and_no_longer_used(
    begin: Start, folders: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tune_dialog, "confirm", lambda *_: True)
    target, drafter = folders
    file = lora_path(drafter, target)
    write_lora(file, LoraRecord(weights_checksum(drafter), weights_checksum(target), "2026-11-23", 2.0, 3.0))
    engine = ScriptedEngine(pair=replace(PAIR, tuned=True))
    app, window = opened(begin, folders, tmp_path, engine=engine)
    assert window.outcome.text() == "Tuned on 2026-11-23. The tuned drafter is in use." and window.main.text() == "Tune Again"
    assert [cell.text() for cell in window.gains.rows[0].cells] == ["2.00", "3.00", "+50.0%"]
    window.remove.click()
    app.until(lambda: not file.exists() and window.remove.isHidden())
    assert "Reload the pair to stop using it" in window.outcome.text() and window.reload.isVisible()


def write_lora(file: Path, record: LoraRecord) -> None:
    import numpy as np
    from safetensors.numpy import save_file

    save_file({"a": np.zeros(1)}, file, {name: str(value) for name, value in asdict(record).items()})


def test_a_discarded_run_is_deleted(
    begin: Start, folders: tuple[Path, Path], tmp_path: Path, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tune_dialog, "confirm", lambda *_: True)
    folder = run_folder(*folders)
    folder.mkdir(parents=True)
    save_run_prompts(folder, [(Message("user", "Question 1?"),)])
    play(READ, step(1, 9), WAIT, PAUSED)
    app, window = opened(begin, folders, tmp_path)
    assert window.main.text() == "Continue"
    window.main.click()
    app.until(lambda: window.state.text() == "Generating reply 1 of 9")
    window.discard.click()
    ended(app)
    app.until(lambda: not folder.exists() and window.main.text() == "Start")
    assert window.discard.isHidden() and window.error.isHidden()


def test_a_run_can_be_ended_before_its_process_starts(
    begin: Start, folders: tuple[Path, Path], tmp_path: Path, play: Play, monkeypatch: pytest.MonkeyPatch
) -> None:
    """“Pausing…” stayed, and the run wasn't deleted."""
    monkeypatch.setattr(tune_dialog, "confirm", lambda *_: True)
    started, folder = tmp_path / "started", run_folder(*folders)
    folder.mkdir(parents=True)
    save_run_prompts(folder, [(Message("user", "Question 1?"),)])
    play(f"open({str(started)!r}, 'w')")
    app, window = opened(begin, folders, tmp_path)
    runner = app.services.tuning
    ends = {
        window.pause.click: "",
        runner.pause_for_memory: "memory is almost full",
        runner.pause_for_quiet_mode: "quiet mode is on",
        window.discard.click: "",
    }
    for end, error in ends.items():
        assert window.main.text() == "Continue"
        window.main.click()
        assert runner.starting
        end()
        ended(app)
        assert not window.state.text().startswith("Pausing") and window.main.isEnabled() and not runner.pausing
        assert error in runner.error and bool(error) == bool(runner.error)
    app.until(lambda: not folder.exists() and window.main.text() == "Start")
    assert not started.exists()


def test_the_end_of_a_run_is_announced_if_the_window_is_closed(
    begin: Start, folders: tuple[Path, Path], tmp_path: Path, play: Play
) -> None:
    app, window = opened(begin, folders, tmp_path)
    window.close()
    for last, text in ((result(KEPT), "has been tuned"), (result(replace(KEPT, kept=False)), "unchanged"), ("x", "stopped")):
        play(READ, last)
        app.services.tuning.start()
        ended(app)
        assert text in app.notices[-1]


def test_a_pair_that_was_reloaded_needs_no_reload(begin: Start, folders: tuple[Path, Path], tmp_path: Path, play: Play) -> None:
    """The Tune Drafter window offered Reload even if the pair had been loaded from the Models window."""
    target, drafter = folders
    app, window = opened(begin, folders, tmp_path)
    play(READ, result(KEPT))
    window.main.click()
    ended(app)
    assert window.reload.isVisible()
    window.close()
    write_lora(lora_path(drafter, target), LoraRecord("", "", "2026-11-23", 3.2, 4.0))
    app.engine.pair = replace(PAIR, tuned=True)
    app.activity.use(LoadPair(*folders))
    app.until(lambda: app.loader.progress is None)
    window = dialog(app)
    assert window.reload.isHidden() and window.outcome.text() == "Tuned on 2026-11-23. The tuned drafter is in use."


@pytest.mark.parametrize(("after", "change"), [(4.0, "+25.0%"), (3.1999, "+0.0%"), (3.1, "−3.1%")])
def test_changes_have_a_sign(qapp: QApplication, after: float, change: str) -> None:
    table = GainTable(Theme(qapp))
    table.show_gains((3.2, after), (0.0, 0.0))
    assert [cell.text() for cell in table.rows[0].cells[1:]] == [f"{after:.2f}", change]
    assert [cell.text() for cell in table.rows[1].cells] == ["–"] * 3


def test_quitting_pauses_the_run(begin: Start, folders: tuple[Path, Path], tmp_path: Path, play: Play) -> None:
    saved = tmp_path / "saved"
    play(READ, step(1, 9), WAIT, f"open({str(saved)!r}, 'w').close()", PAUSED)
    app, window = opened(begin, folders, tmp_path)
    window.main.click()
    app.until(lambda: window.state.text() == "Generating reply 1 of 9")
    app.quit()
    app.services.tuning.wait(60_000)
    assert saved.exists()


def test_a_run_paused_earlier_is_mentioned_once(begin: Start, folders: tuple[Path, Path], tmp_path: Path) -> None:
    folder = run_folder(*folders)
    folder.mkdir(parents=True)
    save_run_prompts(folder, [(Message("user", "Question 1?"),)])
    save_run_progress(folder, 0.25)
    app = begin(data=tmp_path)
    app.activity.use(LoadPair(*folders))
    app.until(lambda: bool(app.notices))
    assert "is paused at 25%. To continue, choose File ▸ Tune Drafter." in app.notices[0]
    app.services.notices.close_latest()
    app.until(lambda: app.loader.progress is None)
    app.activity.use(LoadPair(*folders))
    app.until(lambda: app.loader.progress is None)
    assert dialog(app).main.text() == "Continue" and app.notices == []


def test_critical_memory_pauses_the_run(start: Start, folders: tuple[Path, Path], tmp_path: Path, play: Play) -> None:
    play(READ, step(1, 9), WAIT, PAUSED)
    app, window = opened(start, folders, tmp_path)
    watch = app.slipstream._memory
    watch._read = lambda: "warning"
    window.main.click()
    app.until(lambda: window.state.text() == "Generating reply 1 of 9")
    watch.check()
    assert not app.services.tuning.pausing
    watch._read = lambda: "critical"
    watch.check()
    assert app.services.tuning.pausing
    ended(app)
    assert "memory is almost full" in window.error.label.text() and window.main.isEnabled()


def test_closing_the_window_on_a_mac_pauses_the_run(start: Start, folders: tuple[Path, Path], tmp_path: Path, play: Play) -> None:
    play(READ, step(1, 9), WAIT, PAUSED)
    app, window = opened(start, folders, tmp_path)
    window.main.click()
    app.until(lambda: window.state.text() == "Generating reply 1 of 9")
    app.window.quits_when_closed = False
    app.window.close()
    ended(app)
    assert not app.services.tuning.error
    app.window.quits_when_closed = True


@given(st.floats(0.05, 60), st.integers(1, 200), st.integers(0, 40), st.integers(4, 30))
def test_the_remaining_time_is_that_of_the_latest_real_steps(seconds: float, left: int, from_disk: int, real: int) -> None:
    timer, now, total = RemainingTime(), 0.0, from_disk + real + left
    for number in range(1, from_disk + real + 1):
        timer.note(EngineText.of("tuning_replies", "{number} of {total}", number=number, total=total), now)
        now += 0.001 * seconds if number <= from_disk else seconds
    assert timer.seconds == pytest.approx(left * seconds, rel=0.01)
    timer.note(EngineText.of("tuning_step", "{step} of {steps}", step=1, steps=50), now)
    assert timer.seconds is None  # nothing of this phase has been measured
