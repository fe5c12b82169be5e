"""Syntax highlighting of code as it streams."""

import re
import time
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Literal

from pygments.lexer import Lexer  # type: ignore[import-untyped]
from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
from pygments.lexers.html import HtmlLexer  # type: ignore[import-untyped]
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType  # type: ignore[import-untyped]
from pygments.util import ClassNotFound  # type: ignore[import-untyped]

from app.rendering.markdown import parse_blocks
from app.widgets.formulas import typeset

SyntaxColor = Literal["comment", "keyword", "string", "number", "name", "builtin", "operator"]

# Code is colored in pieces. Only the last piece is colored again when the code grows, so the time of an update doesn't depend on
# the length of the block. A piece ends where the code after it gets the same colors when lexed separately. Without such a
# place, as in a long comment, the piece grows up to the maximum.
PIECE = 1200  # characters
MAX_PIECE = 9600
LOOKAHEAD = 400  # characters whose colors are compared
MAX_TRIES = 3

COMMON = ("python", "bash", "json", "javascript", "c", "swift", "html", "sql", "cpp", "typescript", "rust", "go", "yaml")

_kinds: dict[SyntaxColor, tuple[_TokenType, ...]] = {
    "comment": (Comment,),
    "string": (String,),
    "number": (Number,),
    "keyword": (Keyword, Operator.Word),
    "operator": (Operator,),
    "name": (Name.Function, Name.Class, Name.Decorator, Name.Tag),
    "builtin": (Name.Attribute, Name.Builtin, Name.Exception),
}
# HTML elements with their own syntax. A piece that starts or ends inside one is colored as if it contained the missing tag.
_closing_tags = {"<!--": "-->", "<script>": "</script>", "<style>": "</style>"}
_html_tag = re.compile(r"<!--|-->|<\s*(?:(/)\s*)?(script|style)\b[^>]*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ColorRun:
    """A run of `length` characters in one color, from column `start`."""

    start: int
    length: int
    color: SyntaxColor


ColoredLine = tuple[ColorRun, ...]


@cache
def color_of(kind: _TokenType) -> SyntaxColor | None:
    """Return the color of a Pygments token, or None for ordinary text."""
    return next((color for color, parents in _kinds.items() if any(kind in parent for parent in parents)), None)


def warm_up(pause_s: float = 0.1) -> None:
    """Load the parsers and common lexers, so that their first use is fast."""
    parse_blocks("**a** [b](http://c) | `d`\n\n- $e$\n\n|f|\n|-|\n")
    time.sleep(pause_s)
    typeset("x^2", False, 16.0)
    for language in COMMON:
        find_lexer(language)
        time.sleep(pause_s)


def find_lexer(language: str) -> Lexer | None:
    """Return the lexer for a language, or None if there is none."""
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False) if language else None
    except ClassNotFound:
        return None


class Highlighter:
    """An incremental highlighter for one code block."""

    def __init__(self, language: str) -> None:
        self._lexer = find_lexer(language)
        self._text = ""
        # The last piece: its start, maximum length, first line, the colors before it on that line, and the open HTML element.
        self._start = 0
        self._limit = PIECE
        self._line = 0
        self._line_start: ColoredLine = ()
        self._element = ""
        self.lines: list[ColoredLine] = [()]

    def update(self, text: str) -> list[int]:
        """Color the text. Return the numbers of earlier lines whose colors changed."""
        if not text.startswith(self._text):
            self._start, self._limit, self._line, self._line_start, self._element = 0, PIECE, 0, (), ""
        first, self._text = self._line, text
        before = self.lines[first:]
        del self.lines[first:]
        if self._lexer is None:
            self.lines += [()] * (text.count("\n", self._start) + 1)
            return []
        self.lines.append(self._line_start)
        while len(text) - self._start > self._limit:
            code = text[self._start : self._start + self._limit]
            colors = self._color(code, self._element)
            size = self._piece_size(code, colors)
            if size is None:
                self._limit *= 2
                continue
            self._add(code[:size], colors)
            self._element = self._element_after(code[:size])
            self._start += size
            self._limit = PIECE
            self._line, self._line_start = len(self.lines) - 1, self.lines[-1]
        self._add(text[self._start :], self._color(text[self._start :], self._element))
        return [first + number for number, (old, new) in enumerate(zip(before, self.lines[first:], strict=False)) if old != new]

    def _color(self, code: str, element: str) -> list[SyntaxColor | None]:
        """Return the color of each character. The piece starts inside `element`."""
        assert self._lexer is not None
        end = _closing_tags.get(_open_element(element + code), "") if isinstance(self._lexer, HtmlLexer) else ""
        colors: list[SyntaxColor | None] = []
        for kind, value in self._lexer.get_tokens(element + code + end):
            colors += [color_of(kind)] * len(value)
        return colors[len(element) :]

    def _element_after(self, code: str) -> str:
        return _open_element(self._element + code) if isinstance(self._lexer, HtmlLexer) else ""

    def _piece_size(self, code: str, colors: list[SyntaxColor | None]) -> int | None:
        """Return where a piece can end without changing later colors, or None."""
        starts = [at for at in range(PIECE // 4, len(code) - LOOKAHEAD + 1) if code[at - 1] == "\n" != code[at]]
        if not starts:
            return len(code) - LOOKAHEAD  # a huge line
        outside = [at for at in starts if colors[at - 1] not in ("string", "comment")]
        # Prefer the least indented line, then the last one.
        outside.sort(key=lambda at: (len(code[at:]) - len(code[at:].lstrip(" \t")), -at))
        for at in outside[:MAX_TRIES]:
            compared = LOOKAHEAD * 3 // 4  # the end may change color with the code after it
            ahead = self._color(code[at : at + LOOKAHEAD], self._element_after(code[:at]))
            if ahead[:compared] == colors[at : at + compared]:
                return at
        return None if len(code) < MAX_PIECE else [*outside, starts[-1]][0]

    def _add(self, code: str, colors: list[SyntaxColor | None]) -> None:
        """Append the color runs of a piece to `lines`."""
        column = self._start - (self._text.rfind("\n", 0, self._start) + 1)
        at = 0
        for number, line in enumerate(code.split("\n")):
            if number:
                self.lines.append(())
                column = 0
            runs = []
            for color, chars in groupby(colors[at : at + len(line)]):
                length = len(list(chars))
                if color:
                    runs.append(ColorRun(column, length, color))
                column += length
            self.lines[-1] += tuple(runs)
            at += len(line) + 1


def _open_element(code: str) -> str:
    """Return the tag of the comment, script, or style sheet that is still open."""
    opened = ""
    for match in _html_tag.finditer(code):
        tag = f"<{match[1] or ''}{match[2].lower()}>" if match[2] else match[0]
        if opened:
            opened = "" if tag == _closing_tags[opened] else opened
        elif tag in _closing_tags:
            opened = tag
    return opened
