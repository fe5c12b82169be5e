"""The column of a chat's messages, with text positions and marks."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from PySide6.QtCore import QEvent, QPoint, QRect, Signal
from PySide6.QtWidgets import QWidget

from app.rendering.blocks import Block, plain_text_blocks
from app.rendering.blocks_view import BlocksView, PartView
from app.rendering.lazy_stack import LazyStack
from app.rendering.markdown import clean_text
from app.rendering.streaming import StreamingMarkdown
from app.rendering.text_marks import TextMarks, TextRange
from app.storage.chat_tree import Node, Turn
from app.views.pictures.picture_row import guess_height, pictures_of
from app.views.transcript.call_card import CARD_PARTS, CallCard, card_texts
from app.views.transcript.message_view import MessageView
from app.views.transcript.message_views import ANSWER, AREAS, CALLS, THINKING, ReplyView
from app.widgets.theme import Theme

END_OFFSET = 1 << 30  # past the end of any part


@dataclass(eq=False)
class TranscriptItem:
    """A row of the transcript: a prompt, a reply, or the line of a cut.

    Attributes:
        summary: the message whose summary replaces what is above the line.
        summarized: this summary.
    """

    kind: Literal["prompt", "reply", "cut"]
    turn: Turn | None = None
    summary: Node | None = None
    summarized: str = ""

    def text(self, area: int = ANSWER) -> str:
        """Return the source text of an area."""
        if self.turn is None:
            return self.summarized if area == ANSWER else ""
        if self.kind == "prompt":
            return self.turn.prompt if area == ANSWER else ""
        step = self.turn.reply.shown_steps[area // AREAS]
        return {THINKING: step.thinking, ANSWER: step.markdown, CALLS: ""}[area % AREAS]

    def folds(self, area: int) -> bool:
        """Return whether the user can fold an area."""
        if self.kind != "reply" or self.turn is None:
            return self.kind == "cut"
        return area % AREAS == THINKING or self.turn.reply.shown_steps[area // AREAS].unreadable

    def call_texts(self, area: int) -> list[str]:
        """Return the texts of an area's cards, `CARD_PARTS` each."""
        if self.kind != "reply" or self.turn is None or area % AREAS != CALLS:
            return []
        return [text for record in self.turn.reply.shown_steps[area // AREAS].calls for text in card_texts(record)]

    @property
    def areas(self) -> range:
        """The numbers of all text areas."""
        return range(AREAS * len(self.turn.reply.shown_steps) if self.kind == "reply" and self.turn is not None else AREAS)

    def blocks(self, area: int) -> tuple[Block, ...]:
        text = clean_text(self.text(area))
        return plain_text_blocks(text) if self.kind == "prompt" else StreamingMarkdown(text).blocks


PartKey = tuple[int, int, int]  # item, area, part


@dataclass(frozen=True, order=True, slots=True)
class TextPosition:
    """An offset in one part of an area of an item."""

    item: int
    area: int
    part: int
    offset: int

    @property
    def key(self) -> PartKey:
        return self.item, self.area, self.part


class MessageColumn(LazyStack):
    """A column that builds nearby messages, and marks the selection and search hits."""

    page_requested = Signal(int, str)  # index of a reply, and the address of the page that it cites
    layout_requested = Signal()  # the size of a message has changed

    def __init__(self, theme: Theme, make_view: Callable[[TranscriptItem], QWidget], parent: QWidget) -> None:
        super().__init__(parent)
        self._theme = theme
        self._make_view = make_view
        self.items: list[TranscriptItem] = []
        self.selection: tuple[TextPosition, TextPosition] | None = None
        self.hits: dict[PartKey, list[TextRange]] = {}
        self.current_hit: tuple[PartKey, TextRange] | None = None

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self.layout_requested.emit()
        return super().event(event)

    def build(self, index: int) -> QWidget:
        view = self.entries[index].view = self._make_view(self.items[index])
        self._mark_message(index)
        return view

    def remove(self, index: int) -> None:
        super().remove(index)
        del self.items[index]

    def guess_height(self, index: int, width: int) -> int:
        item = self.items[index]
        height = self.entries[index].height
        if height:
            return height  # the last measured one
        reply = item.turn.reply if item.kind == "reply" and item.turn is not None else None
        text = (reply.answer if reply else item.text())[:200_000]
        line = self._theme.text_pixels
        lines = text.count("\n") + len(text) * line * 0.5 // max(200, width) + 2 * len(reply.calls if reply else ())
        text_height = round(lines * line * 1.5)
        if item.kind == "reply" or item.turn is None or item.turn.asked is None:
            return text_height + 70
        return text_height + 50 + guess_height(pictures_of(item.turn.asked.attachments), width)

    # Marks

    def update_marks(self, only: int | None = None) -> None:
        """Show the selection and search hits in all built messages or in one."""
        for index in range(len(self.items)) if only is None else (only,):
            self._mark_message(index)

    def _mark_message(self, index: int) -> None:
        for area, blocks in self.areas(index).items():
            blocks.marks_of = partial(self._marks_of, index, area)
            blocks.update_marks()
        view = self.entries[index].view
        for number, step in enumerate(view.steps if isinstance(view, ReplyView) else ()):
            for place, card in enumerate(step.cards):
                parts = range(CARD_PARTS * place, CARD_PARTS * (place + 1))
                card.show_marks([self._marks_of(index, AREAS * number + CALLS, part) for part in parts])

    def _marks_of(self, item: int, area: int, part: int) -> TextMarks:
        key = (item, area, part)
        selected: tuple[TextRange, ...] = ()
        if self.selection is not None and self.selection[0].key <= key <= self.selection[1].key:
            start, end = self.selection
            selected = ((start.offset if key == start.key else 0, end.offset if key == end.key else END_OFFSET),)
        current = self.current_hit[1] if self.current_hit is not None and self.current_hit[0] == key else None
        return TextMarks(selected, tuple(self.hits.get(key, ())), current)

    # Positions

    def areas(self, index: int) -> dict[int, BlocksView]:
        """Return the text areas of a message, or an empty dict if it isn't built."""
        view = self.entries[index].view
        return view.areas() if isinstance(view, MessageView) else {}

    def position_at(self, point: QPoint) -> TextPosition | None:
        """Return the text position nearest to a point."""
        index = self.index_at(point.y())
        if index is None:
            return None

        def distance(found: tuple[int, BlocksView]) -> int:
            y = found[1].mapFrom(self, point).y()
            return max(-y, y - found[1].height(), 0)

        shown = [(number, area) for number, area in self.areas(index).items() if area.isVisibleTo(self) and area.parts]
        if not shown:
            return TextPosition(index, ANSWER, 0, 0)
        number, area = min(shown, key=distance)
        inside = area.mapFrom(self, point)
        if inside.y() < 0:
            return TextPosition(index, number, 0, 0)
        part = area.index_at(inside.y()) or 0
        view = area.part_view(part)
        if view is None or inside.y() >= area.total_height:
            return TextPosition(index, number, part, area.last_offset_in(part))
        return TextPosition(index, number, part, view.position_at(view.mapFrom(area, inside)))

    def part_at(self, position: TextPosition) -> tuple[BlocksView, PartView] | None:
        """Return the area and part view at a position, or None if the part isn't built."""
        area = self.areas(position.item).get(position.area) if position.item < len(self.entries) else None
        view = area.part_view(position.part) if area is not None else None
        return (area, view) if area is not None and view is not None else None

    def word_at(self, position: TextPosition, paragraph: bool) -> tuple[TextPosition, TextPosition]:
        found = self.part_at(position)
        if found is None:
            return position, position
        first, last = found[1].word_at(position.offset, paragraph)
        return replace(position, offset=first), replace(position, offset=last)

    def link_at(self, point: QPoint) -> str:
        """Return the address of the link at a point, or an empty string."""
        for area in self._areas_at(point):
            inside = area.mapFrom(self, point)
            part = area.index_at(inside.y())
            view = area.part_view(part) if part is not None else None
            if view is not None and view.rect().contains(view.mapFrom(area, inside)):
                return view.link_at(view.mapFrom(area, inside))
        return ""

    def has_text_at(self, point: QPoint) -> bool:
        return bool(self._areas_at(point))

    def _areas_at(self, point: QPoint) -> list[BlocksView]:
        index = self.index_at(point.y())
        areas = self.areas(index).values() if index is not None else ()
        return [area for area in areas if area.isVisibleTo(self) and area.rect().contains(area.mapFrom(self, point))]

    def card_at(self, position: TextPosition) -> CallCard | None:
        """Return the built card of a call that contains a position, or None."""
        view = self.entries[position.item].view if position.item < len(self.entries) else None
        if not isinstance(view, ReplyView) or position.area % AREAS != CALLS:
            return None
        return view.steps[position.area // AREAS].cards[position.part // CARD_PARTS]

    def rect_of(self, position: TextPosition) -> QRect | None:
        """Return the rectangle of a character, or None if its part isn't built."""
        if (card := self.card_at(position)) is not None:
            rect = card.rect_of(position.part % CARD_PARTS, position.offset)
            return QRect(card.mapTo(self, rect.topLeft()), rect.size())
        found = self.part_at(position)
        if found is None:
            return None
        view = found[1]
        rect = view.rect_of(position.offset)
        return QRect(view.mapTo(self, rect.topLeft()), rect.size())

    def part_top(self, position: TextPosition) -> int | None:
        """Return the top of the part at a position, or None if the part isn't built."""
        area = self.areas(position.item).get(position.area)
        if area is None or position.part >= len(area.entries):
            return None
        return area.mapTo(self, QPoint()).y() + area.entries[position.part].top
