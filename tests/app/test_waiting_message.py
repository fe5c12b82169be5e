"""A message that is sent during the chat's reply waits for the reply to end."""

import threading
from collections.abc import Callable

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from tests.app.conftest import Running
from tests.app.scripted_engine import ScriptedEngine, answer, commit, done, refuse
from tests.app.tools_in_chat import PRODUCT, ask_for_card, calling, choose, with_tools

Start = Callable[..., Running]
WAITS = "The message will be sent when the reply has ended."


def press_return(app: Running, qtbot: QtBot, text: str) -> None:
    app.type(text)
    qtbot.keyClick(app.window.composer.field, Qt.Key.Key_Return)


def last_prompts(app: Running) -> list[str]:
    return [request.messages[-1].content for request in app.engine.requests if request.messages[-1].role == "user"]


@pytest.mark.parametrize("number", range(4))
def test_a_message_waits_behind_an_approval_card(start: Start, qtbot: QtBot, number: int) -> None:
    app, _ = with_tools(start, [calling(PRODUCT), answer("It is 1,888,264."), answer("Twice is more.")], calculator="1888264")
    card, bar = ask_for_card(app), app.window.foot.waiting
    press_return(app, qtbot, "And twice that?")
    assert bar.isVisible() and bar.label.text() == f"{WAITS} A tool call needs your approval."
    assert app.notices == [] and app.window.composer.text == "And twice that?"
    assert app.reply_runner.waiting, "Return allows nothing"
    assert "Counting" not in app.window.foot.context.label.text(), "it is counted when the reply has ended"
    choose(app, card, number)
    app.until(lambda: len(last_prompts(app)) == 2 and not app.activity.busy)
    assert last_prompts(app)[-1] == "And twice that?"
    assert app.window.composer.text == "" and not bar.isVisible()
    assert app.session.chat.turns[-1].reply.answer == "Twice is more."


def test_a_waiting_message_is_sent_when_the_reply_ends(start: Start, qtbot: QtBot) -> None:
    gate = threading.Event()
    app = start(ScriptedEngine([[commit("a"), gate, done()]]))
    app.send("One")
    press_return(app, qtbot, "Two")
    assert app.window.foot.waiting.label.text() == WAITS and app.notices == []
    gate.set()
    app.until(lambda: len(app.engine.requests) == 2 and not app.activity.busy)
    assert last_prompts(app) == ["One", "Two"] and app.window.composer.text == ""


def test_a_waiting_message_can_be_edited_and_is_sent_as_edited(start: Start, qtbot: QtBot) -> None:
    gate = threading.Event()
    app = start(ScriptedEngine([[commit("a"), gate, done()]]))
    app.send("One")
    press_return(app, qtbot, "Two")
    field = app.window.composer.field
    assert not field.isReadOnly()
    qtbot.keyClicks(field, " and")
    assert not app.window.foot.waiting.isVisible(), "what is being edited isn't sent"
    qtbot.keyClicks(field, " three")
    edited = field.toPlainText()
    qtbot.keyClick(field, Qt.Key.Key_Return)
    assert app.window.foot.waiting.isVisible()
    gate.set()
    app.until(lambda: len(app.engine.requests) == 2 and not app.activity.busy)
    assert len(edited) == len("Two and three") and last_prompts(app) == ["One", edited.strip()]


@pytest.mark.parametrize("way", ["Cancel", "Stop", "New Chat", "error", "edit"])
def test_a_waiting_message_that_is_not_sent_stays_in_the_composer(start: Start, qtbot: QtBot, way: str) -> None:
    gate = threading.Event()
    app = start(ScriptedEngine([[commit("a"), gate, *([refuse("It broke.")] if way == "error" else []), done()]]))
    app.send("One")
    chat = app.session.chat
    press_return(app, qtbot, "Two")
    if way == "Cancel":
        app.window.foot.waiting.button.click()
    elif way == "Stop":
        app.until(lambda: bool(app.engine.requests))
        app.run("stop")
    elif way == "New Chat":
        app.run("new_chat")
        assert app.window.composer.text == ""
    elif way == "edit":
        app.type("Two or three")
    gate.set()
    app.until(lambda: not app.activity.busy)
    app.session.open_chat(chat.id)
    app.until(lambda: app.session.chat is chat)
    qtbot.wait(50)
    assert not app.window.foot.waiting.isVisible() and len(app.engine.requests) == 1
    assert app.window.composer.text == ("Two or three" if way == "edit" else "Two")
