"""From link to link by keyboard: the one that the reader is at is selected, and Enter shows where it leads before it is opened."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QPoint, Slot

from app.rendering.blocks import Block, Span, Table, Text
from app.rendering.markdown import clean
from app.rendering.parts import parts, plain, units
from app.rendering.streaming import StreamingMarkdown
from app.transcript.column import Column, Place
from app.widgets.link import show_link

if TYPE_CHECKING:
    from app.transcript.transcript import Transcript


@dataclass(frozen=True, slots=True)
class Link:
    """Where a link begins, the offset behind it, and its address."""

    place: Place
    end: int
    address: str


class Links(QObject):
    """Goes through the links of all replies, built or not, around at the ends."""

    def __init__(self, transcript: "Transcript", column: Column) -> None:
        super().__init__(column)
        self._transcript = transcript
        self._column = column
        self.current: Link | None = None
        transcript.selecting.changed.connect(self._selected)

    @Slot()
    def forward(self) -> None:
        """To the next link."""
        self._step(1)

    @Slot()
    def back(self) -> None:
        """To the link before."""
        self._step(-1)

    def show_current(self) -> bool:
        """Show where the link leads that the reader is at; False when there is none."""
        if self.current is None:
            return False
        rect = self._column.rect_of(self.current.place)
        corner = rect.bottomLeft() if rect is not None else QPoint()
        menu = show_link(self._transcript, self.current.address, self._column.mapToGlobal(corner))
        if menu is not None:
            menu.setActiveAction(next(action for action in menu.actions() if action.isEnabled() and not action.isSeparator()))
        return menu is not None

    def _step(self, by: int) -> None:
        links = list(self._all())
        if not links:
            return
        if self.current in links:
            number = (links.index(self.current) + by) % len(links)
        else:  # the first that is in sight or below it
            first = self._column.index_at(self._transcript.shown_band()[0]) or 0
            number = next((at for at, link in enumerate(links) if link.place.item >= first), 0)
        link = links[number]
        self._transcript.setFocus()
        self._transcript.reveal(link.place)
        self._transcript.selecting.select(link.place, Place(link.place.item, link.place.area, link.place.part, link.end))
        self.current = link

    @Slot()
    def _selected(self) -> None:
        self.current = None  # something else is selected now

    def _all(self) -> Iterator[Link]:
        for number, item in enumerate(self._column.items):
            text = item.text
            if item.kind != "reply" or "://" not in text:
                continue
            source = StreamingMarkdown()
            source.append(clean(text))
            blocks = source.blocks
            for part_number, part in enumerate(parts(blocks)):
                at = 0
                for block in blocks[part.first : part.first + part.count]:
                    for first, last, address in _links(block):
                        yield Link(Place(number, 1, part_number, at + first), at + last, address)
                    at += units(plain(block)) + 1


def _links(block: Block) -> Iterator[tuple[int, int, str]]:
    """Of a block: first offset, the one after the last, and address. In a table the offsets are cells."""
    if isinstance(block, Text):
        yield from _in_spans(block.spans)
    elif isinstance(block, Table):
        cells = (cell for row in block.rows for cell in row)
        for number, cell in enumerate(cells):
            for _, _, address in _in_spans(cell):
                yield number, number, address


def _in_spans(spans: tuple[Span, ...]) -> Iterator[tuple[int, int, str]]:
    """Neighbours with one address, in other looks, are one link."""
    at = 0
    begun: tuple[int, str] | None = None
    for span in (*spans, Span("")):
        if begun is not None and span.link != begun[1]:
            yield begun[0], at, begun[1]
            begun = None
        if span.link and begun is None:
            begun = at, span.link
        at += 1 if span.math else units(span.text)
