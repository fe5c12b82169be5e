"""Markdown that is hard to parse takes work in proportion to its length.

Work is counted in function calls and in characters that are searched, which don't depend on the machine.
"""

import re
import sys
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtWidgets import QApplication, QPlainTextEdit

from app.rendering import markdown, streaming
from app.rendering.blocks import CodeBlock, TextBlock, TextSpan
from app.rendering.code_view import MAX_COLORED, CodeView
from app.rendering.markdown import parse_blocks
from app.rendering.streaming import StreamingMarkdown
from app.widgets.theme import Theme
from tests.examples import SAMPLE

CALLS_PER_CHAR = 600  # short lines take most: each may begin many kinds of blocks
MARKS = [
    "[", "]", "![", "](", "](b)", "[a](b", "[a](<b", '[a](b "c', "[a]: b\n", "*", "_", "**", "~~", "`", "``", "<", "<a ",
    "<a@b.c>", "<!-- ", "<div>\n", "&", "&amp;", "&#x41;", "$", "$$\n", "\\", "\\[", "\\(", "> ", "- ", "  - ", "1. ", "#",
    "|", "|-", "-|-\n", "```", "~~~\n", "---\n", "https://a.b/", " ", "    ", "\t", "\n", "\n\n", "a", "b\n",
]  # fmt: skip
HARD = {
    "open brackets": "[",
    "open images": "![",
    "open links": "[a](b",
    "emphasis": "*_",
    "open emphasis": "*a **b ",
    "backticks": "`a``b```c ",
    "angle brackets": "<a ",
    "addresses": "<a@b.c>",
    "entities": "&amp;",
    "dollars": "$a ",
    "open formulas": "\\(a ",
    "open displayed formulas": "a \\[",
    "quotes": "> a\n> > b\n",
    "quotes in lists": "> - > - a\n",
    "lists": "- a\n  - b\n",
    "short lines": "a\n",
    "empty lines": "\n",
    "spaces": " ",
    "definitions": "[a]: b\n",
    "bars": "|a\n",
    "long tables": "a|b\n-|-\n",
    "HTML": "<div>\n",
}


def calls(action: Callable[[], object]) -> int:
    """Return the calls and the characters that searches for the ends of formulas pass."""
    count, find = 0, markdown._find

    def profile(*_: object) -> None:
        nonlocal count
        count += 1

    def counted(src: str, text: str, start: int) -> int:
        nonlocal count
        at = find(src, text, start)
        count += at - start
        return at

    before = sys.getprofile()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(markdown, "_find", counted)
        patch.setattr(markdown, "_formula", _Counting(markdown._formula, counted))
        sys.setprofile(profile)
        try:
            action()
        finally:
            sys.setprofile(before)
    return count


class _Counting:
    """A pattern that counts the characters up to the next dollar sign, which is how far it looks."""

    def __init__(self, pattern: re.Pattern[str], find: Callable[[str, str, int], int]) -> None:
        self._pattern, self._find = pattern, find

    def match(self, src: str, start: int, end: int) -> re.Match[str] | None:
        if src[start : start + 1] == "$":
            self._find(src, "$", start + 2)
        return self._pattern.match(src, start, end)


def costs(text: str, piece: int, every: int = 1) -> list[int]:
    """Return the calls that every n-th piece of a streaming reply costs."""
    reply, found = StreamingMarkdown(), []
    for number, at in enumerate(range(0, len(text), piece), 1):
        append = partial(reply.append, text[at : at + piece])
        if number % every:
            append()
        else:
            found.append(calls(append))
    return found


def thirds(figures: list[int]) -> list[int]:
    third = len(figures) // 3
    return [sum(figures[at : at + third]) for at in range(0, 3 * third, third)]


@pytest.fixture
def small_tail(monkeypatch: pytest.MonkeyPatch) -> None:
    """All limits are a tenth, so that a tenth of the text reaches them."""
    monkeypatch.setattr(streaming, "MAX_TAIL", 800)
    monkeypatch.setattr(streaming, "MAX_TAIL_LINES", 50)
    monkeypatch.setattr(markdown, "MAX_MARKS", 200)
    monkeypatch.setattr(markdown, "MAX_STEPS", 2000)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(unit=st.lists(st.sampled_from(MARKS), min_size=1, max_size=6).map("".join))
def test_cost_of_a_repeated_pattern_is_bounded(small_tail: None, unit: str) -> None:
    text = (unit * 2400)[:2400]
    assert max(costs(text, 40)) < 150_000
    assert calls(lambda: StreamingMarkdown(text)) < CALLS_PER_CHAR * len(text)


@pytest.mark.parametrize("name", HARD)
def test_long_reply_costs_a_bounded_number_of_calls_per_character(name: str) -> None:
    """In `make test`, the text is as long as what is parsed at once, and half as much again."""
    unit = HARD[name]
    full = min(streaming.MAX_TAIL, streaming.MAX_TAIL_LINES * len(unit) // (unit.count("\n") or 1))
    length = full * 3 // 2 if SAMPLE else 24_000
    assert calls(lambda: StreamingMarkdown((unit * length)[:length])) < CALLS_PER_CHAR * length


STREAMED = (
    ["open links", "short lines"] if SAMPLE else ["open brackets", "open images", "open links", "open formulas", "short lines"]
)


@pytest.mark.parametrize("name", STREAMED)
def test_cost_of_streaming_grows_with_the_length_only(name: str, small_tail: None) -> None:
    found = costs((HARD[name] * 2400)[:2400], 50)
    first, second, last = thirds(found)
    assert last <= 1.2 * max(first, second)
    assert max(found) < 150_000


@pytest.mark.parametrize("name", STREAMED)
def test_a_piece_of_a_long_reply_costs_a_bounded_number_of_calls(name: str) -> None:
    """The limits are those of the app: they bound what is parsed again, and what that costs."""
    text, parsed = (HARD[name] * 24_000)[:24_000], [0]
    assert max(costs(text[: streaming.MAX_TAIL], 500, every=4)) < 1_000_000
    reply = StreamingMarkdown()
    for at in range(0, len(text), 500):
        reply.append(text[at : at + 500])
        parsed.append(reply.parsed_chars)
    first, second, last = thirds([after - before for before, after in pairwise(parsed)])
    assert last <= 1.2 * max(first, second)


def test_a_huge_line_of_streaming_code_is_read_a_bounded_number_of_times() -> None:
    text, piece, reply = "```json\n" + '{"a": 1}, ' * 5000, 500, StreamingMarkdown()
    for at in range(0, len(text), piece):
        reply.append(text[at : at + piece])
    assert reply.blocks == parse_blocks(text)
    assert reply.parsed_chars < len(text) / piece * (streaming.MAX_TAIL + piece)


def test_a_wide_table_with_short_rows_is_shown_as_written() -> None:
    text = "|a" * 1000 + "\n" + "|-" * 1000 + "\n" + "b\n" * 500
    reply = StreamingMarkdown(text)
    assert all(isinstance(block, TextBlock) for block in reply.blocks)
    assert calls(lambda: StreamingMarkdown(text)) < CALLS_PER_CHAR * len(text)


def test_a_paragraph_that_is_too_hard_is_shown_as_written() -> None:
    for text in ("[" * 900, "*a*\n" * 1000):
        assert parse_blocks(text) == (TextBlock((TextSpan(text.rstrip("\n").replace("\n", "\u2028")),)),)


def test_many_links_in_one_paragraph_are_links() -> None:
    (block,) = parse_blocks("[a [b] *c*](http://a.b/c_d?e=f) [0, 1) and " * 60)
    assert isinstance(block, TextBlock) and sum(span.link != "" for span in block.spans) == 120


def test_only_the_start_of_a_huge_line_of_code_is_colored(qapp: QApplication) -> None:
    view = CodeView(Theme(qapp, "light"), CodeBlock("html", ""))
    text = "<p>a</p>" * 5000
    for end in range(2000, len(text) + 2000, 2000):
        view.show_block(CodeBlock("html", text[:end]))
    formats = view.findChild(QPlainTextEdit).document().firstBlock().layout().formats()
    assert MAX_COLORED - 8 <= max(part.start + part.length for part in formats) <= MAX_COLORED + 8
    assert all(one.start + one.length <= other.start for one, other in pairwise(formats))
