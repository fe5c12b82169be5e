"""Search results: each hit with its chat's title and the surrounding text."""

import re

from PySide6.QtCore import QDate, QDateTime, QLocale, Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QListView, QWidget

from app.storage.chat_search import SearchHit
from app.storage.store import ChatSummary
from app.text.language import tr
from app.widgets.controls import as_tooltip
from app.widgets.rows import Index, Row, RowDelegate
from app.widgets.theme import Theme

_SIGNS = re.compile(r"\*\*|`+|(?:(?<=\s)|^)#{2,6} ")
HIT = Qt.ItemDataRole.UserRole
TITLE = Qt.ItemDataRole.UserRole + 1
WHEN = Qt.ItemDataRole.UserRole + 2


class SearchResults(QListView):
    """A list of search hits, opened by a click or Return."""

    opened = Signal(str, str)  # chat id, message id (empty for a hit in the title)

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = QStandardItemModel(self)
        self.setModel(self._model)
        self.setItemDelegate(RowDelegate(theme, self, _describe))
        self.setAccessibleName(tr("Search results"))
        self.setFrameShape(QListView.Shape.NoFrame)
        self.setUniformItemSizes(True)

    def show_hits(self, found: list[tuple[ChatSummary, SearchHit]]) -> None:
        """Show chats with their hits. Equal titles also show the chat's date."""
        self._model.clear()
        ids: dict[str, set[str]] = {}
        for entry, _ in found:
            ids.setdefault(entry.title, set()).add(entry.id)
        for entry, hit in found:
            title, alone = entry.title, len(ids[entry.title]) == 1
            when, at = ("", "") if alone else (_when(entry.changed), _at(entry.changed))
            excerpt = "".join(_parts(hit))
            item = QStandardItem(f"{title}, {at}: {excerpt}" if at else f"{title}: {excerpt}")  # for screen readers
            item.setData(hit, HIT)
            item.setData(title, TITLE)
            item.setData(when, WHEN)
            item.setEditable(False)
            item.setToolTip(as_tooltip(excerpt))
            self._model.appendRow(item)
        self.scrollToTop()

    def hits(self) -> list[SearchHit]:
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


def _describe(index: Index) -> Row:
    return Row(index.data(TITLE), trailing=index.data(WHEN), excerpt=_parts(index.data(HIT)))


def _parts(hit: SearchHit) -> tuple[str, str, str]:
    """Split an excerpt into the text before the hit, the hit, and the text after it."""
    text = hit.excerpt
    return without_markup(text[: hit.start]), text[hit.start : hit.end], without_markup(text[hit.end :])


def without_markup(text: str) -> str:
    """Remove Markdown markers around words; an excerpt is too short to parse."""
    return _SIGNS.sub("", text)


def _at(seconds: float) -> str:
    """Format seconds since 1970 as a date and time."""
    return QLocale().toString(QDateTime.fromSecsSinceEpoch(int(seconds)), QLocale.FormatType.ShortFormat)


def _when(seconds: float) -> str:
    """Format seconds since 1970 as a time of today or a short date."""
    moment = QDateTime.fromSecsSinceEpoch(int(seconds))
    part = moment.time() if moment.date() == QDate.currentDate() else moment.date()
    return QLocale().toString(part, QLocale.FormatType.ShortFormat)
