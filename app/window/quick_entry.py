"""The commands, texts, links, shortcut, and icon that open the quick window."""

from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QApplication, QSystemTrayIcon, QWidget

from app.session.commands import Command
from app.session.notice import Notice
from app.session.services import Services
from app.system.quick_access import QuickAccess, quick_access, shortcut_name
from app.text.language import tr
from app.views.quick.quick_window import QuickWindow
from app.views.transcript.message_actions import MessageActions
from app.widgets.theme import Theme
from app.window.menu_bar_icon import make_menu_bar_icon
from app.window.reading_aloud import read_replies_aloud

ABOVE_CENTER = 0.3  # of the free height that is above the window
HANDED_OVER = ("retry", "edit", "resume", "compare", "choose_model", "help_requested", "use_calculator", "page_requested")


class QuickEntry(QObject):
    """The owner of the quick window, which is made when it is first opened.

    Args:
        main: the actions of the main window's transcript, which does what the quick window can't.
        access: a shortcut in every app, and the text selected there.
    """

    left = Signal()  # the user goes on in the main window
    text_selected = Signal(str)  # in the app in front, when the shortcut was pressed

    def __init__(
        self, window: QWidget, theme: Theme, services: Services, main: MessageActions, access: QuickAccess | None = None
    ) -> None:
        super().__init__(window)
        self._window, self._theme, self._services, self._main = window, theme, services, main
        self._quick, self._preferences = services.quick, services.preferences
        self.access = access or quick_access(self)
        self.view: QuickWindow | None = None
        self.icon: QSystemTrayIcon | None = None
        self._shortcut = ""
        self._closed = False
        self._selection = self._preferences.quick_selection
        self.access.pressed.connect(self.toggle, Qt.ConnectionType.QueuedConnection)
        self._preferences.changed.connect(self._use_preferences)

    def command(self) -> Command:
        return Command("quick_chat", tr("Quic&k Chat"), self.open)

    def start(self) -> None:
        """Use the preferences, once the commands are there."""
        self._use_preferences()

    @Slot()
    def toggle(self) -> None:
        """Open the window with the selected text, or close it if it is in front."""
        if self.view is not None and self.view.isActiveWindow():
            self.view.close()
            return
        # Slipstream's own windows have their own ways to quote
        wanted = self._preferences.quick_selection and QApplication.activeWindow() is None
        if wanted and (text := self.access.selected_text()).strip():
            self.text_selected.emit(text)
        else:
            self.open()

    @Slot()
    def open(self, text: str = "") -> None:
        """Open the window with text of another app, unless the app quits."""
        if self._closed:
            return
        if self.view is None:
            self.view = self._make_view()
        view = self.view
        if not view.isVisible():
            self._quick.begin()
            self._place(view)
        self._quick.add(text)
        view.show()
        if self.access.has_shortcuts:
            self.access.show_over_apps(int(view.winId()))
        else:
            view.raise_()  # on a Mac, this would bring the app to the front
            view.activateWindow()
        view.field.setFocus()

    def _make_view(self) -> QuickWindow:
        services = self._services
        view = QuickWindow(self._theme, self._quick, services.reply_runner, services.loader)
        self.destroyed.connect(view.deleteLater)
        view.open_requested.connect(self.leave)
        own = view.transcript.message_actions
        read_replies_aloud(own, services)
        own.decided.connect(services.reply_runner.decide)
        own.call_canceled.connect(services.reply_runner.cancel_call)
        for name in HANDED_OVER:
            getattr(own, name).connect(lambda *arguments, name=name: self._hand_over(name, *arguments))
        view.notices.choose_models.connect(lambda: self._hand_over("choose_model"))
        view.notices.help_requested.connect(lambda page: self._hand_over("help_requested", page))
        view.notices.use_demo.connect(services.activity.use)
        view.notices.connect_again.connect(services.picker.connect_to)
        return view

    def _place(self, view: QuickWindow) -> None:
        """Center the window, a bit above the middle, on the screen with the pointer."""
        screen = QApplication.screenAt(view.cursor().pos()) or view.screen()
        area, size = screen.availableGeometry(), view.size()
        free = area.size() - size
        view.move(area.left() + free.width() // 2, area.top() + max(0, round(ABOVE_CENTER * free.height())))

    @Slot()
    def close(self) -> None:
        """Close the window, because the app quits."""
        self._closed = True
        self.access.set_shortcut("")
        if self.view is not None:
            self.view.close()
        if self.icon is not None:
            self.icon.hide()

    @Slot()
    def leave(self) -> None:
        """Go on in the main window, with the same chat."""
        self._quick.open()
        if self.view is not None:
            self.view.close()
        self.left.emit()

    def _hand_over(self, name: str, *arguments: object) -> None:
        """Do in the main window what a button of a message asks for."""
        self.leave()
        getattr(self._main, name).emit(*arguments)

    @Slot()
    def _use_preferences(self) -> None:
        preferences = self._preferences
        wanted = preferences.quick_shortcut if self.access.has_shortcuts else "off"
        if (shortcut := "" if wanted == "off" else wanted) != self._shortcut:
            self._shortcut = shortcut
            if not self.access.set_shortcut(shortcut):
                text = tr("Can't use {shortcut} as a shortcut. Choose another one in Settings.", shortcut=shortcut_name(shortcut))
                self._services.notices.post(Notice(text, "error", topic="shortcut"))
        if preferences.quick_selection and not self._selection:
            self.access.ask_permission()
        self._selection = preferences.quick_selection
        if preferences.menu_bar_icon and self.icon is None:
            self.icon = make_menu_bar_icon(self._window, self._services.commands)
        if self.icon is not None:
            self.icon.setVisible(preferences.menu_bar_icon)
