"""The picker with a test hub: search, download, use, chat, delete, and errors."""

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
from PySide6.QtWidgets import QAbstractButton, QApplication, QComboBox, QLabel, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from app.session import model_storage, pair_survey
from app.session.custom_pairs import check_pair
from app.views.models.model_settings import ModelSettings
from app.views.models.picker_dialog import CustomPairDialog, PickerDialog
from app.views.settings.settings_dialog import SettingsDialog
from app.widgets.fact_table import FactTable
from app.widgets.theme import Theme
from mlx_engine.contract.events import LoadProgress
from mlx_engine.contract.requests import LoadPair
from mlx_engine.models.downloads import model_move
from mlx_engine.models.downloads.bandwidth import download_limit
from mlx_engine.models.downloads.hub import Hub
from mlx_engine.models.files import locks
from mlx_engine.models.files.hub_cache import DeletedModels, HubCache, move_lock
from mlx_engine.models.fit import Fit
from mlx_engine.models.library.pair import demo_pair
from tests.app.conftest import Start
from tests.app.scripted_engine import ScriptedEngine, commit, done, reason, refuse
from tests.app.views.models.picker_page import PAIR, card, look_at, opened, reopened, state
from tests.hub.local_hub import LocalHub
from tests.hub.repos import DRAFTER, TARGET, config, drafter_files, target_files
from tests.mlx_engine.models.downloads import expect_whole, fetch


def test_search_download_use_chat_and_delete(begin: Start, hub: LocalHub, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole path by keyboard."""
    engine = ScriptedEngine()
    loads: list[tuple[Path, Path | None]] = []
    real = engine.load
    monkeypatch.setattr(engine, "load", lambda target, drafter: (loads.append((target, drafter)), real(target, drafter))[1])
    app = begin(engine)
    app.window.dialogs.show_models()
    dialog = app.dialog(PickerDialog)
    app.until(lambda: bool(app.services.picker.rows.matching))
    qtbot.keyClicks(dialog.search, "zeb")
    assert [one.name for one in app.services.picker.rows.matching] == ["Zebra 1B"] and dialog.card.title.text() == "Zebra 1B"
    app.until(lambda: app.services.picker.can_download)
    shown = app.services.picker.rows.current
    assert shown is not None and shown.shown.checked and not shown.confirmed
    assert dialog.card.main.text() == "Download 2 MB" and dialog.card.facts.shown["License"] == "Apache 2.0"
    qtbot.keyClick(dialog.search, Qt.Key.Key_Return)
    assert state(app) == "absent" and dialog.list.hasFocus(), "Return in the search field only selects"
    qtbot.keyClick(dialog.list, Qt.Key.Key_Return)
    assert state(app) == "absent" and dialog.card.main.hasFocus()
    qtbot.keyClick(dialog.card.main, Qt.Key.Key_Return)
    app.until(lambda: state(app) == "ready")
    assert dialog.card.main.text() == "Use" and dialog.card.main.isEnabled()
    qtbot.keyClick(dialog.card.main, Qt.Key.Key_Return)
    dialog = reopened(app)
    assert dialog.card.main.text() == "In use"
    target, drafter = loads[-1]
    assert "owner--target" in str(target) and drafter is not None and "owner--drafter" in str(drafter)
    app.ask("Hello?")
    assert app.answer == "Fine."
    dialog.search.clear()
    app.services.picker.rows.select("demo")
    dialog.list.setFocus()
    qtbot.keyClick(dialog.list, Qt.Key.Key_Return)
    qtbot.keyClick(dialog.card.main, Qt.Key.Key_Return)
    dialog = reopened(app)
    look_at(app, "zebra-1b")
    assert state(app) == "ready" and dialog.card.delete.isVisible()
    dialog.card.delete.click()
    app.until(lambda: state(app) == "absent" and dialog.deleted.isVisible())
    assert not target.exists() and dialog.deleted.label.text() == "Zebra 1B removed. 2 MB will be freed when you quit."
    dialog.deleted.undo.click()
    app.until(lambda: state(app) == "ready")
    assert (target / "config.json").is_file() and not dialog.deleted.isVisible()
    dialog.card.delete.click()
    app.until(lambda: state(app) == "absent" and dialog.deleted.isVisible())
    app.until(lambda: app.services.picker.can_download)
    dialog.card.main.click()
    app.until(lambda: state(app) == "ready")
    assert not dialog.deleted.isVisible() and not app.services.picker.downloads.pairs, "quicker than fetching it again"
    dialog.card.delete.click()
    app.until(lambda: dialog.deleted.isVisible())
    dialog.deleted.purge.click()
    app.until(lambda: dialog.message.text() == "2 MB freed.")
    assert not dialog.deleted.isVisible() and weights(Path(constants.HF_HUB_CACHE)) == 0


def test_return_does_nothing_while_no_pair_matches(begin: Start, hub: LocalHub, qtbot: QtBot) -> None:
    app = begin()
    opened(app)
    dialog = app.dialog(PickerDialog)
    look_at(app, "zebra-1b")
    app.until(lambda: app.services.picker.can_download)
    qtbot.keyClicks(dialog.search, "no such pair")
    assert dialog.empty.isVisible() and not app.services.picker.rows.matching
    for _ in range(3):
        qtbot.keyClick(dialog.focusWidget(), Qt.Key.Key_Return)
    assert app.services.picker.downloads.pairs == {}
    assert dialog.card.isHidden() and dialog.endpoint.isHidden(), "no details next to an empty list"
    dialog.search.clear()
    assert dialog.card.isVisible()


def test_a_pair_can_be_used_once_the_reply_is_complete(begin: Start, hub: LocalHub) -> None:
    fetch(hub, HubCache())
    gate = threading.Event()
    app = begin(ScriptedEngine([[commit("a"), gate, done()]]))
    opened(app)
    look_at(app, "zebra-1b")
    app.dialog(PickerDialog).space_timer.stop()
    app.send("Hello?")
    app.until(lambda: not card(app).main.isEnabled())
    assert card(app).main.toolTip() == "A reply is being generated in “Hello?”. Wait for it to finish, or stop it there."
    gate.set()
    app.until(lambda: not app.activity.busy)
    assert card(app).main.isEnabled() and not card(app).main.toolTip()


def test_the_machine_is_measured_once_even_if_another_pair_is_loaded(begin: Start, hub: LocalHub, qtbot: QtBot) -> None:
    """Even if the result cannot be stored, as with this engine."""
    fetch(hub, HubCache())
    app = begin()
    opened(app)
    app.until(lambda: app.services.picker.machine_measured and not app.roofline_runner.running)
    assert len(app.engine.measured) == 1
    look_at(app, "zebra-1b")
    app.until(lambda: state(app) == "ready")
    card(app).main.click()
    app.until(lambda: state(app) == "loaded" and app.loader.progress is None)
    app.services.picker.refresh()
    qtbot.wait(500)
    assert len(app.engine.measured) == 1


def weights(root: Path) -> int:
    """Return the bytes of all files but lock files in a folder that may be emptied at the same time."""
    found = 0
    for folder, _, names in os.walk(root):
        for name in names:
            with suppress(FileNotFoundError):
                found += Path(folder, name).lstat().st_size if name != "CACHEDIR.TAG" else 0
    return found


def test_deleted_pairs_are_purged_on_quit_and_after_a_crash(begin: Start, hub: LocalHub) -> None:
    cache = HubCache()
    fetch(hub, cache)
    app = begin()
    opened(app)
    look_at(app, "zebra-1b")
    app.services.picker.delete()
    app.until(lambda: bool(app.services.picker.storage.deleted))
    assert weights(cache.root) > 1_500_000
    app.quit()
    assert weights(cache.root) == 0
    fetch(hub, cache)
    DeletedModels(cache).delete(PAIR.repos)  # as if it had crashed
    app = begin()
    app.until(lambda: weights(cache.root) == 0)


def test_a_failed_restore_can_be_repeated(begin: Start, hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = HubCache()
    fetch(hub, cache)
    app = begin()
    opened(app)
    dialog = app.dialog(PickerDialog)
    look_at(app, "zebra-1b")
    app.services.picker.delete()
    app.until(lambda: dialog.deleted.isVisible())
    monkeypatch.setattr(locks, "EXCLUSIVE_TIMEOUT", 0.05)
    move_lock().parent.mkdir(parents=True, exist_ok=True)
    held = locks.acquire(move_lock())
    assert held is not None
    dialog.deleted.undo.click()
    app.until(lambda: dialog.message.text().startswith("The models are being moved to another folder."))
    app.until(lambda: state(app) != "ready")  # the list can still show the pair as it was before
    assert dialog.deleted.isVisible()
    held.release()
    dialog.deleted.undo.click()
    app.until(lambda: state(app) == "ready" and not dialog.deleted.isVisible())
    expect_whole(hub, cache)


def test_model_settings_apply_at_once_and_are_stored(
    begin: Start, hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: dict[str, str] = {}
    monkeypatch.setattr(model_storage, "store_token", lambda endpoint, token: kept.update({endpoint: token}) or "anna")
    monkeypatch.setattr(model_storage, "delete_token", lambda endpoint: kept.pop(endpoint, None) is not None)
    monkeypatch.setattr(model_storage, "stored_token", kept.get)
    app = begin()
    opened(app)
    app.dialog(PickerDialog).settings.click()
    settings = app.dialog(SettingsDialog)
    assert settings.list.currentItem().text() == "Models"
    dialog = settings.findChild(ModelSettings)
    assert dialog is not None
    app.until(lambda: "GB of disk space available" in dialog.room.text())
    assert app.dialog(PickerDialog).space.text().endswith("available") and not dialog.move_button.isEnabled()
    assert "HF_HUB_CACHE" in dialog.room.text()
    dialog.limit.setCurrentIndex(3)
    dialog.limit.activated.emit(3)
    app.until(lambda: download_limit() == 5e6)
    assert dialog.limit.currentText() == "5 MB/s"
    assert not dialog.save.isEnabled() and not dialog.remove.isEnabled()
    dialog.token.setText("hf_mine")
    dialog.save.click()
    app.until(lambda: "anna" in dialog.message.text())
    assert kept == {hub.url: "hf_mine"} and dialog.token.text() == ""
    app.until(dialog.remove.isEnabled)
    dialog.remove.click()
    app.until(lambda: dialog.message.text() == "Token removed." and not dialog.remove.isEnabled())


def test_a_mirror_is_used_for_everything_from_then_on(begin: Start, hub: LocalHub, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"https://mirror.example": "hf_mine"}
    monkeypatch.setattr(model_storage, "stored_token", kept.get)
    app = begin()
    app.window.dialogs.show_settings("models")
    page = app.dialog(SettingsDialog).findChild(ModelSettings)
    app.until(lambda: page.hub.placeholderText() == hub.url)
    assert not page.hub.isEnabled() and not page.remove.isEnabled()  # HF_ENDPOINT takes precedence
    monkeypatch.delenv("HF_ENDPOINT")
    app.services.picker.storage.read_hub()
    app.until(page.hub.isEnabled)

    def enter(address: str) -> None:
        page.hub.clear()
        page.hub.insert(address)
        page.hub.editingFinished.emit()

    enter("mirror")
    app.until(lambda: "isn't a web address" in page.message.text())
    enter("https://mirror.example")
    app.until(page.remove.isEnabled)
    assert Hub().endpoint == "https://mirror.example" and page.message.isHidden()
    enter("")
    app.until(lambda: Hub().endpoint == hub.url and not page.remove.isEnabled())


def test_moving_models_shows_progress_and_blocks_loading(
    begin: Start, hub: LocalHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HF_HUB_CACHE")
    before = HubCache()
    fetch(hub, before)
    goes_on = threading.Event()
    real = model_move.ModelMove._copy_file
    monkeypatch.setattr(model_move.ModelMove, "_copy_file", lambda self, *rest: goes_on.wait(60) and real(self, *rest))
    app = begin()
    opened(app)
    look_at(app, "zebra-1b")
    card(app).main.click()
    reopened(app)
    look_at(app, "zebra-1b")
    app.services.picker.move(tmp_path / "elsewhere")
    dialog = app.dialog(PickerDialog)
    app.until(lambda: dialog.space.text().startswith("Moving models: 0 KB of 2 MB"))
    app.services.picker.rows.select("demo")
    card(app).main.click()
    assert "are being moved" in dialog.message.text() and state(app) == "ready"
    goes_on.set()
    app.until(lambda: app.services.picker.storage.moving is None)
    assert f"Models moved to {tmp_path / 'elsewhere'}." in dialog.message.text()
    look_at(app, "zebra-1b")
    app.until(lambda: state(app) == "loaded")
    assert not before.root.exists() or weights(before.root) == 0


def test_an_unsupported_pair_says_why(begin: Start) -> None:
    app = begin()
    opened(app)
    look_at(app, "glm-5.3-flash")
    assert (
        state(app) == "unavailable" and "doesn't support the" in card(app).problem.label.text() and not card(app).main.isVisible()
    )


def test_an_incompatible_custom_pair_shows_the_reason(begin: Start, hub: LocalHub) -> None:
    hub.repo("lab/other", {**drafter_files(9_000), "config.json": config(**{**DRAFTER, "hidden_size": 32})})
    app = begin()
    opened(app)
    app.dialog(PickerDialog).custom.trigger()
    dialog = app.dialog(PickerDialog).findChild(CustomPairDialog)
    assert dialog is not None
    dialog.target.setText("owner/target")
    dialog.drafter.setText("lab/other")
    dialog.go.click()
    app.until(lambda: "“hidden_size” is 32" in dialog.verdict.text())
    assert dialog.go.text() == "Check"
    dialog.drafter.setText("owner/drafter")
    dialog.go.click()
    app.until(lambda: dialog.go.text() == "Add")
    dialog.name.setText("Fast one")
    dialog.go.click()
    app.until(lambda: app.services.picker.rows.selected.startswith("own:"))
    assert app.services.picker.rows.current is not None and app.services.picker.rows.current.name == "Fast one"
    assert app.services.picker.can_download


def test_a_drafter_for_a_custom_target_is_found(begin: Start, hub: LocalHub, tmp_path: Path) -> None:
    hub.repo("mlx/Zebra-4B-8bit", target_files(100_000))
    hub.repo("lab/Zebra-4B-DFlash", {**drafter_files(9_000), "config.json": config(**{**DRAFTER, "hidden_size": 32})})
    hub.repo("lab/Zebra-4B-DFlash-b16", drafter_files(9_000))
    hub.repo("owner/alone", target_files(100_000))
    of_phi = {**target_files(9_000), "config.json": config(**{**TARGET, "model_type": "phi3"})}
    hub.repo("owner/phi", of_phi)
    (tmp_path / "phi").mkdir()
    (tmp_path / "phi/config.json").write_bytes(of_phi["config.json"])
    app = begin()
    opened(app)
    app.dialog(PickerDialog).custom.trigger()
    dialog = app.dialog(PickerDialog).findChild(CustomPairDialog)
    assert dialog is not None and not dialog.search.isEnabled()
    dialog.target.setText("mlx/Zebra-4B-8bit")
    dialog.search.click()
    assert dialog.verdict.text() == "Searching for a drafter…" and not dialog.go.isEnabled()
    app.until(lambda: dialog.go.text() == "Add")
    assert (
        dialog.drafter.text() == "lab/Zebra-4B-DFlash-b16" and dialog.verdict.text() == "The target and the drafter are compatible."
    )
    dialog.drafter.setText("")
    dialog.target.setText("owner/alone")
    dialog.search.click()
    app.until(dialog.search.isEnabled)
    assert dialog.verdict.text().startswith("No drafter for owner/alone was found in the catalog, on this disk, or on the hub.")
    assert dialog.verdict.text().endswith("Enter a drafter, or leave the field empty for plain decoding.")
    for target in ("owner/phi", str(tmp_path / "phi")):  # no drafter is possible
        dialog.target.setText(target)
        dialog.search.click()
        app.until(dialog.search.isEnabled)
        assert dialog.verdict.text().startswith("DFlash isn't available for the “phi3” family yet")
        assert dialog.verdict.text().endswith(". Leave the drafter empty for plain decoding.")
    mine = shutil.copytree(demo_pair()[0], tmp_path / "mine")
    drafter = shutil.copytree(demo_pair()[1], tmp_path / ".lmstudio/models/lab/Demo-DFlash")
    dialog.target.setText(str(mine))
    dialog.search.click()
    app.until(lambda: dialog.go.text() == "Add")
    assert dialog.drafter.text() == str(drafter)


def test_a_custom_pair_of_two_folders_can_be_used_at_once(begin: Start, tmp_path: Path) -> None:
    target, drafter = demo_pair()
    (tmp_path / "mine").mkdir()
    for role, folder in (("target", target), ("drafter", drafter)):
        (tmp_path / "mine" / role).symlink_to(folder)
    app = begin()
    opened(app)
    picker = app.services.picker
    assert check_pair(str(tmp_path / "mine/target"), str(tmp_path / "mine/drafter")) == ""
    picker.add(str(tmp_path / "mine/target"), str(tmp_path / "mine/drafter"), " My  pair ")
    app.until(lambda: picker.rows.selected.startswith("folder:"))
    card(app).main.click()
    reopened(app)
    assert app.loader.pair is not None and card(app).title.text() == app.loader.pair.name == "My pair"
    again = begin()
    opened(again)
    mine = next(one for one in again.services.picker.rows.matching if one.custom)
    assert look_at(again, mine.id).name == "My pair"
    assert state(again) in ("ready", "loaded") and card(again).remove.isVisible(), "it is listed at the next start"
    (tmp_path / "mine" / "drafter").unlink()
    again.services.picker.refresh()
    again.until(lambda: state(again) == "unavailable")
    assert "drafter" in card(again).problem.label.text()
    card(again).remove.click()
    again.until(lambda: not any(one.custom for one in again.services.picker.rows.matching))


def test_a_copied_path_is_unchanged(qapp: QApplication) -> None:
    """It had no-break spaces after digits."""
    table = FactTable(Theme(qapp))
    table.show_facts({"Location": "/Volumes/Disk 2 old", "Speed": "16 tok/s"})
    assert [label.text() for label in table.findChildren(QLabel)][1::2] == ["/Volumes/Disk 2 old", "16\N{NO-BREAK SPACE}tok/s"]


def test_a_load_that_fails_while_checking_files_keeps_the_old_pair(begin: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = ScriptedEngine()
    app = begin(engine)
    opened(app)

    def refused(target: Path, drafter: Path | None) -> Iterator[object]:
        raise refuse("The drafter does not fit.")
        yield

    monkeypatch.setattr(engine, "load", refused)
    app.activity.use(LoadPair(Path("/somewhere"), None))
    app.until(lambda: app.loader.progress is None)
    assert app.loader.pair is not None and app.notices[-1] == "The drafter does not fit. Demo pair is still in use."


def test_a_load_that_fails_later_or_is_canceled_says_that_no_models_are_loaded(
    begin: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, proceed = ScriptedEngine(), threading.Event()
    app = begin(engine)
    engine.load_error = refuse("The target is damaged.")
    app.activity.use(LoadPair(Path("/somewhere"), None))
    app.until(lambda: app.loader.progress is None)
    assert app.loader.pair is None and app.notices[-1] == "The target is damaged. No models are loaded."
    engine.load_error = None
    app.activity.use()
    app.until(lambda: app.loader.pair is not None)

    def load(target: Path, drafter: Path | None) -> Iterator[LoadProgress]:
        yield LoadProgress(0.25, reason("Reading the weights"))
        proceed.wait()
        yield LoadProgress(0.5, reason("Reading the weights"))
        raise AssertionError("it stops after the current file")

    monkeypatch.setattr(engine, "load", load)
    app.activity.use(LoadPair(Path("/somewhere"), None))
    app.until(lambda: app.loader.progress is not None and app.loader.progress.fraction > 0)
    app.loader.cancel()
    proceed.set()
    app.until(lambda: app.loader.progress is None)
    assert app.loader.pair is None and app.notices[-1] == "Loading was canceled. No models are loaded."


def test_large_text_fits_and_survives_a_change_of_appearance(begin: Start) -> None:
    app = begin()
    opened(app)
    theme, dialog = app.theme, app.dialog(PickerDialog)
    assert dialog is not None
    try:
        theme.set_text_size(24)
        theme.set_appearance("dark")
        assert card(app).title.font().pixelSize() == round(24 * 1.4)
        app.until(lambda: all(chip.width() >= chip.sizeHint().width() for chip in dialog.filters.buttons()))
    finally:
        theme.set_text_size(15)


def test_a_folder_that_cannot_be_estimated_hides_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("Odd", "Zebra"):
        folder = shutil.copytree(demo_pair()[0], tmp_path / ".lmstudio/models/lab" / name)
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**config, "odd": name == "Odd"}))
    known = pair_survey.predict_fit

    def failing(target: dict, *given: Any, **named: Any) -> Fit:
        return known(target, *given, **named) if not target.get("odd") else 1 // 0  # type: ignore[return-value]

    monkeypatch.setattr(pair_survey, "predict_fit", failing)
    found = {one.name: str(one.shown.problem or "") for one in pair_survey.survey().candidates}
    assert "Can't estimate" in found["Odd"] and found["Zebra"] == ""


def test_every_control_of_the_picker_has_a_name(begin: Start) -> None:
    app = begin()
    opened(app)
    assert app.window.dialogs.find(PickerDialog) is not None
    nameless = [
        type(widget).__name__
        for widget in app.dialog(PickerDialog).findChildren(QWidget)
        if isinstance(widget, QAbstractButton | QLineEdit | QComboBox)
        and widget.isVisible()
        and not widget.accessibleName()
        and widget.objectName() != "_q_qlineeditclearbutton"
        and type(widget).__name__ != "QToolButton"
    ]
    assert nameless == []


def test_the_recorded_speed_is_that_of_the_finished_reply(begin: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that of the chat that is open."""
    noted: list[float | None] = []
    monkeypatch.setattr("app.session.picker.record_speeds", lambda key, replies: noted.extend(one.decode_tok_s for one in replies))
    gate = threading.Event()
    fast = [commit("b", 40), gate, done(tokens=40, decode_tok_s=999.0)]
    app = begin(ScriptedEngine([[commit("a", 40), done(tokens=40, decode_tok_s=11.0)], fast]))
    app.ask("First")
    app.until(lambda: noted == [11.0])  # two threads record in any order
    first = app.session.chat.id
    app.run("new_chat")
    app.send("Second")
    app.until(lambda: app.session.chat.turns[-1].reply.answer == "b")
    app.session.open_chat(first)
    app.until(lambda: app.session.chat.id == first)
    gate.set()
    app.until(lambda: not app.activity.busy)
    app.services.comparer.compare()  # comparisons are not recorded
    app.until(lambda: not app.activity.busy)
    app.until(lambda: len(noted) == 2)
    assert noted == [11.0, 999.0]
