"""Screenshots of a part of the screen, on a Mac."""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QProcess, Slot

from app.session.attachment_reader import AttachmentReader
from app.session.commands import Command
from app.text.language import tr

PROGRAM = "/usr/sbin/screencapture"
OPTIONS = ("-i", "-x")  # the user chooses the part; no sound


class Screenshot(QObject):
    """A screenshot that the user takes and that is attached then.

    Args:
        attached: called after a screenshot was attached.
    """

    def __init__(self, attachments: AttachmentReader, attached: Callable[[], object], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._attachments, self._attached = attachments, attached
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.process = QProcess(self)
        self.process.finished.connect(self._attach)
        self.process.errorOccurred.connect(self._fail)

    def command(self) -> Command:
        return Command("screenshot", tr("Take &Screenshot…"), self.take, visible=sys.platform == "darwin")

    @property
    def _file(self) -> Path | None:
        return Path(self._folder.name) / "screenshot.png" if self._folder is not None else None

    @Slot()
    def take(self) -> None:
        """Let the user choose a part of the screen, unless this is already going on."""
        if self.process.state() != QProcess.ProcessState.NotRunning:
            return
        self._folder = tempfile.TemporaryDirectory(prefix="slipstream-")
        self.process.start(PROGRAM, [*OPTIONS, str(self._file)])

    @Slot()
    def _attach(self) -> None:
        """Attach the screenshot. There is none if the user has canceled it."""
        try:
            data = self._file.read_bytes() if self._file is not None else b""
        except OSError:
            data = b""
        self._clean_up()
        if data:
            self._attachments.attach_data(data, tr("Screenshot"))
            self._attached()

    @Slot(QProcess.ProcessError)
    def _fail(self, error: QProcess.ProcessError) -> None:
        if error == QProcess.ProcessError.FailedToStart:
            self._clean_up()
            self._attachments.refused.emit(tr("Can't take a screenshot. Press Shift-Command-4, then attach the file."))

    def _clean_up(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None
