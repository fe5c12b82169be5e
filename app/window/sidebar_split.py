"""A splitter between the sidebar and the chat."""

from PySide6.QtCore import QSettings, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QWidget

from app.views.sidebar.sidebar import DEFAULT_WIDTH, MAX_WIDTH, MIN_WIDTH, Sidebar
from app.widgets.theme import Theme

MIN_CHAT_WIDTH = 440
SHARE = 0.25  # of a narrow window


class SidebarSplit(QSplitter):
    """A splitter that hides the sidebar while the window is too narrow."""

    shown = Signal(bool)  # whether the sidebar is visible

    def __init__(self, theme: Theme, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self._theme = theme
        self._wanted = True
        self._width = DEFAULT_WIDTH  # set by the user unless it is the default; the sidebar may be hidden or narrower
        self.setHandleWidth(1)
        self.setChildrenCollapsible(False)

    def add(self, sidebar: Sidebar, chat: QWidget) -> None:
        self.sidebar = sidebar
        chat.setMinimumWidth(MIN_CHAT_WIDTH)
        self.addWidget(sidebar)
        self.addWidget(chat)
        self.setStretchFactor(1, 1)
        self.splitterMoved.connect(self._remember_width)
        self._theme.text_resized.connect(self._update)

    @Slot()
    def toggle_sidebar(self) -> None:
        self.show_sidebar(not self.sidebar.isVisible())

    @Slot()
    def show_sidebar(self, wanted: bool = True) -> None:
        """Show or hide the sidebar, widening a window that is too narrow."""
        self._wanted = wanted
        if wanted and self.width() < self._room:
            self.window().resize(self._room, self.window().height())
        self._update()

    @Slot()
    def focus_search(self) -> None:
        self.show_sidebar()
        self.sidebar.focus_search()

    @Slot()
    def focus_list(self) -> None:
        self.show_sidebar()
        self.sidebar.list.setFocus()

    def save(self, settings: QSettings) -> None:
        settings.setValue("sidebar", self._wanted)
        settings.setValue("sidebar_width", self._width)

    def restore(self, settings: QSettings) -> None:
        self._wanted = settings.value("sidebar", True, bool) is not False
        width = settings.value("sidebar_width", DEFAULT_WIDTH, int)
        if isinstance(width, int):
            self._width = min(max(MIN_WIDTH, width), MAX_WIDTH)
        self.setSizes([self._width, max(MIN_CHAT_WIDTH, self.window().width() - self._width)])
        self._update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._update()

    @property
    def _room(self) -> int:
        """Window width needed to show the sidebar.

        The chat's share grows half as fast as the text size.
        """
        chat = (MIN_CHAT_WIDTH + self._theme.scaled(MIN_CHAT_WIDTH)) // 2
        return MIN_WIDTH + chat + self.handleWidth()

    @Slot()
    def _remember_width(self) -> None:
        self._width = self.sizes()[0]

    @Slot()
    def _update(self) -> None:
        visible = self._wanted and self.window().width() >= self._room
        self.sidebar.setVisible(visible)
        if self._width == DEFAULT_WIDTH and visible:
            width = min(max(MIN_WIDTH, round(SHARE * self.width())), DEFAULT_WIDTH)
            self.setSizes([width, self.width() - width])
        self.shown.emit(visible)
