"""Markdown that is hard to parse takes work in proportion to its length.

Work is counted in function calls and in characters that are searched, which don't depend on the machine.
"""

import re
import sys
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtWidgets import QApplication

from app.rendering import markdown, streaming
from app.rendering.blocks import CodeBlock, TextBlock, TextSpan
from app.rendering.code_view import MAX_COLORED, CodeView
from app.rendering.markdown import parse_blocks
from app.rendering.streaming import StreamingMarkdown
from app.widgets.theme import Theme
from tests.examples import SAMPLE

LENGTH = 12_000 if SAMPLE else 24_000  # characters of a long reply, more than MAX_TAIL
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


def costs(text: str, piece: int) -> list[int]:
    """Return the calls that each piece of a streaming reply costs."""
    reply = StreamingMarkdown()
    return [calls(partial(reply.append, text[at : at + piece])) for at in range(0, len(text), piece)]


@given(st.lists(st.sampled_from(MARKS), min_size=1, max_size=6).map("".join))
def test_the_cost_of_a_repeated_pattern_is_bounded(unit: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streaming, "MAX_TAIL", 800)
        patch.setattr(streaming, "MAX_TAIL_LINES", 50)
        patch.setattr(markdown, "MAX_MARKS", 200)
        patch.setattr(markdown, "MAX_STEPS", 2000)
        text = (unit * 2400)[:2400]
        assert max(costs(text, 40)) < 150_000
        assert calls(lambda: StreamingMarkdown(text)) < CALLS_PER_CHAR * len(text)


@pytest.mark.parametrize("name", HARD)
def test_a_long_reply_costs_a_bounded_number_of_calls_per_character(name: str) -> None:
    unit = HARD[name]
    text = (unit * LENGTH)[:LENGTH]
    assert calls(lambda: StreamingMarkdown(text)) < CALLS_PER_CHAR * len(text)


@pytest.mark.parametrize(
    "name", ["open brackets", "open images", pytest.param("open links", marks=pytest.mark.long), "open formulas", "short lines"]
)
def test_the_cost_of_streaming_grows_with_the_length_only(name: str) -> None:
    found = costs((HARD[name] * 24_000)[:24_000], 500)
    third = len(found) // 3
    first, second, last = (sum(found[at : at + third]) for at in range(0, 3 * third, third))
    assert last <= 1.2 * max(first, second)
    assert max(found) < 1_500_000


def test_a_huge_line_of_streaming_code_is_read_a_bounded_number_of_times() -> None:
    text, piece, reply = "```json\n" + '{"a": 1}, ' * 5000, 500, StreamingMarkdown()
    for at in range(0, len(text), piece):
        reply.append(text[at : at + piece])
    assert reply.blocks == parse_blocks(text)
    assert reply.parsed_chars < len(text) / piece * (streaming.MAX_TAIL + piece)


def test_a_wide_table_with_short_rows_is_shown_as_written() -> None:
    text = "|a" * 1000 + "\n" + "|-" * 1000 + "\n" + "b\n" * 3000
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
    formats = view._lines.document().firstBlock().layout().formats()
    assert MAX_COLORED - 8 <= max(part.start + part.length for part in formats) <= MAX_COLORED + 8
    assert all(one.start + one.length <= other.start for one, other in pairwise(formats))
