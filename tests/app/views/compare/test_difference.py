"""Compare marks where two replies part: in the text, in words, and within sight."""

from dataclasses import replace
from functools import partial

from hypothesis import given
from PySide6.QtCore import QEvent, QPoint
from PySide6.QtGui import QTextCharFormat
from PySide6.QtWidgets import QApplication, QPlainTextEdit, QScrollBar, QTextEdit

from app.storage.comparison_record import MAX_MARKED, ComparedReply, ComparisonRecord, difference_between
from app.views.compare.compare_side import CompareSide
from app.views.compare.compare_view import CompareDialog
from app.views.transcript.scrolling_column import FollowingScrollArea
from mlx_engine.contract.events import Commit, TextDifference
from mlx_engine.contract.requests import Mode
from tests.app.chats import texts
from tests.app.conftest import Begin, Session
from tests.app.scripted_engine import Script, ScriptedEngine, answer, done, stats

BEFORE = "\n\n".join(f"Paragraph {number} says the same in both." for number in range(40))


def parting(rest: str, token: int, mode: Mode = "dflash") -> Script:
    """A reply whose 15th token is the first that differs."""
    shared = Commit(f"{BEFORE}\n\nSo the answer is ", "answer", tuple(range(14)), ("target",) * 14)
    return [shared, Commit(rest, "answer", (token,), ("target",)), done(mode, tokens=15)]


def opened(app: Session) -> CompareDialog:
    app.ask("Hi")
    app.run("compare")
    app.until(lambda: not app.activity.busy)
    return app.dialog(CompareDialog)


def marked(side: CompareSide) -> list[tuple[str, QTextCharFormat]]:
    """What is marked in a column, and how."""
    found = []
    for view in (*side.findChildren(QTextEdit), *side.findChildren(QPlainTextEdit)):
        for one in view.extraSelections():
            found.append((one.cursor.selectedText(), QTextCharFormat(one.format)))
    return found


def forged(record: ComparisonRecord, plain: str, dflash: str, thinking: tuple[str, str] = ("", "")) -> ComparisonRecord:
    texts = zip(record.replies, (plain, dflash), thinking, strict=True)
    replies = tuple(replace(reply, text=text, thinking=thought) for reply, text, thought in texts)
    rows = record.rows[0], replace(record.rows[1], difference=TextDifference(14, 0.25))
    return replace(record, replies=replies, rows=rows)  # type: ignore[arg-type]


def scroll_of(side: CompareSide) -> FollowingScrollArea:
    (scroll,) = side.findChildren(FollowingScrollArea)
    return scroll


def in_view(side: CompareSide) -> bool:
    rect, view = side.blocks.difference_rect, scroll_of(side).viewport()
    return rect is not None and 0 <= side.blocks.mapTo(view, rect.center()).y() < view.height()


def laid_out(side: CompareSide) -> bool:
    """Return whether the layout is final: the content is at least as high as the text."""
    QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)
    return scroll_of(side).widget().height() >= side.blocks.height() == side.blocks.heightForWidth(side.blocks.width())


def test_the_first_difference_is_underlined_described_and_in_view(begin: Begin) -> None:
    nine, ninety = (f"{word}, and that is all there is to say about it.\n\n{BEFORE}" for word in ("nine", "ninety"))
    app = begin(ScriptedEngine([answer("Hi."), parting(nine, 50, "plain"), parting(ninety, 51)]))
    dialog = opened(app)
    assert "differ starting at token 15" in dialog.verdict.text()
    for side, text, word in zip(dialog.sides, (",", "ty,"), ("nine,", "ninety,"), strict=True):
        ((shown, form),) = marked(side)
        assert shown == text and form.underlineStyle() == QTextCharFormat.UnderlineStyle.WaveUnderline
        assert form.background().color() != form.foreground().color()
        go = side.difference_button
        assert go.isVisible() and f"“{word}”" in go.text() and word in go.accessibleName()
        app.until(partial(in_view, side))
        scroll_of(side).verticalScrollBar().setValue(0)
        assert not in_view(side)
        side.difference_button.click()
        assert in_view(side)


def test_an_earlier_comparison_opens_at_its_difference(begin: Begin) -> None:
    app = begin()
    dialog = opened(app)
    record = forged(dialog.record, f"{BEFORE}\n\nNine.\n\n{BEFORE}", f"{BEFORE}\n\nTen.\n\n{BEFORE}")
    for _ in range(2):  # the second time it replaces itself
        dialog.show_record(record)
        app.until(lambda: all(laid_out(side) and in_view(side) for side in dialog.sides))
        for side in dialog.sides:
            bar = scroll_of(side).verticalScrollBar()
            assert in_view(side) and not scroll_of(side).following and 0 < bar.value() < bar.maximum() - 100
    dialog.resize(dialog.width() - 150, dialog.height())
    app.until(lambda: all(laid_out(side) and in_view(side) for side in dialog.sides))
    side = dialog.sides[0]
    scroll_of(side).verticalScrollBar().triggerAction(QScrollBar.SliderAction.SliderToMinimum)
    dialog.resize(dialog.width() + 150, dialog.height())
    app.until(lambda: laid_out(side))
    assert not in_view(side), "the user has scrolled away"
    dialog.run_button.click()
    assert scroll_of(side).following


def test_identical_replies_are_shown_from_their_start(begin: Begin) -> None:
    """They stayed at the end, which a comparison follows while it runs."""
    app = begin()
    dialog = opened(app)
    text = f"{BEFORE}\n\n{BEFORE}"
    for side in dialog.sides:
        scroll_of(side).follow()
    dialog.show_record(forged(dialog.record, text, text))
    app.until(lambda: all(laid_out(side) and scroll_of(side).verticalScrollBar().maximum() > 0 for side in dialog.sides))
    assert [scroll_of(side).verticalScrollBar().value() for side in dialog.sides] == [0, 0]


def test_a_new_comparison_with_identical_replies_removes_the_mark(begin: Begin) -> None:
    app = begin(ScriptedEngine([answer("Hi."), parting("One.", 50, "plain"), parting("Two.", 51)]))
    dialog = opened(app)
    assert all(marked(side) and side.difference_button.isVisible() for side in dialog.sides)
    dialog.run_button.click()
    app.until(lambda: not app.activity.busy and dialog.record is not None)
    assert not any(marked(side) or side.difference_button.isVisible() for side in dialog.sides)


def test_a_reply_that_ends_early_says_so(begin: Begin) -> None:
    dialog = opened(begin())
    dialog.show_record(forged(dialog.record, "Nine. And more.", "Nine."))
    plain, dflash = dialog.sides
    assert [text for text, _ in marked(plain)] == [" And"] and marked(dflash) == []
    assert dflash.difference_button.text() == "Ends here; the other reply continues"


SPACES = (
    ("Nine or  ten.", "Nine or ten.", None),
    ("Nine.\n\nTen.", "Nine.\nTen.", None),
    ("Nine. ", "Nine.", None),
    ("Nine" + " " * 60 + "or ten.", "Nine or ten.", None),
    ("Nineteen", "Nine teen", ("“Nineteen”", "“Nine teen”")),
    ("Nine \n", "Nine ten", ("Ends here", "“ten”")),
    ("Nine" + " " * 60 + "or", "Nine but", ("“or”", "“but”")),
)


def test_no_words_are_quoted_if_only_spaces_differ(begin: Begin) -> None:
    dialog = opened(begin())
    for plain, dflash, quoted in SPACES:
        dialog.show_record(forged(dialog.record, plain, dflash))
        shown = [side.difference_button.text() for side in dialog.sides]
        if quoted is None:
            assert shown == ["Spaces or line breaks differ from here on"] * 2
        else:
            assert all(wanted in text for wanted, text in zip(quoted, shown, strict=True))


def test_thinking_that_ends_early_is_shown_at_its_end(begin: Begin) -> None:
    app = begin()
    dialog = opened(app)
    dialog.show_record(forged(dialog.record, BEFORE, BEFORE, thinking=(BEFORE, f"{BEFORE} And more.")))
    side = dialog.sides[0]
    assert side.difference_button.text() == "Thinking ends here; the other reply continues" and marked(side) == []

    def end_in_view() -> bool:
        body, view = side.thinking.body, scroll_of(side).viewport()
        return (
            laid_out(side) and body.height() > view.height() and 0 < body.mapTo(view, QPoint(0, body.height())).y() < view.height()
        )

    app.until(end_in_view)
    bar = scroll_of(side).verticalScrollBar()
    assert 0 < bar.value() < bar.maximum() - 100
    bar.setValue(0)
    side.difference_button.click()
    assert end_in_view()


def test_thinking_with_a_difference_opens(begin: Begin) -> None:
    dialog = opened(begin())
    dialog.show_record(forged(dialog.record, "Same.", "Same.", thinking=("First one, then two.", "First two.")))
    side = dialog.sides[0]
    assert side.thinking.is_open and [text for text, _ in marked(side)] == ["one,"]


KINDS = (
    ("```python\nx = 1\ny = 2\n```\n", "```python\nx = 1\ny = 3\n```\n", "2"),
    ("| a | b |\n|---|---|\n| c | d |\n", "| a | b |\n|---|---|\n| c | e |\n", "d"),
    ("Some **bold** word", "Some **brave** word", "old"),
    ("Für 𝔸𝔹 gilt es.", "Für 𝔸𝔹 giltig.", "es."),
    ("It is $a+b$ then.", "It is $a+c$ then.", None),  # a formula is one character, so its line is marked
    ("One *two* three.", "One **two** three.", None),
)


def test_the_mark_works_in_every_kind_of_block(begin: Begin) -> None:
    app = begin()
    dialog = opened(app)
    side = dialog.sides[0]
    for plain, dflash, wanted in KINDS:
        dialog.show_record(forged(dialog.record, "Same.", "Same."))
        app.until(lambda: not marked(side))
        dialog.show_record(forged(dialog.record, plain, dflash))
        app.until(lambda: bool(marked(side)))  # rows of a table are built after its layout
        assert side.blocks.difference_rect is not None
        assert wanted is None or wanted in marked(side)[0][0]


@given(same=texts, one=texts, other=texts)
def test_the_first_difference_is_found_and_the_mark_is_within_the_text(same: str, one: str, other: str) -> None:
    ones = ComparedReply(same + one, "", "eos", stats())
    others = ComparedReply(same + other, "", "eos", stats())
    found = difference_between(ones, others)
    if ones.text == others.text:
        assert found is None
        return
    assert found is not None and found.channel == "answer" and found.at >= len(same)
    assert ones.text[: found.at] == others.text[: found.at]
    assert ones.text[found.at : found.at + 1] != others.text[found.at : found.at + 1]
    for text in (ones.text, others.text):
        first, last = found.span(text)
        assert found.words(text) == " ".join(found.words(text).split()) and len(found.words(text)) <= 2 * MAX_MARKED
        assert first == found.at and (first < last <= len(text) if found.at < len(text) else first == last)
