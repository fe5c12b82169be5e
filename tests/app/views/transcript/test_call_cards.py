"""Cards of tool calls: what they show, and that nothing allows a call by accident."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCharFormat
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMainWindow, QMenu, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from app.storage.chat_tree import Chat, Turn
from app.text.plain_text import one_line
from app.views.chat.announcer import Announcer
from app.views.transcript.call_card import CARD_PARTS, MAX_LINES, CallCard, PlainTextView, preview, readable
from app.views.transcript.message_actions import MessageActions
from app.views.transcript.message_views import ANSWER, AREAS, CALLS
from app.views.transcript.stats_line import StatsDetails
from app.widgets.theme import Theme
from mlx_engine.contract.requests import ToolCall
from mlx_engine.mcp.record import CallRecord
from tests.app.conftest import PATIENCE_MS, Running, Session, Start
from tests.app.scripted_engine import answer, commit
from tests.app.tools_in_chat import PRODUCT, SECOND, ask_for_call, ask_for_card, calling, cards, choose, with_tools

CardOf = Callable[..., CallCard]
TURN = Chat().ask("What is 4817 × 392?", "dflash")
HOSTILE = "<b>x</b> <img src=http://a.b/c.png> [l](http://a.b) \u202egpj.exe\x1b[31m\u200b"


@pytest.fixture
def card_of(qapp: QApplication) -> Iterator[Callable[..., CallCard]]:
    """Returns cards without a chat."""
    windows: list[QMainWindow] = []

    def make(record: CallRecord, actions: MessageActions | None = None) -> CallCard:
        windows.append(window := QMainWindow())
        card = CallCard(Theme(qapp), TURN, record, actions or MessageActions(window), window)
        window.setCentralWidget(card)
        window.resize(700, 600)
        window.show()
        return card

    yield make
    for window in windows:
        window.deleteLater()


def called(start: Start, result: str, call: ToolCall = PRODUCT) -> tuple[Running, CallCard]:
    """Return the app with a reply whose call has ended, and its card."""
    app, _ = with_tools(start, [calling(call), answer("It is 1888264.")], calculator=result, read_file=result)
    choose(app, ask_for_card(app), 0)
    app.until(lambda: not app.activity.busy)
    return app, cards(app)[0]


def test_a_finished_call_is_between_the_texts_of_its_steps_and_opens(start: Start) -> None:
    app, card = called(start, "1888264")
    app.reply.layout().activate()
    first, last = app.reply.steps
    assert first.blocks.y() < card.y() < last.blocks.y()
    assert (card.status.text()[:8], card.body) == ("Done in ", None)
    assert (card.header.text(), card.preview.text()) == ("▸  Calculator", "expression: 4817 × 392")
    card.header.click()
    assert (card.arguments.toPlainText(), card.result.toPlainText()) == ("expression: 4817 × 392", "1888264")
    assert (card.header.text(), card.preview.text()) == ("▾  Calculator", "")
    card.header.click()
    assert card.body is None

    transcript = app.window.transcript
    transcript.selectAll()
    markdown = transcript.selection.markdown()
    assert "Let me see.\n\nIt is 1888264." in markdown and "expression" not in markdown
    bar = transcript.find_bar
    bar.open_search()
    bar.field.setText("1888264")
    app.until(lambda: not bar.searching)
    in_card, in_answer = bar.hits
    assert in_answer.position.area == AREAS + ANSWER  # of the second step
    assert in_card.position.area == CALLS
    bar.find_next()
    assert transcript.column.rect_of(in_answer.position) is not None
    bar.close_search()
    transcript.selection.clear()

    app.reply.buttons.details.click()
    facts = app.reply.stats.findChild(StatsDetails).facts.shown
    assert facts["Step 1"] == "5 tokens · 512 tok/s · 0 of 9 prompt tokens reused" and facts["Step 2"].startswith("3 tokens")

    reply = app.session.chat.turns[-1].reply
    app.theme.show_token_sources(True)
    marks = app.reply.steps[1].blocks.part_view(0).extraSelections()
    assert "".join(mark.cursor.selectedText() for mark in marks) == "It is 1888264."
    assert {mark.format.underlineStyle() for mark in marks} == {QTextCharFormat.UnderlineStyle.DashUnderline}  # the target's
    assert reply.steps[1].answer_start == len("Let me see.")
    app.theme.show_token_sources(False)

    cards(app)[0].header.setChecked(True)
    for appearance in ("dark", "light"):
        app.theme.set_appearance(appearance)  # type: ignore[arg-type]
        card = cards(app)[0]
        assert card.body is not None and card.result.font().family() == app.theme.code_font.family()
        assert card.result.font().pixelSize() == app.theme.code_font.pixelSize()


def test_a_waiting_card_shows_all_arguments(card_of: CardOf, qtbot: QtBot) -> None:
    long = "x" * 50_000 + "END"
    call = ToolCall("call_1", "calculator", f'{{"a": "{long}", "b": {{"c": [1, 2]}}}}')
    card = card_of(CallRecord(call, state="waiting"))
    text = card.arguments.toPlainText()
    assert long in text and '"c": [\n' in text
    line = card.arguments.minimumSizeHint().height() - 2
    assert card.arguments.height() <= (MAX_LINES + 1) * line
    bar = card.arguments.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0 and bar.isVisible(), timeout=PATIENCE_MS)


@pytest.mark.parametrize("changed", [True, False])
def test_a_waiting_card_says_that_its_tool_has_changed(card_of: CardOf, changed: bool) -> None:
    card = card_of(CallRecord(ToolCall("call_1", "calculator", "{}"), changed=changed))
    texts = [label.text() for label in card.findChildren(QLabel)]
    assert ("This tool has changed since you allowed it." in texts) == changed


def test_nothing_of_a_tool_is_markup_or_invisible(card_of: CardOf) -> None:
    call = ToolCall("call_1", "calculator", f'{{"a": "{HOSTILE[:60]}"}}')
    card = card_of(CallRecord(call, state="done", result=HOSTILE))
    preview = card.preview.text()
    card.header.click()
    for label in card.findChildren(QLabel):
        assert label.textFormat() == Qt.TextFormat.PlainText and not label.openExternalLinks()
    texts = [preview, *(view.toPlainText() for view in card.findChildren(QPlainTextEdit))]
    for text in texts:
        assert "<b>x</b>" in text and not {"\u202e", "\x1b", "\u200b"} & set(text)
    assert "<U+202E>gpj.exe␛[31m<U+200B>" in card.result.toPlainText()


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"a": "\\ud800"}', "9" * 5000, "[" * 100_000, '{"a": 1e999}', "\0\ud800"])
def test_arguments_of_any_text_are_shown(qapp: QApplication, text: str) -> None:
    shown = PlainTextView(Theme(qapp), readable(text), "Arguments").toPlainText()
    assert shown or not text
    assert len(one_line(text, 80)) <= 80


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        ({"path": "notes.md", "limit": 5, "all": True, "of": None}, ["path: notes.md", "limit: 5", "all: true", "of: null"]),
        ({"expression": "4817 * 392"}, ["expression: 4817 * 392"]),
        ({"text": "\u202egpj.exe"}, ["text: <U+202E>gpj.exe"]),
    ],
)
def test_simple_arguments_are_lines(arguments: dict[str, object], lines: list[str]) -> None:
    assert readable(json.dumps(arguments)).split("\n") == lines


VALUES = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text('ab1:\n.- \u2028"') | st.lists(st.integers())
)


@given(
    st.dictionaries(st.text("ab: \n", max_size=3), VALUES, max_size=3),
    st.dictionaries(st.text("ab: \n", max_size=3), VALUES, max_size=3),
)
def test_different_arguments_look_different(one: dict[str, object], other: dict[str, object]) -> None:
    """What the user approves must not be another call in disguise."""
    texts = json.dumps(one), json.dumps(other)
    assert texts[0] == texts[1] or readable(texts[0]) != readable(texts[1])


def test_a_value_is_not_mistaken_for_the_next_argument_on_one_line() -> None:
    """A screen reader read the same text for both."""
    one, two = json.dumps({"path": "a limit: 5"}), json.dumps({"path": "a", "limit": 5})
    assert preview(one, 80) == "path: a limit: 5" and preview(two, 80) == two


def test_names_are_cut_and_kept_on_one_line(card_of: CardOf) -> None:
    name = "Always Allow\n" + "x" * 1000
    card = card_of(CallRecord(replace(PRODUCT, name="x"), "y" * 1000, name, state="waiting"))
    assert "\n" not in card.header.text() and len(card.header.text()) < 90 and len(card.preview.text()) < 90
    assert card.minimumSizeHint().width() < 400


def test_allowing_is_possible_only_after_a_moment_and_denying_at_once(card_of: CardOf, qtbot: QtBot) -> None:
    card = card_of(CallRecord(PRODUCT, "Calculator", "calculator", state="waiting"))
    assert {button.text(): button.isEnabled() for button in card.choices} == {"Allow Once": False, "Deny": True, "More ▾": False}
    qtbot.waitUntil(lambda: all(button.isEnabled() for button in card.choices), timeout=PATIENCE_MS)


def test_one_call_is_allowed_by_a_press_on_its_card_and_none_by_other_keys(start: Start) -> None:
    """Four equal buttons gave no hint which one to press."""
    app, tools = with_tools(start, [calling(PRODUCT, SECOND)], calculator="1888264", read_file="x")
    ask_for_card(app)
    first, second = cards(app)
    assert [button.text() for button in first.choices if button.property("look") == "primary"] == ["Allow Once"]
    assert [action.text() for action in first.lasting] == ["Allow in This Chat", "Always Allow"]
    app.window.activateWindow()
    app.until(lambda: all(button.isEnabled() for card in (first, second) for button in card.choices))
    field = app.window.composer.field
    assert QApplication.focusWidget() in (None, field)
    field.setFocus()
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Space, Qt.Key.Key_Y, Qt.Key.Key_Enter, Qt.Key.Key_A):
        QTest.keyClick(field, key)
    assert not tools.called and app.reply_runner.asking
    assert not any(button.isDefault() or button.autoDefault() for button in first.choices)
    app.message.cancel()
    first.choices[2].click()
    menu = first.lasting[0].parent()
    assert isinstance(menu, QMenu) and menu.isVisible()
    menu.close()

    wanted, reached = {first.header, *first.choices, *second.choices}, set()
    field.setFocus()
    for _ in range(60):
        app.window.focusNextChild()
        reached.add(app.window.focusWidget())
    assert wanted <= reached
    first.choices[0].setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(first.choices[0], Qt.Key.Key_Space)
    app.until(lambda: len(tools.called) == 1)
    focus = app.window.focusWidget()
    assert focus is None or focus not in second.choices, "a second press allows no other call"
    assert second.record.state == "waiting"
    app.run("stop")  # Escape
    assert len(tools.called) == 1 and second.record.state == "stopped" and not app.activity.busy


def test_a_running_call_shows_its_progress_and_can_be_canceled(card_of: CardOf) -> None:
    record = CallRecord(PRODUCT, "Calculator", "calculator", state="running")
    actions, canceled = MessageActions(), list[tuple[Turn, str]]()
    actions.call_canceled.connect(lambda turn, call_id: canceled.append((turn, call_id)))
    card = card_of(record, actions)
    card.show_call(record, f"<b>1</b> of 2\u202e\n{'x' * 1000}")
    assert card.status.text() == "Running…" and card.report.isVisibleTo(card)
    assert card.report.text().startswith("<b>1</b> of 2<U+202E> x") and len(card.report.text()) <= 300
    assert card.report.textFormat() == Qt.TextFormat.PlainText
    (cancel,) = card.body.findChildren(QPushButton)  # type: ignore[union-attr]
    assert cancel.text() == "Cancel"
    cancel.click()
    assert canceled == [(TURN, "call_1")]


def test_a_card_keeps_a_result_of_which_the_model_got_only_a_part(start: Start) -> None:
    app, card = called(start, "line of text\n" * 8_000)
    assert card.body is None and not card.findChildren(QPlainTextEdit), "it is built when it is expanded"
    card.header.click()
    assert card.result.document().blockCount() == 8_001
    card.header.click()
    app.until(lambda: not card.findChildren(QPlainTextEdit))
    card.header.click()
    assert "Result" in [label.text() for label in card.findChildren(QLabel)]
    app.session.chat.turns[-1].reply.result_length = 5_657
    app.reply.refresh()
    assert "Result · The model received only the first 5,657 characters" in [label.text() for label in card.findChildren(QLabel)]
    assert card.result.document().blockCount() == 8_001
    assert all(request.shorten_results for request in app.engine.requests)


def find(app: Running, words: str) -> list[str]:
    """Search in the chat, visit all hits, and return the selected text of each in its card."""
    bar, column, found = app.window.transcript.find_bar, app.window.transcript.column, []
    bar.open_search()
    bar.field.setText(words)
    app.until(lambda: not bar.searching)
    for _ in bar.hits:
        bar.find_next()
        hit = bar.hits[bar.current]
        rect = column.rect_of(hit.position)
        assert rect is not None and app.window.transcript.visible_band()[0] <= rect.top() <= app.window.transcript.visible_band()[1]
        card = column.card_at(hit.position)
        view = (None, card.arguments, card.result)[hit.position.part % CARD_PARTS] if card is not None and card.body else None
        marked = [mark.cursor.selectedText() for mark in view.extraSelections() if mark.format.fontUnderline()] if view else []
        found += marked or ["-"]
    return found


def test_find_opens_cards_and_marks_the_words_in_them(start: Start) -> None:
    call = ToolCall("call_1", "calculator", '{"expression": "😀 4817 × 392", "text": "Grüße"}')
    app, card = called(start, "😀 nothing\n" * 3_000 + "the Needle\n" + "nothing\n" * 3_000 + "‮needle", call)
    app.window.resize(900, 600)
    app.window.show()
    assert find(app, "grüße") == ["Grüße"] and card.header.isChecked()
    bar = card.result.verticalScrollBar()
    assert find(app, "needle") == ["Needle", "needle"] and bar.value() > 4_000
    app.window.transcript.find_bar.find_previous()
    assert 2_000 < bar.value() < 4_000
    assert find(app, "calculator") == ["-", "-"]  # the names of the tool and of its server
    assert find(app, "missing") == []
    find(app, "4817")
    card.header.click()
    card.header.click()
    assert card.arguments.extraSelections()  # after it was closed and opened
    app.window.transcript.find_bar.close_search()
    assert not card.arguments.extraSelections()


@pytest.mark.parametrize(
    ("record", "header", "preview"),
    [
        (CallRecord(ToolCall("call_4", "calculator", "[1]"), "Calculator", "calculator", state="failed"), "Calculator", "[1]"),
        (CallRecord(ToolCall("call_5", "send_mail", "{}"), state="failed"), "send_mail", "Unknown tool · {}"),
    ],
)
def test_cards_of_unknown_tools_and_bad_arguments_show_them(card_of: CardOf, record: CallRecord, header: str, preview: str) -> None:
    card = card_of(record)
    assert (card.header.text()[3:], card.preview.text()) == (header, preview)


def test_a_chat_that_is_not_shown_goes_on_up_to_its_next_call(start: Start) -> None:
    gate = Event()
    replies = [[commit("Let me see."), gate, *calling(PRODUCT, text="")], answer("Something else."), answer("It is 1888264.")]
    app, tools = with_tools(start, replies, calculator="1888264")
    app.send("What is 4817 × 392?")
    app.until(lambda: app.activity.replying_here)
    asking = app.session.chat.id
    app.session.new_chat()
    gate.set()
    app.until(lambda: bool(app.reply_runner.asking))
    assert "needs your approval" in app.window.foot.elsewhere.label.text()
    rows = app.window.sidebar.list
    row = rows.describe(rows.index_of(asking))
    assert row.trailing == "?" and not row.mark  # one mark is enough
    app.ask("Another question")
    assert app.answer == "Something else.", "a card in another chat holds up nothing"
    app.window.foot.elsewhere.button.click()
    app.until(lambda: bool(cards(app)))
    choose(app, cards(app)[0], 0)
    app.idle()
    assert app.answer.endswith("1888264.") and not rows.describe(rows.index_of(asking)).trailing
    assert len(tools.called) == 1


def test_a_screen_reader_hears_what_wants_to_run(begin: Callable[..., Session]) -> None:
    app, _ = with_tools(begin, [calling(replace(PRODUCT, arguments='{"a": "\u202ex"}'))])
    said: list[str] = []
    Announcer(app.session, app.reply_runner, app.services.notices, app.services, said.append)
    ask_for_call(app)
    assert said == ["Calculator needs approval: a: <U+202E>x"]
