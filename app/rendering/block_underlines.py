"""Underlines of a reply's blocks: tokens by source, or where two replies differ."""

from collections.abc import Callable, Iterable, Sequence

from app.rendering.blocks import Block, DocumentPart, plain_text, qt_length
from app.rendering.streaming import StreamingMarkdown
from app.rendering.text_marks import TextRange, Underline, map_blocks, underline_block
from app.storage.reply import Suppliers
from app.widgets.theme import Theme


class BlockUnderlines:
    """The underlines of some blocks, computed per block when they are first shown.

    `difference` is a range of the Markdown that is marked instead of tokens.
    """

    def __init__(self, theme: Theme, blocks: Sequence[Block]) -> None:
        self._theme, self._blocks = theme, blocks
        self.markdown = StreamingMarkdown()
        self._sources: Suppliers | None = None
        self._sources_start = 0
        self._text: Callable[[], str] = str
        self._of_blocks: dict[int, list[Underline]] = {}
        self.difference: TextRange | None = None

    def show_sources(self, sources: Suppliers, text: Callable[[], str], start: int) -> None:
        self._sources, self._text, self._sources_start = sources, text, start

    def show_difference(self, difference: TextRange | None, text: str) -> None:
        self.difference, self._text = difference, lambda: text
        self._of_blocks.clear()

    def forget(self, first: int) -> None:
        """Forget the underlines of a block that has changed, and of those after it."""
        self._of_blocks = {number: lines for number, lines in self._of_blocks.items() if number < first}

    def of_part(self, part: DocumentPart) -> tuple[Underline, ...]:
        if self.difference is None and (self._sources is None or not self._theme.shows_token_sources):
            return ()
        at = 0
        found: list[Underline] = []
        for number in range(part.first, part.end):
            found += [(at + first, at + last, kind) for first, last, kind in self._of_block(number)]
            at += qt_length(plain_text(self._blocks[number])) + 1
        return tuple(found)

    def _of_block(self, number: int) -> list[Underline]:
        if number not in self._of_blocks:
            text = self._text()
            if "\r" in text or "\0" in text:  # these characters are shown differently, so offsets don't match
                return []
            for one, mapping in map_blocks(text, self.markdown, number):
                self._of_blocks[one] = underline_block(self._blocks[one], mapping, self._between)
        return self._of_blocks.get(number, [])

    def _between(self, start: int, end: int) -> Iterable[Underline]:
        """Return the underlines between two offsets of the Markdown."""
        if self.difference is not None:
            first, last = max(start, self.difference[0]), min(end, self.difference[1])
            return [(first, last, "differs")] if first < last else []
        if self._sources is None:
            return []
        at = self._sources_start
        return [(first - at, last - at, kind) for first, last, kind in self._sources.between(start + at, end + at)]
