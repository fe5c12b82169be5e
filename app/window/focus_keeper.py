"""Keyboard focus that returns to the composer when its widget disappears."""

from PySide6.QtCore import QEvent, QObject, Slot
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid

from app.views.chat.composer import Composer


class FocusKeeper(QObject):
    """Moves the focus to the composer when the focused part disappears.

    Qt would move it to the next widget, such as the search field of the sidebar.

    Args:
        window: the main window.
        chat: the part of the window with the chat, without the sidebar.
        composer: the composer, which knows the field that is being written in.
    """

    def __init__(self, window: QWidget, chat: QWidget, composer: Composer) -> None:
        super().__init__(window)
        self._window, self._chat, self._composer = window, chat, composer
        application = QApplication.instance()
        assert isinstance(application, QApplication)
        application.focusChanged.connect(self._keep)
        window.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Choose the composer if the focus vanished while the window was inactive."""
        if watched is self._window and event.type() == QEvent.Type.WindowActivate:
            focus = self._window.focusWidget()
            if focus is None or _is_gone(focus):
                self._composer.focus()
        return False

    @Slot(QWidget, QWidget)
    def _keep(self, old: QWidget | None, new: QWidget | None) -> None:
        if not isValid(self._window) or QApplication.activeWindow() is not self._window:
            return
        if old is None or not isValid(old):
            lost = new is None
        else:
            lost = old is not self._composer.active_field and self._chat.isAncestorOf(old) and _is_gone(old)
        if lost:
            self._composer.focus()


def _is_gone(widget: QWidget) -> bool:
    """Whether a widget is disabled or hidden, perhaps with a part of the window."""
    part: QWidget | None = widget
    while part is not None and not part.isWindow():
        if part.isHidden():
            return True
        part = part.parentWidget()
    return not widget.isEnabled() or part is None
