"""Search in a chat, and keyboard navigation of its links."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from PySide6.QtCore import QObject, QPoint, Qt, QTimer, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QLineEdit, QWidget

from app.rendering.blocks import Block, TableBlock, TextBlock, TextSpan, document_parts, plain_text, qt_length, spans_text
from app.rendering.page_links import page_in, with_page_links
from app.rendering.text_marks import TextRange
from app.storage.chat_search import terms_of
from app.text.language import tr
from app.views.transcript.cited_pages import citable_pages
from app.views.transcript.message_column import TextPosition, TranscriptItem
from app.views.transcript.message_views import ANSWER, AREAS
from app.views.transcript.scrolling_column import ScrollingColumn
from app.views.transcript.selection import TextSelection, show_link
from app.widgets.controls import button, small_label
from app.widgets.layout import row
from app.widgets.theme import Theme, set_look

BATCH = 8  # messages searched before the event loop runs again
MAX_HITS = 2000
SPACE = 8  # pixels above and below the bar
REFRESH_MS = 400  # delay before a growing reply is searched again


@dataclass(frozen=True, slots=True)
class FindHit:
    """The position of a hit or link, the offset of its end, and a link's address."""

    position: TextPosition
    end: int
    address: str = ""


class FindBar(QFrame):
    """A find bar that searches in small batches, so that typing never waits."""

    def __init__(self, theme: Theme, view: ScrollingColumn) -> None:
        super().__init__(view)
        self._view = view
        self._column = view.column
        self.hits: list[FindHit] = []
        self.current = -1
        self._terms: list[list[str]] = []  # the words of each; a message can have any of them
        self._next = 0  # the next message to search
        self._resume_at: TextPosition | None = None  # the current hit of the previous search
        self._grown: set[TranscriptItem] = set()  # to search again
        self._search_timer = QTimer(self, interval=0)
        self._search_timer.timeout.connect(self._search_batch)
        self._refresh_timer = QTimer(self, singleShot=True, interval=REFRESH_MS)
        self._refresh_timer.timeout.connect(self._search_grown)
        set_look(self, "find")
        self.field = QLineEdit()
        self.field.setFrame(False)
        self.field.setMinimumWidth(120)
        self.field.setPlaceholderText(tr("Find in this chat"))
        self.field.setAccessibleName(tr("Find in this chat"))
        self.field.setClearButtonEnabled(True)
        self.field.textChanged.connect(self._search)
        self.count = small_label(theme, look="secondary")
        self.count.setAccessibleName(tr("Matches"))
        self.arrows = (
            button("↑", tr("Previous match"), clicked=self.find_previous),
            button("↓", tr("Next match"), clicked=self.find_next),
        )
        done = button(tr("Done"), tr("Close search"), clicked=self.close_search)
        row((self.field, 1), self.count, *self.arrows, done, spacing=4, margins=(12, 6, 6, 6), parent=self)
        self.hide()

    @Slot()
    def open_search(self) -> None:
        """Show the bar, and select the text in the field."""
        was_hidden = self.isHidden()
        self._show_bar()
        if was_hidden:
            self._search()
        self.field.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.field.selectAll()

    def find_in_message(self, words: str, index: int) -> None:
        """Mark the terms of a search in all chats, and go to the first in a message."""
        self.field.setText(words)
        self._show_bar()
        self._start([term.split() for term in sorted(terms_of(words), key=len, reverse=True)])
        self._search_message(index)
        first = self.hits[0].position if self.hits else None
        self._clear_hits()
        self._resume_at = first
        if first is not None:
            self._view.reveal(first)

    def _show_bar(self) -> None:
        self.show()
        self.place()
        self._view.set_top_inset(self.geometry().bottom() + SPACE)

    @Slot()
    def close_search(self) -> None:
        if self.isHidden():
            return
        had_focus = any(widget.hasFocus() for widget in self.findChildren(QWidget))
        self.hide()
        self._view.set_top_inset(0)
        self._terms = []
        self._search_timer.stop()
        self._clear_hits()
        if had_focus:
            self._view.setFocus()

    def place(self) -> None:
        """Move to the upper right corner of the view."""
        width = min(460, self._view.width() - 40)
        self.setGeometry(self._view.width() - width - 24, SPACE, width, self.sizeHint().height())
        self.raise_()

    def refresh(self, first: int) -> None:
        """Search the messages from the index `first` on again, after some came or went."""
        if not self._terms:
            return
        kept = bisect_left(self.hits, first, key=_item)
        if self.current >= kept:
            self._resume_at, self.current = self.hits[self.current].position, -1
        del self.hits[kept:]
        self._next = min(self._next, first)
        self._search_timer.start()
        self._mark_hits()

    def refresh_message(self, item: TranscriptItem) -> None:
        """Search a growing message again soon."""
        if self._terms:
            self._grown.add(item)
            if not self._refresh_timer.isActive():
                self._refresh_timer.start()

    @property
    def searching(self) -> bool:
        return self._search_timer.isActive()

    @Slot()
    def find_previous(self) -> None:
        self._step(-1)

    @Slot()
    def find_next(self) -> None:
        self._step(1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Handle the keys that the field ignores."""
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._step(-1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1)
        elif event.key() == Qt.Key.Key_Escape:
            self.close_search()
        else:
            super().keyPressEvent(event)

    def _step(self, by: int) -> None:
        """Go to the next (1) or previous (-1) hit, wrapping around at the ends."""
        if not self.hits:
            return
        if self.current < 0:
            first = self._view.first_visible
            self.current = next((number for number, hit in enumerate(self.hits) if hit.position.item >= first), 0)
        else:
            self.current = (self.current + by) % len(self.hits)
        self._show_count()
        self._mark_hits()
        self._view.reveal(self.hits[self.current].position)

    @Slot()
    def _search(self) -> None:
        if self.isHidden():
            return
        if self.current >= 0:
            self._resume_at = self.hits[self.current].position
        elif not self.searching:
            self._resume_at = None
        words = self.field.text().split()
        self._start([words] if words else [])

    def _start(self, terms: list[list[str]]) -> None:
        """Search for terms from the first message on."""
        self._terms = terms
        self._clear_hits()
        if terms:
            self._search_timer.start()
        else:
            self._search_timer.stop()
            self.count.setText("")

    @Slot()
    def _search_batch(self) -> None:
        searched = 0
        while self._next < len(self._column.items) and searched < BATCH and len(self.hits) < MAX_HITS:
            searched += self._search_message(self._next)
            self._next += 1
        if self._next >= len(self._column.items) or len(self.hits) >= MAX_HITS:
            self._search_timer.stop()
            if self.current < 0 and self._resume_at is not None:
                self._go_back_to(self._resume_at)
            self._mark_hits()
        self._show_count()

    @Slot()
    def _search_grown(self) -> None:
        """Search messages that have grown again, if the search has passed them."""
        grown, self._grown = self._grown, set()
        for index in [at for at, item in enumerate(self._column.items[: self._next]) if item in grown]:
            current = self.hits[self.current].position if self.current >= 0 else None
            first, end = bisect_left(self.hits, index, key=_item), bisect_right(self.hits, index, key=_item)
            after, self.hits, self.current = self.hits[end:], self.hits[:first], -1
            self._search_message(index)
            self.hits += after
            if current is not None:
                self._go_back_to(current)
        self._mark_hits()
        self._show_count()

    def _go_back_to(self, position: TextPosition) -> None:
        """Make the hit at a position the current one, if it is still there."""
        positions = [hit.position for hit in self.hits]
        self.current = positions.index(position) if position in positions else -1

    def _search_message(self, index: int) -> int:
        """Search a message and return the cost, which is 0 if the source can't match."""
        item = self._column.items[index]
        pattern = re.compile("|".join(r"\s+".join(map(re.escape, words)) for words in self._terms), re.IGNORECASE)
        cost = 0
        for area in item.areas:
            for number, shown in enumerate(item.call_texts(area)):
                cost += len(shown) // 4000
                for first, last in _ranges(pattern, shown):
                    self.hits.append(FindHit(TextPosition(index, area, number, first), last))
            text = item.text(area)
            folded = text.casefold()
            if not any(all(word.casefold() in folded for word in words) for words in self._terms):
                continue
            cost += 1 + len(text) // 4000
            blocks = item.blocks(area)
            for number, part in enumerate(document_parts(blocks)):
                for first, last in _matches(pattern, blocks[part.first : part.end]):
                    self.hits.append(FindHit(TextPosition(index, area, number, first), last))
        return cost

    def _clear_hits(self) -> None:
        self.hits, self.current, self._next, self._grown = [], -1, 0, set()
        self._enable_arrows()
        self._mark_hits()

    def _mark_hits(self) -> None:
        marked = [(hit.position.key, (hit.position.offset, hit.end)) for hit in self.hits]
        self._column.hits = {key: [part for _, part in marks] for key, marks in groupby(marked, lambda hit: hit[0])}
        self._column.current_hit = marked[self.current] if self.current >= 0 else None
        self._column.update_marks()

    def _enable_arrows(self) -> None:
        for arrow in self.arrows:
            arrow.setEnabled(bool(self.hits))

    def _show_count(self) -> None:
        self._enable_arrows()
        if not self.hits:
            self.count.setText("" if self.searching else tr("No matches"))
            return
        count = f"{len(self.hits)}{'+' if len(self.hits) >= MAX_HITS or self.searching else ''}"
        self.count.setText(tr("{place} of {count}", place=self.current + 1, count=count) if self.current >= 0 else count)


def _item(hit: FindHit) -> int:
    return hit.position.item


def _matches(pattern: re.Pattern[str], blocks: Sequence[Block]) -> Iterator[TextRange]:
    """Yield the ranges of matches in a part. In a table, ranges are cell numbers."""
    if isinstance(blocks[0], TableBlock):
        cells = plain_text(blocks[0]).split("\n")[:-1]
        yield from ((number, number) for number, cell in enumerate(cells) if pattern.search(cell))
    else:
        yield from _ranges(pattern, "\n".join(plain_text(block) for block in blocks))


def _ranges(pattern: re.Pattern[str], text: str) -> Iterator[TextRange]:
    """Yield the ranges of matches, in Qt's offsets."""
    at = offset = 0
    for match in pattern.finditer(text):
        first = offset + qt_length(text[at : match.start()])
        at, offset = match.end(), first + qt_length(match[0])
        yield first, offset


class LinkNavigator(QObject):
    """Keyboard navigation of the links in all replies."""

    def __init__(self, view: ScrollingColumn, selection: TextSelection) -> None:
        super().__init__(view)
        self._view = view
        self._selection = selection
        self.current: FindHit | None = None
        selection.changed.connect(self._clear)

    @Slot()
    def go_to_next(self) -> None:
        self._step(1)

    @Slot()
    def go_to_previous(self) -> None:
        self._step(-1)

    def show_current(self) -> bool:
        """Show the page or the menu of the current link, or return False if there is none."""
        if self.current is None:
            return False
        if page_in(self.current.address):
            self._view.column.page_requested.emit(self.current.position.item, self.current.address)
            return True
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
        self.current = None  # the selection isn't the link any more

    def _links(self) -> Iterator[FindHit]:
        for number, item in enumerate(self._view.column.items):
            if item.kind != "reply" or item.turn is None:
                continue
            pages = citable_pages(item.turn)
            for area in item.areas[ANSWER::AREAS]:
                if not pages and "://" not in item.text(area):
                    continue
                blocks = with_page_links(item.blocks(area), pages)
                for part_number, part in enumerate(document_parts(blocks)):
                    at = 0
                    for block in blocks[part.first : part.end]:
                        for first, last, address in _block_links(block):
                            yield FindHit(TextPosition(number, area, part_number, at + first), at + last, address)
                        at += qt_length(plain_text(block)) + 1


def _block_links(block: Block) -> Iterator[tuple[int, int, str]]:
    """Yield the range and address of each link. In a table, ranges are cell numbers."""
    if isinstance(block, TextBlock):
        yield from _span_links(block.spans)
    elif isinstance(block, TableBlock):
        cells = (cell for row in block.rows for cell in row)
        for number, cell in enumerate(cells):
            yield from ((number, number, address) for _, _, address in _span_links(cell))


def _span_links(spans: tuple[TextSpan, ...]) -> Iterator[tuple[int, int, str]]:
    """Yield the range and address of each link, which can have several styles."""
    at = 0
    for address, same in groupby(spans, lambda span: span.link):
        start, at = at, at + qt_length(spans_text(tuple(same)))
        if address:
            yield start, at, address
