"""The messages of a chat below each other, and the text in them as one text that can be selected."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from PySide6.QtCore import QEvent, QPoint, QRect, Signal
from PySide6.QtWidgets import QWidget

from app.conversations.chat_tree import Turn
from app.notice import Notice
from app.rendering.blocks_view import BlocksView, PartView
from app.rendering.marks import Marks
from app.transcript.message import NoticeView, PromptView, ReplyView
from app.transcript.stack import Stack
from app.widgets.theme import Theme

GAP = 22


@dataclass(eq=False)
class Item:
    """What is shown in one row: a question, its reply, or a sentence of the app's own."""

    kind: Literal["prompt", "reply", "notice"]
    turn: Turn | None = None
    notice: NoticeView | None = None
    said: Notice | None = None  # what a notice says
    marks: dict[int, dict[int, Marks]] = field(default_factory=dict)  # by area and part

    @property
    def text(self) -> str:
        """What it says, as it was written."""
        if self.turn is None:
            return ""
        return self.turn.prompt if self.kind == "prompt" else self.turn.reply.answer


@dataclass(frozen=True, order=True, slots=True)
class Place:
    """A place in the text of a chat: number of the item, 0 for thoughts or 1 for what is said, number of the part, offset."""

    item: int
    area: int
    part: int
    offset: int


class Column(Stack):
    """Builds messages as they come into sight; `make` makes and connects the view of an item."""

    relaid = Signal()  # something in a message has changed its size by itself

    def __init__(self, theme: Theme, make: Callable[[Item], QWidget], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._make = make
        self.items: list[Item] = []

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self.relaid.emit()
        return super().event(event)

    def build(self, index: int) -> QWidget:
        item = self.items[index]
        view = self._make(item)
        for number, area in areas(view):
            area.set_marks(item.marks.get(number, {}))
        return view

    def drop(self, index: int) -> None:
        item = self.items[index]
        if item.notice is not None:
            item.notice = None

    def guess(self, index: int, width: int) -> int:
        item = self.items[index]
        height = self.entries[index].height
        if height:
            return height  # what it was when it was last seen
        text = item.text[:200_000]
        line = self._theme.text_pixels
        lines = text.count("\n") + len(text) * line * 0.5 // max(200, width)
        return round(lines * line * 1.5) + (50 if item.kind == "prompt" else 70)

    def view(self, index: int) -> QWidget | None:
        return self.entries[index].view

    # The text

    def place_at(self, point: QPoint) -> Place | None:
        """The place under a point, or the nearest in the item there."""
        index = self.index_at(point.y())
        if index is None:
            return None
        view = self.entries[index].view
        nearest: tuple[int, int, BlocksView] | None = None
        for number, area in areas(view) if view is not None else ():
            if not area.isVisibleTo(self) or not area.parts:
                continue
            top = area.mapTo(self, QPoint()).y()
            distance = max(top - point.y(), point.y() - top - area.height(), 0)
            if nearest is None or distance < nearest[0]:
                nearest = distance, number, area
        if nearest is None:
            return Place(index, 1, 0, 0)
        _, number, area = nearest
        inside = area.mapFrom(self, point)
        part = area.index_at(inside.y()) or 0
        shown = area.part_view(part)
        if inside.y() < 0:
            return Place(index, number, 0, 0)
        if shown is None or inside.y() >= area.total:
            return Place(index, number, part, area.part_length(part))
        return Place(index, number, part, shown.position_at(shown.mapFrom(area, inside)))

    def part_at(self, place: Place) -> tuple[BlocksView, PartView] | None:
        """The area and the view of the part that a place is in, while they exist."""
        view = self.entries[place.item].view if place.item < len(self.entries) else None
        for number, area in areas(view) if view is not None else ():
            if number == place.area and (shown := area.part_view(place.part)) is not None:
                return area, shown
        return None

    def link_at(self, point: QPoint) -> str:
        """The address under a point."""
        index = self.index_at(point.y())
        view = self.entries[index].view if index is not None else None
        for _, area in areas(view) if view is not None else ():
            inside = area.mapFrom(self, point)
            part = area.index_at(inside.y()) if area.rect().contains(inside) else None
            shown = area.part_view(part) if part is not None else None
            if shown is not None and shown.rect().contains(shown.mapFrom(area, inside)):
                return shown.link_at(shown.mapFrom(area, inside))
        return ""

    def text_at(self, point: QPoint) -> bool:
        """Whether there is text under a point."""
        index = self.index_at(point.y())
        view = self.entries[index].view if index is not None else None
        return view is not None and any(
            area.isVisibleTo(self) and area.rect().contains(area.mapFrom(self, point)) for _, area in areas(view)
        )

    def rect_of(self, place: Place) -> QRect | None:
        """Where the character at a place stands; None while it is not built."""
        found = self.part_at(place)
        if found is None:
            return None
        shown = found[1]
        rect = shown.rect_of(place.offset)
        return QRect(shown.mapTo(self, rect.topLeft()), rect.size())

    def set_marks(self, index: int, marks: dict[int, dict[int, Marks]]) -> None:
        """Selection and hits of an item, by area and part."""
        item = self.items[index]
        if item.marks == marks:
            return
        item.marks = marks
        view = self.entries[index].view
        for number, area in areas(view) if view is not None else ():
            area.set_marks(marks.get(number, {}))


def areas(view: QWidget | None) -> Iterator[tuple[int, BlocksView]]:
    """The texts of a message with their numbers: 0 for thoughts, 1 for what is said."""
    if isinstance(view, PromptView | ReplyView):
        found = view.areas()
        yield from zip(range(2 - len(found), 2), found, strict=True)
