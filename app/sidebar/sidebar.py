"""At the left: search, the list of chats, and what was just deleted with its way back."""

from PySide6.QtCore import QEvent, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from app.chat.conductor import Conductor
from app.conversations.store import SearchHit, terms_of
from app.language import tr
from app.sidebar.chat_list import ChatList
from app.sidebar.search_results import SearchResults
from app.widgets.icon_button import IconButton
from app.widgets.label import Label
from app.widgets.search_field import SearchField
from app.widgets.theme import SMALL, Theme, set_look

SEARCH_MS = 150
UNDO_MS = 10_000
NARROWEST, WIDEST, USUAL = 190, 420, 250

Key = Qt.Key


class Sidebar(QWidget):
    """Chats by date and folder, or what a search found among them."""

    new_chat = Signal()

    def __init__(self, theme: Theme, conductor: Conductor, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._conductor = conductor
        self._library = conductor.library
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        set_look(self, "sidebar")
        self.setMinimumWidth(NARROWEST)
        self.setMaximumWidth(WIDEST)
        self.search = _SearchField(theme, tr("Search"), tr("Search all chats"))
        self.search.textChanged.connect(self._search_soon)
        self.search.left.connect(self._leave_search)
        self.new = IconButton(theme, "new", tr("New Chat"))
        self.new.clicked.connect(self.new_chat)
        self.list = ChatList(theme, conductor)
        self.list.opened.connect(conductor.open_chat)
        self.results = SearchResults(theme)
        self.results.opened.connect(conductor.open_chat)
        self.nothing = Label()
        self.nothing.setWordWrap(True)
        self.nothing.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
        self.nothing.setContentsMargins(20, 32, 20, 0)
        theme.set_font(self.nothing, SMALL)
        set_look(self.nothing, "secondary")
        self._pages = QStackedWidget()
        for page in (self.list, self.results, self.nothing):
            self._pages.addWidget(page)
        self.undo_bar = UndoBar(theme)
        self.undo_bar.undo.connect(self._library.undo)
        head = QHBoxLayout()
        head.setContentsMargins(12, 8, 8, 8)
        head.setSpacing(4)
        head.addWidget(self.search, 1)
        head.addWidget(self.new)
        foot = QVBoxLayout()
        foot.setContentsMargins(8, 0, 8, 8)
        foot.addWidget(self.undo_bar)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(head)
        layout.addWidget(self._pages, 1)
        layout.addLayout(foot)
        self._soon = QTimer(self)
        self._soon.setSingleShot(True)
        self._soon.setInterval(SEARCH_MS)
        self._soon.timeout.connect(self._search)
        self._library.changed.connect(self._changed)
        self._library.undo_changed.connect(self._offer_undo)
        self._show_page()

    @Slot()
    def focus_search(self) -> None:
        """Put the cursor into the search field."""
        self.search.setFocus()
        self.search.selectAll()

    @Slot(str)
    def _search_soon(self, text: str) -> None:
        self._soon.start()
        if not text.strip():
            self._soon.stop()
            self._show_page()

    @Slot()
    def _search(self) -> None:
        words = self.search.text()
        if not words.strip():
            return

        def show(hits: tuple[SearchHit, ...]) -> None:
            if words != self.search.text():
                return  # the user has typed on
            terms = [term.casefold() for term in terms_of(words)]
            titles = [
                (entry, SearchHit(entry.id, "", tr("In the title"), 0, 0))
                for entry in sorted(self._library.entries.values(), key=lambda entry: -entry.changed)
                if terms and all(term in entry.title.casefold() for term in terms)
            ]
            texts = [(self._library.entries[hit.chat], hit) for hit in hits if hit.chat in self._library.entries]
            self.results.show_hits(titles + texts)
            self._show_page(found=len(titles) + len(texts))

        self._library.search(words, show)

    def _show_page(self, found: int | None = None) -> None:
        if found is not None:
            self.nothing.setText(tr("No message holds “{strip}”.", strip=self.search.text().strip()[:60]))
            self._pages.setCurrentWidget(self.results if found else self.nothing)
        elif self._library.entries or self._library.folders:
            self._pages.setCurrentWidget(self.list)
        else:
            self.nothing.setText(tr("Your chats will be listed here."))
            self._pages.setCurrentWidget(self.nothing)

    @Slot()
    def _changed(self) -> None:
        if self.search.text().strip():
            self._soon.start()
        else:
            self._show_page()

    @Slot()
    def _offer_undo(self) -> None:
        self.undo_bar.offer(self._library.undoable)

    @Slot(str)
    def _leave_search(self, how: str) -> None:
        searching = bool(self.search.text().strip())
        if how == "escape":
            self.search.clear()
            self.list.setFocus()
        elif how == "open" and searching:
            self.results.open_row(0)
        elif searching:
            self.results.setFocus()
        else:
            self.list.setFocus()


class _SearchField(SearchField):
    left = Signal(str)  # "escape", "open" for Enter, "down"

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent) and event.key() == Key.Key_Escape:
            event.accept()  # leaves the search, and does not stop a reply
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        keys = {Key.Key_Escape: "escape", Key.Key_Return: "open", Key.Key_Enter: "open", Key.Key_Down: "down"}
        if how := keys.get(Key(event.key())):
            self.left.emit(how)
        else:
            super().keyPressEvent(event)


class UndoBar(QFrame):
    """What was done last, for a while, with a button that takes it back."""

    undo = Signal()

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        set_look(self, "undo")
        self.label = Label()
        theme.set_font(self.label, SMALL)
        self.label.setWordWrap(True)
        self.label.setAccessibleName(tr("Done last"))
        self.button = QPushButton(tr("Undo"))
        self.button.setAccessibleName(tr("Undo"))
        set_look(self.button, "bordered")
        self.button.clicked.connect(self.undo)
        row = QHBoxLayout(self)
        row.setContentsMargins(12, 6, 6, 6)
        row.addWidget(self.label, 1)
        row.addWidget(self.button)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(UNDO_MS)
        self._timer.timeout.connect(self.hide)
        self.hide()

    def offer(self, words: str) -> None:
        """Show what can be taken back; nothing hides the bar."""
        self.label.setText(words)
        self.setVisible(bool(words))
        self._timer.start()
