"""One Slipstream for a database: a second start raises the first one's window and ends."""

import hashlib
import logging
from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, Signal, Slot
from PySide6.QtNetwork import QLocalServer, QLocalSocket

log = logging.getLogger(__name__)

RAISE = b"raise\n"
DONE = b"done\n"
LONGEST_ADDRESS = 90  # bytes; macOS takes 103, and Qt makes a longer name for a moment


class SingleInstance(QObject):
    """Try `claim`; if it fails, `call_first`. A lock file beside the database decides: it lasts as long as what it guards, and two
    starts at once cannot both win. A socket left by a crash can be told from a living one."""

    called = Signal()  # a second instance asks this one to show itself

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._address = address(folder)
        self._lock = QLockFile(str(folder / "slipstream.lock"))
        self._lock.setStaleLockTime(0)  # never stale by age; a lock whose process is gone is
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._answer)

    def claim(self) -> bool:
        """True when this is the first instance, which then listens; also true where no lock can be kept at all."""
        if not self._lock.tryLock(0):
            return self._lock.error() != QLockFile.LockError.LockFailedError
        QLocalServer.removeServer(self._address)
        if not self._server.listen(self._address):
            log.warning("A second start cannot call this one: %s", self._server.errorString())
        return True

    def call_first(self, patience_ms: int = 10_000) -> bool:
        """Ask the first instance to show itself; False when it does not answer."""
        socket = QLocalSocket()
        for _ in range(max(1, patience_ms // 100)):
            socket.connectToServer(self._address)
            if socket.waitForConnected(100):
                socket.write(RAISE)
                answered = socket.waitForReadyRead(patience_ms) and bytes(socket.readAll().data()) == DONE
                socket.disconnectFromServer()
                return answered
            self.thread().msleep(100)
        return False

    def release(self) -> None:
        """Let the next one be the first."""
        self._server.close()
        self._lock.unlock()

    @Slot()
    def _answer(self) -> None:
        while socket := self._server.nextPendingConnection():
            socket.readyRead.connect(self._read)
            socket.disconnected.connect(socket.deleteLater)
            if socket.bytesAvailable():
                self._serve(socket)

    @Slot()
    def _read(self) -> None:
        socket = self.sender()
        if isinstance(socket, QLocalSocket):
            self._serve(socket)

    def _serve(self, socket: QLocalSocket) -> None:
        if bytes(socket.readAll().data()) == RAISE:
            self.called.emit()
            socket.write(DONE)
            socket.flush()


def address(folder: Path) -> str:
    """Of the first one's socket: beside the lock, or where that makes too long a name for a socket, in a folder that all starts
    share, whatever TMPDIR each was given."""
    beside = str(folder / "slipstream.socket")
    if len(beside.encode()) <= LONGEST_ADDRESS:
        return beside
    return f"/tmp/slipstream-{hashlib.sha256(beside.encode()).hexdigest()[:16]}.socket"
