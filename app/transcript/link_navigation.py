"""Go from link to link by keyboard. Enter shows the address of the current link before it is opened."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from PySide6.QtCore import QObject, QPoint, Slot

from app.rendering.blocks import Block, TableBlock, TextBlock, TextSpan, document_parts, plain_text, qt_length
from app.transcript.message_column import TextPosition
from app.transcript.message_views import ANSWER
from app.transcript.scrolling_column import ScrollingColumn
from app.transcript.selection import TextSelection
from app.widgets.link import show_link


@dataclass(frozen=True, slots=True)
class FoundLink:
    """The position of a link, the offset of its end, and its address."""

    position: TextPosition
    end: int
    address: str


class LinkNavigator(QObject):
    """Steps through the links of all replies, built or not, around at the ends. The current link is selected."""

    def __init__(self, view: ScrollingColumn, selection: TextSelection) -> None:
        super().__init__(view)
        self._view = view
        self._selection = selection
        self.current: FoundLink | None = None
        selection.changed.connect(self._clear)

    @Slot()
    def go_to_next(self) -> None:
        self._step(1)

    @Slot()
    def go_to_previous(self) -> None:
        self._step(-1)

    def show_current(self) -> bool:
        """Show the menu of the current link. Return whether there is one."""
        if self.current is None:
            return False
        rect = self._view.column.rect_of(self.current.position)
        corner = rect.bottomLeft() if rect is not None else QPoint()
        menu = show_link(self._view, self.current.address, self._view.column.mapToGlobal(corner))
        if menu is not None:
            menu.setActiveAction(next(action for action in menu.actions() if action.isEnabled() and not action.isSeparator()))
        return menu is not None

    def _step(self, by: int) -> None:
        links = list(self._links())
        if not links:
            return
        if self.current in links:
            number = (links.index(self.current) + by) % len(links)
        else:
            first = self._view.first_visible
            number = next((number for number, link in enumerate(links) if link.position.item >= first), 0)
        link = links[number]
        self._view.setFocus()
        self._view.reveal(link.position)
        self._selection.select(link.position, replace(link.position, offset=link.end))
        self.current = link

    @Slot()
    def _clear(self) -> None:
        self.current = None  # something else is selected

    def _links(self) -> Iterator[FoundLink]:
        for number, item in enumerate(self._view.column.items):
            if item.kind != "reply" or "://" not in item.text():
                continue
            blocks = item.blocks(ANSWER)
            for part_number, part in enumerate(document_parts(blocks)):
                at = 0
                for block in blocks[part.first : part.end]:
                    for first, last, address in _block_links(block):
                        yield FoundLink(TextPosition(number, ANSWER, part_number, at + first), at + last, address)
                    at += qt_length(plain_text(block)) + 1


def _block_links(block: Block) -> Iterator[tuple[int, int, str]]:
    """Yield the range and the address of each link in a block. In a table, ranges are cells."""
    if isinstance(block, TextBlock):
        yield from _span_links(block.spans)
    elif isinstance(block, TableBlock):
        cells = (cell for row in block.rows for cell in row)
        for number, cell in enumerate(cells):
            for _, _, address in _span_links(cell):
                yield number, number, address


def _span_links(spans: tuple[TextSpan, ...]) -> Iterator[tuple[int, int, str]]:
    """Adjacent spans with the same address, in different styles, are one link."""
    start = at = 0
    address = ""
    for span in (*spans, TextSpan("")):
        if span.link != address:
            if address:
                yield start, at, address
            start, address = at, span.link
        at += 1 if span.math else qt_length(span.text)
