"""Which characters of a reply's source the characters on the screen come from.

Markdown loses its marks on the way to the screen and keeps its words in order, so the words are looked up in the source one after
the other. A word that is not found (an entity, an escaped sign) is looked up sign by sign.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from app.rendering.blocks import Block, Code, Maths, Rule, Span, Table, Text

MARKS = 8  # signs of Markdown that may stand before a space
AHEAD = 600  # characters that may lie between two words: an address, the rule of a table
_FENCE = re.compile(r"[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*(?:```|~~~)")


@dataclass(frozen=True, slots=True)
class Stretch:
    """`length` characters of a block's plain text, from `at` on, are those of the source from `source` on."""

    at: int
    source: int
    length: int


class Tracing:
    """Goes through the blocks of one piece of source, in order."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._at = start
        self._end = min(end, len(text))
        self._found: list[Stretch] = []
        self._shown = 0

    def trace(self, block: Block) -> tuple[Stretch, ...]:
        """Where the next block's text comes from."""
        self._found, self._shown = [], 0
        match block:
            case Text():
                self._spans(block.spans)
            case Table():
                for row in block.rows:
                    for cell in row:
                        self._spans(cell)
                        self._shown += 1
            case Code():
                self._code(block)
            case Maths():
                self._formula(block.latex)
            case Rule():
                self._at = self._text.find("\n", self._at, self._end) + 1 or self._end
        return tuple(self._found)

    def _spans(self, spans: Sequence[Span]) -> None:
        for span in spans:
            if span.math:
                self._formula(span.text)
                continue
            for word in re.findall(r"\S+\s*|\s+", span.text):
                self._word(word)
            if span.link:
                behind = self._text.find(span.link, self._at, min(self._end, self._at + AHEAD))
                self._at = behind + len(span.link) if behind >= 0 else self._at

    def _word(self, word: str) -> None:
        bare = word.rstrip()
        if not bare:
            near = range(self._at, min(self._end, self._at + MARKS))
            self._at = next((place for place in near if self._text[place].isspace()), self._at)
        place = self._find(bare) if bare else self._at
        if place >= 0:
            gap = min(len(word) - len(bare), 1) if self._text[place + len(bare) : place + len(bare) + 1].isspace() else 0
            self._take(place, len(bare) + gap)
            self._shown += len(word) - len(bare) - gap
        else:
            for sign in word:
                place = self._find(sign)
                if place >= 0:
                    self._take(place, 1)
                else:
                    self._shown += 1

    def _code(self, block: Code) -> None:
        if _FENCE.match(self._text, self._at):
            self._at = self._text.find("\n", self._at, self._end) + 1 or self._end
        place = self._find(block.text)
        if place >= 0:  # nothing was taken off its lines
            self._take(place, len(block.text))
            return
        lines = block.text.split("\n")
        for number, line in enumerate(lines):
            place = self._find(line)
            ends = number < len(lines) - 1 and place >= 0 and self._text[place + len(line) : place + len(line) + 1] == "\n"
            if place >= 0:
                self._take(place, len(line) + ends)  # with its end, so that lines of one supplier are one run
            self._shown += 1 - ends if place >= 0 else len(line) + 1

    def _formula(self, latex: str) -> None:
        """It is drawn as one sign."""
        place = self._text.find(latex[:80], self._at, self._end)
        if place >= 0:
            self._found.append(Stretch(self._shown, place, 1))
            self._at = place + len(latex)
        self._shown += 1

    def _find(self, what: str) -> int:
        return self._text.find(what, self._at, min(self._end, self._at + len(what) + AHEAD))

    def _take(self, place: int, length: int) -> None:
        last = self._found[-1] if self._found else None
        if last is not None and (last.at + last.length, last.source + last.length) == (self._shown, place):
            self._found[-1] = Stretch(last.at, last.source, last.length + length)
        elif length:
            self._found.append(Stretch(self._shown, place, length))
        self._shown += length
        self._at = place + length
