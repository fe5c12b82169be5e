"""Keys that are pressed outside a text field."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from tests.app.conftest import Running
from tests.app.scripted_engine import ScriptedEngine, commit, done

Start = Callable[..., Running]


@pytest.mark.parametrize("where", ["list", "transcript", "continue", "new", "nothing"])
def test_typing_outside_a_text_field_goes_to_the_composer(start: Start, qtbot: QtBot, where: str) -> None:
    app = start(ScriptedEngine([[commit("Half", 2), done(reason="length", tokens=2)]]))
    app.session.set_settings(replace(app.session.chat.settings, max_tokens=2))
    app.ask("Alpha")
    window, chat = app.window, app.session.chat
    app.session.new_chat()
    app.ask("Beta")
    if where == "list":
        window.sidebar.list.setFocus()
    elif where == "transcript":
        window.transcript.setFocus()
    elif where == "nothing":
        window.composer.field.clearFocus()
    elif where == "new":
        window.sidebar.list.setFocus()
        window.menus["new_chat"].trigger()
        assert window.focusWidget() is window.composer.field
    else:
        app.session.open_chat(chat.id)
        app.until(lambda: app.session.chat is chat)
        app.reply.buttons.resume.setFocus()
        app.reply.buttons.resume.click()
        app.until(lambda: not app.activity.busy)
    before = app.session.chat
    qtbot.keyClick(window.focusWidget() or window, "a")
    qtbot.keyClicks(window.focusWidget(), "lpha")
    assert window.composer.text == "alpha" and window.composer.field is window.focusWidget()
    qtbot.wait(200)  # longer than the list waits before it opens a chat
    assert app.session.chat is before


def test_keys_that_type_nothing_stay_where_they_are(start: Start, qtbot: QtBot) -> None:
    app = start()
    app.ask("Alpha")
    chats = app.window.sidebar.list
    chats.setFocus()
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Space, Qt.Key.Key_Home):
        qtbot.keyClick(chats, key)
    qtbot.keyClick(chats, "x", Qt.KeyboardModifier.AltModifier)
    search = app.window.sidebar.search
    search.setFocus()
    qtbot.keyClicks(search, "beta")
    assert search.text() == "beta" and app.window.composer.text == ""
