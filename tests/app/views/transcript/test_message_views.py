"""Prompts and replies: nothing is cut off, and margins are even."""

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import QContextMenuEvent, QCursor, QGuiApplication
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from app.storage.chat_tree import Chat, Turn
from app.views.transcript.message_view import MessageView
from app.views.transcript.message_views import PromptView, ReplyView
from app.views.transcript.transcript import Transcript
from app.widgets.theme import Theme
from tests.app.conftest import Running, Start, reply_views
from tests.app.scripted_engine import ScriptedEngine, answer, commit, done
from tests.app.views.transcript.test_transcript import chat_of


def shown(qapp: QApplication, qtbot: QtBot, turns: list[Turn], width: int) -> Transcript:
    transcript = Transcript(Theme(qapp, "light"))
    qtbot.addWidget(transcript)
    transcript.resize(width, 700)
    transcript.show()
    transcript.show_turns(turns)
    qapp.processEvents()
    return transcript


@pytest.mark.parametrize("text", ["Hello", "What is the capital of Norway?", "你好，世界", "WWW iii"])
def test_a_short_prompt_has_equal_margins(text: str, qapp: QApplication, qtbot: QtBot) -> None:
    prompt = shown(qapp, qtbot, [Chat().ask(text, "dflash")], 900).column.entries[0].view
    assert isinstance(prompt, PromptView)
    (entry,) = prompt.blocks.entries
    document = entry.view.document()  # type: ignore[union-attr]
    assert document.firstBlock().lineCount() == 1
    assert 0 <= prompt.blocks.width() - document.idealWidth() <= 1


@pytest.mark.parametrize("width", [300, 420, 700, 1100])
def test_the_figures_of_a_reply_are_never_cut_off(width: int, qapp: QApplication, qtbot: QtBot) -> None:
    (view,) = reply_views(shown(qapp, qtbot, chat_of("Short."), width))
    facts = view.stats.facts
    facts.setText("105 tokens · interrupted: Slipstream quit before the reply was complete")
    facts.show()  # it is hidden below a complete reply
    for _ in range(3):
        qapp.processEvents()
    wrap = Qt.TextFlag.TextWordWrap if facts.wordWrap() else Qt.TextFlag.TextSingleLine
    needed = facts.fontMetrics().boundingRect(QRect(0, 0, facts.width(), 1000), wrap, facts.text())
    assert needed.width() <= facts.width() and needed.height() <= facts.height()
    assert facts.geometry().right() <= view.stats.width() and facts.geometry().bottom() <= view.stats.height()


def test_icons_and_the_speed_are_drawn_in_the_last_turn_and_where_the_focus_is(start: Start) -> None:
    app = start()
    app.ask("One")
    first, asked = app.reply, app.questions[0]
    assert first.buttons is not None
    shown = (one for one in first.buttons.icons if not one.isHidden())  # a voice may be missing
    icons = (*shown, first.stats.chip, asked.edit_button)
    assert all(icon.is_drawn() for icon in icons)
    drawn = [icon.grab().toImage() for icon in icons]
    app.ask("Two")
    assert not any(icon.is_drawn() for icon in icons) and all(icon.isVisible() for icon in icons), "they keep their places"
    assert all(icon.grab().toImage() != before for icon, before in zip(icons, drawn, strict=True))
    first.buttons.copy.setFocus()
    assert [icon.is_drawn() for icon in icons] == [icon is not asked.edit_button for icon in icons]
    assert app.reply.stats.chip.is_drawn()
    first.buttons.copy.click()
    assert QGuiApplication.clipboard().text() == "Fine."


def test_the_icons_of_an_old_reply_are_in_the_gap_above_the_next_message(start: Start) -> None:
    app = start()
    app.ask("One")
    first = app.reply
    app.ask("Two")
    column = app.window.transcript.column
    row = first.buttons.height()

    def places() -> list[tuple[int, int]]:
        return [(entry.top, entry.height) for entry in column.entries]

    app.until(lambda: column.entries[2].measured)
    end = first.mapTo(column, first.blocks.geometry().bottomLeft()).y()
    assert row <= column.entries[2].top - end <= row + 16, "there is little more space than they need"
    before = places()
    first.show_pointed(True)
    app.window.transcript.settle()
    assert places() == before, "nothing moves when they appear"


def test_the_speed_of_an_old_reply_leaves_no_trace(start: Start) -> None:
    """Its ground is drawn by the style sheet, not by the label."""
    app = start()
    app.ask("One")
    chip = app.reply.stats.chip
    app.ask("Two")
    picture = chip.grab().toImage()
    assert {picture.pixelColor(x, y).name() for x in range(picture.width()) for y in range(picture.height())} == {
        picture.pixelColor(0, 0).name()
    }


def test_why_an_old_reply_ended_stays_and_keeps_its_place(start: Start) -> None:
    app = start(ScriptedEngine([[commit("Half"), done(reason="length")], answer("Whole.")]))
    app.ask("One")
    first = app.reply
    app.until(lambda: first.buttons.isVisible())
    place = first.stats.facts.x()
    app.ask("Two")
    assert first.stats.facts.text() == "context full" and first.stats.facts.isVisible()
    assert first.stats.facts.x() == place == 0, "nothing that isn't drawn is before it"


def long_chat(start: Start, turns: int = 6) -> Running:
    text = "\n\n".join(f"Paragraph {number}." for number in range(12))
    app = start(ScriptedEngine([answer(text) for _ in range(turns)]))
    for number in range(turns):
        app.ask(f"Question {number}")
    app.until(lambda: not any(entry.deferred for entry in app.window.transcript.column.entries))
    return app


def test_icons_follow_the_pointer_while_the_transcript_scrolls(start: Start) -> None:
    app = long_chat(start)
    transcript = app.window.transcript
    QCursor.setPos(transcript.viewport().mapToGlobal(transcript.viewport().rect().center()))
    bar = transcript.verticalScrollBar()
    for value in (0, bar.maximum() // 2, 300):
        bar.setValue(value)
        under = transcript.column.index_at(transcript.column.mapFromGlobal(QCursor.pos()).y())
        views = {index: entry.view for index, entry in enumerate(transcript.column.entries[:-2]) if entry.view is not None}
        drawn = {index for index, view in views.items() if view.revealed is not None and view.revealed.pointed}
        gap = views[under].geometry().bottom() < transcript.column.mapFromGlobal(QCursor.pos()).y()
        assert drawn == (set() if gap else {under})


def test_tab_stops_once_at_each_message_from_top_to_bottom(start: Start, qtbot: QtBot) -> None:
    """It stopped at each hidden icon of each message, in the order in which they were built."""
    app = long_chat(start)
    window, transcript = app.window, app.window.transcript
    with qtbot.waitActive(window):
        window.activateWindow()
    transcript.verticalScrollBar().setValue(0)
    transcript.setFocus()
    seen: list[int] = []
    for _ in range(2 * 6):
        qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Tab)
        assert transcript.message_focus.index is not None
        seen.append(transcript.message_focus.index)
        if len(seen) <= 10:  # the last turn's icons are always visible, so they are stops
            assert isinstance(window.focusWidget(), MessageView)
    assert seen[:11] == list(range(11))
    for _ in range(20):
        qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Tab)
        if transcript.message_focus.index is None:
            break
    assert not transcript.isAncestorOf(window.focusWidget()) or window.focusWidget() is transcript.jump_button
    for _ in range(60):
        qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Backtab)
        if transcript.message_focus.index == 0:
            break
    assert transcript.message_focus.index == 0
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Backtab)
    assert window.focusWidget() is transcript


def test_tab_does_not_come_back_to_the_messages_before_it_was_everywhere(start: Start, qtbot: QtBot) -> None:
    app = long_chat(start)
    window, transcript = app.window, app.window.transcript
    with qtbot.waitActive(window):
        window.activateWindow()
    transcript.verticalScrollBar().setValue(0)
    window.composer.focus()
    entered = []
    for _ in range(80):
        was_inside = transcript.message_focus.index is not None
        qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Tab)
        if transcript.message_focus.index is not None and not was_inside:
            entered.append(window.focusWidget())
        if window.focusWidget() is window.composer.field:
            break
    assert window.focusWidget() is window.composer.field and len(entered) == 1


def test_arrow_keys_reach_every_button_of_an_old_message(start: Start, qtbot: QtBot) -> None:
    app = long_chat(start, 2)
    window, transcript = app.window, app.window.transcript
    with qtbot.waitActive(window):
        window.activateWindow()
    view = transcript.column.entries[1].view
    assert isinstance(view, ReplyView) and view.buttons is not None
    view.setFocus()
    reached = []
    icons = [icon for icon in view.buttons.icons if icon.isVisible()]
    for _ in icons:
        qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Right)
        reached.append(window.focusWidget())
    assert reached == icons
    qtbot.keyClick(window.focusWidget(), Qt.Key.Key_Left)
    assert window.focusWidget() is reached[-2]
    qtbot.keyClick(view.buttons.details, Qt.Key.Key_Space)
    assert view.buttons.details.isChecked()


def test_the_menu_of_a_message_has_its_actions(start: Start) -> None:
    app = start()
    app.ask("One")
    app.ask("Two")
    transcript = app.window.transcript
    question, reply = (transcript.column.entries[index].view for index in (0, 1))
    titles = []
    for view in (question, reply):
        view.setFocus()
        event = QContextMenuEvent(QContextMenuEvent.Reason.Keyboard, QPoint(1, 1), view.mapToGlobal(QPoint(1, 1)))
        QApplication.sendEvent(view, event)
        (menu,) = [menu for menu in transcript.findChildren(QMenu) if menu.isVisible()]
        titles.append([action.text() for action in menu.actions()])
        if view is question:
            menu.actions()[0].trigger()
        menu.close()
        app.until(lambda menu=menu: not isValid(menu))
    voice = ["Read Aloud"] if app.services.read_aloud.available else []
    assert titles == [["Copy Message", "Edit Message"], ["Copy Reply", *voice, "Regenerate", "Compare", "Details"]]
    assert QGuiApplication.clipboard().text() == "One"
