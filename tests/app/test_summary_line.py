"""The line in a chat shows the summary above it, and edits it."""

import threading

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from app.views.transcript.cut_view import CutView
from tests.app.conftest import Running, Start
from tests.app.scripted_engine import answer, commit, done
from tests.app.test_compaction import WRITTEN, roomy_engine, show_line, summarized


def test_a_summary_stays_while_a_reply_reads_it(start: Start) -> None:
    gate = threading.Event()
    app = start(roomy_engine(answer(WRITTEN), [commit("Four."), gate, done()]))
    summarized(app)
    line = show_line(app)
    app.send("And now?")
    app.until(lambda: app.activity.replying_here)
    assert not line.edit_button.isEnabled() and not line.undo_button.isEnabled() and not app.can("undo_compact")
    summary = app.session.chat.turns[1].last
    app.session.edit_summary(summary, "")
    app.services.compactor.undo()  # such as with a notice's button
    assert summary.summary == WRITTEN and app.notices[-1] == "A reply is being generated. Wait for it to finish, or stop it."
    gate.set()
    app.idle()
    assert line.edit_button.isEnabled() and line.undo_button.isEnabled() and app.can("undo_compact")


def test_the_line_shows_the_summary_and_edits_it(start: Start, qtbot: QtBot) -> None:
    app = start(roomy_engine(answer(WRITTEN)))
    summarized(app)
    kinds = [item.kind for item in app.window.transcript.column.items]
    assert kinds == ["prompt", "reply", "prompt", "reply", "cut", "prompt", "reply"]
    line = show_line(app)
    assert line.label.text() == "The model reads a summary of what is above this line." and not line.shown.isVisible()
    qtbot.mouseClick(line.show_button, Qt.MouseButton.LeftButton)
    assert line.shown.isVisible()
    qtbot.mouseClick(line.edit_button, Qt.MouseButton.LeftButton)
    assert line.editor.toPlainText() == WRITTEN and not line.shown.isVisible()
    assert not line.undo_button.isEnabled(), "it would discard the edit"
    line.editor.setPlainText(" ")
    assert not line.save_button.isEnabled()
    line.editor.setPlainText("We counted *all* words. ")
    line.save_button.click()
    assert app.session.chat.history()[1].content == "We counted *all* words."
    show_line(app).undo_button.click()
    assert app.session.chat.cut is None
    app.until(lambda: "cut" not in [item.kind for item in app.window.transcript.column.items])


def edited_line(app: Running, text: str) -> CutView:
    """Begin to edit the summary, and return its line."""
    line = show_line(app)
    line.edit_button.click()
    line.editor.setPlainText(text)
    return line


def test_an_open_edit_of_the_summary_stays_when_the_line_moves(start: Start) -> None:
    """The line was replaced, and the text was lost."""
    app = start(roomy_engine(answer(WRITTEN)))
    turns = summarized(app)
    line = edited_line(app, "Half written")
    app.session.set_summary(turns[2].last, "Later.")
    assert [item.kind for item in app.window.transcript.column.items][4] == "cut"
    assert show_line(app) is line and line.editor.toPlainText() == "Half written"
    line.cancel_button.click()
    assert [item.kind for item in app.window.transcript.column.items][6] == "cut"
    assert turns[1].last.summary == WRITTEN and show_line(app).form.isHidden()


def test_an_open_edit_of_the_summary_goes_on_when_its_chat_is_opened_again(start: Start) -> None:
    app = start(roomy_engine(answer(WRITTEN)))
    summarized(app)
    chat = app.session.chat
    edited_line(app, "Half written")
    app.session.new_chat()
    app.session.open_chat(chat.id)
    app.until(lambda: app.session.chat.id == chat.id)
    line = show_line(app)
    assert line.form.isVisible() and line.editor.toPlainText() == "Half written"
    app.theme.set_text_size(20)
    line = show_line(app)
    assert line.editor.toPlainText() == "Half written", "messages are built again with the new size"
    line.save_button.click()
    assert app.session.chat.history()[1].content == "Half written" and show_line(app).form.isHidden()


def test_no_summary_starts_automatically_while_one_is_edited(start: Start) -> None:
    replies = [answer(text) for text in (WRITTEN, "word " * 280 + "end", "Without the first.", "First.", "Later.")]
    app = start(roomy_engine(*replies))
    summarized(app)
    app.ask("And now?")
    app.until(lambda: app.meter.use is not None and app.meter.use.nearly_full and not app.meter.counting)
    line = edited_line(app, "Half of it is written.")
    app.services.preferences.auto_compact = True
    assert not app.services.compactor.running
    line.save_button.click()
    app.until(lambda: app.session.chat.history()[1].content == "Later.")
    assert app.engine.requests[-2].messages[2].content == "Half of it is written.", "the first portion begins with it"


def test_undo_ends_the_edit_of_a_summary_and_its_undo_continues_it(start: Start) -> None:
    app = start(roomy_engine(answer(WRITTEN)))
    summarized(app)
    edited_line(app, "Half written")
    app.run("undo_compact")
    assert "cut" not in [item.kind for item in app.window.transcript.column.items]
    app.press("Undo")
    assert app.session.chat.history()[1].content == WRITTEN
    line = show_line(app)
    assert line.form.isVisible() and line.editor.toPlainText() == "Half written"


def test_the_edit_of_an_earlier_summary_stops_no_automatic_one(start: Start) -> None:
    """It did for as long as the app ran, although the edit wasn't shown any more."""
    app = start(roomy_engine(answer(WRITTEN), answer("word " * 280 + "end"), answer("Later.")))
    turns = summarized(app)
    chat = app.session.chat
    edited_line(app, "Half written")
    app.session.set_summary(turns[2].last, "Newer.")
    app.session.new_chat()
    app.session.open_chat(chat.id)
    app.until(lambda: app.session.chat.id == chat.id)
    assert show_line(app).form.isHidden()
    app.services.preferences.auto_compact = True
    app.ask("word " * 200)
    app.until(lambda: app.session.chat.history()[1].content == "Later.")
