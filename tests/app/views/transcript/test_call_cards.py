"""Cards of tool calls: what they show, and that nothing allows a call by accident."""

import json
from collections.abc import Callable
from dataclasses import replace
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCharFormat
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QPlainTextEdit

from app.text.plain_text import one_line
from app.views.transcript.call_card import MAX_LINES, CallCard, PlainTextView, preview, readable
from app.views.transcript.message_views import ANSWER, AREAS, CALLS
from app.widgets.theme import Theme
from mlx_engine.contract.requests import ToolCall
from tests.app.conftest import Running
from tests.app.scripted_engine import answer, commit
from tests.app.tools_in_chat import PRODUCT, SECOND, ask_for_card, calling, cards, choose, with_tools

Start = Callable[..., Running]
HOSTILE = "<b>x</b> <img src=http://a.b/c.png> [l](http://a.b) \u202egpj.exe\x1b[31m\u200b"


def called(start: Start, result: str, call: ToolCall = PRODUCT) -> tuple[Running, CallCard]:
    """Return the app with a reply whose call has ended, and its card."""
    app, _ = with_tools(start, [calling(call), answer("It is 1888264.")], calculator=result, read_file=result)
    choose(app, ask_for_card(app), 0)
    app.until(lambda: not app.activity.busy)
    return app, cards(app)[0]


def test_a_card_is_between_the_texts_of_its_steps(start: Start) -> None:
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


def test_a_waiting_card_shows_all_arguments(start: Start) -> None:
    long = "x" * 50_000 + "END"
    app, _ = with_tools(start, [calling(ToolCall("call_1", "calculator", f'{{"a": "{long}", "b": {{"c": [1, 2]}}}}'))])
    card = ask_for_card(app)
    text = card.arguments.toPlainText()
    assert long in text and '"c": [\n' in text
    assert card.arguments.height() <= (MAX_LINES + 1) * card.arguments._line_height()
    bar = card.arguments.verticalScrollBar()
    assert bar.maximum() > 0 and bar.isVisible()


def test_nothing_of_a_tool_is_markup_or_invisible(start: Start) -> None:
    _, card = called(start, HOSTILE, ToolCall("call_1", "calculator", f'{{"a": "{HOSTILE[:60]}"}}'))
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


def test_names_are_cut_and_kept_on_one_line(start: Start) -> None:
    app, tools = with_tools(start, [calling(replace(PRODUCT, name="x"))])
    name = "Always Allow\n" + "x" * 1000
    tools.offered = {"x": replace(tools.offered["calculator"], name=name, server="y" * 1000)}
    card = ask_for_card(app)
    assert "\n" not in card.header.text() and len(card.header.text()) < 90 and len(card.preview.text()) < 90
    assert card.minimumSizeHint().width() < 400


def test_keys_meant_for_the_composer_allow_nothing(start: Start) -> None:
    app, tools = with_tools(start, [calling(PRODUCT, SECOND)], calculator="1888264", read_file="x")
    card = ask_for_card(app)
    app.until(card.choices[0].isEnabled)
    field = app.window.composer.field
    assert QApplication.focusWidget() in (None, field)
    field.setFocus()
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Space, Qt.Key.Key_Y, Qt.Key.Key_Enter, Qt.Key.Key_A):
        QTest.keyClick(field, key)
    assert not tools.called and app.reply_runner.waiting
    assert not any(button.isDefault() or button.autoDefault() for button in card.choices)


def test_allowing_is_possible_only_after_a_moment_and_denying_at_once(start: Start) -> None:
    app, _ = with_tools(start, [calling(PRODUCT)], calculator="1888264")
    card = CallCard(app.theme, ask_for_card(app).record, app.window.transcript.message_actions, app.reply)
    assert {button.text(): button.isEnabled() for button in card.choices} == {"Allow Once": False, "Deny": True, "More ▾": False}


def test_one_choice_stands_out_and_lasting_ones_are_in_a_menu(start: Start) -> None:
    """Four equal buttons gave no hint which one to press."""
    app, _ = with_tools(start, [calling(PRODUCT)], calculator="1888264")
    card = ask_for_card(app)
    assert [button.text() for button in card.choices if button.property("look") == "primary"] == ["Allow Once"]
    assert [action.text() for action in card.lasting] == ["Allow in This Chat", "Always Allow"]
    app.until(card.choices[2].isEnabled)
    card.choices[2].click()
    menu = card.lasting[0].parent()
    assert isinstance(menu, QMenu) and menu.isVisible()
    menu.close()


def test_the_keyboard_reaches_every_choice_and_a_second_press_allows_no_other_call(start: Start) -> None:
    app, tools = with_tools(start, [calling(PRODUCT, SECOND)], calculator="1888264", read_file="x")
    ask_for_card(app)
    first, second = cards(app)
    app.window.activateWindow()
    app.until(lambda: all(button.isEnabled() for card in (first, second) for button in card.choices))
    wanted, reached = {first.header, *first.choices, *second.choices}, set()
    app.window.composer.field.setFocus()
    for _ in range(60):
        app.window.focusNextChild()
        reached.add(app.window.focusWidget())
    assert wanted <= reached
    first.choices[0].setFocus(Qt.FocusReason.TabFocusReason)
    QTest.keyClick(first.choices[0], Qt.Key.Key_Space)
    app.until(lambda: len(tools.called) == 1)
    focus = app.window.focusWidget()
    assert focus is None or focus not in second.choices
    assert second.record.state == "waiting"


def test_escape_stops_and_allows_nothing(start: Start) -> None:
    app, tools = with_tools(start, [calling(PRODUCT)], calculator="1888264")
    card = ask_for_card(app)
    app.until(card.choices[0].isEnabled)
    app.run("stop")  # Escape
    assert not tools.called and card.record.state == "stopped" and not app.activity.busy


def test_a_running_call_shows_its_progress_and_can_be_canceled(start: Start) -> None:
    app, tools = with_tools(start, [calling(PRODUCT)])
    card = ask_for_card(app)
    choose(app, card, 0)
    app.until(lambda: "calculator" in tools.open)
    tools.open["calculator"][1](f"<b>1</b> of 2\u202e\n{'x' * 1000}")
    assert card.status.text() == "Running…" and card.report.isVisibleTo(card)
    assert card.report.text().startswith("<b>1</b> of 2<U+202E> x") and len(card.report.text()) <= 300
    assert card.report.textFormat() == Qt.TextFormat.PlainText
    assert not [button for button in card.body.findChildren(type(card.choices[0])) if "Allow" in button.text()]  # type: ignore[union-attr]
    app.window.transcript.message_actions.call_canceled.emit("call_1")
    assert tools.canceled == ["calculator"]


def test_long_results_build_no_widget_until_they_are_expanded(start: Start) -> None:
    app, card = called(start, "line of text\n" * 8_000)
    assert card.body is None and not card.findChildren(QPlainTextEdit)
    card.header.click()
    assert card.result.document().blockCount() == 8_001
    card.header.click()
    app.until(lambda: not card.findChildren(QPlainTextEdit))


def test_cards_follow_the_appearance(start: Start) -> None:
    app, card = called(start, "1888264")
    card.header.click()
    for appearance in ("dark", "light"):
        app.theme.set_appearance(appearance)  # type: ignore[arg-type]
        card = cards(app)[0]
        assert card.body is not None and card.result.font().family() == app.theme.code_font.family()
        assert card.result.font().pixelSize() == app.theme.code_font.pixelSize()


def test_text_of_all_steps_is_found_selected_and_copied(start: Start) -> None:
    app, _ = called(start, "1888264")
    transcript = app.window.transcript
    transcript.selectAll()
    markdown = transcript.selection.markdown()
    assert "Let me see.\n\nIt is 1888264." in markdown and "expression" not in markdown
    bar = transcript.find_bar
    bar.open_search()
    bar.field.setText("1888264")
    app.until(lambda: not bar.searching)
    card, answer = bar.hits
    assert answer.position.area == AREAS + ANSWER  # of the second step
    assert card.position.area == CALLS
    bar.find_next()
    assert transcript.column.rect_of(answer.position) is not None


def test_token_sources_are_right_after_a_call(start: Start) -> None:
    app, _ = called(start, "1888264")
    reply = app.session.chat.turns[-1].reply
    start_of_last = reply.steps[1].answer_start
    app.theme.show_token_sources(True)
    marks = app.reply.steps[1].blocks.part_view(0).extraSelections()
    assert "".join(mark.cursor.selectedText() for mark in marks) == "It is 1888264."
    assert {mark.format.underlineStyle() for mark in marks} == {QTextCharFormat.UnderlineStyle.DashUnderline}  # the target's
    assert start_of_last == len("Let me see.")


def test_a_card_keeps_a_result_of_which_the_model_got_only_a_part(start: Start) -> None:
    app, card = called(start, "line of text\n" * 8_000)
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
        view = card._views[hit.position.part % 3] if card is not None else None
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


def test_the_steps_have_a_line_each_in_details(start: Start) -> None:
    app, _ = called(start, "1888264")
    app.reply.buttons.details.click()
    text = app.reply.stats._details.facts.text()
    assert "Step 1: 5 tokens · 512 tok/s · 0 of 9 prompt tokens reused" in text and "Step 2: 3 tokens" in text


def test_cards_of_unknown_tools_and_bad_arguments_show_them(start: Start) -> None:
    bad = ToolCall("call_4", "calculator", "[1]"), ToolCall("call_5", "send_mail", "{}")
    app, _ = with_tools(start, [calling(*bad), answer("Sorry.")])
    app.ask("What is 4817 × 392?")
    assert [card.header.text()[3:] for card in cards(app)] == ["Calculator", "send_mail"]
    assert [card.preview.text() for card in cards(app)] == ["[1]", "Unknown tool · {}"]


def test_a_chat_that_is_not_shown_goes_on_up_to_its_next_call(start: Start) -> None:
    gate = Event()
    app, tools = with_tools(
        start, [[commit("Let me see."), gate, *calling(PRODUCT, text="")], answer("It is 1888264.")], calculator="1888264"
    )
    app.send("What is 4817 × 392?")
    app.until(lambda: app.activity.replying_here)
    asking = app.session.chat.id
    app.session.new_chat()
    gate.set()
    app.until(lambda: app.reply_runner.waiting)
    assert "needs your approval" in app.window.foot.elsewhere.label.text()
    rows = app.window.sidebar.list
    row = rows.describe(rows._rows[asking].index())
    assert row.trailing == "?" and not row.dotted  # one mark is enough
    app.send("Another question")
    assert "needs your approval" in app.notices[-1]
    app.window.foot.elsewhere.button.click()
    app.until(lambda: bool(cards(app)))
    choose(app, cards(app)[0], 0)
    app.idle()
    assert app.answer.endswith("1888264.") and not rows.describe(rows._rows[asking].index()).trailing
    assert len(tools.called) == 1


def test_a_screen_reader_hears_what_wants_to_run(start: Start) -> None:
    app, _ = with_tools(start, [calling(replace(PRODUCT, arguments='{"a": "\u202ex"}'))])
    said: list[str] = []
    app.window._announcer._say = said.append
    ask_for_card(app)
    assert said == ["Calculator needs approval: a: <U+202E>x"]
