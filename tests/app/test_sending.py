"""Sending: the question appears first, the reply one frame later, and only its chat can stop it."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import QMimeData, QPoint, Qt, QTimer
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QAbstractButton, QApplication
from pytestqt.qtbot import QtBot

from app.storage.chat_tree import Chat
from app.system.appearance import DEFAULT_TEXT_SIZE
from app.views.chat.composer import Composer
from app.views.transcript.attachment_chips import AttachmentChips
from app.views.transcript.message_views import PromptView
from app.views.transcript.transcript import Transcript
from app.widgets.theme import Theme
from mlx_engine.contract.events import Commit
from tests.app.conftest import PATIENCE_MS, Begin, Session, Start, reply_views
from tests.app.scripted_engine import ScriptedEngine, answer, commit, done, refuse
from tests.benchmarks.recorded_engine import TEXT

App = TypeVar("App", bound=Session)


def test_a_question_appears_one_frame_before_its_reply(start: Start) -> None:
    app = start(ScriptedEngine([[threading.Event()]]))
    column = app.window.transcript.column
    before = column.total_height
    app.send("Hello")
    assert [entry.view for entry in column.entries] == [None, None] and column.total_height == before
    built: list[int] = []  # after each frame
    frames = app.window.transcript.findChild(QTimer, options=Qt.FindChildOption.FindDirectChildrenOnly)
    frames.timeout.connect(lambda: built.append(sum(entry.view is not None for entry in column.entries)))
    app.until(lambda: len(built) == 2)
    app.activity.stop()
    assert built == [1, 2]
    assert column.entries[0].top < column.entries[1].top


def test_a_reply_that_ends_before_it_is_shown_is_complete(qapp: QApplication, qtbot: QtBot) -> None:
    transcript = Transcript(Theme(qapp, "light"))
    qtbot.addWidget(transcript)
    transcript.resize(900, 700)
    transcript.show()
    turn = Chat().ask("Hello", "dflash")
    transcript.add_turn(turn)
    turn.reply.accept(Commit("All at once.", "answer", (), ()), 0.0)
    turn.reply.accept(done(), 0.0)
    transcript.refresh(turn)
    assert [entry.view for entry in transcript.column.entries] == [None, None]
    qtbot.waitUntil(lambda: all(entry.view is not None for entry in transcript.column.entries), timeout=PATIENCE_MS)
    reply = reply_views(transcript)[-1]
    assert reply.complete and reply.buttons is not None and reply.buttons.copy.isVisible()
    assert transcript.column.entries[0].top < transcript.column.entries[1].top
    assert transcript.verticalScrollBar().value() == transcript.verticalScrollBar().maximum()


def test_a_message_never_opens_as_a_separate_window(start: Start, stray_windows: list[str], tmp_path: Path) -> None:
    app = start(ScriptedEngine([[commit(TEXT), commit(TEXT), done()]] * 2))
    app.ask("Hello")
    app.ask("Long " * 2000)
    (note := tmp_path / "note.md").write_text("A note.")
    app.attachments.attach([note])
    app.until(lambda: bool(app.attachments.files))
    app.ask("With a file")  # the reply is short: a message that is scrolled away has no view
    assert app.reply.buttons.isVisible()
    assert any(chips.isVisible() for chips in app.window.transcript.findChildren(AttachmentChips))
    assert stray_windows == []


def test_an_edited_message_is_followed_like_a_new_one(start: Start, qtbot: QtBot) -> None:
    app = start(ScriptedEngine([answer("Line.\n\n" * 60)] * 4 + [answer("Short.")] * 2))
    transcript, field, bar = app.window.transcript, app.window.composer.field, app.window.transcript.verticalScrollBar()
    for text in ("One", "Two"):
        app.ask(text)
    app.until(lambda: bar.value() == bar.maximum() > 0)
    bar.setValue(0)
    assert not transcript.following
    app.window.menus["edit"].trigger()
    app.ask("Edited")
    assert transcript.following
    app.until(lambda: bar.value() == bar.maximum() > 0)
    bar.setValue(0)
    app.window.menus["regenerate"].trigger()
    assert transcript.following
    app.until(lambda: not app.activity.busy and bar.value() == bar.maximum() > 0)
    app.window.menus["new_chat"].trigger()
    app.ask("Three")
    app.window.menus["regenerate"].trigger()
    app.until(lambda: not app.activity.busy)
    app.window.menus["previous_version"].trigger()
    app.until(lambda: bar.maximum() == 0)
    assert transcript.following, "all of the chat is visible"
    app.window.menus["edit"].trigger()
    app.type("Not sent")
    qtbot.keyClick(app.window.composer.active_field, Qt.Key.Key_Escape)
    assert app.session.editing is None and field.toPlainText() == ""


def test_tab_visits_the_buttons_of_messages_from_left_to_right(start: Start) -> None:
    app = start(ScriptedEngine([answer("One."), answer("Two."), answer("Three.")]))
    app.ask("First")
    app.window.menus["edit"].trigger()
    app.ask("Second")
    app.window.menus["regenerate"].trigger()
    app.until(lambda: not app.activity.busy)
    for foot in (app.questions[-1], app.reply.buttons):
        chain, widget = [], foot.nextInFocusChain()
        while widget is not foot:
            if isinstance(widget, QAbstractButton) and foot.isAncestorOf(widget) and widget.isVisible():
                chain.append(widget)
            widget = widget.nextInFocusChain()
        assert len(chain) >= 3 and chain == sorted(chain, key=lambda button: button.mapTo(foot, QPoint()).x())


def test_only_the_chat_of_a_reply_can_stop_it(start: Start, qtbot: QtBot) -> None:
    app = start(ScriptedEngine([answer("Old."), [commit("Half "), threading.Event()]]))
    composer, stop, rows = app.window.composer, app.window.menus["stop"], app.window.sidebar.list
    app.ask("Old?")
    old = app.session.chat.id
    app.run("new_chat")
    app.send("New?")
    app.until(lambda: "Half" in app.answer)
    new = app.session.chat.id
    assert composer.stop_button.isVisible() and not composer.button.isVisible() and stop.isEnabled()
    app.session.open_chat(old)
    app.until(lambda: app.session.chat.id == old)
    assert composer.button.isVisible() and not composer.stop_button.isVisible() and not stop.isEnabled()
    assert [rows.describe(rows.index_of(one)).mark for one in (new, old)] == ["ring", ""]
    qtbot.keyClick(composer.field, Qt.Key.Key_Escape)
    app.activity.stop()
    app.ask("And now?")
    assert app.answer == "Fine." and app.notices == []
    app.session.open_chat(new)
    assert composer.stop_button.isVisible() and app.activity.busy
    app.type("Next")
    assert composer.button.isVisible() and composer.stop_button.isVisible()
    composer.button.setFocus()
    composer.button.click()
    assert app.message.note and not composer.button.isVisible() and composer.stop_button.hasFocus()
    app.message.cancel()
    app.type("Later")
    composer.stop_button.click()
    app.until(lambda: not app.activity.busy)
    assert app.answer == "Half" and app.session.chat.turns[-1].reply.reason == "cancelled"
    assert composer.text == "Later" and composer.button.hasFocus() and not composer.stop_button.isVisible()


def test_deleting_another_chat_ends_its_reply(begin: Begin) -> None:
    app = begin(ScriptedEngine([answer("Old."), [commit("Half "), threading.Event()]]))
    app.ask("Old?")
    old = app.session.chat.id
    app.run("new_chat")
    app.send("New?")
    app.until(lambda: "Half" in app.answer)
    new = app.session.chat.id
    app.session.open_chat(old)
    app.until(lambda: app.session.chat.id == old)
    app.library.delete([new])
    app.until(lambda: not app.activity.busy)
    assert not app.reply_runner.runs and app.session.chat.id == old


def test_a_pasted_megabyte_is_sent_and_shown_folded(start: Start) -> None:
    app = start()
    pasted = QMimeData()
    pasted.setText("\u05e9\u05dc\u05d5\u05dd e\u0301 <b>'; DROP TABLE chat; --</b>\n" * 30_000)
    assert len(pasted.text()) > 1_000_000
    app.window.composer.field.insertFromMimeData(pasted)
    assert app.attachments.files
    app.window.composer.field.undo()
    app.window.composer.button.click()
    app.until(lambda: bool(app.engine.requests) and not app.activity.busy)
    assert app.window.composer.text == "" and app.reply.complete
    assert app.engine.requests[0].messages[0].content == pasted.text().strip()
    prompt = app.window.transcript.column.entries[0].view
    assert isinstance(prompt, PromptView) and prompt.folded


def loading(start: Callable[..., App], engine: ScriptedEngine) -> tuple[App, threading.Event]:
    """Start the app with models that load until the gate is opened, and send a message."""
    gate = engine.load_gate = threading.Event()
    app = start(engine, loaded=False)
    app.start()
    app.send("Too soon")
    assert app.message.text == "Too soon" and not engine.requests
    assert app.message.note == "The message will be sent when the models have loaded."
    return app, gate


def test_a_message_sent_while_loading_is_sent_when_the_models_have_loaded(start: Start) -> None:
    app, gate = loading(start, ScriptedEngine())
    composer, bar = app.window.composer, app.window.foot.waiting
    assert bar.isVisible() and bar.label.text() == app.message.note
    QTest.keyClicks(composer.field, "!")
    assert composer.text == "!Too soon" and not bar.isVisible(), "what is being edited isn't sent"
    QTest.keyClick(composer.field, Qt.Key.Key_Return)
    assert bar.isVisible()
    gate.set()
    app.until(lambda: bool(app.session.chat.turns) and not app.activity.busy)
    assert app.session.chat.turns[0].prompt == "!Too soon" and composer.text == ""
    assert not bar.isVisible() and app.notices == []
    QTest.keyClicks(composer.field, "More")
    assert composer.text == "More"


@pytest.mark.parametrize("how", ["cancel", "fail", "leave"])
def test_a_message_that_waits_for_the_models_can_be_kept(begin: Begin, how: str) -> None:
    engine = ScriptedEngine(load_error=refuse("Broken.") if how == "fail" else None)
    app, gate = loading(begin, engine)
    if how == "cancel":
        app.message.cancel()
    elif how == "leave":
        app.session.new_chat()
    gate.set()
    app.until(lambda: not app.loader.running)
    assert not app.message.note
    assert app.message.text == "Too soon" and not engine.requests


def test_a_reply_is_not_generated_again_while_models_load(begin: Begin) -> None:
    app = begin()
    app.ask("Hello")
    gate = app.engine.load_gate = threading.Event()
    app.activity.use()
    app.until(lambda: app.loader.pair is None)
    app.session.regenerate(app.session.chat.turns[0])
    assert app.notices == ["The models are still loading. Try again in a moment."] and len(app.engine.requests) == 1
    gate.set()
    app.until(lambda: app.loader.pair is not None)
    assert app.notices == []


def test_editing_a_message_keeps_another_from_being_sent_when_the_models_have_loaded(begin: Begin) -> None:
    """The text in the composer was sent, whatever it was by then."""
    app = begin()
    app.ask("Earlier")
    gate = app.engine.load_gate = threading.Event()
    app.activity.use()
    app.until(lambda: app.loader.pair is None)
    app.send("Too soon")
    assert app.message.note
    app.session.edit(app.session.chat.turns[0])
    gate.set()
    app.until(lambda: not app.loader.running)
    assert not app.message.note and len(app.engine.requests) == 1
    assert app.message.text == "Earlier" and app.message.draft == "Too soon"


def test_the_send_button_grows_with_the_text(begin: Begin, qtbot: QtBot) -> None:
    app = begin(loaded=False)
    composer = Composer(app.theme, app.message, app.attachments, ())
    qtbot.addWidget(composer)
    composer.show()
    side = composer.button.width()
    app.theme.set_text_size(2 * DEFAULT_TEXT_SIZE)
    app.until(lambda: composer.button.width() == composer.button.height() == 2 * side)
    composer.close()  # it must not lose the focus while the garbage collector deletes it
