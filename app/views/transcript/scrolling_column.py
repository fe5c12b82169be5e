"""A scrolling column of messages that keeps the visible text in place."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QPoint, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QScrollArea, QWidget

from app.rendering.blocks_view import BlocksView
from app.rendering.lazy_stack import StackEntry
from app.views.transcript.call_card import CARD_PARTS
from app.views.transcript.cut_view import CutView
from app.views.transcript.message_column import MessageColumn, TextPosition, TranscriptItem
from app.views.transcript.message_view import GAP
from app.views.transcript.message_views import PromptView, ReplyView
from app.views.transcript.welcome import Welcome
from app.widgets.style_sheet import SCROLL_BAR
from app.widgets.theme import COLUMN, MARGIN, Theme

NEAR_END = 24  # pixels; closer to the end counts as the end
PADDING = 28  # above and below the column
AHEAD = 500  # pixels to build above and below the visible area
MAX_PASSES = 6


class FollowingScrollArea(QScrollArea):
    """A scroll area that follows the end of its content until the user scrolls away."""

    follow_changed = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.following = True
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # Always on, although mostly invisible: showing and hiding the bar would move the column.
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        bar = self.verticalScrollBar()
        bar.setSingleStep(24)
        bar.setEnabled(False)
        bar.rangeChanged.connect(self._range_changed)
        bar.valueChanged.connect(self._scrolled)

    @Slot()
    def follow(self) -> None:
        """Go to the end and stay there."""
        self._set_following(True)
        self._go_to_end()

    def stop_following(self) -> None:
        self._set_following(False)

    @Slot(int, int)
    def _range_changed(self, low: int, high: int) -> None:
        self.verticalScrollBar().setEnabled(high > low)  # a disabled bar isn't drawn
        if self.following:
            self._go_to_end()

    def _go_to_end(self) -> None:
        self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())

    @Slot(int)
    def _scrolled(self, value: int) -> None:
        self._set_following(value >= self.verticalScrollBar().maximum() - NEAR_END)

    def _set_following(self, following: bool) -> None:
        if following != self.following:
            self.following = following
            self.follow_changed.emit(following)


@dataclass(slots=True)
class _Anchor:
    """A point `down` pixels below the start or end of a message, or of a part."""

    entry: StackEntry
    down: int
    area: BlocksView | None = None
    part: StackEntry | None = None
    from_end: bool = False


class ScrollingColumn(FollowingScrollArea):
    """A scroll area with messages or the welcome page."""

    def __init__(self, theme: Theme, make_view: Callable[[TranscriptItem], QWidget], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settling = False
        self.setWidgetResizable(False)
        self._page = QWidget()
        self.welcome = Welcome(theme, self._page)
        self.column = MessageColumn(theme, make_view, self._page)
        self.column.layout_requested.connect(self._lay_out_again)
        self.setWidget(self._page)

    @Slot()
    def follow(self) -> None:
        """Go to the end and stay there."""
        self._set_following(True)
        self.settle()

    def visible_band(self) -> tuple[int, int]:
        """Return the top and bottom of the visible area in the column's coordinates."""
        top = self.verticalScrollBar().value() - PADDING
        return top, top + self.viewport().height()

    @property
    def first_visible(self) -> int:
        """The index of the first visible message."""
        return self.column.index_at(self.visible_band()[0]) or 0

    def set_top_inset(self, height: int) -> None:
        """Reserve space at the top for a bar, which covers no text."""
        self.setViewportMargins(0, height, 0, 0)
        self.settle()

    def go_to_message(self, index: int) -> None:
        """Scroll the start of a message to the top."""
        self._set_following(False)
        for _ in range(3):
            self.settle()
            self.verticalScrollBar().setValue(max(0, self.column.entries[index].top + PADDING - MARGIN))
        self._scrolled(self.verticalScrollBar().value())  # no signal came if the value is as before

    def reveal(self, position: TextPosition) -> None:
        """Scroll a text position into view, unfolding its message."""
        self.go_to_message(position.item)
        view = self.column.entries[position.item].view
        if isinstance(view, PromptView) and view.folded:
            view.show_all()
            self.column.changed(position.item)
            self.column.update_marks(position.item)
        if isinstance(view, ReplyView | CutView):
            view.unfold(position.area)
            self.column.changed(position.item)
        if (card := self.column.card_at(position)) is not None:
            card.reveal(position.part % CARD_PARTS, position.offset)
            self.column.changed(position.item)
        self.settle()
        for _ in range(4):  # building views can change heights
            rect = self.column.rect_of(position)
            top = rect.top() if rect is not None else self.column.part_top(position)
            if top is None:
                return
            bar = self.verticalScrollBar()
            inside = PADDING + top - bar.value()
            if rect is not None and 8 <= inside <= self.viewport().height() - 80:
                return
            bar.setValue(max(0, PADDING + top - self.viewport().height() // 3))
            self.settle()

    def settle(self) -> None:
        """Lay out everything, and keep the visible text in place."""
        if self._settling:
            return
        self._settling = True
        bar = self.verticalScrollBar()
        size = self.viewport().size()
        width = max(80, min(COLUMN, size.width() - 2 * MARGIN))
        empty = self._empty
        anchor = None if self.following else self._anchor()
        for _ in range(MAX_PASSES):
            total = self.column.fit(width)
            height = total + PADDING + PADDING + (self.welcome.height_for(width) + GAP if empty else 0)
            self._page.resize(size.width(), max(height, size.height()))
            at = QPoint((size.width() + SCROLL_BAR - width) // 2, self._page.height() - total - PADDING if empty else PADDING)
            self.column.setGeometry(at.x(), at.y(), width, max(total, 1))
            if self.following:
                self._go_to_end()
            elif anchor is not None:
                bar.setValue(PADDING + self._height_of(anchor))
            top, bottom = self.visible_band()
            if not self.column.show_band(top - AHEAD, bottom + AHEAD):
                break
        self.welcome.setVisible(empty)
        if empty:
            self.welcome.setGeometry(at.x(), 0, width, max(1, self._page.height() - total - PADDING - (GAP if total else 0)))
        self._settling = False

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.settle()

    @property
    def _empty(self) -> bool:
        return not any(item.turn is not None for item in self.column.items)

    def _go_to_end(self) -> None:
        """Go to the end of a chat. An empty chat begins at the top of the welcome page."""
        if not self._empty:
            super()._go_to_end()
        elif self.welcome.isHidden():
            self.verticalScrollBar().setValue(0)

    @Slot()
    def _lay_out_again(self) -> None:
        if self._settling:
            return
        for index, entry in enumerate(self.column.entries):
            if entry.view is not None:
                self.column.changed(index)
        self.settle()

    def _anchor(self) -> _Anchor | None:
        """Return the text at the top of the visible area."""
        top = self.visible_band()[0]
        index = self.column.index_at(top)
        if index is None or top <= 0:
            return None
        entry = self.column.entries[index]
        for area in self.column.areas(index).values():
            above = area.mapTo(self.column, QPoint()).y()
            part = area.index_at(top - above)
            if above <= top < above + area.height() and part is not None:
                return _Anchor(entry, top - above - area.entries[part].top, area, area.entries[part])
            if top >= above + area.height():  # below the text, whose height can still change
                return _Anchor(entry, top - entry.top - entry.height, from_end=True)
        return _Anchor(entry, top - entry.top)

    def _height_of(self, anchor: _Anchor) -> int:
        if anchor.area is None or anchor.part is None or anchor.entry.view is None:
            return anchor.entry.top + anchor.down + (anchor.entry.height if anchor.from_end else 0)
        return anchor.area.mapTo(self.column, QPoint()).y() + anchor.part.top + anchor.down

    @Slot(int)
    def _scrolled(self, value: int) -> None:
        if not self._settling:
            super()._scrolled(value)
            self.settle()
