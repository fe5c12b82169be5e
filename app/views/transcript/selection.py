"""A text selection across messages, copied as Markdown, and menus for links."""

from PySide6.QtCore import QElapsedTimer, QEvent, QObject, QPoint, Qt, QTimer, QUrl, Signal, Slot
from PySide6.QtGui import QGuiApplication, QHelpEvent, QHoverEvent, QMouseEvent
from PySide6.QtWidgets import QApplication, QMenu, QToolTip, QWidget

from app.rendering.clipboard import copy_markdown
from app.rendering.markdown import clean_text, is_safe_link
from app.rendering.markdown_writer import selected_markdown, selected_plain_text
from app.rendering.page_links import link_tip, page_in
from app.rendering.streaming import StreamingMarkdown
from app.text.language import tr
from app.views.transcript.message_column import END_OFFSET, TextPosition
from app.views.transcript.message_views import ANSWER
from app.views.transcript.scrolling_column import ScrollingColumn
from app.widgets.browser import open_in_browser
from app.widgets.controls import as_tooltip

MAX_SHOWN = 70  # characters of an address in the menu; the tooltip shows the full address
SCROLL_MS = 30
SCROLL_SHARE = 0.35  # share of the distance outside the window to scroll per step


class TextSelection(QObject):
    """The text selection in a transcript, and the mouse events that change it."""

    changed = Signal()

    def __init__(self, view: ScrollingColumn) -> None:
        super().__init__(view)
        self._view = view
        self._column = view.column
        self._anchor: tuple[TextPosition, TextPosition] | None = None  # the initial selection, which is extended
        self._pressed: QPoint | None = None
        self._dragging = False
        self._clicks = 0
        self._last_click = QElapsedTimer()
        self._mouse = QPoint()
        self._scroll = QTimer(self, interval=SCROLL_MS)
        self._scroll.timeout.connect(self._scroll_on)
        self._column.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self._column.installEventFilter(self)

    @property
    def range(self) -> tuple[TextPosition, TextPosition] | None:
        """The start and end in text order, or None if nothing is selected."""
        return self._column.selection

    def clear(self) -> None:
        self._anchor = None
        self._set(None)

    def select(self, start: TextPosition, end: TextPosition) -> None:
        self._anchor = start, end
        self._set((start, end))

    def select_all(self) -> None:
        texts = [index for index, item in enumerate(self._column.items) if item.kind != "cut"]
        if texts:
            last = self._column.items[texts[-1]].areas[-1]
            self._set((TextPosition(texts[0], ANSWER, 0, 0), TextPosition(texts[-1], last, END_OFFSET, 0)))

    def _set(self, selected: tuple[TextPosition, TextPosition] | None) -> None:
        self._column.selection = selected
        self._column.update_marks()
        self.changed.emit()

    # Copying

    def copy(self) -> None:
        if text := self.markdown():
            copy_markdown(text)

    def markdown(self) -> str:
        if self.range is None:
            return ""
        start, end = self.range
        last = min(end.item + 1, len(self._column.items))
        items = self._column.items
        texts = [self._selected_text(index, area) for index in range(start.item, last) for area in items[index].areas]
        return "\n\n".join(text for text in texts if text)

    def _selected_text(self, index: int, area: int) -> str:
        assert self.range is not None
        start, end = self.range
        item = self._column.items[index]
        text = clean_text(item.text(area))
        if not text or not (start.item, start.area) <= (index, area) <= (end.item, end.area):
            return ""
        if item.folds(area) and not ((view := self._column.areas(index).get(area)) and view.isVisibleTo(self._column)):
            return ""
        first = (start.part, start.offset) if (start.item, start.area) == (index, area) else (0, 0)
        last = (end.part, end.offset) if (end.item, end.area) == (index, area) else (END_OFFSET, 0)
        if first == (0, 0) and last[0] == END_OFFSET:
            return text.strip("\n")
        if item.kind == "prompt":
            return selected_plain_text(text, first, last)
        return selected_markdown(text, StreamingMarkdown(text), first, last)

    # The mouse

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        match event.type():
            case QEvent.Type.MouseButtonPress | QEvent.Type.MouseButtonDblClick if isinstance(event, QMouseEvent):
                return self._press(event)
            case QEvent.Type.MouseMove if isinstance(event, QMouseEvent) and event.buttons() & Qt.MouseButton.LeftButton:
                self.drag_to(event.position().toPoint())
                return True
            case QEvent.Type.MouseButtonRelease if isinstance(event, QMouseEvent):
                return self._release(event)
            case QEvent.Type.HoverMove if isinstance(event, QHoverEvent):
                self._hover(event.position().toPoint())
            case QEvent.Type.ToolTip if isinstance(event, QHelpEvent):
                tip = as_tooltip(link_tip(self._column.link_at(event.pos())))
                QToolTip.showText(event.globalPos(), tip, self._column)
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
        self._view.setFocus(Qt.FocusReason.MouseFocusReason)
        position = self._column.position_at(point)
        if position is None:
            return True
        if event.modifiers() & Qt.KeyboardModifier.ShiftModifier and self._anchor is not None:
            self._extend(position)
        elif self._clicks > 1 and self._column.has_text_at(point):
            self.select(*self._column.word_at(position, paragraph=self._clicks > 2))
        else:
            self.clear()
            self._anchor = position, position
        return True

    def drag_to(self, point: QPoint) -> None:
        self._mouse = point
        if not self._dragging and self._pressed is not None:
            self._dragging = (point - self._pressed).manhattanLength() >= QApplication.startDragDistance() // 2
        if not self._dragging:
            return
        position = self._column.position_at(point)
        if position is not None:
            self._extend(position)
        top, bottom = self._view.visible_band()
        outside = point.y() < top or point.y() > bottom
        if outside != self._scroll.isActive():
            self._scroll.start() if outside else self._scroll.stop()

    @Slot()
    def _scroll_on(self) -> None:
        """Scroll and extend the selection while the mouse is held outside the window."""
        top, bottom = self._view.visible_band()
        distance = min(0, self._mouse.y() - top) + max(0, self._mouse.y() - bottom)
        bar = self._view.verticalScrollBar()
        before = bar.value()
        bar.setValue(before + round(distance * SCROLL_SHARE))
        self.drag_to(self._mouse + QPoint(0, bar.value() - before))

    def _release(self, event: QMouseEvent) -> bool:
        if event.button() != Qt.MouseButton.LeftButton:
            return False
        self._scroll.stop()
        if not self._dragging and self._clicks == 1 and (link := self._column.link_at(event.position().toPoint())):
            self._open_link(link, event)
        self._dragging = False
        return True

    def _open_link(self, link: str, event: QMouseEvent) -> None:
        index = self._column.index_at(event.position().toPoint().y())
        if page_in(link) and index is not None:
            self._column.page_requested.emit(index, link)
        else:
            show_link(self._view, link, event.globalPosition().toPoint())

    def _hover(self, point: QPoint) -> None:
        link = self._column.link_at(point)
        shapes = Qt.CursorShape
        shape = shapes.PointingHandCursor if link else shapes.IBeamCursor if self._column.has_text_at(point) else shapes.ArrowCursor
        if self._column.cursor().shape() != shape:
            self._column.setCursor(shape)

    def _extend(self, position: TextPosition) -> None:
        """Extend the selection to a position, or to its word or paragraph."""
        first, last = self._anchor or (position, position)
        start, end = (position, position) if self._clicks < 2 else self._column.word_at(position, paragraph=self._clicks > 2)
        self._set((min(first, start), max(last, end)))


def show_link(owner: QWidget, address: str, at: QPoint) -> QMenu | None:
    """Show a menu to open or copy an address, or return None if it is unsafe."""
    if not is_safe_link(address):
        return None
    menu = QMenu(owner)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    menu.setAccessibleName(tr("Link"))
    menu.setToolTipsVisible(True)
    shown = address if len(address) <= MAX_SHOWN else f"{address[: MAX_SHOWN - 20]}…{address[-19:]}"
    title = menu.addAction(shown.replace("&", "&&"))
    title.setEnabled(False)
    title.setToolTip(as_tooltip(address))
    menu.addSeparator()
    menu.addAction(tr("Open in Browser")).triggered.connect(lambda: open_in_browser(QUrl(address), owner))
    menu.addAction(tr("Copy Link")).triggered.connect(lambda: QGuiApplication.clipboard().setText(address))
    menu.popup(at)
    return menu
