"""Prompts and replies: nothing is cut off, and margins are even."""

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.storage.chat_tree import Chat, Turn
from app.views.transcript.message_views import PromptView
from app.views.transcript.transcript import Transcript
from app.widgets.theme import Theme
from tests.app.conftest import Start, reply_views
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
    for _ in range(3):
        qapp.processEvents()
    wrap = Qt.TextFlag.TextWordWrap if facts.wordWrap() else Qt.TextFlag.TextSingleLine
    needed = facts.fontMetrics().boundingRect(QRect(0, 0, facts.width(), 1000), wrap, facts.text())
    assert needed.width() <= facts.width() and needed.height() <= facts.height()
    assert facts.geometry().right() <= view.stats.width() and facts.geometry().bottom() <= view.stats.height()


def test_icons_are_drawn_in_the_last_turn_and_where_the_focus_is(start: Start) -> None:
    app = start()
    app.ask("One")
    first, asked = app.reply, app.questions[0]
    assert first.buttons is not None
    icons = (*first.buttons.icons, asked.edit_button)
    assert all(icon.is_drawn() for icon in icons)
    drawn = [icon.grab().toImage() for icon in icons]
    app.ask("Two")
    assert not any(icon.is_drawn() for icon in icons) and all(icon.isVisible() for icon in icons), "they keep their places"
    assert all(icon.grab().toImage() != before for icon, before in zip(icons, drawn, strict=True))
    first.buttons.copy.setFocus()
    assert [icon.is_drawn() for icon in icons] == [icon is first.buttons.copy for icon in icons]
    first.buttons.copy.click()
    assert QGuiApplication.clipboard().text() == "Fine."
