"""The Tool Calls window: states, details, the filter, the link to the chat, and clearing."""

import pytest
from PySide6.QtCore import Qt

from app.views.settings.settings_dialog import SettingsDialog
from app.views.tools.call_log_dialog import CallLogDialog
from app.views.tools.tools_pane import ToolsPane
from mlx_engine.contract.requests import ToolCall
from tests.app.conftest import Begin, Session
from tests.app.scripted_engine import commit, done
from tests.app.tools_in_chat import PRODUCT, SECOND, ask_for_call, calling, decide, with_tools

ANSWER = [commit("1,888,264", 3), done()]
HOSTILE = ToolCall("call_3", "<b>x</b>\u202e", '{"path": "<img src=x>"}')


def opened(app: Session) -> CallLogDialog:
    app.window.dialogs.show_settings("tools")
    pane = app.dialog(SettingsDialog).parts["tools"]
    assert isinstance(pane, ToolsPane)
    pane.show_calls.click()
    app.until(lambda: app.services.calls.loaded)
    return app.dialog(CallLogDialog)


def rows(dialog: CallLogDialog) -> list[str]:
    return [dialog.list.item(at).data(Qt.ItemDataRole.AccessibleTextRole) for at in range(dialog.list.count())]


def test_without_calls_the_window_says_so(begin: Begin) -> None:
    dialog = opened(begin())
    assert dialog.empty.isVisible() and dialog.empty.text() == "No tool calls"
    assert not dialog.list.isVisible() and not dialog.clear.isEnabled() and not dialog.page.isVisible()


def test_calls_are_shown_filtered_opened_and_cleared(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    app, _ = with_tools(begin, [calling(PRODUCT, SECOND, HOSTILE), ANSWER], read_file="Some notes")
    ask_for_call(app)
    decide(app, "deny")
    decide(app, "once")
    app.idle()
    chat, reply = app.session.chat, app.session.chat.turns[0].answered
    assert reply is not None
    app.session.new_chat()
    dialog = opened(app)
    app.until(lambda: dialog.list.count() == 3)
    failed, read, denied = rows(dialog)
    assert denied.startswith("Calculator, Denied, ") and denied.endswith(", expression: 4817 × 392")
    assert read.startswith("read_file · Files, Done in ")
    assert failed.startswith("<b>x</b><U+202E> · Unknown tool, Failed, ") and "\u202e" not in failed
    assert dialog.count.text() == "3 calls" and not dialog.page.isVisible()
    dialog.resize(dialog.minimumSizeHint())
    dialog.list.setCurrentRow(2)
    shown = dialog.list.viewport().rect().intersected(dialog.list.visualItemRect(dialog.list.item(2)))
    assert shown.height() == min(dialog.list.viewport().height(), dialog.list.visualItemRect(dialog.list.item(2)).height())
    dialog.list.setCurrentRow(1)
    assert dialog.page.isVisible()
    assert (dialog.arguments.toPlainText(), dialog.result_text.toPlainText()) == ("path: notes.md", "Some notes")
    assert [dialog.tool.itemText(at) for at in range(dialog.tool.count())][:3] == [
        "All Tools",
        "<b>x</b><U+202E> · Unknown tool",
        "Calculator",
    ]
    dialog.tool.setCurrentIndex(2)
    dialog.tool.activated.emit(2)
    assert [text.split(",")[0] for text in rows(dialog)] == ["Calculator"] and dialog.count.text() == "1 call"
    dialog.list.setCurrentRow(0)
    assert dialog.result_text.toPlainText() == "The user denied this call."
    revealed: list[object] = []
    app.session.turn_revealed.connect(lambda turn, node: revealed.append(node))
    dialog.open_chat.click()
    app.until(lambda: bool(revealed))
    assert app.session.chat is chat and revealed == [reply]
    monkeypatch.setattr("app.views.tools.call_log_dialog.confirm", lambda *texts: False)
    dialog.clear.click()
    assert dialog.list.count() == 1
    monkeypatch.setattr("app.views.tools.call_log_dialog.confirm", lambda *texts: True)
    dialog.clear.click()
    app.until(lambda: dialog.empty.isVisible())
    assert len(chat.turns[0].reply.calls) == 3 and not dialog.clear.isEnabled()
