"""Calls that can't be read, in the window: folded, found, copied, and announced."""

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCharFormat
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPlainTextEdit

from app.views.chat.announcer import sentence
from app.views.transcript.message_views import ANSWER, AREAS
from app.views.transcript.unreadable_call import UnreadableCall
from tests.app.conftest import Running, Start
from tests.app.scripted_engine import Script, ScriptedEngine, commit, done

BROKEN = '<tool_call>\n{"name": "calculator", "arguments": {"expression": "4817\n</tool_call>'
TITLE = "The model wrote a tool call that can't be read"


def broken(text: str = BROKEN) -> Script:
    return [replace(commit(text), unreadable_call=True)]


def asked(start: Start, *script: Script, data: Path | None = None) -> Running:
    engine = ScriptedEngine([[*(event for part in script for event in part), done()]])
    app = start(engine, data=data)
    app.window.resize(900, 600)
    app.window.show()
    app.ask("What is 4817 × 392?")
    app.until(lambda: app.reply.complete)
    return app


def calls(app: Running) -> list[UnreadableCall]:
    return [step.unreadable for step in app.reply.steps if step.unreadable is not None]


def shown_texts(app: Running) -> list[str]:
    """Return the visible texts of the reply, in order."""
    areas = app.reply.areas()
    return [app.window.transcript.column.items[-1].text(number) for number, area in areas.items() if area.isVisibleTo(app.window)]


def code_of(app: Running, call: UnreadableCall) -> str:
    """Return the text in the open card, once it is laid out."""
    app.until(lambda: len(call.body.parts) == 1 and call.body.part_view(0) is not None)
    return call.body.part_view(0).text  # type: ignore[union-attr]


def test_unreadable_call_is_a_folded_card_between_the_texts_around_it(start: Start) -> None:
    app = asked(start, [commit("Let me see.\n")], broken(), [commit("\nHm.")])
    (call,) = calls(app)
    app.reply.layout().activate()
    first, _, last = app.reply.steps
    assert first.blocks.y() < call.y() < last.blocks.y()
    assert call.header.text() == f"▸  {TITLE}" and not call.body.isVisible()
    assert shown_texts(app) == ["Let me see.\n", "\nHm."]
    call.header.click()
    assert call.header.text() == f"▾  {TITLE}" and call.body.isVisible() and code_of(app, call) == BROKEN
    app.reply.layout().activate()
    assert call.geometry().bottom() < last.blocks.y() and call.body.height() > 3 * call.header.fontMetrics().height()
    call.header.click()
    assert not call.body.isVisible()

    transcript = app.window.transcript
    transcript.selectAll()
    assert transcript.selection.markdown() == "What is 4817 × 392?\n\nLet me see.\n\nHm."
    transcript.selection.clear()
    assert call.header.accessibleName() == f"{TITLE}. Show text." and call.header.focusPolicy() & Qt.FocusPolicy.TabFocus
    call.header.setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(call.header, Qt.Key.Key_Space)
    assert call.body.isVisible() and call.header.accessibleName() == f"{TITLE}. Hide text."
    transcript.selectAll()
    assert transcript.selection.markdown() == f"What is 4817 × 392?\n\nLet me see.\n\n```\n{BROKEN}\n```\n\nHm."
    transcript.selection.clear()
    app.theme.show_token_sources(True)
    (mark,) = call.body.findChild(QPlainTextEdit).extraSelections()
    assert mark.cursor.selectedText().split("\u2029") == BROKEN.split("\n")
    assert mark.format.underlineStyle() == QTextCharFormat.UnderlineStyle.DashUnderline  # the target's
    app.theme.show_token_sources(False)
    assert sentence(app.session.chat.turns[-1]) == f"Reply finished. Let me see. {TITLE}. Hm."


def test_a_card_is_shown_in_the_running_reply_and_after_a_restart(start: Start, tmp_path: Path) -> None:
    app = asked(start, broken(), data=tmp_path)
    assert [call.header.text() for call in calls(app)] == [f"▸  {TITLE}"] and shown_texts(app) == []
    chat = app.session.chat.id
    app.quit()
    again = start(data=tmp_path)
    again.until(lambda: again.session.chat.id == chat)
    (call,) = calls(again)
    call.header.click()
    assert code_of(again, call) == BROKEN


def test_text_that_arrives_in_pieces_stays_one_card_which_stays_open(start: Start) -> None:
    """The end is held back while it may begin a stop sequence, and adjacent calls are one text."""
    app = asked(start, broken(BROKEN[:-4]), broken(BROKEN[-4:]), broken("```"))
    (call,) = calls(app)
    call.header.click()
    assert code_of(app, call) == BROKEN + "```"
    turn = app.session.chat.turns[-1]
    turn.reply.accept(replace(commit("\n`````\n# Heading"), unreadable_call=True), 0.0)
    app.reply.refresh()
    assert calls(app) == [call] and call.body.isVisible() and code_of(app, call) == BROKEN + "```\n`````\n# Heading"
    turn.reply.accept(commit("\nHm."), 0.0)
    app.reply.refresh()
    assert calls(app) == [call] and shown_texts(app)[-1] == "\nHm."


def test_find_opens_the_card_and_goes_to_the_words(start: Start) -> None:
    app = asked(start, [commit("Expression: ")], broken("<tool_call>\n" + "x\n" * 200 + "expression"), [commit("\nHm.\n" * 80)])
    (call,) = calls(app)
    transcript = app.window.transcript
    bar = transcript.find_bar
    bar.open_search()
    bar.field.setText("expression")
    app.until(lambda: not bar.searching)
    assert [hit.position.area for hit in bar.hits] == [ANSWER, AREAS + ANSWER]
    bar.current = 0
    bar.find_next()
    assert call.body.isVisible()
    rect = transcript.column.rect_of(bar.hits[1].position)
    assert rect is not None and transcript.visible_band()[0] <= rect.top() <= transcript.visible_band()[1]
