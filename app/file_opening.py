"""Opens files that macOS passes to the app: double-clicked exports and files dropped on the Dock icon."""

from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtGui import QFileOpenEvent


class FileOpening(QObject):
    """An event filter for the application. Links are ignored."""

    opened = Signal(object)  # Path

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QFileOpenEvent) and event.file():
            self.opened.emit(Path(event.file()))
            return True
        return False
