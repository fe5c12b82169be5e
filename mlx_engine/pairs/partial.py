"""A file on its way: its bytes so far, and which they are, in one file that survives `kill -9` between any two instructions.

The bytes stand where they will stand in the finished file. Behind them, at the next multiple of 64, stands the record: magic, size,
segment length, then for every segment how many of its bytes, from its start on, are here. A segment's bytes are written before its
record is, and a record of 8 aligned bytes is written whole or not at all, so the record never claims what is not there. (After a
power cut it may: then the checksum fails and the file is fetched again.) The finished file is this one without the record.
"""

import os
import stat
import struct
import threading
from itertools import pairwise
from pathlib import Path

from mlx_engine.errors import UserError

SUFFIX = ".slipstream.incomplete"  # the ending is the hub's, so that its tools know the file as unfinished
_MAGIC = b"slipstrm"
_HEAD = struct.Struct("<8sQQQ")
_DONE = struct.Struct("<Q")
_MIB = 1 << 20


def segment_length(size: int) -> int:
    """Bytes of the ranges that a file of `size` bytes is fetched in: about 16 of them, but none tiny or huge."""
    return min(max(-(-size // 16), _MIB), 32 * _MIB)


def segment_bounds(size: int, segment: int) -> list[int]:
    """Where each segment begins, and the end of the last.

    A file is checked from its start on, so what stands behind an unfinished segment has to wait. The last eight segments are cut
    into shorter ones, so that little is left to check when the last byte comes.
    """
    if segment >= size:
        return [0, size] if size else [0]
    coarse = max(size // segment - 8, 0) * segment
    return [*range(0, coarse, segment), *range(coarse, size, max(segment // 8, _MIB)), size]


class Partial:
    """One unfinished file, open. Several threads may write at once, each in a segment of its own.

    Args:
        path: where it is; taken up if it is the rest of an earlier try, else made.
        size: bytes of the finished file.
    """

    def __init__(self, path: Path, size: int) -> None:
        self.path, self.size = path, size
        self.generation = 0  # counts the fresh starts; a writer of an earlier one is turned away
        self._lock = threading.Lock()
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self._fd: int | None = os.open(path, flags, 0o666)
        except OSError as error:
            if path.is_symlink():
                raise UserError(f"{path} is a link that leads elsewhere. Delete it; nothing was written.") from None
            raise error
        try:
            if not stat.S_ISREG(os.fstat(self._fd).st_mode):
                raise UserError(f"{path} is no ordinary file. Delete it; nothing was written.")
            self._take_up()
        except BaseException:
            self.close()
            raise

    def _take_up(self) -> None:
        assert self._fd is not None
        length = os.fstat(self._fd).st_size
        if length == self.size:  # the record is gone already: all is here, and only the check is left
            bounds = self._lay(segment_length(self.size))
            self._laid = bounds, [end - start for start, end in pairwise(bounds)]
            return
        head = os.pread(self._fd, _HEAD.size, self._tail) if length > self._tail else b""
        if len(head) == _HEAD.size:
            magic, size, segment, count = _HEAD.unpack(head)
            if magic == _MAGIC and size == self.size and _MIB <= segment <= 2**40:
                bounds = self._lay(segment)
                record = os.pread(self._fd, _DONE.size * self.count, self._tail + _HEAD.size)
                if count == self.count and len(record) == _DONE.size * count:
                    done = [here for (here,) in _DONE.iter_unpack(record)]
                    if all(here <= end - start for here, (start, end) in zip(done, pairwise(bounds), strict=True)):
                        self._laid = bounds, done
                        return
        self._fresh(segment_length(self.size))

    @property
    def _tail(self) -> int:
        return -(-self.size // 64) * 64

    @property
    def count(self) -> int:
        """How many segments there are."""
        return len(self._laid[1])

    def _lay(self, segment: int) -> list[int]:
        """Empty segments of that length; returns their bounds. Readers see the old ones or the new, never a mixture."""
        bounds = segment_bounds(self.size, segment)
        self._segment, self._laid = segment, (bounds, [0] * (len(bounds) - 1))
        return bounds

    def _fresh(self, segment: int) -> None:
        assert self._fd is not None
        self._lay(segment)
        os.ftruncate(self._fd, 0)
        record = _HEAD.pack(_MAGIC, self.size, self._segment, self.count) + _DONE.pack(0) * self.count
        _write_all(self._fd, record, self._tail)

    def span(self, index: int) -> tuple[int, int]:
        """First byte of a segment, and the byte behind its last."""
        bounds, _ = self._laid
        return bounds[index], bounds[index + 1]

    def missing(self, index: int) -> tuple[int, int]:
        """What of a segment is not here: its first missing byte, and the byte behind its last."""
        bounds, done = self._laid
        return bounds[index] + done[index], bounds[index + 1]

    def full(self, index: int) -> bool:
        bounds, done = self._laid
        return done[index] == bounds[index + 1] - bounds[index]

    @property
    def received(self) -> int:
        return sum(self._laid[1])

    @property
    def complete(self) -> bool:
        return self.received == self.size

    def prefix(self) -> int:
        """Bytes from the file's start on that are here without a gap."""
        bounds, done = self._laid
        total = 0
        for here, (start, end) in zip(done, pairwise(bounds), strict=True):
            total += here
            if here < end - start:
                break
        return total

    def write(self, index: int, data: bytes | memoryview, generation: int) -> bool:
        """Append to a segment; False if the file was closed or started afresh meanwhile, and nothing was written."""
        with self._lock:
            if self._fd is None or generation != self.generation:
                return False
            bounds, done = self._laid
            here = done[index]
            _write_all(self._fd, data, bounds[index] + here)
            done[index] = here + len(data)
            _write_all(self._fd, _DONE.pack(here + len(data)), self._tail + _HEAD.size + _DONE.size * index)
            return True

    def read(self, start: int, into: memoryview) -> int:
        """Bytes from `start` on; returns how many, none once the file is closed."""
        with self._lock:
            if self._fd is None:
                return 0
            fd = os.dup(self._fd)  # its number may be another file's as soon as this one is closed
        try:
            return os.preadv(fd, [into], start)
        finally:
            os.close(fd)

    def restart(self, whole: bool = False) -> int:
        """Throw away what is here; `whole` makes the file one single segment. Returns the new generation."""
        with self._lock:
            self.generation += 1
            self._fresh(max(self.size, _MIB) if whole else segment_length(self.size))
            return self.generation

    def flush(self) -> None:
        """Bring what is here onto the disk, beside the writers, so that little is left to do in the end."""
        with self._lock:
            if self._fd is None:
                return
            fd = os.dup(self._fd)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def finish(self, destination: Path) -> None:
        """Give the file its name. Its bytes are on the disk before it has it."""
        with self._lock:
            assert self._fd is not None and self.complete
            os.ftruncate(self._fd, self.size)
            os.fsync(self._fd)
            os.replace(self.path, destination)
        self.close()

    def close(self) -> None:
        with self._lock:
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None


def received_so_far(path: Path, size: int) -> int:
    """Bytes of an unfinished file that are here; 0 if there is none. Opens nothing for writing."""
    try:
        if path.is_symlink() or not path.is_file():
            return 0
        length, tail = path.stat().st_size, -(-size // 64) * 64
        if length == size:
            return size
        with path.open("rb") as stream:
            stream.seek(tail)
            magic, known, _, count = _HEAD.unpack(stream.read(_HEAD.size))
            if magic != _MAGIC or known != size or count > size:
                return 0
            return min(sum(here for (here,) in _DONE.iter_unpack(stream.read(_DONE.size * count))), size)
    except (OSError, struct.error):
        return 0


def _write_all(fd: int, data: bytes | memoryview, at: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, at)
        view, at = view[written:], at + written
