"""Handles what macOS asks of the app: to open a double-clicked export or a file dropped on the Dock icon, and to quit."""

from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtGui import QFileOpenEvent


class FileOpening(QObject):
    """An event filter for the application. Links are ignored."""

    opened = Signal(object)  # Path
    quit_requested = Signal()  # from the Dock, or to log out

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QFileOpenEvent) and event.file():
            self.opened.emit(Path(event.file()))
            return True
        if event.type() == QEvent.Type.Quit:
            self.quit_requested.emit()
        return False
