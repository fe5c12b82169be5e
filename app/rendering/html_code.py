"""HTML to tokens as Pygments does it, noting on the way where reading may begin again when more has come.

HTML is read anew from far back wherever something ends at last that was not read as what it is: a comment, a script, a quotation.
All else that stands outside of tags is read alike whatever follows.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pygments.lexer import inherit, using  # type: ignore[import-untyped]
from pygments.lexers.css import CssLexer  # type: ignore[import-untyped]
from pygments.lexers.html import HtmlLexer  # type: ignore[import-untyped]
from pygments.lexers.javascript import JavascriptLexer  # type: ignore[import-untyped]
from pygments.token import Comment, Error, String, Text, _TokenType  # type: ignore[import-untyped]

Token = tuple[int, _TokenType, str]
_PARTIAL = re.compile(r"<\s*(?:/\s*[\w:.-]*\s*)?")
_UNBROKEN = re.compile(r"&\S*")


@dataclass(frozen=True, slots=True)
class _Open:
    """Something at this place has no end yet; `end` is what may be its end, None when any text may be."""

    place: int
    end: re.Pattern[str] | None


class HtmlCode(HtmlLexer):
    """For one text, which grows. Its tokens are those of `HtmlLexer`."""

    def __init__(self, **options: object) -> None:
        super().__init__(**options)
        self._offset = 0
        self._begins: list[int] = []  # beginnings of lines outside of tags
        self._opens: list[_Open] = []

    def restart(self, text: str, known: int) -> int:
        """Where to begin to read, now that the text has grown from its first `known` characters to this. What is read must then be
        read to its end."""
        partial = text.rfind("<", 0, known)  # an end may have begun before
        if partial < 0 or not _PARTIAL.fullmatch(text, partial, known):
            partial = known
        since = max(0, min(partial, known - 2))
        ended = (one.place for one in self._opens if one.end is None or one.end.search(text, max(one.place + 1, since)))
        if "\r" in text or "\ufeff" in text:  # Pygments takes them out, and then no place is where it was
            self._begins.clear()
        del self._begins[bisect_right(self._begins, min(next(ended, known), known)) :]
        self._offset = self._begins[-1] if self._begins else 0
        self._opens = [one for one in self._opens if one.place < self._offset]
        return self._offset

    def _note(self, match: re.Match[str], end: str | None) -> None:
        self._opens.append(_Open(self._offset + match.start(), re.compile(end, re.IGNORECASE) if end is not None else None))

    def _between_tags(self, match: re.Match[str]) -> Iterator[Token]:
        line = match.group().rfind("\n") + 1
        if line:
            self._begins.append(self._offset + match.start() + line)
        yield match.start(), Text, match.group()

    def _stray(self, match: re.Match[str]) -> Iterator[Token]:
        """A sign that begins nothing, or not yet."""
        text, place = match.string, match.start()
        if match.group() == "&":
            if (unbroken := _UNBROKEN.match(text, place)) and unbroken.end() == len(text):
                self._note(match, ";")
        elif text.startswith("?", place + 1):
            self._note(match, r"\?>")
        elif text.startswith("!", place + 1):
            self._note(match, ">")
        elif (partial := _PARTIAL.match(text, place)) and partial.end() == len(text):
            self._note(match, None)
        yield match.start(), Error, match.group()

    @staticmethod
    def _without(end: str, read: _TokenType | Callable[..., Iterator[Token]]) -> Callable[..., Iterator[Token]]:
        """What is read instead of something whose end is not there."""

        def noted(self: "HtmlCode", match: re.Match[str], context: object = None) -> Iterator[Token]:
            self._note(match, end)
            if callable(read):
                yield from read(self, match, context)
            else:
                yield match.start(), read, match.group()

        return noted

    tokens = {  # noqa: RUF012, as Pygments wants it
        "root": [
            (r"[^<&]+", lambda self, match, context=None: self._between_tags(match)),
            (r"<!--(?!.*?-->)[^>]*>", _without("-->", Comment.Preproc)),
            (r"<!\[CDATA\[(?!.*?\]\]>)[^>]*>", _without(r"\]\]>", Comment.Preproc)),
            inherit,
            (r"[<&]", lambda self, match, context=None: self._stray(match)),
        ],
        "script-content": [
            (r"(?!.*?<\s*/\s*script\s*>).+?\n", _without(r"<\s*/\s*script\s*>", using(JavascriptLexer)), "#pop"),
            (r"(?!.*?<\s*/\s*script\s*>).+", _without(r"<\s*/\s*script\s*>", using(JavascriptLexer)), "#pop"),
            inherit,
        ],
        "style-content": [
            (r"(?!.*?<\s*/\s*style\s*>).+?\n", _without(r"<\s*/\s*style\s*>", using(CssLexer)), "#pop"),
            (r"(?!.*?<\s*/\s*style\s*>).+", _without(r"<\s*/\s*style\s*>", using(CssLexer)), "#pop"),
            inherit,
        ],
        "attr": [
            (r'"(?!.*?")[^\s>]*', _without('"', String), "#pop"),
            (r"'(?!.*?')[^\s>]*", _without("'", String), "#pop"),
            inherit,
        ],
    }
