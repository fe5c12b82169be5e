"""One running instance per database."""

import hashlib
import logging
import string
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from PySide6.QtCore import QLockFile, QObject, Signal, Slot
from PySide6.QtNetwork import QLocalServer, QLocalSocket

from app.system.chat_link import MAX_LINK

log = logging.getLogger(__name__)

RAISE = b"raise\n"
OPEN = b"open "  # followed by a link; before RAISE
DONE = b"done\n"
MAX_LINE = len(OPEN) + MAX_LINK + 2
_PASSED = "passed"  # property of a socket that a link came through
MAX_ADDRESS = 90  # bytes; macOS allows 103, and Qt briefly uses a longer name


class SingleInstance(QObject):
    """The lock that only the first instance holds.

    Call `claim`; if it returns False, call `raise_first`. A lock file next to the database decides, so two simultaneous starts
    can't both win, and a socket left by a crash does no harm.
    """

    raise_requested = Signal()
    link_passed = Signal(str)

    def __init__(self, folder: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._address = address(folder)
        self._lock = QLockFile(str(folder / "slipstream.lock"))
        self._lock.setStaleLockTime(0)  # a lock is stale only if its process is gone
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._accept)

    def claim(self) -> bool:
        """Become the first instance, or return False if another holds the lock."""
        if not self._lock.tryLock(0):
            return self._lock.error() != QLockFile.LockError.LockFailedError
        QLocalServer.removeServer(self._address)
        if not self._server.listen(self._address):
            log.warning("Other instances can't reach this one: %s", self._server.errorString())
        return True

    def raise_first(self, links: Sequence[str] = (), timeout_ms: int = 10_000) -> bool:
        """Have the first instance open links, or show its window if there are none.

        Returns:
            Whether it responded.
        """
        encoded = (quote(link, safe=string.punctuation, errors="replace")[: MAX_LINK + 1] for link in links)
        lines = [OPEN + link.encode() + b"\n" for link in encoded]
        socket = QLocalSocket()
        for _ in range(max(1, timeout_ms // 100)):
            socket.connectToServer(self._address)
            if socket.waitForConnected(100):
                socket.write(b"".join([*lines, RAISE]))
                answered = socket.waitForReadyRead(timeout_ms) and bytes(socket.readAll().data()) == DONE
                socket.disconnectFromServer()
                return answered
            self.thread().msleep(100)
        return False

    def release(self) -> None:
        """Let another instance become the first."""
        self._server.close()
        self._lock.unlock()

    @Slot()
    def _accept(self) -> None:
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
        while socket.canReadLine():
            line = bytes(socket.readLine().data())
            if line == RAISE:
                if not socket.property(_PASSED):
                    self.raise_requested.emit()
                socket.write(DONE)
                socket.flush()
            elif line.startswith(OPEN):
                socket.setProperty(_PASSED, True)
                self.link_passed.emit(line.removeprefix(OPEN).decode("ascii", "replace").strip())
        if socket.bytesAvailable() > MAX_LINE:
            socket.abort()


def address(folder: Path) -> str:
    """Return the path of the socket, in /tmp if the folder's path is too long."""
    path = str(folder / "slipstream.socket")
    if len(path.encode()) <= MAX_ADDRESS:
        return path
    # Not TMPDIR, which may differ between instances
    return f"/tmp/slipstream-{hashlib.sha256(path.encode()).hexdigest()[:16]}.socket"
