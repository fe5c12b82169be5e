"""The quick window, and everything that opens it."""

import threading

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeySequence
from PySide6.QtWidgets import QApplication, QSystemTrayIcon, QWidget
from pytestqt.qtbot import QtBot

from app.system.quick_access import QuickAccess
from app.views.quick.quick_window import QuickWindow
from app.window.outside_text import OutsideText
from app.window.quick_entry import QuickEntry
from mlx_engine.contract.visible import visible
from tests.app.conftest import Running, Start, reply_views
from tests.app.scripted_engine import ScriptedEngine, answer, commit, done, refuse


class Access(QuickAccess):
    """A system with shortcuts that records what it is asked for."""

    has_shortcuts = True
    accepts = True
    selected = ""

    def __init__(self) -> None:
        super().__init__()
        self.shortcut = ""
        self.asked, self.raised = 0, 0

    def set_shortcut(self, shortcut: str) -> bool:
        self.shortcut = shortcut if self.accepts else ""
        return self.accepts

    def selected_text(self) -> str:
        return self.selected

    def ask_permission(self) -> bool:
        self.asked += 1
        return False

    def show_over_apps(self, view: int) -> None:
        self.raised += view != 0


@pytest.fixture
def access(monkeypatch: pytest.MonkeyPatch) -> Access:
    made = Access()
    monkeypatch.setattr("app.window.quick_entry.quick_access", lambda parent: made)
    return made


def view_of(app: Running) -> QuickWindow:
    entry: QuickEntry = app.window.quick
    assert entry.view is not None
    return entry.view


def opened(app: Running) -> QuickWindow:
    app.services.preferences.chat_titles = False
    app.run("quick_chat")
    return view_of(app)


def ask(app: Running, qtbot: QtBot, text: str) -> None:
    view = view_of(app)
    view.field.setPlainText(text)
    qtbot.keyClick(view.field, Qt.Key.Key_Return)
    app.until(lambda: bool(app.services.quick.chat.turns) and not app.services.quick.running)


def test_return_answers_and_esc_closes(start: Start, qtbot: QtBot) -> None:
    app = start(ScriptedEngine([answer("One two three")]))
    view = opened(app)
    assert not view.transcript.isVisible()
    app.until(view.field.hasFocus)
    low = view.height()
    ask(app, qtbot, "Quick")
    [reply] = reply_views(view.transcript)
    app.until(lambda: reply.complete)
    assert "".join(part.toPlainText() for part in (entry.view for entry in reply.blocks.entries)) == "One two three"
    assert view.transcript.isVisible() and view.height() > low and view.field.toPlainText() == ""
    assert app.session.chat.empty, "the window's chat stays"
    qtbot.keyClick(view.field, Qt.Key.Key_Escape)
    assert not view.isVisible() and not app.services.quick.shown
    app.run("quick_chat")
    assert view.isVisible() and not view.transcript.isVisible() and view.height() < low + 40, "a new chat begins"


def test_the_chat_is_opened_in_the_window(start: Start, qtbot: QtBot) -> None:
    app = start(ScriptedEngine([answer("One")]))
    view = opened(app)
    ask(app, qtbot, "Quick")
    chat = app.services.quick.chat
    view.field.setPlainText("And then")
    app.window.hide()
    qtbot.keyClick(view.field, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
    assert app.session.chat is chat and app.window.isVisible() and not view.isVisible()
    assert app.window.composer.text == "And then" and view.field.toPlainText() == ""
    assert app.texts == [("Quick", "One")]


def test_buttons_of_a_reply_work_in_the_window(start: Start, qtbot: QtBot) -> None:
    app = start(ScriptedEngine([answer("One"), answer("Two")]))
    view = opened(app)
    ask(app, qtbot, "Quick")
    chat = app.services.quick.chat
    [reply] = reply_views(view.transcript)
    assert reply.buttons is not None
    reply.buttons.regenerate.click()
    app.until(lambda: not app.activity.busy and app.texts == [("Quick", "Two")])
    assert app.session.chat is chat and not view.isVisible()


def test_the_button_stops_a_reply(start: Start, qtbot: QtBot) -> None:
    gate = threading.Event()
    app = start(ScriptedEngine([[commit("One"), gate, done()]]))
    view = opened(app)
    view.field.setPlainText("Quick")
    view.button.click()
    assert view.stop_button.isVisible() and not view.button.isVisible()
    qtbot.keyClicks(view.field, "More")
    assert view.stop_button.isVisible() and view.button.isVisible()
    view.stop_button.click()
    app.until(lambda: not app.services.quick.running)
    assert view.button.isVisible() and not view.stop_button.isVisible() and view.field.toPlainText() == "More"
    assert app.services.quick.chat.turns[0].reply.reason == "cancelled"


def test_an_error_can_be_tried_again_in_the_window(start: Start, qtbot: QtBot) -> None:
    app = start(ScriptedEngine([[refuse("No memory.")], answer("Two")]))
    view = opened(app)
    ask(app, qtbot, "Quick")
    [reply] = reply_views(view.transcript)
    assert reply.error is not None
    view.transcript.message_actions.retry.emit(app.services.quick.chat.turns[0])
    app.until(lambda: not app.activity.busy and app.texts[-1][1] == "Two")


def test_loading_is_shown(start: Start) -> None:
    engine = ScriptedEngine()
    engine.load_gate = threading.Event()
    app = start(engine, loaded=False)
    app.start()
    app.until(lambda: app.loader.running)
    view = opened(app)
    assert view.model.text().startswith("Loading…")
    view.field.setPlainText("Quick")
    view.button.click()
    assert view.waiting.isVisible()
    engine.load_gate.set()
    app.until(lambda: app.loader.ready and not app.services.quick.running and len(app.services.quick.chat.turns) == 1)
    assert view.model.text() == "Demo pair" and not view.waiting.isVisible()


def test_the_shortcut_opens_with_the_selected_text_and_closes(
    start: Start, access: Access, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = start()
    app.until(lambda: app.library.read)
    outside = OutsideText(app.window)
    monkeypatch.setattr(QuickWindow, "raise_", lambda view: pytest.fail("this brings the app to the front on a Mac"))
    monkeypatch.setattr(QuickWindow, "activateWindow", lambda view: pytest.fail("the system's access does that"))
    preferences = app.services.preferences
    assert access.shortcut == "", "it is off"
    preferences.quick_shortcut = "option"
    assert access.shortcut == "option" and access.asked == 0
    access.selected = " Sel\u202eected\n"
    active: list[object] = [None]  # another app is in front
    monkeypatch.setattr(QApplication, "activeWindow", lambda: active[0])
    access.pressed.emit()
    app.until(lambda: app.window.quick.view is not None and view_of(app).isVisible())
    view = view_of(app)
    assert access.raised == 1 and view.field.toPlainText() == "", "it isn't allowed"
    view.close()
    preferences.quick_selection = True
    assert access.asked == 1
    access.pressed.emit()
    app.until(view.isVisible)
    shown = visible("Sel\u202eected") + "\n\n"
    assert view.field.toPlainText() == shown != "Selected\n\n" and app.services.quick.chat.empty and outside
    assert app.services.quick.notices.texts == ["This text comes from another app. Read it before you send it."]
    qtbot.keyClick(view.field, Qt.Key.Key_Return)
    assert app.services.quick.chat.empty, "the key may be meant for the other app"
    monkeypatch.setattr(view, "isActiveWindow", lambda: True)
    access.pressed.emit()
    app.until(lambda: not view.isVisible())
    active[0] = app.window
    access.selected = "From Slipstream"
    monkeypatch.setattr(view, "isActiveWindow", lambda: False)
    access.pressed.emit()
    app.until(view.isVisible)
    assert view.field.toPlainText() == shown
    preferences.quick_shortcut = "off"
    assert access.shortcut == "" and access.asked == 1


def test_a_shortcut_that_the_system_refuses_is_reported(start: Start, access: Access) -> None:
    app = start()
    access.accepts = False
    app.services.preferences.quick_shortcut = "shift-command"
    assert app.notices == ["Can't use ⇧ ⌘ Space as a shortcut. Choose another one in Settings."]
    app.services.preferences.quick_shortcut = "off"
    assert len(app.notices) == 1


def test_a_link_opens_the_quick_window_and_not_the_main_one(start: Start, qtbot: QtBot) -> None:
    app = start()
    app.until(lambda: app.library.read)
    outside = OutsideText(app.window)
    app.window.hide()
    outside.open_link("slipstream://quick")
    view = view_of(app)
    assert view.isVisible() and not app.window.isVisible() and not app.services.quick.notices.texts
    low = view.height()
    outside.ask_quickly("Selected")
    assert view.field.toPlainText() == "Selected\n\n"
    assert app.services.quick.notices.texts == ["This text comes from another app. Read it before you send it."]
    qtbot.keyClick(view.field, Qt.Key.Key_Return)
    assert app.services.quick.chat.empty, "the key may be meant for the other app"
    app.until(lambda: view.height() > low)
    app.services.quick.notices.close_latest()
    view.field.clear()
    app.until(lambda: view.height() == low)


def test_texts_for_the_quick_window_wait_for_the_chats_and_become_drafts_at_the_end(start: Start) -> None:
    app = start(loaded=False)
    outside = OutsideText(app.window)
    outside.ask_quickly("Early")
    assert app.window.quick.view is None
    app.load()
    app.until(lambda: app.window.quick.view is not None)
    assert view_of(app).field.toPlainText() == "Early\n\n"
    app.window.close()
    assert not view_of(app).isVisible()
    outside.ask_quickly("Late")
    assert "Late" in app.message.draft


def test_an_icon_in_the_menu_bar_opens_it_if_wanted(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    app = start()
    entry: QuickEntry = app.window.quick
    assert entry.icon is None, "off by default"
    app.services.preferences.menu_bar_icon = True
    icon = entry.icon
    assert isinstance(icon, QSystemTrayIcon) and icon.isVisible()
    actions = {action.text(): action for action in icon.contextMenu().actions() if action.text()}
    assert list(actions) == ["Quick Chat", "New Chat", "Show Slipstream", "Quit Slipstream"]
    actions["Quick Chat"].trigger()
    assert view_of(app).isVisible()
    app.window.hide()
    actions["Show Slipstream"].trigger()
    assert app.window.isVisible()
    app.ask("One")
    app.window.hide()
    actions["New Chat"].trigger()
    assert app.window.isVisible() and app.session.chat.empty
    app.services.preferences.menu_bar_icon = False
    assert not icon.isVisible()


def test_the_window_closes_with_the_app_and_by_its_keys(start: Start, qtbot: QtBot) -> None:
    app = start(ScriptedEngine([answer("One")]))
    view = opened(app)
    ask(app, qtbot, "Quick")
    qtbot.keyClick(view, QKeySequence(QKeySequence.StandardKey.New)[0].key(), Qt.KeyboardModifier.ControlModifier)
    assert app.services.quick.chat.empty and not view.transcript.isVisible()
    qtbot.keyClick(view, Qt.Key.Key_W, Qt.KeyboardModifier.ControlModifier)
    assert not view.isVisible()
    app.run("quick_chat")
    assert view.isVisible() and view.screen().availableGeometry().contains(view.mapToGlobal(QPoint()))
    app.window.close()
    assert not view.isVisible()
    app.window.quick.open()
    assert not view.isVisible(), "the app quits"


def test_the_shortcut_is_off_while_the_app_quits(start: Start, access: Access) -> None:
    app = start()
    app.services.preferences.quick_shortcut = "option"
    app.window.close()
    assert access.shortcut == ""
    access.pressed.emit()
    app.until(lambda: app.services.store.wait(0))
    assert app.window.quick.view is None


def test_the_message_field_is_as_wide_as_the_messages(start: Start, access: Access) -> None:
    app = start()
    view = opened(app)
    view.field.setPlainText("Hi")
    view.button.click()
    app.until(lambda: bool(reply_views(view.transcript)) and not app.services.quick.running)
    column, composer = view.transcript.column, view.field.parentWidget()

    def sides(widget: QWidget) -> tuple[int, int]:
        left = widget.mapTo(view, QPoint()).x()
        return left, left + widget.width()

    app.until(lambda: sides(composer) == sides(column))
