"""The record of connections, which all processes of this user append to.

Each line is a whole `ConnectionRecord`, and a connection's last line counts. A line is appended in one write, so lines of several
processes don't mix. It starts with the line break, so that a line cut off by a full disk damages no other. When the file is
full, it becomes the older one of two.
"""

import fcntl
import json
import logging
import os
import stat
import threading
from collections.abc import Iterable
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from mlx_engine.contract.files import cannot_delete, data_folder, open_regular

log = logging.getLogger(__name__)

# What a connection is for. "server": a program that connects to the local server;
# "worker": another computer that runs a model together with this one
Feature = Literal["search", "hub", "download", "update", "endpoint", "tool", "sign_in", "server", "worker"]
Outcome = Literal["open", "closed", "failed", "refused", "cut"]
FEATURES: tuple[Feature, ...] = get_args(Feature)
_OUTCOMES = get_args(Outcome)
_FULL = 8 << 20  # bytes of one of the two files, about 40,000 lines
_LONGEST_HOST = 255  # characters
_lock = threading.RLock()  # garbage collection can append in the middle of an append
_handle: int | None = None


@dataclass(frozen=True)
class ConnectionRecord:
    """One connection.

    Attributes:
        id: the same in all lines of a connection.
        opened: Unix time in seconds.
        host: name or address of the other side.
        port: the port there; for clients of the local server, their own.
        feature: what opened it.
        outcome: "open" until it ends, also after a crash (see `is_open`); "refused" or "cut" by Offline.
        sent: bytes, without those of TLS.
        received: bytes, without those of TLS.
        proxy: whether the host is a proxy.
    """

    id: str
    opened: float
    host: str
    port: int
    feature: Feature
    outcome: Outcome = "open"
    sent: int = 0
    received: int = 0
    proxy: bool = False


def append(record: ConnectionRecord) -> None:
    """Append the state of a connection. A file that can't be written is only logged."""
    line = b"\n" + json.dumps(asdict(record), ensure_ascii=False, separators=(",", ":")).encode(errors="replace")
    try:
        with _lock:
            handle = _opened()
            os.write(handle, line)
            if os.fstat(handle).st_size > _FULL:
                _turn_over(handle)
    except OSError as error:
        log.warning("Can't record a connection: %s", error.strerror)


def read() -> list[ConnectionRecord]:
    """Return the connections that are on file, the newest first."""
    with closing(LogReader()) as reader:
        return reader.read() or []


class LogReader:
    """Reads the record again and again, each time only what is new."""

    def __init__(self) -> None:
        self._files: list[_OpenFile] = []  # the older one first
        self._sizes: list[tuple[int, int]] | None = None  # by inode, when they were read

    def read(self) -> list[ConnectionRecord] | None:
        """Return the connections, the newest first, or None if nothing has changed.

        Raises:
            UserError: a file isn't a regular file.
        """
        known, newest_first = self._files, [self._opened(path) for path in (_file(), _older())]
        self._files = [file for file in reversed(newest_first) if file is not None]
        for file in known:
            if file not in self._files:
                file.close()
        sizes = [file.size for file in self._files]
        if sizes == self._sizes:
            return None
        self._sizes = sizes
        found: dict[str, ConnectionRecord] = {}
        for file in self._files:
            found |= file.read()
        return sorted(found.values(), key=lambda record: record.opened, reverse=True)

    def close(self) -> None:
        for file in self._files:
            file.close()

    def _opened(self, path: Path) -> "_OpenFile | None":
        """Return the file at a path, open as before if it is the same, or None."""
        with suppress(OSError):
            status = os.stat(path)
            return next((file for file in self._files if file.is_same(status)), None) or _OpenFile(path)
        return None


class _OpenFile:
    """One of the two files. While it is open, no other one can have its inode."""

    def __init__(self, path: Path) -> None:
        self._stream = open_regular(path)
        self._start = 0  # of the last line, which may not be complete
        self._found: dict[str, ConnectionRecord] = {}  # in the lines before

    def close(self) -> None:
        self._stream.close()

    def is_same(self, status: os.stat_result) -> bool:
        """Return whether a path leads here, and nothing was cut off."""
        return os.path.samestat(os.fstat(self._stream.fileno()), status) and status.st_size >= self._start

    @property
    def size(self) -> tuple[int, int]:
        """The inode and the number of bytes."""
        status = os.fstat(self._stream.fileno())
        return status.st_ino, status.st_size

    def read(self) -> dict[str, ConnectionRecord]:
        """Return each connection's last record, unless the file is far too large."""
        _, size = self.size
        if size > 2 * _FULL:
            return {}
        data = os.pread(self._stream.fileno(), size - self._start, self._start)
        *lines, last = data.split(b"\n")
        self._found |= {record.id: record for record in map(_parsed, lines) if record is not None}
        self._start += len(data) - len(last)
        latest = _parsed(last)
        return self._found if latest is None else self._found | {latest.id: latest}


def is_open(record: ConnectionRecord) -> bool:
    """Return whether a connection is open. One whose process has crashed isn't."""
    if record.outcome != "open":
        return False
    try:
        os.kill(int(record.id.partition("-")[0]), 0)
    except (OSError, ValueError, OverflowError):  # no process of this user, or an ID that Slipstream didn't make
        return False
    return True


def clear() -> None:
    """Delete the record. Connections that are still open appear again when they end.

    Raises:
        UserError: a file can't be deleted.
    """
    for path in (_older(), _file()):
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise cannot_delete(path, error) from None


def _file() -> Path:
    return data_folder() / "connections.jsonl"


def _older() -> Path:
    return data_folder() / "connections-older.jsonl"


def _opened() -> int:
    """Return the file, which stays open: later, too many files may be open.

    It is opened again after it was cleared or became the older one.
    """
    global _handle
    path = _file()
    if _handle is not None:
        with suppress(OSError):
            if os.path.samestat(os.fstat(_handle), os.stat(path)):
                return _handle
        os.close(_handle)
        _handle = None
    _handle = _open(path)
    return _handle


def _open(path: Path) -> int:
    """Open a file for appending. Only the user can read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW, 0o600)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError(0, "not a regular file")
    return handle


def _turn_over(handle: int) -> None:
    """Make the full file the older one, unless another process has done so."""
    with suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(handle), os.stat(_file())):
            os.replace(_file(), _older())
        fcntl.flock(handle, fcntl.LOCK_UN)


def _parsed(line: bytes) -> ConnectionRecord | None:
    """Return the record in a line, or None if it is empty or damaged."""
    try:
        record = ConnectionRecord(**json.loads(line))
    except (ValueError, TypeError, RecursionError):
        return None
    numbers = (record.port, record.sent, record.received)
    valid = (
        isinstance(record.id, str)
        and isinstance(record.host, str)
        and len(record.host) <= _LONGEST_HOST
        and type(record.opened) in (int, float)
        and all(type(number) is int and number >= 0 for number in numbers)
        and record.feature in FEATURES
        and record.outcome in _OUTCOMES
        and type(record.proxy) is bool
    )
    return record if valid else None


def total(records: Iterable[ConnectionRecord]) -> tuple[int, int]:
    """Return the bytes sent and received by connections together."""
    sent = received = 0
    for record in records:
        sent, received = sent + record.sent, received + record.received
    return sent, received
