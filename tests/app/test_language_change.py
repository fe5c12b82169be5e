"""Another language holds at once, and nothing is lost by it."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QEvent, QLocale, QRect, Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QApplication
from shiboken6 import isValid

from app import language
from app.compare.compare_view import CompareDialog
from app.notice import Notice
from app.settings.settings_dialog import SettingsDialog
from app.transcript.column import Place
from app.transcript.transcript import Transcript
from app.window import main_window
from app.window.main_window import MainWindow
from tests.app.conftest import Running, draw_sidebar
from tests.app.scripted_engine import ScriptedEngine, answer, commit, done
from tests.app.test_window import shown_text

Start = Callable[..., Running]
LONG = "\n\n".join(f"Paragraph {number}." for number in range(200))


@pytest.fixture(autouse=True)
def _free_to_change(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv(language.VARIABLE, raising=False)
    language.use("en")
    yield
    monkeypatch.setenv(language.VARIABLE, "en")
    language.use()
    language.translate_qt()


def settings_of(app: Running) -> list[SettingsDialog]:
    return [dialog for dialog in app.window.findChildren(SettingsDialog) if dialog.isVisible()]


def speak(app: Running, wanted: str) -> None:
    """Choose a language in the settings, as a user does, and wait for the window that speaks it."""
    before = app.window
    if not settings_of(app):
        before.show_settings()
    (dialog,) = settings_of(app)
    place = dialog.language.findData(wanted)
    dialog.language.setCurrentIndex(place)
    dialog.language.activated.emit(place)
    app.until(lambda: app.slipstream.window is not before)
    app.window = app.slipstream.window
    app.until(lambda: not isValid(before))


def test_the_window_speaks_another_language_at_once_and_back_again(start: Start, tmp_path: Path) -> None:
    app = start()
    app.ask("Hello")
    assert app.reply.buttons.again.text() == "Regenerate"
    place = app.window.geometry()
    speak(app, "de")
    assert app.reply.buttons.again.text() == "Neu erzeugen" and shown_text(app) == "Fine."
    assert app.window.composer.field.placeholderText() == "Nachricht an Slipstream" and QLocale().decimalPoint() == ","
    assert app.window.isVisible() and app.window.geometry() == place
    (settings,) = settings_of(app)
    assert settings.language.currentData() == "de"
    settings.close()
    assert app.window.transcript.welcome.title.text() == "Fragen Sie, was Sie wollen"
    speak(app, "en")
    assert app.reply.buttons.again.text() == "Regenerate"
    app.ask("And on")
    assert shown_text(app) == "Fine." and len(app.conductor.chat.turns) == 2


def test_a_reply_that_is_written_goes_on_in_the_new_window(start: Start) -> None:
    gate = threading.Event()
    app = start(ScriptedEngine([[commit("Half "), gate, commit("whole."), done()]]))
    app.send("Hello")
    app.until(lambda: "Half" in shown_text(app))
    app.type("The next one")
    speak(app, "de")
    assert shown_text(app).strip() == "Half" and app.window.composer.button.accessibleName() == "Stopp"
    gate.set()
    app.until(lambda: not app.conductor.busy)
    assert shown_text(app) == "Half whole." and app.window.composer.text == "The next one"


def test_draft_edit_files_notices_place_and_selection_stay(start: Start, tmp_path: Path) -> None:
    app = start(ScriptedEngine([answer(LONG)]))
    app.ask("Long")
    (tmp_path / "note.md").write_text("content")
    app.conductor.attaching.attach([tmp_path / "note.md"])
    app.until(lambda: app.conductor.attaching.reading == 0)
    app.type("A draft")
    app.conductor.edit(app.conductor.chat.turns[0])
    app.type("Longer, with a cursor")
    cursor = app.window.composer.field.textCursor()
    cursor.setPosition(3)
    cursor.setPosition(6, QTextCursor.MoveMode.KeepAnchor)
    app.window.composer.field.setTextCursor(cursor)
    app.conductor.noticed.emit(Notice("Something to know.", until="idle"))
    transcript = app.window.transcript
    app.until(lambda: transcript.verticalScrollBar().maximum() > 2000)
    transcript.verticalScrollBar().setValue(1500)
    transcript.selecting.select(Place(0, 1, 0, 0), Place(1, 1, 0, 9))
    selected, band = transcript.selecting.markdown(), transcript.shown_band()
    assert selected and not transcript.following
    speak(app, "de")
    now, composer = app.window.transcript, app.window.composer
    assert not now.following and abs(now.shown_band()[0] - band[0]) < 40
    assert now.selecting.markdown() == selected and now.notices() == ["Something to know."]
    assert composer.text == "Longer, with a cursor" and composer.field.textCursor().selectedText() == "ger"
    assert composer.banner.isVisible() and app.conductor.editing is not None
    app.conductor.cancel_edit()
    assert composer.text == "A draft" and [one.name for one in app.conductor.attaching.files] == ["note.md"]
    app.conductor.new_chat()
    assert composer.text == "" and app.window.transcript.notices() == []


def test_what_is_sent_after_the_change_is_no_draft_any_more(start: Start, tmp_path: Path) -> None:
    app = start()
    (tmp_path / "note.md").write_text("content")
    app.conductor.attaching.attach([tmp_path / "note.md"])
    app.until(lambda: app.conductor.attaching.reading == 0)
    app.type("A question")
    speak(app, "de")
    assert app.window.composer.text == "A question" and [one.name for one in app.conductor.attaching.files] == ["note.md"]
    app.ask("A question")
    app.conductor.new_chat()
    assert app.window.composer.text == "" and app.conductor.attaching.files == []


def test_a_comparison_goes_on_and_open_pages_come_back(start: Start) -> None:
    gate = threading.Event()
    script = [commit("Once "), gate, commit("more."), done("plain")]
    app = start(ScriptedEngine([answer("Hi."), script, answer("Once more.")]))
    app.ask("Hi")
    app.window.show_this_mac()
    app.window.show_models()
    app.window.top_bar.compare.click()
    app.until(lambda: app.conductor.comparison is not None and "plain" in app.conductor.comparison.replies)
    speak(app, "de")
    dialog = app.window.compare_dialog
    assert dialog is not None and dialog.isVisible() and dialog.running and app.window.models is not None
    gate.set()
    app.until(lambda: not app.conductor.busy)
    assert dialog.record is not None and dialog.headline.text() == "DFlash ist 3,9-mal so schnell"
    assert app.window.this_mac is not None and app.window.this_mac.isVisible()
    speak(app, "zh_CN")
    assert app.window.compare_dialog is not None and app.window.compare_dialog.record is dialog.record
    assert "3.9" in app.window.compare_dialog.headline.text()


def test_a_prompt_that_is_written_in_compare_stays_and_so_does_the_history(start: Start) -> None:
    app = start()
    app.ask("Hi")
    app.window.top_bar.compare.click()
    app.until(lambda: not app.conductor.busy)
    before = app.window.compare_dialog
    assert before is not None
    before.history_button.setChecked(True)
    before.prompt.setPlainText("Another question")
    speak(app, "de")
    dialog = app.window.compare_dialog
    assert dialog is not None and dialog.prompt.toPlainText() == "Another question"
    assert dialog.record is not None and dialog.headline.text() == "DFlash ist 3,9-mal so schnell"
    assert dialog.history_button.isChecked() and dialog.history.isVisible()


def test_that_a_reply_is_written_elsewhere_is_still_said(start: Start) -> None:
    gate = threading.Event()
    app = start(ScriptedEngine([[commit("Half "), gate, commit("whole."), done()]]))
    app.send("Hello")
    app.until(lambda: "Half" in shown_text(app))
    app.conductor.new_chat()
    assert app.window.foot.elsewhere.isVisible()
    speak(app, "de")
    bar = app.window.foot.elsewhere
    assert bar.isVisible() and "Hello" in bar.label.text()
    gate.set()
    app.until(lambda: not app.conductor.busy)
    assert not bar.isVisible()


def test_the_first_page_stays_where_it_was_scrolled_to(start: Start) -> None:
    app = start()
    app.window.resize(440, 420)
    bar = app.window.transcript.verticalScrollBar()
    app.until(lambda: bar.maximum() > 40)
    bar.setValue(0)
    assert not app.window.transcript.following
    speak(app, "de")
    now = app.window.transcript
    assert not now.following and now.verticalScrollBar().value() == 0 and now.verticalScrollBar().maximum() > 40


@pytest.mark.parametrize(
    ("owner", "name"), [(main_window, "Foot"), (Transcript, "take_over"), (CompareDialog, "take_over"), (MainWindow, "show_models")]
)
def test_where_the_new_window_fails_all_is_as_before_and_a_second_try_works(
    start: Start, qapp: QApplication, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str
) -> None:
    gate = threading.Event()
    app = start(ScriptedEngine([answer("Hi."), [commit("Once "), gate, commit("more."), done("plain")], answer("Once more.")]))
    app.ask("Hi")
    app.window.show_models()
    app.window.top_bar.compare.click()
    app.until(lambda: app.conductor.comparison is not None and "plain" in app.conductor.comparison.replies)
    windows = set(qapp.topLevelWidgets())

    def fail(*_: object) -> None:
        raise RuntimeError("broken")

    with monkeypatch.context() as broken:
        broken.setattr(owner, name, fail)
        app.window.preferences.blockSignals(True)
        app.window.preferences.set_language("de")
        app.window.preferences.blockSignals(False)
        with pytest.raises(RuntimeError, match="broken"):
            app.slipstream._speak()
    assert language.current() == "en" and QLocale().decimalPoint() == "."
    assert QApplication.translate("QPlatformTheme", "Cancel") == "Cancel"
    assert app.slipstream.window is app.window and app.window.isVisible()
    assert not [one for one in set(qapp.topLevelWidgets()) - windows if one.isVisible()]
    app.until(lambda: set(qapp.topLevelWidgets()) <= windows)
    dialog = app.window.compare_dialog
    assert dialog is not None and dialog.isVisible() and dialog.running
    app.conductor.tell("Still here.")
    assert app.notices[-1] == "Still here."
    speak(app, "de")
    assert QApplication.translate("QPlatformTheme", "Cancel") == "Abbrechen"
    dialog = app.window.compare_dialog
    assert dialog is not None and dialog.running
    gate.set()
    app.until(lambda: not app.conductor.busy)
    assert dialog.headline.text() == "DFlash ist 3,9-mal so schnell"


@pytest.mark.parametrize("shape", ["showMaximized", "showFullScreen", "showMinimized"])
def test_a_window_that_is_maximised_keeps_the_size_that_it_goes_back_to(start: Start, shape: str) -> None:
    app = start()
    place = QRect(40, 60, 700, 500)
    app.window.setGeometry(place)
    app.until(lambda: app.window.geometry() == place)
    getattr(app.window, shape)()
    state = app.window.windowState()
    app.until(lambda: shape == "showMinimized" or app.window.geometry() != place)
    speak(app, "de")
    assert app.window.windowState() == state != Qt.WindowState.WindowNoState
    assert app.window.normalGeometry() == place  # also what the next start goes by
    app.window.showNormal()
    app.until(lambda: app.window.geometry() == place)


def test_a_list_of_chats_that_is_hidden_keeps_its_width(start: Start) -> None:
    app = start()
    app.window.resize(1200, 700)
    app.until(lambda: app.window.width() == 1200)
    draw_sidebar(app, 333)
    app.window.toggle_sidebar()
    speak(app, "de")
    assert not app.window.sidebar.isVisible()
    app.window.close()
    again = start()
    assert not again.window.sidebar.isVisible()
    speak(again, "en")
    again.window.toggle_sidebar()
    again.until(lambda: again.window.sidebar.width() == 333)


def test_what_is_searched_for_and_what_was_just_deleted_stay(start: Start) -> None:
    app = start()
    app.ask("Hello there")
    kept = app.conductor.chat.id
    app.conductor.library.move(kept, app.conductor.library.add_folder("Work").id)
    bar = app.window.sidebar.list
    bar.collapse(bar.model().index(0, 0))
    app.window.commands.new.trigger()
    app.ask("Hello again")
    app.window.commands.delete.trigger()
    app.window.sidebar.search.setText("hello")
    speak(app, "de")
    sidebar = app.window.sidebar
    assert sidebar.search.text() == "hello" and sidebar.undo_bar.isVisible()
    assert sidebar.undo_bar.label.text() == "„Hello again“ gelöscht"
    app.until(lambda: [hit.chat for hit in sidebar.results.hits()] == [kept, kept])  # by its title and by its words
    sidebar.undo_bar.button.click()
    assert len(app.conductor.library.entries) == 2 and not sidebar.undo_bar.isVisible()
    sidebar.search.clear()
    assert not sidebar.list.isExpanded(sidebar.list.model().index(0, 0))
    speak(app, "en")
    assert not app.window.sidebar.undo_bar.isVisible()


def test_what_is_looked_for_in_the_chat_stays_with_the_hit_that_one_is_at(start: Start) -> None:
    app = start(ScriptedEngine([answer(LONG)]))
    app.ask("Long")
    finding = app.window.transcript.finding
    app.window.menus.find.trigger()
    finding.bar.field.setText("paragraph 1")
    app.until(lambda: finding.bar.count.text() == "111")
    finding.step(1)
    finding.step(1)
    shown = finding.bar.count.text()
    at, band = finding.at, app.window.transcript.shown_band()
    speak(app, "de")
    now = app.window.transcript.finding
    assert now.bar.isVisible() and now.bar.field.text() == "paragraph 1"
    app.until(lambda: now.bar.count.text() == shown.replace("of", "von"))
    assert now.at == at and abs(app.window.transcript.shown_band()[0] - band[0]) < 40
    now.close()
    speak(app, "en")
    assert not app.window.transcript.finding.bar.isVisible()


def test_the_language_that_is_spoken_already_makes_no_new_window(start: Start, qapp: QApplication) -> None:
    app = start()
    before = app.window
    before.preferences.set_language("en")
    QApplication.sendPostedEvents(None, QEvent.Type.MetaCall.value)
    assert app.slipstream.window is before
