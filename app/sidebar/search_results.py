"""The results of a search: the chat's title and the text around each hit."""

import re

from PySide6.QtCore import QDateTime, QLocale, QModelIndex, QPersistentModelIndex, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QKeyEvent, QMouseEvent, QPainter, QPen, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QAbstractItemView, QListView, QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from app.conversations.store import ChatSummary, SearchHit
from app.language import tr
from app.widgets.controls import as_tooltip
from app.widgets.theme import Theme

_SIGNS = re.compile(r"\*\*|`+|(?:(?<=\s)|^)#{2,6} ")
HIT = Qt.ItemDataRole.UserRole
TITLE = Qt.ItemDataRole.UserRole + 1
WHEN = Qt.ItemDataRole.UserRole + 2


class SearchResults(QListView):
    """Opens a hit on a click or Enter."""

    opened = Signal(str, str)  # chat and message id; the message is empty for a hit in the title

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = QStandardItemModel(self)
        self.setModel(self._model)
        self.setItemDelegate(_Delegate(theme, self))
        self.setAccessibleName(tr("Search results"))
        self.setFrameShape(QListView.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setUniformItemSizes(True)
        self.setMouseTracking(True)
        theme.changed.connect(self.viewport().update)
        theme.text_resized.connect(self.doItemsLayout)

    def show_hits(self, found: list[tuple[ChatSummary, SearchHit]]) -> None:
        """Show chats with their hits. Chats with the same title also show their date."""
        self._model.clear()
        ids: dict[str, set[str]] = {}
        for entry, _ in found:
            ids.setdefault(entry.title, set()).add(entry.id)
        for entry, hit in found:
            title, when = entry.title, _when(entry.changed) if len(ids[entry.title]) > 1 else ""
            excerpt = "".join(_parts(hit))
            item = QStandardItem(f"{title}, {when}: {excerpt}" if when else f"{title}: {excerpt}")  # for screen readers
            item.setData(hit, HIT)
            item.setData(title, TITLE)
            item.setData(when, WHEN)
            item.setEditable(False)
            item.setToolTip(as_tooltip(excerpt))
            self._model.appendRow(item)
        self.scrollToTop()

    def hits(self) -> list[SearchHit]:
        """All shown hits."""
        return [self._model.item(row).data(HIT) for row in range(self._model.rowCount())]

    def open_row(self, row: int) -> None:
        index = self._model.index(row, 0)
        if index.isValid():
            self.setCurrentIndex(index)
            hit: SearchHit = index.data(HIT)
            self.opened.emit(hit.chat, hit.message)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self.open_row(max(0, self.currentIndex().row()))
            return
        super().keyPressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        index = self.indexAt(event.position().toPoint())
        if event.button() == Qt.MouseButton.LeftButton and index.isValid():
            self.open_row(index.row())


class _Delegate(QStyledItemDelegate):
    def __init__(self, theme: Theme, view: SearchResults) -> None:
        super().__init__(view)
        self._theme = theme
        self._view = view

    def sizeHint(self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> QSize:
        return QSize(0, self._theme.row_height(lines=2))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex) -> None:
        colors = self._theme.colors
        hit: SearchHit = index.data(HIT)
        area = QRectF(option.rect).adjusted(8, 1, -8, -1)
        state = option.state
        chosen = bool(state & QStyle.StateFlag.State_Selected)
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if chosen or state & QStyle.StateFlag.State_MouseOver:
            focused = chosen and self._view.hasFocus()
            painter.setPen(QPen(QColor(colors.accent), 1.5) if focused else Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colors.chosen if chosen else colors.hover))
            painter.drawRoundedRect(area, 7, 7)
        inner = area.adjusted(10, 7, -10, -7)
        room = inner.width()
        if when := index.data(WHEN):
            painter.setFont(self._theme.small())
            painter.setPen(QColor(colors.secondary))
            painter.drawText(inner, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight, when)
            room -= _width(painter.font(), when) + 8
        painter.setFont(self._theme.list_font())
        painter.setPen(QColor(colors.text))
        title = painter.fontMetrics().elidedText(index.data(TITLE), Qt.TextElideMode.ElideRight, int(room))
        painter.drawText(inner, Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft, title)
        self._paint_excerpt(painter, inner, hit)
        painter.restore()

    def _paint_excerpt(self, painter: QPainter, area: QRectF, hit: SearchHit) -> None:
        """Draw the text around the hit, keeping the hit visible."""
        plain, bold = self._theme.small(), self._theme.small(bold=True)
        head, body, tail = _parts(hit)
        room = area.width() - min(_width(bold, body), area.width())
        metrics = QFontMetricsF(plain)
        head = metrics.elidedText(head.lstrip(), Qt.TextElideMode.ElideLeft, room * (0.5 if tail else 1.0))
        x = area.left()
        for text, font, color in (
            (head, plain, self._theme.colors.secondary),
            (body, bold, self._theme.colors.text),
            (tail, plain, self._theme.colors.secondary),
        ):
            left = area.right() - x
            if not text or left <= 0:
                continue
            painter.setFont(font)
            painter.setPen(QColor(color))
            shown = QFontMetricsF(font).elidedText(text, Qt.TextElideMode.ElideRight, left)
            painter.drawText(
                QRectF(x, area.top(), left, area.height()), Qt.AlignmentFlag.AlignBottom | Qt.AlignmentFlag.AlignLeft, shown
            )
            x += _width(font, shown)


def _parts(hit: SearchHit) -> tuple[str, str, str]:
    """Return the text before the hit, the hit, and the text after it."""
    text = hit.excerpt
    return without_markup(text[: hit.start]), text[hit.start : hit.end], without_markup(text[hit.end :])


def without_markup(text: str) -> str:
    """Remove Markdown signs around words; an excerpt is too short to parse."""
    return _SIGNS.sub("", text)


def _when(seconds: float) -> str:
    """Format a date and time; `seconds` since 1970."""
    return QLocale().toString(QDateTime.fromSecsSinceEpoch(int(seconds)), QLocale.FormatType.ShortFormat)


def _width(font: QFont, text: str) -> float:
    return QFontMetricsF(font).horizontalAdvance(text)
