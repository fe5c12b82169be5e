"""The transcript: building, selecting, copying, finding, and scrolling."""

import threading
from collections.abc import Callable

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QMouseEvent
from PySide6.QtWidgets import QApplication, QMenu, QToolTip
from pytestqt.qtbot import QtBot

from app.rendering.blocks import plain_text
from app.storage.chat_tree import Chat, Turn
from app.views.transcript.message_column import TextPosition
from app.views.transcript.message_views import ReplyView
from app.views.transcript.transcript import Transcript
from app.widgets.theme import Theme
from mlx_engine.contract.events import Commit
from tests.app.conftest import Start, reply_views
from tests.app.scripted_engine import ScriptedEngine, commit, done
from tests.benchmarks.recorded_engine import TEXT
from tests.examples import SAMPLE

LONG = TEXT + "Euler: $e^{i\\pi} = -1$.\n\n$$\n\\frac{a}{b}\n$$\n"


def chat_of(*answers: str) -> list[Turn]:
    """Return finished turns with these answers."""
    chat = Chat()
    for number, text in enumerate(answers):
        turn = chat.ask(f"Question {number}", "dflash")
        turn.reply.accept(Commit(text, "answer", (), ()), 0.0)
        turn.reply.accept(done(), 0.0)
    return chat.turns


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    return Theme(qapp, "light")


@pytest.fixture
def show(theme: Theme, qapp: QApplication, qtbot: QtBot):  # type: ignore[no-untyped-def]
    """Return a function that shows answers in a transcript."""
    made: list[Transcript] = []

    def begin(*answers: str, width: int = 900, height: int = 700) -> Transcript:
        transcript = Transcript(theme)
        qtbot.addWidget(transcript)
        transcript.resize(width, height)
        transcript.show()
        transcript.show_turns(chat_of(*answers))
        qapp.processEvents()
        made.append(transcript)
        return transcript

    return begin


def built(transcript: Transcript) -> int:
    """Return the number of widgets with text."""
    views = [entry.view for entry in transcript.column.entries if isinstance(entry.view, ReplyView)]
    return sum(entry.view is not None for view in views for entry in view.blocks.entries)


# Long chats


def test_off_screen_messages_are_not_built(show) -> None:  # type: ignore[no-untyped-def]
    few, many = show(*[LONG] * 3), show(*[LONG] * 150)
    assert len(reply_views(many)) <= len(reply_views(few)) + 1
    assert built(many) <= built(few) + 3
    assert many.verticalScrollBar().value() == many.verticalScrollBar().maximum() > 50_000


def test_messages_scrolled_away_are_discarded(show) -> None:  # type: ignore[no-untyped-def]
    transcript = show(*[LONG] * 12)
    bar = transcript.verticalScrollBar()
    most = 0
    for value in range(bar.maximum(), 0, -900):
        bar.setValue(value)
        most = max(most, built(transcript))
    bar.setValue(0)
    few = built(show(*[LONG] * 3))
    assert most <= 3 * few
    there = [transcript.column.entries[index].view is not None for index in (0, 1, 23)]
    assert there == [True, True, False]


def test_off_screen_parts_of_a_long_reply_are_not_built(show, qtbot: QtBot) -> None:  # type: ignore[no-untyped-def]
    transcript = show(LONG * 50)
    (view,) = reply_views(transcript)
    qtbot.waitUntil(lambda: view.complete, timeout=120_000)
    assert len(view.blocks.entries) > 120
    assert built(transcript) <= 20


def test_scrolling_keeps_the_text_in_place(show) -> None:  # type: ignore[no-untyped-def]
    """The heights guessed for messages above turn out wrong."""
    transcript = show(*[LONG] * 30)
    bar = transcript.verticalScrollBar()
    bar.setValue(bar.maximum() // 2)
    for _ in range(40):
        place = transcript.column.position_at(QPoint(100, transcript.visible_band()[0] + 300))
        before = transcript.column.rect_of(place).top() - transcript.visible_band()[0]
        bar.setValue(bar.value() - 120)
        after = transcript.column.rect_of(place).top() - transcript.visible_band()[0]
        assert abs(after - before - 120) <= 2


def test_resizing_keeps_the_text_in_place(show, qapp: QApplication) -> None:  # type: ignore[no-untyped-def]
    transcript = show(*[LONG] * 10)
    transcript.verticalScrollBar().setValue(transcript.verticalScrollBar().maximum() // 2)
    first = transcript.column.position_at(QPoint(100, transcript.visible_band()[0]))
    for width in (600, 460, 1400, 900):
        transcript.resize(width, 700)
        qapp.processEvents()
        now = transcript.column.position_at(QPoint(100, transcript.visible_band()[0]))
        assert (now.item, now.part) == (first.item, first.part)


def test_streaming_builds_only_what_is_on_screen(show, qapp: QApplication) -> None:  # type: ignore[no-untyped-def]
    transcript = show("Short.")
    chat = Chat()
    turn = chat.ask("More", "dflash")
    transcript.add_turn(turn)
    most = 0
    for at in range(0, 20 * len(LONG), 400):
        turn.reply.accept(Commit((LONG * 20)[at : at + 400], "answer", (), ()), 0.0)
        transcript.refresh(turn)
        most = max(most, built(transcript))
    assert most <= 25
    assert transcript.verticalScrollBar().value() == transcript.verticalScrollBar().maximum()


# Selecting


def at(transcript: Transcript, place: TextPosition) -> QPoint:
    rect = transcript.column.rect_of(place)
    assert rect is not None
    return rect.center()


def drag(transcript: Transcript, qtbot: QtBot, start: QPoint, end: QPoint) -> None:
    column = transcript.column
    qtbot.mousePress(column, Qt.MouseButton.LeftButton, pos=start)
    transcript.selection.drag_to(end)
    qtbot.mouseRelease(column, Qt.MouseButton.LeftButton, pos=end)


def test_dragging_across_two_messages_copies_both_as_markdown(show, qtbot: QtBot) -> None:  # type: ignore[no-untyped-def]
    transcript = show("One **bold** word.", "Two\n\n- a\n- b\n\n```python\nx = 1\n```")
    start, end = TextPosition(1, 1, 0, 4), TextPosition(3, 1, 1, 3)
    drag(transcript, qtbot, at(transcript, start), at(transcript, end))
    transcript.copy()
    assert QGuiApplication.clipboard().text() == "**bold** word.\n\nQuestion 1\n\nTwo\n\n- a\n- b\n\n```python\nx =\n```"


def test_select_all_copies_the_chat_as_written(show, qtbot: QtBot) -> None:  # type: ignore[no-untyped-def]
    transcript = show(*[LONG] * 20)
    transcript.selectAll()
    transcript.copy()
    expected = "\n\n".join(f"Question {number}\n\n{LONG.strip(chr(10))}" for number in range(20))
    assert QGuiApplication.clipboard().text() == expected


def test_select_all_marks_messages_that_are_built_later(show) -> None:  # type: ignore[no-untyped-def]
    transcript = show(*[LONG] * 12)
    transcript.selectAll()
    transcript.verticalScrollBar().setValue(0)
    view = transcript.column.part_at(TextPosition(1, 1, 0, 0))[1]
    assert [one.cursor.selectedText()[:8] for one in view.extraSelections()] == ["Checking"]


def test_a_selection_survives_discarding_its_message(show, qtbot: QtBot) -> None:  # type: ignore[no-untyped-def]
    transcript = show(*[LONG] * 30)
    place = TextPosition(59, 1, 0, 0)
    transcript.selection.select(place, TextPosition(59, 1, 0, 8))
    bar = transcript.verticalScrollBar()
    bar.setValue(0)
    gone = transcript.column.entries[59].view is None
    assert gone
    assert transcript.selection.markdown() == "## Checking"
    transcript.follow()
    transcript.reveal(place)
    shown = transcript.column.part_at(place)[1]
    assert [one.cursor.selectedText() for one in shown.extraSelections()] == ["Checking"]


def test_formulas_and_emoji_are_copied_completely(show) -> None:  # type: ignore[no-untyped-def]
    transcript = show("A 👍 and $x^2$ and `c*d` more")
    for first, last, text in (
        (2, 4, "👍"),
        (9, 10, "$x^2$"),
        (4, 13, "and $x^2$ an"),
        (15, 18, "`c*d`"),
        (0, 99, "A 👍 and $x^2$ and `c*d` more"),
    ):
        transcript.selection.select(TextPosition(1, 1, 0, first), TextPosition(1, 1, 0, last))
        assert transcript.selection.markdown().strip() == text


def test_table_rows_are_copied_with_the_header(show) -> None:  # type: ignore[no-untyped-def]
    transcript = show("| a | b |\n|---|--:|\n| 1 | 2 |\n| 3 | 4 |\n| 5 | 6 |")
    transcript.selection.select(TextPosition(1, 1, 0, 4), TextPosition(1, 1, 0, 7))
    assert transcript.selection.markdown() == "| a | b |\n|---|--:|\n| 3 | 4 |\n| 5 | 6 |"
    transcript.selection.select(TextPosition(1, 1, 0, 4), TextPosition(1, 1, 0, 4))
    assert transcript.selection.markdown() == "3"


def test_two_clicks_select_a_word_and_three_select_a_paragraph(show, qtbot: QtBot) -> None:  # type: ignore[no-untyped-def]
    transcript = show("First words here.\n\nSecond paragraph.")
    point = at(transcript, TextPosition(1, 1, 0, 8))
    for count, text in ((1, ""), (2, "words"), (3, "First words here.")):
        qtbot.mouseClick(transcript.column, Qt.MouseButton.LeftButton, pos=point)
        assert transcript.selection.markdown() == text, count


def test_a_click_on_a_link_shows_its_address_before_opening_it(show, qtbot: QtBot, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    opened: list[str] = []
    monkeypatch.setattr("app.widgets.browser.QDesktopServices.openUrl", lambda url: opened.append(url.toString()) or True)
    transcript = show("See [here](https://example.org/a?b=c&d=e).")
    qtbot.mouseClick(transcript.column, Qt.MouseButton.LeftButton, pos=at(transcript, TextPosition(1, 1, 0, 6)))
    (menu,) = transcript.findChildren(QMenu)
    actions = [action for action in menu.actions() if not action.isSeparator()]
    assert actions[0].text().replace("&&", "&") == "https://example.org/a?b=c&d=e" and not opened
    actions[1].trigger()
    assert opened == ["https://example.org/a?b=c&d=e"]
    menu.close()


def test_a_link_that_opens_in_no_browser_says_what_to_do(show, qtbot: QtBot, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("app.widgets.browser.QDesktopServices.openUrl", lambda url: False)
    transcript = show("See [here](https://example.org).")
    qtbot.mouseClick(transcript.column, Qt.MouseButton.LeftButton, pos=at(transcript, TextPosition(1, 1, 0, 6)))
    (menu,) = transcript.findChildren(QMenu)
    next(action for action in menu.actions() if action.text() == "Open in Browser").trigger()
    menu.close()
    assert QToolTip.text() == "Can't open a browser. Set a default browser in the system's settings, or copy the link."
    QToolTip.hideText()


def test_links_can_be_reached_and_opened_by_keyboard(show, qtbot: QtBot, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    opened: list[str] = []
    monkeypatch.setattr("app.widgets.browser.QDesktopServices.openUrl", lambda url: opened.append(url.toString()) or True)
    first = "See [he**re**](https://one.org/a) and [no](javascript:alert(1)) and [file](file:///etc/passwd)."
    transcript = show(first, *[LONG] * 12, "| a |\n|---|\n| [two](http://two.org) |\n\nEnd 😀 [three](https://three.org).")
    addresses = []
    for _ in range(4):
        transcript.links.go_to_next()
        addresses.append(transcript.links.current.address)
        place = transcript.links.current.position
        rect = transcript.column.rect_of(place)
        top, bottom = transcript.visible_band()
        assert rect is not None and top <= rect.top() <= bottom
    assert addresses == ["http://two.org", "https://three.org", "https://one.org/a", "http://two.org"]
    while transcript.links.current.address != "https://three.org":
        transcript.links.go_to_previous()
    assert transcript.selection.markdown() == "[three](https://three.org)"
    qtbot.keyClick(transcript, Qt.Key.Key_Return)
    (menu,) = [menu for menu in transcript.findChildren(QMenu) if menu.isVisible()]
    assert menu.actions()[0].text() == "https://three.org" and menu.activeAction().text() == "Open in Browser" and not opened
    qtbot.keyClick(menu, Qt.Key.Key_Return)
    assert opened == ["https://three.org"]
    transcript.selection.clear()
    assert transcript.links.current is None


# Thinking


def test_thinking_is_open_until_the_answer_begins_and_stays_as_the_reader_left_it(start: Start) -> None:
    gate = threading.Event()
    script = [commit("Let me ", channel="thinking"), gate, commit("see.", channel="thinking"), commit("42"), done()]
    gates = threading.Event(), threading.Event()
    again = [commit("One ", channel="thinking"), gates[0], commit("two", channel="thinking"), gates[1], commit("42"), done()]
    app = start(ScriptedEngine([script, again]))
    app.send("Why?")
    app.until(lambda: reply_views(app.window.transcript)[-1].thinking is not None)
    view = app.reply.thinking
    assert view.header.text() == "▾  Thinking… · 2 words"
    assert view.body.isVisible()
    gate.set()
    app.until(lambda: not app.activity.busy)
    assert view.header.text().startswith("▸  Thought for ") and view.header.text().endswith(" · 3 words")
    assert not view.body.isVisible()
    assert app.answer == "42"
    view.header.click()
    assert view.body.isVisible()
    assert [plain_text(block) for block in view.body.blocks] == ["Let me see."]

    app.send("And now?")
    app.until(lambda: len(app.engine.requests) == 2 and app.reply.thinking is not None)
    app.reply.thinking.header.click()
    gates[0].set()
    app.until(lambda: "2 words" in app.reply.thinking.header.text())
    assert not app.reply.thinking.is_open
    app.reply.thinking.header.click()
    gates[1].set()
    app.until(lambda: not app.activity.busy)
    assert app.reply.thinking.is_open


# Finding


def hits(transcript: Transcript, qtbot: QtBot, query: str) -> list[TextPosition]:
    transcript.find_bar.open_search()
    transcript.find_bar.field.setText(query)
    qtbot.waitUntil(lambda: not transcript.find_bar.searching, timeout=120_000)
    return [hit.position for hit in transcript.find_bar.hits]


def test_find_counts_and_visits_the_hits_in_all_messages(show, qtbot: QtBot) -> None:  # type: ignore[no-untyped-def]
    transcript = show("A needle here.", *[LONG] * 12, "One **nee**dle, `needle`\n\n```\nneedle\n```\n\n| needle |\n|---|\n| x |")
    found = hits(transcript, qtbot, "NEEDLE")
    assert [(place.item, place.part) for place in found] == [(1, 0), (27, 0), (27, 0), (27, 1), (27, 2)]
    assert transcript.find_bar.count.text() == "5"
    for number in range(7):
        transcript.find_bar.find_next()
        assert transcript.find_bar.count.text() == f"{transcript.find_bar.current + 1} of 5"
        rect = transcript.column.rect_of(transcript.find_bar.hits[transcript.find_bar.current].position)
        top, bottom = transcript.visible_band()
        assert rect is not None and top <= rect.top() and rect.bottom() <= bottom, number
    transcript.find_bar.find_previous()
    transcript.find_bar.close_search()
    assert transcript.find_bar.hits == [] and not transcript.find_bar.isVisible()


def test_find_matches_across_styles_and_line_breaks(show, qtbot: QtBot) -> None:  # type: ignore[no-untyped-def]
    transcript = show("the *quick*\nbrown fox", "nothing")
    assert len(hits(transcript, qtbot, "quick brown")) == 1
    assert len(hits(transcript, qtbot, "question")) == 2
    assert hits(transcript, qtbot, "slow") == []
    assert transcript.find_bar.count.text() == "No matches"
    assert hits(transcript, qtbot, "(.*") == []


def test_a_hit_in_a_folded_message_unfolds_it(start: Start, qtbot: QtBot) -> None:
    app = start()
    app.ask("word " * 3000 + "needle")
    transcript = app.window.transcript
    app.run("find")
    assert hits(transcript, qtbot, "needle")
    transcript.find_bar.find_next()
    rect = transcript.column.rect_of(transcript.find_bar.hits[0].position)
    top, bottom = transcript.visible_band()
    assert rect is not None and top <= rect.top() <= bottom


# Strange input


def test_a_table_with_thousands_of_rows_builds_only_what_is_on_screen(show, qtbot: QtBot) -> None:  # type: ignore[no-untyped-def]
    rows = 2000 if SAMPLE else 10_000
    transcript = show("| a | b |\n|---|---|\n" + "".join(f"| {number} | text |\n" for number in range(rows)))
    (view,) = reply_views(transcript)
    qtbot.waitUntil(lambda: view.complete, timeout=120_000)
    table = view.blocks.part_view(0)
    assert len(table.block.rows) == rows + 1
    assert sum(entry.view is not None for entry in table.entries) <= 8
    assert view.blocks.total_height > 20 * rows
    transcript.follow()
    assert transcript.column.rect_of(TextPosition(1, 1, 0, 2 * rows)) is not None


@pytest.mark.parametrize(
    "text",
    [
        "\u05e9\u05dc\u05d5\u05dd \u05e2\u05d5\u05dc\u05dd\n\n- \u0645\u0631\u062d\u0628\u0627\n- two\n\n> \u05e9",
        "e\u0301" * 300 + "\u0300" * 200,
        "a\0b \ud83d c \udc4d",
        "<script>alert(1)</script> <img src=http://a.b/c.png> <b>x</b>",
        "> " * 400 + "deep",
        "- " * 400 + "deep",
        "x" * (20_000 if SAMPLE else 100_000),
        "$" * 999 + "\\frac{" * 50,
        "|" * 3000 + "\n" + "|-" * 1500 + "|\n",
        "```\n" + "y" * 50_000,
        "\u202e reversed \u2028 line \u2029 paragraph",
    ],
)
def test_strange_text_is_shown_selected_searched_and_copied(show, qtbot: QtBot, text: str) -> None:  # type: ignore[no-untyped-def]
    transcript = show(text)
    (view,) = reply_views(transcript)
    qtbot.waitUntil(lambda: view.complete, timeout=120_000)
    transcript.selectAll()
    transcript.copy()
    assert QGuiApplication.clipboard().text().startswith("Question 0")
    hits(transcript, qtbot, "deep")
    transcript.grab()
    assert view.blocks.width() <= transcript.width()


def test_html_is_shown_as_written(show) -> None:  # type: ignore[no-untyped-def]
    transcript = show("<b>bold</b> <img src=http://a.b/c.png>")
    (view,) = reply_views(transcript)
    assert [plain_text(block) for block in view.blocks.blocks] == ["<b>bold</b> <img src=http://a.b/c.png>"]


def test_a_reply_never_uses_the_network(show, theme: Theme, qtbot: QtBot, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    """No server must learn that a reply was read."""
    import socket

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a reply reached for the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    picture = "http://127.0.0.1:9/p.png"
    transcript = show(f"![p]({picture}) <img src='{picture}'>\n\n| ![p]({picture}) |\n|---|\n\n$\\includegraphics{{{picture}}}$")
    transcript.grab()
    qtbot.waitUntil(lambda: theme.typesetter.idle, timeout=120_000)
    for entry in reply_views(transcript)[0].blocks.entries:
        if hasattr(entry.view, "loadResource"):
            assert entry.view.loadResource(2, picture) is None


# Formulas


def test_formulas_get_their_size_once_typeset_and_invalid_ones_show_their_source(show, theme: Theme, qtbot: QtBot) -> None:  # type: ignore[no-untyped-def]
    transcript = show("Before\n\n$$\n\\sum_{i=1}^{n} \\frac{i}{2}\n$$\n\nand $\\frac{1$ after")
    typesetter = theme.typesetter
    qtbot.waitUntil(lambda: typesetter.idle, timeout=120_000)
    view = reply_views(transcript)[0].blocks.part_view(0)
    assert not view.formulas_pending
    assert view.height() >= view.document().size().height() - 1
    known = {key[0]: formula for key, formula in typesetter._formulas.items()}
    assert known["\\frac{1"] is None
    assert known["\\sum_{i=1}^{n} \\frac{i}{2}"].ascent > 10


def test_formulas_are_drawn_at_the_screens_pixel_ratio(show, theme: Theme, qtbot: QtBot) -> None:  # type: ignore[no-untyped-def]
    show("$x^2$")
    typesetter = theme.typesetter
    qtbot.waitUntil(lambda: bool(typesetter._formulas) and typesetter.idle, timeout=120_000)
    (key,) = typesetter._formulas
    small, sharp = (typesetter.picture(key, "#000000", 1.0, ratio) for ratio in (1.0, 2.0))
    assert abs(sharp.width() - 2 * small.width()) <= 2 and sharp.devicePixelRatio() == 2.0


def test_the_mouse_selects_in_text_code_and_tables(show, qtbot: QtBot) -> None:  # type: ignore[no-untyped-def]
    """The widgets in messages pass mouse events to the selection."""
    transcript = show("First words.\n\n```\ncode here\n```\n\n| a | b |\n|---|---|\n| c | d |")
    ends = (TextPosition(1, 1, 0, 6), TextPosition(1, 1, 1, 4), TextPosition(1, 1, 2, 3))

    def press(place: TextPosition, kind: Callable[..., None]) -> None:
        point = transcript.column.mapTo(transcript.viewport(), at(transcript, place))
        widget = transcript.viewport().childAt(point)
        kind(widget, Qt.MouseButton.LeftButton, pos=widget.mapFrom(transcript.viewport(), point))

    for start in ends:
        for end in ends:
            if start < end:
                press(start, qtbot.mousePress)
                point = transcript.column.mapTo(transcript.viewport(), at(transcript, end))
                widget = transcript.viewport().childAt(transcript.column.mapTo(transcript.viewport(), at(transcript, start)))
                where = QPointF(widget.mapFrom(transcript.viewport(), point))
                move = QMouseEvent(
                    QEvent.Type.MouseMove,
                    where,
                    QPointF(widget.mapToGlobal(where.toPoint())),
                    Qt.MouseButton.NoButton,
                    Qt.MouseButton.LeftButton,
                    Qt.KeyboardModifier.NoModifier,
                )
                QApplication.sendEvent(widget, move)
                press(end, qtbot.mouseRelease)
                assert transcript.selection.range is not None, (start, end)
                first, last = transcript.selection.range
                assert (first.part, last.part) == (start.part, end.part)
