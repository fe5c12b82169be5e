"""Files that macOS hands over: double-clicked exports, and what is dropped on the app in the Dock."""

from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Signal
from PySide6.QtGui import QFileOpenEvent


class FileOpening(QObject):
    """Installed on the application as its event filter. `opened` is sent with the path; links are not ours and pass."""

    opened = Signal(object)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QFileOpenEvent) and event.file():
            self.opened.emit(Path(event.file()))
            return True
        return False
