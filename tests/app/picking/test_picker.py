"""The picker with the hub of the tests: search, download, use, one reply, delete; and what it says when things go wrong."""

import json
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from huggingface_hub import constants
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QComboBox, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from app.models import storage, survey
from app.models.model_settings import ModelSettingsDialog
from app.models.own_pair import OwnPairDialog
from mlx_engine.pairs import active_use, locks, model_move
from mlx_engine.pairs.bandwidth import kept_limit
from mlx_engine.pairs.cache import Cache
from mlx_engine.pairs.deleted_models import Aside
from mlx_engine.pairs.demo import demo_pair
from mlx_engine.pairs.fit import Fit
from mlx_engine.pairs.measured import MeasuredSpeeds
from mlx_engine.pairs.model_folder import moving_lock
from tests.app.picking.looking import PAIR, Start, card, look_at, opened, state
from tests.app.scripted_engine import ScriptedEngine, commit, done, refuse
from tests.hub.repos import DRAFTER, TARGET, config, drafter_files, target_files
from tests.hub.server import LocalHub
from tests.mlx_engine.pairs.fetching import expect_whole, fetch


def test_search_download_use_one_reply_delete(start: Start, hub: LocalHub, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """By keyboard alone, from the window's shortcut to the last button."""
    engine = ScriptedEngine()
    loads: list[tuple[Path, Path | None]] = []
    real = engine.load
    monkeypatch.setattr(engine, "load", lambda target, drafter: (loads.append((target, drafter)), real(target, drafter))[1])
    app = start(engine)
    app.window.menus.models.trigger()
    dialog = app.window.models
    assert dialog is not None
    app.until(lambda: bool(app.window.picker.rows))
    qtbot.keyClicks(dialog.search, "zeb")
    assert [one.name for one in app.window.picker.rows] == ["Zebra 1B"] and dialog.card.title.text() == "Zebra 1B"
    app.until(lambda: app.window.picker.may_download)
    shown = app.window.picker.current
    assert shown is not None and shown.shown.asked and not shown.confirmed
    assert dialog.card.main.text() == "Download 2 MB" and dialog.card.facts.shown["Licence"] == "apache-2.0"
    qtbot.keyClick(dialog.search, Qt.Key.Key_Return)
    app.until(lambda: state(app) == "ready")
    assert dialog.card.main.text() == "Use" and dialog.card.main.isEnabled()
    qtbot.keyClick(dialog.search, Qt.Key.Key_Return)
    app.until(lambda: state(app) == "loaded")
    target, drafter = loads[-1]
    assert "owner--target" in str(target) and drafter is not None and "owner--drafter" in str(drafter)
    app.ask("Hello?")
    assert app.reply.turn.reply.answer == "Fine."
    app.window.picker.select("demo")
    qtbot.keyClick(dialog.search, Qt.Key.Key_Return)
    app.until(lambda: state(app) == "loaded")
    look_at(app, "zebra-1b")
    assert state(app) == "ready" and dialog.card.delete.isVisible()
    dialog.card.delete.click()
    app.until(lambda: state(app) == "absent" and dialog.deleted.isVisible())
    assert not target.exists() and dialog.deleted.label.text() == "Zebra 1B: deleted. 2 MB become free when you quit."
    dialog.deleted.undo.click()
    app.until(lambda: state(app) == "ready")
    assert (target / "config.json").is_file() and not dialog.deleted.isVisible()
    dialog.card.delete.click()
    app.until(lambda: state(app) == "absent" and dialog.deleted.isVisible())
    app.until(lambda: app.window.picker.may_download)
    dialog.card.main.click()
    app.until(lambda: state(app) == "ready")
    assert not dialog.deleted.isVisible() and not app.window.picker.downloads.transfers, "quicker than fetching it again"
    dialog.card.delete.click()
    app.until(lambda: dialog.deleted.isVisible())
    dialog.deleted.free.click()
    app.until(lambda: dialog.said.text() == "2 MB are free again.")
    assert not dialog.deleted.isVisible() and weights(Path(constants.HF_HUB_CACHE)) == 0


def test_a_pair_can_be_used_as_soon_as_a_reply_has_ended(start: Start, hub: LocalHub) -> None:
    fetch(hub, Cache())
    gate = threading.Event()
    app = start(ScriptedEngine([[commit("a"), gate, done()]]))
    opened(app)
    look_at(app, "zebra-1b")
    app.window.models.room_soon.stop()
    app.send("Hello?")
    app.until(lambda: not card(app).main.isEnabled())
    assert card(app).main.toolTip() == "A reply is still being written."
    gate.set()
    app.until(lambda: not app.conductor.busy)
    assert card(app).main.isEnabled() and not card(app).main.toolTip()


def test_this_machine_is_measured_once_though_another_pair_is_loaded(start: Start, hub: LocalHub, qtbot: QtBot) -> None:
    """Also where what was measured cannot be stored, as with this engine."""
    fetch(hub, Cache())
    app = start()
    opened(app)
    app.until(lambda: app.window.picker.measured_machine and not app.conductor.roofline_job.running)
    assert len(app.engine.measured) == 1
    look_at(app, "zebra-1b")
    app.until(lambda: state(app) == "ready")
    card(app).main.click()
    app.until(lambda: state(app) == "loaded" and app.conductor.loader.progress is None)
    app.window.picker.refresh()
    qtbot.wait(500)
    assert len(app.engine.measured) == 1


def weights(root: Path) -> int:
    """Bytes of everything but lock files under a folder, which may be cleared meanwhile."""
    found = 0
    for folder, _, names in os.walk(root):
        for name in names:
            with suppress(FileNotFoundError):
                found += Path(folder, name).lstat().st_size if name != "CACHEDIR.TAG" else 0
    return found


def test_what_was_deleted_is_freed_when_the_app_is_quit_and_after_a_crash(start: Start, hub: LocalHub) -> None:
    cache = Cache()
    fetch(hub, cache)
    app = start()
    opened(app)
    look_at(app, "zebra-1b")
    app.window.picker.delete()
    app.until(lambda: bool(app.window.picker.storage.deleted))
    assert weights(cache.root) > 1_500_000
    app.window.close()
    assert weights(cache.root) == 0
    fetch(hub, cache)
    Aside(cache).take(PAIR.repos)  # and then it crashed
    app = start()
    app.until(lambda: weights(cache.root) == 0)


def test_what_cannot_be_brought_back_now_can_be_later(start: Start, hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache()
    fetch(hub, cache)
    app = start()
    opened(app)
    dialog = app.window.models
    look_at(app, "zebra-1b")
    app.window.picker.delete()
    app.until(lambda: dialog.deleted.isVisible())
    monkeypatch.setattr(active_use, "TURN", 0.05)
    moving_lock().parent.mkdir(parents=True, exist_ok=True)
    held = locks.acquire(moving_lock())
    assert held is not None
    dialog.deleted.undo.click()
    app.until(lambda: dialog.said.text().startswith("The models are being moved to another folder."))
    assert dialog.deleted.isVisible()
    held.release()
    dialog.deleted.undo.click()
    app.until(lambda: state(app) == "ready" and not dialog.deleted.isVisible())
    expect_whole(hub, cache)


def test_settings_of_models_hold_at_once_and_are_kept(
    start: Start, hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: dict[str, str] = {}
    monkeypatch.setattr(storage, "keep_token", lambda endpoint, token: kept.update({endpoint: token}) or "anna")
    monkeypatch.setattr(storage, "forget_token", lambda endpoint: kept.pop(endpoint, None) is not None)
    app = start()
    opened(app)
    assert app.window.models is not None
    app.window.models.settings.click()
    dialog = app.window.models.findChild(ModelSettingsDialog)
    assert dialog is not None
    app.until(lambda: "GB free" in dialog.room.text())
    assert app.window.models.room.text().endswith("free on this disk") and not dialog.move_button.isEnabled()
    assert "HF_HUB_CACHE" in dialog.room.text()
    dialog.limit.setCurrentIndex(3)
    dialog.limit.activated.emit(3)
    app.until(lambda: kept_limit() == 5e6)
    assert dialog.limit.currentText() == "At most 5 MB/s"
    assert not dialog.keep.isEnabled()
    dialog.token.setText("hf_mine")
    dialog.keep.click()
    app.until(lambda: "anna" in dialog.said.text())
    assert kept == {hub.url: "hf_mine"} and dialog.token.text() == ""
    dialog.forget.click()
    app.until(lambda: dialog.said.text() == "The token is forgotten.")


def test_a_move_says_how_far_it_is_and_what_is_refused_meanwhile(
    start: Start, hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_HUB_CACHE")
    before = Cache()
    fetch(hub, before)
    goes_on = threading.Event()
    real = model_move.Move._copy_one
    monkeypatch.setattr(model_move.Move, "_copy_one", lambda self, *rest: goes_on.wait(60) and real(self, *rest))
    app = start()
    opened(app)
    look_at(app, "zebra-1b")
    card(app).main.click()
    app.until(lambda: state(app) == "loaded")
    look_at(app, "zebra-1b")
    app.window.picker.move(tmp_path / "elsewhere")
    dialog = app.window.models
    assert dialog is not None
    app.until(lambda: dialog.room.text().startswith("Moving the models: 0 KB of 2 MB"))
    app.window.picker.select("demo")
    card(app).main.click()
    assert "are being moved" in dialog.said.text() and state(app) == "ready"
    goes_on.set()
    app.until(lambda: app.window.picker.storage.moving is None)
    assert f"The models lie in {tmp_path / 'elsewhere'} now." in dialog.said.text()
    look_at(app, "zebra-1b")
    app.until(lambda: state(app) == "loaded")
    assert not before.root.exists() or weights(before.root) == 0


def test_a_pair_that_cannot_run_says_why(start: Start) -> None:
    app = start()
    opened(app)
    look_at(app, "glm-5.3-flash")
    assert state(app) == "unavailable" and "mlx-lm has no model" in card(app).trouble.text() and not card(app).main.isVisible()


def test_an_own_pair_that_does_not_go_together_gets_the_sentence(start: Start, hub: LocalHub) -> None:
    hub.repo("lab/other", {**drafter_files(9_000), "config.json": config(**{**DRAFTER, "hidden_size": 32})})
    app = start()
    opened(app)
    assert app.window.models is not None
    app.window.models.own.click()
    dialog = app.window.models.findChild(OwnPairDialog)
    assert dialog is not None
    dialog.target.setText("owner/target")
    dialog.drafter.setText("lab/other")
    dialog.go.click()
    app.until(lambda: "hidden size 32" in dialog.verdict.text())
    assert dialog.go.text() == "Check"
    dialog.drafter.setText("owner/drafter")
    dialog.go.click()
    app.until(lambda: dialog.go.text() == "Add")
    dialog.go.click()
    app.until(lambda: app.window.picker.selected.startswith("own:"))
    assert app.window.picker.may_download


def test_the_drafter_of_an_own_target_is_looked_for(start: Start, hub: LocalHub, tmp_path: Path) -> None:
    hub.repo("mlx/Zebra-4B-8bit", target_files(100_000))
    hub.repo("lab/Zebra-4B-DFlash", {**drafter_files(9_000), "config.json": config(**{**DRAFTER, "hidden_size": 32})})
    hub.repo("lab/Zebra-4B-DFlash-b16", drafter_files(9_000))
    hub.repo("owner/alone", target_files(100_000))
    of_phi = {**target_files(9_000), "config.json": config(**{**TARGET, "model_type": "phi3"})}
    hub.repo("owner/phi", of_phi)
    (tmp_path / "phi").mkdir()
    (tmp_path / "phi/config.json").write_bytes(of_phi["config.json"])
    app = start()
    opened(app)
    assert app.window.models is not None
    app.window.models.own.click()
    dialog = app.window.models.findChild(OwnPairDialog)
    assert dialog is not None and not dialog.search.isEnabled()
    dialog.target.setText("mlx/Zebra-4B-8bit")
    dialog.search.click()
    assert dialog.verdict.text() == "Looking for a drafter…" and not dialog.go.isEnabled()
    app.until(lambda: dialog.go.text() == "Add")
    assert dialog.drafter.text() == "lab/Zebra-4B-DFlash-b16" and dialog.verdict.text() == "They go together."
    dialog.drafter.setText("")
    dialog.target.setText("owner/alone")
    dialog.search.click()
    app.until(dialog.search.isEnabled)
    assert dialog.verdict.text().startswith("No drafter for owner/alone was found in the catalogue, on this disk or on the hub.")
    assert dialog.verdict.text().endswith("Name one, or take the target alone: it decodes plainly.")
    for target in ("owner/phi", str(tmp_path / "phi")):  # no drafter can help there
        dialog.target.setText(target)
        dialog.search.click()
        app.until(dialog.search.isEnabled)
        assert dialog.verdict.text().startswith("DFlash is not available for the family “phi3” yet")
        assert dialog.verdict.text().endswith(". Take the target alone: it decodes plainly.")
    mine = shutil.copytree(demo_pair()[0], tmp_path / "mine")
    drafter = shutil.copytree(demo_pair()[1], tmp_path / ".lmstudio/models/lab/Demo-DFlash")
    dialog.target.setText(str(mine))
    dialog.search.click()
    app.until(lambda: dialog.go.text() == "Add")
    assert dialog.drafter.text() == str(drafter)


def test_an_own_pair_of_two_folders_can_be_used_at_once(start: Start, tmp_path: Path) -> None:
    target, drafter = demo_pair()
    (tmp_path / "mine").mkdir()
    for role, folder in (("target", target), ("drafter", drafter)):
        (tmp_path / "mine" / role).symlink_to(folder)
    app = start()
    opened(app)
    answers: list[str] = []
    picker = app.window.picker
    picker.check(str(tmp_path / "mine/target"), str(tmp_path / "mine/drafter"), answers.append)
    app.until(lambda: answers == [""])
    picker.add(str(tmp_path / "mine/target"), str(tmp_path / "mine/drafter"))
    app.until(lambda: picker.selected.startswith("folder:"))
    card(app).main.click()
    app.until(lambda: state(app) == "loaded")
    again = start()
    opened(again)
    mine = next(one for one in again.window.picker.rows if one.own)
    look_at(again, mine.id)
    assert state(again) in ("ready", "loaded") and card(again).forget.isVisible(), "it is there at the next start"
    (tmp_path / "mine" / "drafter").unlink()
    again.window.picker.refresh()
    again.until(lambda: state(again) == "unavailable")
    assert "drafter" in card(again).trouble.text()
    card(again).forget.click()
    again.until(lambda: not any(one.own for one in again.window.picker.rows))


def test_a_failed_load_keeps_the_old_pair_where_only_files_were_looked_at(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ScriptedEngine()
    app = start(engine)
    opened(app)

    def refused(target: Path, drafter: Path | None) -> Iterator[object]:
        raise refuse("The drafter does not fit.")
        yield

    monkeypatch.setattr(engine, "load", refused)
    from mlx_engine.requests import LoadPair

    app.conductor.use(LoadPair(Path("/somewhere"), None))
    app.until(lambda: app.conductor.loader.progress is None)
    assert app.conductor.loader.pair is not None and app.notices[-1] == "The drafter does not fit. Demo pair is still loaded."


def test_a_load_that_fails_later_says_that_none_is_loaded_and_one_that_is_cancelled_too(start: Start) -> None:
    from mlx_engine.requests import LoadPair

    engine = ScriptedEngine()
    app = start(engine)
    engine.load_error = refuse("The target is damaged.")
    app.conductor.use(LoadPair(Path("/somewhere"), None))
    app.until(lambda: app.conductor.loader.progress is None)
    assert app.conductor.loader.pair is None and app.notices[-1] == "The target is damaged. No models are loaded now."
    engine.load_error = None
    app.conductor.use()
    app.until(lambda: app.conductor.loader.pair is not None)
    engine.load_gate = threading.Event()
    app.conductor.use(LoadPair(Path("/somewhere"), None))
    app.until(lambda: app.conductor.loader.progress is not None and app.conductor.loader.progress.fraction > 0)
    app.conductor.loader.cancel()
    engine.load_gate.set()
    app.until(lambda: app.conductor.loader.progress is None)
    assert app.conductor.loader.pair is None or "cancelled" not in app.notices[-1]


def test_it_has_room_for_large_text_which_stays_large_when_the_appearance_changes(start: Start) -> None:
    app = start()
    opened(app)
    theme, dialog = app.slipstream.theme, app.window.models
    assert dialog is not None
    try:
        theme.set_text_size(24)
        theme.set_appearance("dark")
        assert card(app).title.font().pixelSize() == round(24 * 1.4)
        for button in dialog.filters.buttons():
            assert button.width() >= button.sizeHint().width()
    finally:
        theme.set_text_size(15)


def test_a_folder_that_nobody_can_judge_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("Odd", "Zebra"):
        folder = shutil.copytree(demo_pair()[0], tmp_path / ".lmstudio/models/lab" / name)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, "odd": name == "Odd"}))
    known = survey.fit

    def stumbling(target: dict, *given: Any, **named: Any) -> Fit:
        return known(target, *given, **named) if not target.get("odd") else 1 // 0  # type: ignore[return-value]

    monkeypatch.setattr(survey, "fit", stumbling)
    found = {one.name: one.shown.trouble for one in survey.survey().candidates}
    assert "cannot judge" in found["Odd"] and found["Zebra"] == ""


def test_everything_in_the_picker_has_a_name(start: Start) -> None:
    app = start()
    opened(app)
    assert app.window.models is not None
    nameless = [
        type(widget).__name__
        for widget in app.window.models.findChildren(QWidget)
        if isinstance(widget, QAbstractButton | QLineEdit | QComboBox)
        and widget.isVisible()
        and not widget.accessibleName()
        and widget.objectName() != "_q_qlineeditclearbutton"
        and type(widget).__name__ != "QToolButton"
    ]
    assert nameless == []


def test_the_speed_that_is_noted_is_that_of_the_reply_that_ended(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that of whichever chat is shown then."""
    noted: list[float | None] = []
    monkeypatch.setattr(MeasuredSpeeds, "saw", lambda self, key, stats: bool(noted.append(stats.decode_tok_s)))
    gate = threading.Event()
    fast = [commit("b", 40), gate, done(tokens=40, decode_tok_s=999.0)]
    app = start(ScriptedEngine([[commit("a", 40), done(tokens=40, decode_tok_s=11.0)], fast]))
    app.ask("First")
    app.until(lambda: noted == [11.0])  # what is noted by two threads comes in any order
    first = app.conductor.chat.id
    app.window.commands.new.trigger()
    app.send("Second")
    app.until(lambda: app.conductor.chat.turns[-1].reply.answer == "b")
    app.conductor.open_chat(first)
    app.until(lambda: app.conductor.chat.id == first)
    gate.set()
    app.until(lambda: not app.conductor.busy)
    app.conductor.compare()  # its figures are kept elsewhere
    app.until(lambda: not app.conductor.busy)
    app.until(lambda: len(noted) == 2)
    assert noted == [11.0, 999.0]
