"""Keys that are pressed outside a text field."""

from dataclasses import replace

from PySide6.QtCore import Qt, QTimer
from pytestqt.qtbot import QtBot

from tests.app.conftest import Start
from tests.app.scripted_engine import ScriptedEngine, commit, done


def test_typing_outside_a_text_field_goes_to_the_composer(start: Start, qtbot: QtBot) -> None:
    app = start(ScriptedEngine([[commit("Half", 2), done(reason="length", tokens=2)]]))
    app.session.set_settings(replace(app.session.chat.settings, max_tokens=2))
    app.ask("Alpha")
    window, chat = app.window, app.session.chat
    listed = window.sidebar.list
    app.session.new_chat()
    app.ask("Beta")
    for where in ("list", "transcript", "nothing", "new", "continue"):
        if where == "list":
            listed.setFocus()
        elif where == "transcript":
            window.transcript.setFocus()
        elif where == "nothing":
            window.composer.field.clearFocus()
        elif where == "new":
            listed.setFocus()
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
        assert window.composer.text == "alpha" and window.composer.field is window.focusWidget(), where
        app.until(lambda: not any(timer.isActive() for timer in listed.findChildren(QTimer)))  # which opens a chat
        assert app.session.chat is before
        app.type("")

    listed.setFocus()
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Space, Qt.Key.Key_Home):
        qtbot.keyClick(listed, key)
    qtbot.keyClick(listed, "x", Qt.KeyboardModifier.AltModifier)
    search = window.sidebar.search
    search.setFocus()
    qtbot.keyClicks(search, "beta")
    assert search.text() == "beta" and window.composer.text == "", "keys that type nothing stay where they are"
