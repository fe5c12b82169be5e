"""Map the characters shown in a reply to the Markdown they come from.

Rendering drops Markdown syntax and keeps the words in order, so each word is searched for in the source after the previous one. A
word that isn't found (an entity, an escaped character) is searched for character by character.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.rendering.blocks import Block, CodeBlock, MathBlock, RuleBlock, TableBlock, TextBlock, TextSpan
from app.rendering.streaming import StreamingMarkdown

MAX_SYNTAX = 8  # characters of Markdown in front of a space
MAX_SKIP = 600  # characters between two words, such as an address or the delimiter row of a table
_FENCE = re.compile(r"[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*(?:```|~~~)")


@dataclass(frozen=True, slots=True)
class MappedText:
    """`length` characters at `start` of a block's plain text are those at `source` of the Markdown."""

    start: int
    source: int
    length: int


def map_blocks(text: str, markdown: StreamingMarkdown, number: int) -> Iterator[tuple[int, tuple[MappedText, ...]]]:
    """Map the block with this number and all blocks of the same origin. Yield each block's number and mapping."""
    origins = markdown.origins
    blocks = markdown.blocks
    index = bisect_right(origins, number, key=lambda origin: origin.block) - 1
    end = origins[index + 1].block if index + 1 < len(origins) else len(blocks)
    source_map = SourceMap(text, origins[index].start, origins[index].end)
    for block in range(origins[index].block, end):
        yield block, source_map.map(blocks[block])


class SourceMap:
    """Maps consecutive blocks that come from one stretch of source."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._at = start
        self._end = min(end, len(text))
        self._mapped: list[MappedText] = []
        self._shown = 0  # characters of the block so far

    def map(self, block: Block) -> tuple[MappedText, ...]:
        self._mapped, self._shown = [], 0
        match block:
            case TextBlock():
                self._map_spans(block.spans)
            case TableBlock():
                for row in block.rows:
                    for cell in row:
                        self._map_spans(cell)
                        self._shown += 1
            case CodeBlock():
                self._map_code(block)
            case MathBlock():
                self._map_formula(block.latex)
            case RuleBlock():
                self._skip_line()
        return tuple(self._mapped)

    def _map_spans(self, spans: Sequence[TextSpan]) -> None:
        for span in spans:
            if span.math:
                self._map_formula(span.text)
                continue
            for word in re.findall(r"\S+\s*|\s+", span.text):
                self._map_word(word)
            if span.link:
                place = self._text.find(span.link, self._at, min(self._end, self._at + MAX_SKIP))
                self._at = place + len(span.link) if place >= 0 else self._at

    def _map_word(self, word: str) -> None:
        bare = word.rstrip()
        if not bare:
            near = range(self._at, min(self._end, self._at + MAX_SYNTAX))
            self._at = next((place for place in near if self._text[place].isspace()), self._at)
        place = self._find(bare) if bare else self._at
        if place >= 0:
            gap = min(len(word) - len(bare), 1) if self._text[place + len(bare) : place + len(bare) + 1].isspace() else 0
            self._add(place, len(bare) + gap)
            self._shown += len(word) - len(bare) - gap
        else:
            for char in word:
                place = self._find(char)
                if place >= 0:
                    self._add(place, 1)
                else:
                    self._shown += 1

    def _map_code(self, block: CodeBlock) -> None:
        if _FENCE.match(self._text, self._at):
            self._skip_line()
        place = self._find(block.text)
        if place >= 0:  # the lines are not indented in the source
            self._add(place, len(block.text))
            return
        lines = block.text.split("\n")
        for number, line in enumerate(lines):
            place = self._find(line)
            ends = number < len(lines) - 1 and place >= 0 and self._text[place + len(line) : place + len(line) + 1] == "\n"
            if place >= 0:
                self._add(place, len(line) + ends)  # including the line break, so that lines of one source form one run
            self._shown += 1 - ends if place >= 0 else len(line) + 1

    def _map_formula(self, latex: str) -> None:
        """Map a formula, which is shown as one character."""
        place = self._text.find(latex[:80], self._at, self._end)
        if place >= 0:
            self._mapped.append(MappedText(self._shown, place, 1))
            self._at = place + len(latex)
        self._shown += 1

    def _skip_line(self) -> None:
        self._at = self._text.find("\n", self._at, self._end) + 1 or self._end

    def _find(self, text: str) -> int:
        return self._text.find(text, self._at, min(self._end, self._at + len(text) + MAX_SKIP))

    def _add(self, place: int, length: int) -> None:
        last = self._mapped[-1] if self._mapped else None
        if last is not None and (last.start + last.length, last.source + last.length) == (self._shown, place):
            self._mapped[-1] = MappedText(last.start, last.source, last.length + length)
        elif length:
            self._mapped.append(MappedText(self._shown, place, length))
        self._shown += length
        self._at = place + length
