"""The sidebar: search, the chat list, and undo."""

from PySide6.QtCore import QEvent, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QStackedWidget, QWidget

from app.session.chat_library import ChatLibrary, UndoStep
from app.session.chat_session import ChatSession
from app.session.new_replies import NewReplies
from app.session.reply_runner import ReplyRunner
from app.storage.chat_search import SearchHit, terms_of
from app.text.language import tr
from app.views.sidebar.chat_list import ChatList
from app.views.sidebar.search_results import ChatHits, SearchResults
from app.widgets.controls import IconButton, SearchField, button, small_label
from app.widgets.layout import column, row
from app.widgets.theme import Theme, set_look

SEARCH_MS = 150  # delay after the last keystroke
UNDO_MS = 10_000
MIN_WIDTH, MAX_WIDTH, DEFAULT_WIDTH = 190, 420, 250

_Key = Qt.Key


class Sidebar(QWidget):
    """The sidebar: the chat list, or search results while the search field has text."""

    new_chat = Signal()

    def __init__(
        self,
        theme: Theme,
        session: ChatSession,
        library: ChatLibrary,
        reply_runner: ReplyRunner,
        new_replies: NewReplies,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._library = library
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        set_look(self, "sidebar")
        self.setMinimumWidth(MIN_WIDTH)
        self.setMaximumWidth(MAX_WIDTH)
        self.search = _SearchField(theme, tr("Search"), tr("Search all chats"))
        self.search.textChanged.connect(self._search_soon)
        self.search.left.connect(self._leave_search)
        self.new = IconButton(theme, "new", tr("New Chat"))
        self.new.clicked.connect(self.new_chat)
        self.list = ChatList(theme, session, library, reply_runner, new_replies)
        self.list.opened.connect(session.open_chat)
        self.results = SearchResults(theme)
        self.results.opened.connect(session.open_chat)
        self.empty = small_label(theme, look="secondary", wrap=True)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        self.empty.setContentsMargins(20, 32, 20, 0)
        self._pages = QStackedWidget()
        for page in (self.list, self.results, self.empty):
            self._pages.addWidget(page)
        self.undo_bar = UndoBar(theme)
        self.undo_bar.undo.connect(self._library.undo)
        head = row((self.search, 1), self.new, spacing=4, margins=(12, 8, 8, 8))
        column(head, (self._pages, 1), row(self.undo_bar, margins=(8, 0, 8, 8)), spacing=0, parent=self)
        self._search_timer = QTimer(self, singleShot=True, interval=SEARCH_MS)
        self._search_timer.timeout.connect(self._search)
        self._library.changed.connect(self._refresh)
        self._library.undo_offered.connect(self.undo_bar.show_step)
        self._refresh()

    def focus_search(self) -> None:
        self.search.setFocus()
        self.search.selectAll()

    @Slot(str)
    def _search_soon(self, text: str) -> None:
        if text.strip():
            self._search_timer.start()
        else:
            self._search_timer.stop()
            self._refresh()

    @Slot()
    def _search(self) -> None:
        words = self.search.text()

        def show(hits: tuple[SearchHit, ...]) -> None:
            if words != self.search.text():
                return  # the search text has changed
            chats = self._library.entries
            terms = [term.casefold() for term in terms_of(words)]
            titles = [
                entry.id
                for entry in sorted(chats.values(), key=lambda entry: -entry.changed)
                if terms and all(term in entry.title.casefold() for term in terms)
            ]
            by_chat: dict[str, dict[tuple[str, str], SearchHit]] = {id: {} for id in titles}
            for hit in hits:
                if hit.chat in chats:
                    by_chat.setdefault(hit.chat, {})[hit.parent, hit.excerpt] = hit  # of equal versions, the newest
            found = [ChatHits(chats[id], tuple(each.values())) for id, each in by_chat.items()]
            self.results.show_chats(found, words)
            self.empty.setText(tr("No results for “{words}”", words=words.strip()[:60]))
            self._pages.setCurrentWidget(self.results if found else self.empty)

        self._library.search(words, show)

    @Slot()
    def _refresh(self) -> None:
        if self.search.text().strip():
            self._search_timer.start()
        else:
            self.empty.setText(tr("No chats yet") if self._library.read else "")
            self._pages.setCurrentWidget(self.list if self._library.entries or self._library.projects else self.empty)

    @Slot(Qt.Key)
    def _leave_search(self, key: Qt.Key) -> None:
        searching = bool(self.search.text().strip())
        if key == _Key.Key_Escape:
            self.search.clear()
            self.list.setFocus()
        elif not searching:
            self.list.setFocus()
        elif key == _Key.Key_Down:
            self.results.setFocus()
        else:
            self.results.open_row(0)


class _SearchField(SearchField):
    left = Signal(Qt.Key)  # key: Escape, Return, Enter, or Down

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and event.key() == _Key.Key_Escape:
            event.accept()  # Escape closes the search instead of stopping a reply
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if (key := _Key(event.key())) in (_Key.Key_Escape, _Key.Key_Return, _Key.Key_Enter, _Key.Key_Down):
            self.left.emit(key)
        else:
            super().keyPressEvent(event)


class UndoBar(QFrame):
    """A bar that offers to undo the last deletion for a few seconds."""

    undo = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        set_look(self, "undo")
        self.label = small_label(theme, wrap=True)
        self.label.setAccessibleName(tr("Last change"))
        self.button = button(tr("Undo"), look="bordered", clicked=self.undo.emit)
        row((self.label, 1), self.button, margins=(12, 6, 6, 6), parent=self)
        self._timer = QTimer(self, singleShot=True, interval=UNDO_MS)
        self._timer.timeout.connect(self.hide)
        self.hide()

    def show_step(self, step: UndoStep | None) -> None:
        self.label.setText(step.message if step else "")
        self.setVisible(step is not None)
        self._timer.start()
