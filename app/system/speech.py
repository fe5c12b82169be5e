"""The Mac's program `say`, which speaks in the voice of the system's settings."""

import os
from pathlib import Path

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment, Signal, Slot

PROGRAM = "/usr/bin/say"
_OPTIONS = ("-f", "-")  # reads standard input, so that other users don't see the text in the list of processes


class Speaker(QObject):
    """A voice that speaks one text at a time."""

    ended = Signal()  # the text has ended, or the voice can't be used

    def __init__(self, parent: QObject | None = None, program: str = PROGRAM) -> None:
        super().__init__(parent)
        self._program = program
        self._process: QProcess | None = None

    @property
    def available(self) -> bool:
        return Path(self._program).is_file() and os.access(self._program, os.X_OK)

    @property
    def speaking(self) -> bool:
        return self._process is not None

    def speak(self, text: str) -> None:
        """Speak a text in place of the current one."""
        self.stop()
        process = self._process = QProcess(self)
        environment = QProcessEnvironment.systemEnvironment()
        environment.insert("LC_ALL", "en_US.UTF-8")  # of the text, not of the voice; apps have none from the Finder
        process.setProcessEnvironment(environment)
        process.finished.connect(self._end)
        process.errorOccurred.connect(self._fail)
        process.start(self._program, list(_OPTIONS))
        process.write(text.replace("[[", "[ [").encode())  # the voice would take [[…]] as a command
        process.closeWriteChannel()

    @Slot()
    def stop(self) -> None:
        """Stop speaking immediately."""
        if (process := self._process) is not None:
            self._process = None
            process.finished.disconnect(self._end)
            process.kill()
            process.waitForFinished()
            process.deleteLater()
            self.ended.emit()

    @Slot(QProcess.ProcessError)
    def _fail(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:  # otherwise, `finished` follows
            self._end()

    @Slot()
    def _end(self) -> None:
        if self._process is not None:
            self._process.deleteLater()
            self._process = None
            self.ended.emit()
