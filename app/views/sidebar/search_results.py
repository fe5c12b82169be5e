"""Search results: chats, each with the messages that match."""

import re
from dataclasses import dataclass

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent, QMouseEvent, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QListView, QWidget

from app.storage.chat_search import SearchHit
from app.storage.store import ChatSummary
from app.text.dates import date_and_time, short_date
from app.text.language import number, tr
from app.widgets.controls import as_tooltip
from app.widgets.rows import Index, Row, RowDelegate
from app.widgets.theme import Theme

MOST_HITS = 3  # shown of a chat until all are requested
_SIGNS = re.compile(r"\*\*|`+|(?:(?<=\s)|^)#{2,6} ")
RESULT = Qt.ItemDataRole.UserRole


@dataclass(frozen=True)
class ChatHits:
    """A chat whose title or messages match a search."""

    chat: ChatSummary
    hits: tuple[SearchHit, ...] = ()


@dataclass(frozen=True)
class Result:
    """A row: a chat, one of its messages (`hit`), or the number of hits not shown."""

    found: ChatHits
    hit: SearchHit | None = None
    more: int = 0


class SearchResults(QListView):
    """A list of chats and hits, opened by a click or Return."""

    opened = Signal(str, str, str)  # chat id, message id (empty for a hit in the title only), the words searched for

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._model = QStandardItemModel(self)
        self._found: list[ChatHits] = []
        self._words = ""
        self._complete: set[str] = set()  # IDs of chats with all hits shown
        self.setModel(self._model)
        self.setItemDelegate(RowDelegate(theme, self, _describe))
        self.setAccessibleName(tr("Search results"))
        self.setFrameShape(QListView.Shape.NoFrame)

    def show_chats(self, found: list[ChatHits], words: str) -> None:
        """Show results. The same words keep what is expanded, the row, and the place."""
        if words != self._words:
            self._words, self._complete = words, set()
            self._model.clear()
            self.scrollToTop()
        self._found = found
        self._fill()

    def _fill(self) -> None:
        current, scrolled = _place(self.currentIndex()), self.verticalScrollBar().value()
        self._model.clear()
        for found in self._found:
            hits = found.hits if found.chat.id in self._complete else found.hits[:MOST_HITS]
            left = len(found.hits) - len(hits)
            date = date_and_time(found.chat.changed)
            self._add(Result(found), f"{found.chat.title}, {date}", f"{found.chat.title}\n{date}")
            for hit in hits:
                excerpt = "".join(_parts(hit))
                self._add(Result(found, hit), excerpt, excerpt)
            if left:
                self._add(Result(found, more=left), more_text(left))
        places = [_place(self._model.index(row, 0)) for row in range(self._model.rowCount())]
        if current in places:
            self.setCurrentIndex(self._model.index(places.index(current), 0))
        self.doItemsLayout()  # the scroll bar has no range before
        self.verticalScrollBar().setValue(scrolled)

    def _add(self, result: Result, said: str, tip: str = "") -> None:
        item = QStandardItem(said)
        item.setData(result, RESULT)
        item.setEditable(False)
        item.setToolTip(as_tooltip(tip))
        self._model.appendRow(item)

    def results(self) -> list[Result]:
        return [self._model.item(row).data(RESULT) for row in range(self._model.rowCount())]

    def open_row(self, row: int) -> None:
        """Open a chat at a hit, the first one for the chat's row, or show all its hits."""
        index = self._model.index(row, 0)
        if not index.isValid():
            return
        self.setCurrentIndex(index)
        result: Result = index.data(RESULT)
        found = result.found
        if result.more:
            self._complete.add(found.chat.id)
            self._fill()
            self.setCurrentIndex(self._model.index(row, 0))
        else:
            hit = result.hit or next(iter(found.hits), None)
            self.opened.emit(found.chat.id, hit.message if hit is not None else "", self._words)

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


def more_text(count: int) -> str:
    return tr("1 more message") if count == 1 else tr("{count} more messages", count=number(count))


def _place(index: Index) -> tuple[str, str, bool] | None:
    """Return the chat and message of a row, and whether it counts hits not shown."""
    result: Result | None = index.data(RESULT)
    return (result.found.chat.id, result.hit.message if result.hit else "", bool(result.more)) if result else None


def _describe(index: Index) -> Row:
    result: Result = index.data(RESULT)
    if result.hit is not None:
        return Row("", excerpt=_parts(result.hit), indented=True)
    if result.more:
        return Row("", excerpt=("", "", more_text(result.more)), indented=True)
    chat = result.found.chat
    date = short_date(chat.changed)
    return Row(chat.title, excerpt=(f"{date} · {tr('Archived')}" if chat.archived else date, "", ""))


def _parts(hit: SearchHit) -> tuple[str, str, str]:
    """Split an excerpt into the text before the hit, the hit, and the text after it."""
    text = hit.excerpt
    return without_markup(text[: hit.start]), text[hit.start : hit.end], without_markup(text[hit.end :])


def without_markup(text: str) -> str:
    """Remove Markdown markers around words; an excerpt is too short to parse."""
    return _SIGNS.sub("", text)
