"""Code to colored lines, as it grows."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import dropwhile
from typing import Literal

from pygments.lexer import Lexer  # type: ignore[import-untyped]
from pygments.lexers import get_lexer_by_name  # type: ignore[import-untyped]
from pygments.lexers.html import HtmlLexer  # type: ignore[import-untyped]
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType  # type: ignore[import-untyped]
from pygments.util import ClassNotFound  # type: ignore[import-untyped]

from app.rendering.html_code import HtmlCode
from app.rendering.markdown import blocks
from app.rendering.typesetting import typeset

Color = Literal["comment", "keyword", "string", "number", "name", "builtin", "operator"]

# Whole texts up to this size are read again on every flush; longer ones from the last place where a statement surely begins. Where
# that lies farther back than this, from a line that reads the same without what is before it, as far as so many characters tell.
REREAD_UP_TO = 3000
TELLING = 1000

COMMON = ("python", "bash", "json", "javascript", "c", "swift", "html", "sql", "cpp", "typescript", "rust", "go", "yaml")

_colors: tuple[tuple[_TokenType, Color], ...] = (
    (Comment, "comment"),
    (String, "string"),
    (Number, "number"),
    (Keyword, "keyword"),
    (Operator.Word, "keyword"),
    (Operator, "operator"),
    (Name.Function, "name"),
    (Name.Class, "name"),
    (Name.Decorator, "name"),
    (Name.Tag, "name"),
    (Name.Attribute, "builtin"),
    (Name.Builtin, "builtin"),
    (Name.Exception, "builtin"),
)


@dataclass(frozen=True, slots=True)
class Run:
    """`length` characters from `start` of a line, in one color."""

    start: int
    length: int
    color: Color


Line = tuple[Run, ...]


def color_of(kind: _TokenType) -> Color | None:
    """The color of a Pygments token, None for ordinary text."""
    return next((color for parent, color in _colors if kind in parent), None)


def warm_up(pause_s: float = 0.1) -> None:
    """Load what replies mostly need, on any thread: the Markdown parser, LaTeX, lexers. The first use of each compiles hundreds of
    patterns, which would be felt in mid-reply."""
    blocks("**a** [b](http://c) | `d`\n\n- $e$\n\n|f|\n|-|\n")
    time.sleep(pause_s)
    typeset("x^2", False, 16.0)
    for language in COMMON:
        lexer_for(language)
        time.sleep(pause_s)


def lexer_for(language: str) -> Lexer | None:
    """The lexer that goes by this name, None where there is none: such code is shown in one color."""
    if not language:
        return None
    try:
        found = get_lexer_by_name(language, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return None
    return HtmlCode(stripnl=False, ensurenl=False) if type(found) is HtmlLexer else found


class Highlighter:
    """The colored lines of one code block."""

    def __init__(self, language: str) -> None:
        self._lexer = lexer_for(language)
        self._text = ""
        self._restart = 0  # where reading may begin again
        self.lines: list[Line] = [()]

    def update(self, text: str) -> int:
        """Bring `lines` up to date with the whole text of the block; how many of the first lines were left as they were."""
        grown, known = text.startswith(self._text), len(self._text)
        if isinstance(self._lexer, HtmlCode):
            self._restart = self._lexer.restart(text, known if grown else 0)
        elif not grown or len(text) <= REREAD_UP_TO:
            self._restart = 0
        self._text = text
        if self._lexer is None:
            self.lines = [()] * (text.count("\n") + 1)
            return len(self.lines)
        first = text.count("\n", 0, self._restart)
        fresh: list[list[Run]] = [[]]
        column, position, restart = 0, self._restart, self._restart
        last_line_start = text.rfind("\n") + 1
        tokens = list(self._lexer.get_tokens(text[self._restart :]))
        for kind, value in tokens:
            color = color_of(kind)
            if column == 0 and self._begins_statement(position, color) and position < last_line_start:
                restart = position
            for number, part in enumerate(value.split("\n")):
                if number:
                    fresh.append([])
                    column = 0
                if part and color:
                    fresh[-1].append(Run(column, len(part), color))
                column += len(part)
            position += len(value)
        self.lines = self.lines[:first] + [tuple(line) for line in fresh]
        if len(text) - restart > REREAD_UP_TO:
            restart = self._stands_alone(tokens) or restart
        self._restart = restart  # HTML finds its own
        return first

    def _stands_alone(self, tokens: list[tuple[_TokenType, str]]) -> int:
        """Where the last lines begin that are read alike with and without those before them; 0 where they are not, or cannot tell.

        A class or an object may be longer than a screenful of statements, and nothing in it begins at the margin.
        """
        lexer = self._lexer
        if lexer is None or any("html" in kind for kind in lexer.mimetypes):
            return 0  # where a script ends decides how all of it is read; `HtmlCode` knows where that is
        position = len(self._text)
        for place in reversed(range(1, len(tokens))):
            value = tokens[place][1]
            position -= len(value)
            line = position + value.rfind("\n") + 1
            if len(self._text) - line >= TELLING and not value.strip() and "\n" in value:
                return line if _words(lexer.get_tokens(self._text[line:])) == _words(tokens[place + 1 :]) else 0
        return 0

    def _begins_statement(self, position: int, color: Color | None) -> bool:
        """After an empty line, at the margin, outside strings and comments: there lexers are in their first state."""
        after_gap = self._text[max(0, position - 2) : position] == "\n\n"
        at_margin = not self._text[position : position + 1].isspace()
        return after_gap and at_margin and color not in ("string", "comment")


def _words(tokens: Iterable[tuple[_TokenType, str]]) -> list[tuple[_TokenType, str]]:
    """From the first that is not blank."""
    return list(dropwhile(lambda token: not token[1].strip(), tokens))
