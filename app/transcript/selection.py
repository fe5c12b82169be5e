"""One selection across all messages, copied as Markdown."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QElapsedTimer, QEvent, QObject, QPoint, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QGuiApplication, QHelpEvent, QHoverEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QToolTip

from app.rendering.markdown import clean
from app.rendering.source import between, plain_between
from app.rendering.streaming import StreamingMarkdown
from app.transcript.column import Column, Item, Place
from app.widgets.link import show_link

if TYPE_CHECKING:
    from app.transcript.transcript import Transcript

EVERYTHING = 1 << 30  # an offset behind every text
SCROLL_MS = 30
SCROLL_SHARE = 0.35  # of the distance outside the window, a step


class Selecting(QObject):
    """Listens to the mouse over the column. `start` and `end` are in the order of the text."""

    changed = Signal()

    def __init__(self, transcript: "Transcript", column: Column) -> None:
        super().__init__(column)
        self._transcript = transcript
        self._column = column
        self._anchor: tuple[Place, Place] | None = None
        self._focus: Place | None = None
        self._whole: tuple[Place, Place] | None = None
        self._pressed: QPoint | None = None
        self._dragging = False
        self._clicks = 0
        self._last_click = QElapsedTimer()
        self._scroll = QTimer(self)
        self._scroll.setInterval(SCROLL_MS)
        self._scroll.timeout.connect(self._scroll_on)
        self._mouse = QPoint()
        column.setAttribute(Qt.WidgetAttribute.WA_Hover)
        column.installEventFilter(self)

    @property
    def span(self) -> tuple[Place, Place] | None:
        """From where to where; None when nothing is selected."""
        return self._whole

    def clear(self) -> None:
        """Select nothing."""
        self._anchor = self._focus = self._whole = None
        self.refresh()
        self.changed.emit()

    def select_all(self) -> None:
        """Everything in the chat."""
        texts = [index for index, item in enumerate(self._column.items) if item.kind != "notice"]
        if texts:
            self._set(Place(texts[0], 1, 0, 0), Place(texts[-1], 1, EVERYTHING, 0))

    def select(self, start: Place, end: Place) -> None:
        """What lies between two places."""
        self._anchor = start, end
        self._set(start, end)

    def markdown(self) -> str:
        """What is selected, as Markdown."""
        if self._whole is None:
            return ""
        start, end = self._whole
        pieces = [self._piece(index, start, end) for index in range(start.item, min(end.item + 1, len(self._column.items)))]
        return "\n\n".join(piece for piece in pieces if piece)

    def copy(self) -> None:
        """Put what is selected on the clipboard."""
        if text := self.markdown():
            QGuiApplication.clipboard().setText(text)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        match event.type():
            case QEvent.Type.MouseButtonPress | QEvent.Type.MouseButtonDblClick if isinstance(event, QMouseEvent):
                return self._press(event)
            case QEvent.Type.MouseMove if isinstance(event, QMouseEvent) and event.buttons() & Qt.MouseButton.LeftButton:
                self._drag(event.position().toPoint())
                return True
            case QEvent.Type.MouseButtonRelease if isinstance(event, QMouseEvent):
                return self._release(event)
            case QEvent.Type.HoverMove if isinstance(event, QHoverEvent):
                self._hover(event.position().toPoint())
            case QEvent.Type.ToolTip if isinstance(event, QHelpEvent):
                QToolTip.showText(event.globalPos(), self._column.link_at(event.pos()), self._column)
                return True
        return False

    def _press(self, event: QMouseEvent) -> bool:
        if event.button() != Qt.MouseButton.LeftButton:
            return False
        point = event.position().toPoint()
        quick = self._last_click.isValid() and self._last_click.elapsed() < QApplication.doubleClickInterval()
        near = self._pressed is not None and (point - self._pressed).manhattanLength() < 6
        self._clicks = self._clicks + 1 if quick and near else 1
        self._last_click.start()
        self._pressed, self._dragging = point, False
        self._transcript.setFocus(Qt.FocusReason.MouseFocusReason)
        place = self._column.place_at(point)
        if place is None:
            return True
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier and self._anchor is not None:
            self._extend(place)
        elif self._clicks > 1 and self._column.text_at(point):
            self._anchor = self._around(place, paragraph=self._clicks > 2)
            self._set(*self._anchor)
        else:
            self.clear()
            self._anchor = place, place
        return True

    def _drag(self, point: QPoint) -> None:
        self._mouse = point
        if not self._dragging and self._pressed is not None:
            self._dragging = (point - self._pressed).manhattanLength() >= QApplication.startDragDistance() // 2
        if not self._dragging:
            return
        place = self._column.place_at(point)
        if place is not None:
            self._extend(place)
        shown = self._transcript.shown_band()
        outside = point.y() < shown[0] or point.y() > shown[1]
        if outside != self._scroll.isActive():
            self._scroll.start() if outside else self._scroll.stop()

    @Slot()
    def _scroll_on(self) -> None:
        """The mouse is held outside the window: go on selecting there."""
        top, bottom = self._transcript.shown_band()
        distance = min(0, self._mouse.y() - top) + max(0, self._mouse.y() - bottom)
        bar = self._transcript.verticalScrollBar()
        before = bar.value()
        bar.setValue(before + round(distance * SCROLL_SHARE))
        self._drag(self._mouse + QPoint(0, bar.value() - before))

    def _release(self, event: QMouseEvent) -> bool:
        if event.button() != Qt.MouseButton.LeftButton:
            return False
        self._scroll.stop()
        if not self._dragging and self._clicks == 1 and (link := self._column.link_at(event.position().toPoint())):
            show_link(self._transcript, link, event.globalPosition().toPoint())
        self._dragging = False
        return True

    def _hover(self, point: QPoint) -> None:
        link = self._column.link_at(point)
        shapes = Qt.CursorShape
        shape = shapes.PointingHandCursor if link else shapes.IBeamCursor if self._column.text_at(point) else shapes.ArrowCursor
        if self._column.cursor().shape() != shape:
            self._column.setCursor(shape)

    def _around(self, place: Place, paragraph: bool) -> tuple[Place, Place]:
        found = self._column.part_at(place)
        if found is None:
            return place, place
        first, last = found[1].word_at(place.offset, paragraph)
        return Place(place.item, place.area, place.part, first), Place(place.item, place.area, place.part, last)

    def _extend(self, place: Place) -> None:
        first, last = self._anchor or (place, place)
        if self._clicks > 1:
            word = self._around(place, paragraph=self._clicks > 2)
            self._set(min(first, word[0]), max(last, word[1]))
        else:
            self._set(min(first, place), max(last, place))

    def _set(self, start: Place, end: Place) -> None:
        self._whole = (start, end)
        self.refresh()
        self.changed.emit()

    # What of an item is selected

    def refresh(self) -> None:
        """Items have come or grown: show the selection anew."""
        self._transcript.lay_marks()

    def stretch(self, index: int, area: int, part: int) -> tuple[int, int] | None:
        """What of a part is selected."""
        if self._whole is None:
            return None
        start, end = self._whole
        here, first, last = (index, area, part), (start.item, start.area, start.part), (end.item, end.area, end.part)
        if not first <= here <= last:
            return None
        return start.offset if here == first else 0, end.offset if here == last else EVERYTHING

    def _piece(self, index: int, start: Place, end: Place) -> str:
        item = self._column.items[index]
        if item.kind == "notice" or item.turn is None:
            return ""
        pieces = []
        if item.kind == "reply" and item.turn.reply.thinking and _covers(start, end, index, 0) and self._thoughts_open(index):
            pieces.append(_text(item, item.turn.reply.thinking, index, 0, start, end))
        if _covers(start, end, index, 1):
            pieces.append(_text(item, item.text, index, 1, start, end))
        return "\n\n".join(piece for piece in pieces if piece)

    def _thoughts_open(self, index: int) -> bool:
        found = self._column.part_at(Place(index, 0, 0, 0))
        return found is not None and found[0].isVisibleTo(self._column)


def _covers(start: Place, end: Place, index: int, area: int) -> bool:
    return (start.item, start.area) <= (index, area) <= (end.item, end.area)


def _text(item: Item, text: str, index: int, area: int, start: Place, end: Place) -> str:
    text = clean(text)
    first = (start.part, start.offset) if (start.item, start.area) == (index, area) else (0, 0)
    last = (end.part, end.offset) if (end.item, end.area) == (index, area) else (EVERYTHING, 0)
    if first == (0, 0) and last[0] == EVERYTHING:
        return text.strip("\n")
    if item.kind == "prompt":
        return plain_between(text, first, last)
    source = StreamingMarkdown()
    source.append(text)
    return between(text, source, first, last)
