"""Accessibility: names, keyboard access and announcements."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QDialog,
    QHeaderView,
    QLineEdit,
    QPlainTextEdit,
    QScrollBar,
    QSplitterHandle,
    QTextEdit,
    QWidget,
)

from app.session.other_macs import OtherMac
from app.session.preferences import Pane
from app.views.chat.announcer import MAX_LENGTH, Announcer, sentence
from app.views.models.picker_dialog import PickerDialog
from app.views.settings.settings_dialog import SettingsDialog
from app.views.tools.tools_pane import ToolsPane
from app.window.main_window import GRIP_HEIGHT, onto_screen
from app.window.palette import Palette
from mlx_engine.contract.events import Failed, PromptsSaved
from mlx_engine.contract.requests import Endpoint
from mlx_engine.mcp.record import CallRecord, CallState
from mlx_engine.remote.saved_endpoints import SavedEndpoint
from tests.app.conftest import Begin, Start
from tests.app.scripted_engine import ScriptedEngine, a_round, answer, commit, done
from tests.app.tools_in_chat import PRODUCT

CONTROLS = (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QTextEdit,
)
RICH = "Some text.\n\n```python\nx = 1\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n$x^2$"


def controls(window: QWidget) -> Iterator[QWidget]:
    """What a person can act on, without the parts that Qt puts inside its own."""
    for widget in [window, *window.findChildren(QWidget)]:
        inner = widget.objectName().startswith("qt_") or isinstance(widget, QScrollBar | QSplitterHandle | QHeaderView)
        of_another = isinstance(widget.parentWidget(), QAbstractSpinBox | QComboBox | QLineEdit)
        combo_list = widget.window() is not window.window()
        if isinstance(widget, CONTROLS) and not inner and not of_another and not combo_list:
            yield widget


def nameless(window: QWidget) -> list[str]:
    found = []
    for widget in controls(window):
        interface = QAccessible.queryAccessibleInterface(widget)
        name = "" if interface is None else interface.text(QAccessible.Text.Name)
        if isinstance(widget, QComboBox):
            name = widget.accessibleName()  # Qt says the chosen text in its place
        if not name.strip():
            found.append(f"{type(widget).__name__} {widget.objectName()} in {type(widget.parentWidget()).__name__}")
    return found


def without_role(window: QWidget) -> list[str]:
    """Controls of which a screen reader can't say what they are, or whether they are on or can be used."""
    found, vague = [], (QAccessible.Role.NoRole, QAccessible.Role.Client, QAccessible.Role.Grouping, QAccessible.Role.Window)
    for widget in controls(window):
        interface = QAccessible.queryAccessibleInterface(widget)
        role, state = interface.role(), interface.state()
        checkable = isinstance(widget, QAbstractButton) and widget.isCheckable()
        checked = checkable and isinstance(widget, QAbstractButton) and widget.isChecked()
        if (
            role in vague
            or (bool(state.checkable), bool(state.checked)) != (checkable, checked)
            or (bool(state.disabled) == widget.isEnabled())
        ):
            found.append(f"{type(widget).__name__} {widget.accessibleName()}: {role.name}, {checkable}, {widget.isEnabled()}")
    return found


def out_of_reach(window: QWidget) -> list[str]:
    """Controls that neither Tab nor a command of the menus reaches."""
    return [
        f"{type(widget).__name__} {widget.accessibleName()}"
        for widget in controls(window)
        if isinstance(widget, QAbstractButton | QLineEdit | QPlainTextEdit | QAbstractSpinBox | QComboBox | QAbstractSlider)
        and not widget.focusPolicy() & Qt.FocusPolicy.TabFocus
        and not (isinstance(widget, QPlainTextEdit) and widget.isReadOnly())
    ]


@pytest.fixture
def screens(start: Start, tmp_path: Path, stray_windows: list[str], monkeypatch: pytest.MonkeyPatch) -> dict[str, QWidget]:
    """Every screen of the app, open. No part of one was a window of its own on the way."""
    monkeypatch.setattr("app.window.report.child", SimpleNamespace(command=lambda module: ("echo", ["Checks"])))
    app = start(ScriptedEngine([[commit("First thoughts", 2, "thinking"), a_round(), commit(RICH, 9), done()]]), data=tmp_path)
    note = tmp_path / "note.md"
    note.write_text("A note.")
    app.attachments.attach([note])
    app.until(lambda: bool(app.attachments.counts))
    app.ask("Show me")
    app.attachments.attach([note])
    app.until(lambda: bool(app.attachments.files))
    app.services.notices.post("A notice.")
    window = app.window
    window.transcript.find_bar.open_search()
    window.services.saved_prompts.found = PromptsSaved(bytes=1, quota=2, read_tokens=3)
    window.dialogs.show_settings()
    window.dialogs.show_chat_settings()
    project = window.services.library.add_project("Papers")
    window.services.projects.change(project.id, documents=("/papers",))
    window.dialogs.show_project_settings(project.id)
    window.dialogs.show_help()
    window.dialogs.show_calls()
    window.dialogs.show_report()
    window.dialogs.show_this_mac()
    window.dialogs.show_benchmark()
    window.dialogs.show_about()
    window.dialogs.show_palette()
    window.dialogs.show_server()
    window.dialogs.show_tuning()
    window.dialogs.show_models()
    app.until(lambda: bool(window.services.picker.rows.matching))
    window.services.picker.put_endpoint(SavedEndpoint("Server", Endpoint("http://192.168.1.20:8000")))
    window.dialogs.find(PickerDialog).endpoint.edit.click()
    window.dialogs.find(PickerDialog).custom.trigger()
    window.services.macs.macs = (OtherMac("192.168.1.2:47820", used=False),)
    window.dialogs.find(PickerDialog).mac.trigger()
    settings = window.dialogs.find(SettingsDialog)
    for pane in get_args(Pane):
        settings.show_pane(pane)  # builds the rest of some
    settings.show_pane("tools")
    tools = settings.findChild(ToolsPane)
    app.until(lambda: bool(tools.cards))
    tools.add.click()
    tools.import_from('{"mcpServers": {"notes": {"command": "notes"}, "web": {"url": "https://web.example/mcp"}}}', "Clipboard")
    app.reply.buttons.details.click()
    reply = app.session.chat.turns[-1].reply
    reply.calls = tuple(CallRecord(replace(PRODUCT, id=state), state=state, result="7") for state in get_args(CallState))
    app.reply.refresh()
    app.reply.steps[0].cards[2].header.click()
    app.services.comparer.compare()
    app.until(lambda: not app.activity.busy)
    fresh = start()
    assert stray_windows == []
    found: dict[str, QWidget] = {"chat": window, "first run": fresh.window}
    found |= {type(dialog).__name__: dialog for dialog in window.findChildren(QDialog)}
    assert {
        "SettingsDialog",
        "AboutDialog",
        "ChatSettingsDialog",
        "ProjectSettingsDialog",
        "HelpDialog",
        "Palette",
        "ReportDialog",
        "ThisMacDialog",
        "CompareDialog",
        "ServerDialog",
        "TuneDialog",
        "PickerDialog",
        "EndpointForm",
        "CustomPairDialog",
        "MacsDialog",
        "ServerForm",
        "ImportDialog",
    } <= set(found)
    return found


def test_every_control_has_a_name_and_is_reachable_by_keyboard(screens: dict[str, QWidget]) -> None:
    assert {name: missing for name, screen in screens.items() if (missing := nameless(screen))} == {}
    assert {name: missing for name, screen in screens.items() if (missing := out_of_reach(screen))} == {}
    assert {name: missing for name, screen in screens.items() if (missing := without_role(screen))} == {}
    assert sum(1 for screen in screens.values() for _ in controls(screen)) > 60  # the walk does find them
    for kind in (SettingsDialog, Palette):
        assert any(isinstance(screen, kind) for screen in screens.values())


# Announcements


def test_a_finished_reply_is_announced_once(begin: Begin) -> None:
    said: list[str] = []
    app = begin(ScriptedEngine([answer("One two three."), [commit("Half"), Failed("error", "It broke.")]]))
    Announcer(app.session, app.reply_runner, app.services.notices, app.services, said.append)
    app.ask("Count")
    assert said == ["Reply finished. One two three."]
    app.reply_runner.changed.emit(app.session.chat.turns[0])
    assert len(said) == 1
    app.ask("Again")
    assert said[1:] == ["The reply failed. It broke."]
    app.services.notices.post("Something to know.")
    assert said[2:] == ["Something to know."]


def test_a_long_reply_is_announced_in_part(begin: Begin) -> None:
    app = begin(ScriptedEngine([answer("word " * 1000)]))
    app.ask("Go")
    words = sentence(app.session.chat.turns[-1])
    assert words.endswith("…") and len(words) < MAX_LENGTH + 40


# Where the window is

MAIN, SECOND = QRect(0, 25, 1440, 875), QRect(1440, 0, 1920, 1080)


def test_a_visible_window_stays_where_it_is() -> None:
    for place in (QRect(100, 100, 900, 600), QRect(1500, 50, 900, 600), QRect(1300, 500, 900, 600)):
        assert onto_screen(place, [MAIN, SECOND]) == place


@pytest.mark.parametrize(
    "lost",
    [
        QRect(1500, 50, 900, 600),  # the second screen was unplugged
        QRect(-3000, -2000, 900, 600),
        QRect(200, -400, 900, 600),  # its bar is above the screen
        QRect(1400, 500, 900, 600),  # hardly anything to take hold of
        QRect(9000, 9000, 4000, 3000),
    ],
)
def test_a_window_moves_back_when_its_screen_is_removed(lost: QRect) -> None:
    placed = onto_screen(lost, [MAIN])
    assert MAIN.contains(placed)
    assert placed.width() == min(lost.width(), MAIN.width()) and placed.height() == min(lost.height(), MAIN.height())
    assert placed.height() > GRIP_HEIGHT


def test_the_window_is_restored_onto_a_screen(start: Start) -> None:
    app = start()
    screen = app.window.screen().availableGeometry()
    app.window.resize(640, 480)
    app.window.move(screen.left() + 40, screen.top() + 60)
    app.quit()
    again = start()
    assert again.window.size() == app.window.size() and again.window.pos() == app.window.pos()
    again.window.move(screen.right() + 4000, screen.bottom() + 3000)
    again.window.move_onto_screen()
    assert screen.intersects(again.window.frameGeometry())
