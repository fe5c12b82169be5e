"""Messages are edited in their bubbles: the keys, the files, and the composer during an edit."""

import threading
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from tests.app.conftest import Running, Start
from tests.app.scripted_engine import ScriptedEngine, answer, commit, done


def editing(start: Start, *replies: str) -> Running:
    """A chat with two turns and a draft, whose first message is being edited."""
    app = start(ScriptedEngine([answer(text) for text in ("First.", "Second.", *replies)]))
    app.ask("One")
    app.ask("Two")
    app.type("A draft")
    app.questions[0].edit_button.click()
    return app


def test_return_sends_an_edit_and_leaves_the_draft_alone(start: Start, qtbot: QtBot) -> None:
    """The composer took the edit, and hid the draft."""
    app = editing(start, "Other.")
    composer = app.window.composer
    editor = composer.editor
    assert editor is not None and app.questions[0].isAncestorOf(editor)
    assert app.window.focusWidget() is editor.field and editor.field.toPlainText() == "One"
    assert composer.text == "A draft" and not composer.field.isEnabled() and not composer.button.isEnabled()
    assert not app.questions[0].blocks.isVisible() and not app.questions[0].edit_button.isVisible()
    qtbot.keyClicks(editor.field, " more")
    qtbot.keyClick(editor.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    qtbot.keyClicks(editor.field, "and more")
    qtbot.keyClick(editor.field, Qt.Key.Key_Return)
    app.until(lambda: not app.activity.busy)
    assert app.texts == [("One more\nand more", "Other.")]
    assert app.questions[0].versions is not None and app.questions[0].versions.label.text() == "2 of 2"
    assert composer.editor is None and composer.text == "A draft" and composer.field.isEnabled()
    assert app.window.focusWidget() is composer.field


def test_escape_cancels_an_edit(start: Start, qtbot: QtBot) -> None:
    app = editing(start)
    composer = app.window.composer
    with qtbot.waitActive(app.window):
        app.window.activateWindow()
    qtbot.keyClicks(composer.active_field, " changed")
    qtbot.keyClick(composer.active_field, Qt.Key.Key_Escape)
    assert not app.window.transcript.message_focus.bar.isVisible(), "Qt's focus passed through the next message"
    assert composer.editor is None and app.session.editing is None and composer.text == "A draft"
    assert app.questions[0].blocks.isVisible() and app.questions[0].edit_button.isVisible()
    assert app.window.focusWidget() is composer.field
    app.run("edit")
    assert app.questions[1].editor is not None and app.questions[0].editor is None
    app.questions[0].edit_button.click()
    assert app.questions[0].editor is not None and app.questions[1].editor is None
    assert composer.active_field.toPlainText() == "One", "a canceled edit is gone"


def test_an_edit_that_begins_twice_goes_on(start: Start) -> None:
    app = editing(start)
    app.type("One, edited")
    editor = app.window.composer.editor
    app.session.edit(app.session.chat.turns[0])
    assert app.window.composer.editor is editor is not None and app.window.focusWidget() is editor.field
    assert editor.field.toPlainText() == "One, edited"


def test_keys_typed_elsewhere_and_dropped_files_go_into_the_edit(start: Start, qtbot: QtBot, tmp_path: Path) -> None:
    app = editing(start, "Read.")
    composer = app.window.composer
    app.window.transcript.setFocus()
    qtbot.keyClicks(app.window.transcript, "!")
    assert composer.active_field.toPlainText() == "One!" and composer.text == "A draft"
    (tmp_path / "note.md").write_text("A note.")
    app.attachments.attach([tmp_path / "note.md"])
    app.until(lambda: len(app.attachments.files) == 1)
    editor = composer.editor
    assert editor is not None and [one.file.name for one in editor.file_area.files.chips] == ["note.md"]
    assert composer.files.chips == []
    editor.send_button.click()
    app.until(lambda: not app.activity.busy)
    assert [one.name for one in app.session.chat.turns[0].asked.attachments] == ["note.md"]
    assert not app.attachments.files and composer.text == "A draft"


def test_an_edit_is_shown_again_with_its_chat_and_with_another_text_size(start: Start) -> None:
    app = editing(start)
    chat = app.session.chat.id
    app.type("One, edited")
    app.theme.set_text_size(20)
    assert app.questions[0].editor is not None and app.window.composer.active_field.toPlainText() == "One, edited"
    app.session.new_chat()
    assert app.window.composer.editor is None and app.window.composer.field.isEnabled() and app.window.composer.text == ""
    app.session.open_chat(chat)
    app.until(lambda: app.session.chat.id == chat)
    app.until(lambda: app.questions[0].editor is not None)
    assert app.window.composer.active_field.toPlainText() == "One, edited" and app.window.composer.text == "A draft"
    assert app.window.focusWidget() is app.window.composer.active_field


def test_an_edit_far_above_is_scrolled_to_and_stays_built(start: Start) -> None:
    text = "\n\n".join(f"Paragraph {number}." for number in range(80))
    app = start(ScriptedEngine([answer(text) for _ in range(4)]))
    for number in range(4):
        app.ask(f"Question {number}")
    transcript = app.window.transcript
    app.session.edit(app.session.chat.turns[0])
    editor = app.window.composer.editor
    assert editor is not None and not editor.visibleRegion().isEmpty()
    app.type("Edited")
    transcript.follow()
    QApplication.processEvents()
    assert app.window.composer.editor is editor and app.message.text == "Edited"
    app.theme.set_text_size(20)
    editor = app.window.composer.editor
    assert editor is not None and isValid(editor) and not editor.visibleRegion().isEmpty()
    assert editor.field.toPlainText() == "Edited"


def test_an_edit_waits_for_the_reply_and_says_so(start: Start) -> None:
    gate = threading.Event()
    app = start(ScriptedEngine([answer("First."), [commit("Half"), gate, done()], answer("Other.")]))
    app.ask("One")
    app.send("Two")
    app.until(lambda: app.activity.replying_here)
    app.session.edit(app.session.chat.turns[0])
    app.send("One, edited")
    editor = app.window.composer.editor
    assert editor is not None and app.window.foot.waiting.isVisible() and editor.property("look") == "composer-waiting"
    assert app.window.composer.stop_button.isVisible() and not app.window.composer.button.isVisible()
    gate.set()
    app.until(lambda: app.texts == [("One, edited", "Other.")])
    assert app.window.composer.editor is None


def test_the_editor_grows_with_its_text(start: Start) -> None:
    app = editing(start)
    editor, transcript = app.window.composer.editor, app.window.transcript
    assert editor is not None
    before = app.questions[0].height()
    app.type("One\n" * 6)
    app.until(lambda: app.questions[0].height() > before + 60)
    assert editor.send_button.mapTo(app.questions[0], editor.send_button.rect().bottomLeft()).y() <= app.questions[0].height()
    assert transcript.column.entries[1].top >= transcript.column.entries[0].top + app.questions[0].height()
