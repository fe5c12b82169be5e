"""A child process that exchanges JSON lines with the app."""

import json
import logging
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QProcess, QTimer, Signal, Slot

from app.system import child
from mlx_engine.contract.errors import UserError

log = logging.getLogger(__name__)

LONGEST_LINE = 1 << 20  # bytes


class JsonProcess(QObject):
    """A module in a child process. Closing its input tells it to end.

    Args:
        module: the module's name.
        accept: gets each object that the process writes. If it can't be read, an error of `accept` is logged.
    """

    received = Signal()  # after lines were accepted
    ended = Signal(bool)  # whether the process could be started

    def __init__(self, module: str, accept: Callable[[dict[str, Any]], object], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._module, self._accept = module, accept
        self._process: QProcess | None = None
        self._incomplete = b""

    @property
    def running(self) -> bool:
        return self._process is not None

    @property
    def process_id(self) -> int | None:
        """The ID of the running process."""
        return int(self._process.processId()) or None if self._process is not None else None

    def start(self, log_file: str = "") -> None:
        """Start the process, with errors to `log_file`. It may end immediately."""
        process = self._process = QProcess(self)
        self._incomplete = b""
        process.setStandardErrorFile(log_file or QProcess.nullDevice())
        process.readyReadStandardOutput.connect(self._read)
        process.finished.connect(self._finish)
        process.errorOccurred.connect(self._fail)
        process.start(*child.command(self._module))

    def send(self, message: dict[str, Any]) -> None:
        """Write an object, if the process runs."""
        if self._process is not None:
            self._process.write(json.dumps(message).encode() + b"\n")

    def finish(self, kill_ms: int) -> None:
        """Tell the process to end, and kill it after `kill_ms`. `ended` follows."""
        if self._process is not None:
            self._process.closeWriteChannel()
            QTimer.singleShot(kill_ms, self._process, self._process.kill)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()

    def wait(self, milliseconds: int) -> None:
        """End the process without signals, and kill it if that takes longer."""
        process, self._process = self._process, None
        if process is not None:
            process.blockSignals(True)
            process.closeWriteChannel()
            if not process.waitForFinished(milliseconds):
                process.kill()
                process.waitForFinished(milliseconds)

    def receive(self, data: bytes) -> None:
        """Accept output of the process, keeping an incomplete line."""
        *lines, rest = (self._incomplete + data).split(b"\n")
        self._incomplete = rest[:LONGEST_LINE]
        for line in lines:
            try:
                self._accept(json.loads(line))
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError, UserError) as error:
                log.warning("Can't read a line from %s (%s)", self._module, type(error).__name__)
        if lines:
            self.received.emit()

    @Slot()
    def _read(self) -> None:
        if self._process is not None:
            self.receive(bytes(self._process.readAllStandardOutput().data()))

    @Slot(QProcess.ProcessError)
    def _fail(self, error: QProcess.ProcessError) -> None:
        """Handle a process that can't start, which doesn't emit `finished`."""
        if error == QProcess.ProcessError.FailedToStart and self._process is not None:
            log.error("Can't start %s: %s", self._module, self._process.errorString())
            self._end(started=False)

    @Slot()
    def _finish(self) -> None:
        self._end(started=True)

    def _end(self, started: bool) -> None:
        process, self._process = self._process, None
        if process is not None:
            self.receive(bytes(process.readAllStandardOutput().data()))
            process.deleteLater()
            self.ended.emit(started)
