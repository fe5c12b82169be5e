"""An unfinished download: its bytes so far and a record of them, in one file that survives `kill -9` at any instruction.

The bytes are at their final offsets. Behind them, at the next multiple of 64, follows the record: magic, size, segment length,
number of segments, then for each segment how many of its bytes, from its start, are present. A segment's bytes are written before
its count, and a count of 8 aligned bytes is written as a whole or not at all, so the record never claims missing bytes. (After a
power failure it may: then the checksum fails and the file is downloaded again.) The finished file is this one without the record.
"""

import os
import stat
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from mlx_engine.pairs.data_files import not_regular_file

SUFFIX = ".slipstream.incomplete"  # with the hub's own ending, so that its tools recognize unfinished files
_MAGIC = b"slipstrm"
_HEAD = struct.Struct("<8sQQQ")
_DONE = struct.Struct("<Q")
_MIB = 1 << 20


def segment_length(size: int) -> int:
    """Bytes of the ranges in which a file of `size` bytes is downloaded: about 16 ranges of reasonable length."""
    return min(max(-(-size // 16), _MIB), 32 * _MIB)


def segment_bounds(size: int, segment: int) -> list[int]:
    """Where each segment begins, and the end of the last.

    The checksum is computed from the start, so bytes behind an unfinished segment have to wait. The last eight segments are divided
    further, so that little is left to hash when the last byte arrives.
    """
    if segment >= size:
        return [0, size] if size else [0]
    coarse = max(size // segment - 8, 0) * segment
    return [*range(0, coarse, segment), *range(coarse, size, max(segment // 8, _MIB)), size]


class Partial:
    """One open unfinished file. Several threads may write concurrently, each to its own segment.

    Args:
        path: an earlier attempt's file, which is continued, or a new one.
        size: bytes of the finished file.
    """

    def __init__(self, path: Path, size: int) -> None:
        self.path, self.size = path, size
        self.generation = 0  # number of restarts; writes of earlier generations are refused
        self._lock = threading.Lock()
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            self._fd: int | None = os.open(path, flags, 0o666)
        except OSError:
            if path.is_symlink():
                raise not_regular_file(path) from None
            raise
        try:
            if not stat.S_ISREG(os.fstat(self._fd).st_mode):
                raise not_regular_file(path)
            self._resume()
        except BaseException:
            self.close()
            raise

    def _resume(self) -> None:
        assert self._fd is not None
        if os.fstat(self._fd).st_size == self.size:  # complete and without its record: only the checksum is left
            bounds = self._divide(segment_length(self.size))
            self._segments = bounds, [end - start for start, end in pairwise(bounds)]
        elif record := _read_record(self._fd, self.size):
            self._segments = self._divide(record[0]), record[1]
        else:
            self._clear(segment_length(self.size))

    @property
    def count(self) -> int:
        return len(self._segments[1])

    def _divide(self, segment: int) -> list[int]:
        """Start over with empty segments and return their bounds. Readers see all old segments or all new ones."""
        bounds = segment_bounds(self.size, segment)
        self._length, self._segments = segment, (bounds, [0] * (len(bounds) - 1))
        return bounds

    def _clear(self, segment: int) -> None:
        assert self._fd is not None
        self._divide(segment)
        os.ftruncate(self._fd, 0)
        record = _HEAD.pack(_MAGIC, self.size, self._length, self.count) + _DONE.pack(0) * self.count
        _write_all(self._fd, record, _record_offset(self.size))

    def missing(self, index: int) -> tuple[int, int]:
        """Return a segment's first missing byte, and the end of the segment."""
        bounds, done = self._segments
        return bounds[index] + done[index], bounds[index + 1]

    def is_full(self, index: int) -> bool:
        first, end = self.missing(index)
        return first == end

    @property
    def received(self) -> int:
        return sum(self._segments[1])

    @property
    def complete(self) -> bool:
        return self.received == self.size

    def prefix(self) -> int:
        """Bytes present from the start of the file without a gap."""
        bounds, done = self._segments
        total = 0
        for here, (start, end) in zip(done, pairwise(bounds), strict=True):
            total += here
            if here < end - start:
                break
        return total

    def write(self, index: int, data: bytes | memoryview, generation: int) -> bool:
        """Append to a segment; return False without writing if the file was closed or restarted."""
        with self._lock:
            if self._fd is None or generation != self.generation:
                return False
            bounds, done = self._segments
            here = done[index]
            _write_all(self._fd, data, bounds[index] + here)
            done[index] = here + len(data)
            _write_all(self._fd, _DONE.pack(here + len(data)), _record_offset(self.size) + _HEAD.size + _DONE.size * index)
            return True

    def read(self, start: int, into: memoryview) -> int:
        """Return the number of bytes read; 0 once the file is closed."""
        with self._duplicate() as fd:
            return 0 if fd is None else os.preadv(fd, [into], start)

    def restart(self, whole: bool = False) -> int:
        """Discard all bytes and return the new generation; `whole` makes the file a single segment."""
        with self._lock:
            self.generation += 1
            self._clear(max(self.size, _MIB) if whole else segment_length(self.size))
            return self.generation

    def flush(self) -> None:
        """Bring the bytes to the disk while others write, so that little is left to do at the end."""
        with self._duplicate() as fd:
            if fd is not None:
                os.fsync(fd)

    @contextmanager
    def _duplicate(self) -> Iterator[int | None]:
        """Yield a descriptor of its own, since after a close the number may belong to another file; None if closed."""
        with self._lock:
            fd = None if self._fd is None else os.dup(self._fd)
        try:
            yield fd
        finally:
            if fd is not None:
                os.close(fd)

    def finish(self, destination: Path) -> bool:
        """Give the file its final name, after its bytes are on the disk. Return False if the file was closed before."""
        with self._lock:
            if self._fd is None:
                return False
            assert self.complete
            os.ftruncate(self._fd, self.size)
            os.fsync(self._fd)
            os.replace(self.path, destination)
        self.close()
        return True

    def close(self) -> None:
        with self._lock:
            if self._fd is not None:
                os.close(self._fd)
                self._fd = None


def received_so_far(path: Path, size: int) -> int:
    """Bytes of an unfinished file that are present. Opens nothing for writing."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return 0
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            return 0
        record = _read_record(fd, size)
        return size if status.st_size == size else sum(record[1]) if record else 0
    finally:
        os.close(fd)


def _read_record(fd: int, size: int) -> tuple[int, list[int]] | None:
    """Return the segment length and the bytes present per segment; None without a valid record."""
    head = os.pread(fd, _HEAD.size, _record_offset(size))
    if len(head) < _HEAD.size:
        return None
    magic, known, segment, count = _HEAD.unpack(head)
    if magic != _MAGIC or known != size or not _MIB <= segment <= 2**40:
        return None
    bounds = segment_bounds(size, segment)
    counts = os.pread(fd, _DONE.size * (len(bounds) - 1), _record_offset(size) + _HEAD.size)
    if count != len(bounds) - 1 or len(counts) < _DONE.size * count:
        return None
    done = [here for (here,) in _DONE.iter_unpack(counts)]
    return (segment, done) if all(here <= end - start for here, (start, end) in zip(done, pairwise(bounds), strict=True)) else None


def _record_offset(size: int) -> int:
    return -(-size // 64) * 64


def _write_all(fd: int, data: bytes | memoryview, at: int) -> None:
    view = memoryview(data)
    while view:
        written = os.pwrite(fd, view, at)
        view, at = view[written:], at + written
