"""Unfinished downloads: one file with the received bytes and a record of them.

The file survives `kill -9` at any instruction. Received bytes are at their final offsets. The record follows at the next multiple
of 64: magic, size, segment length, number of segments, and for each segment the number of bytes present from its start. A segment's
bytes are written before its count, and 8 aligned bytes are written atomically, so the record never claims missing bytes. (It may
after a power failure; then the checksum fails, and the file is downloaded again.) Removing the record finishes the file.
"""

import os
import stat
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

from mlx_engine.contract.files import not_regular_file

SUFFIX = ".slipstream.incomplete"  # ends like the hub's own, so that its tools recognize unfinished files
_MAGIC = b"slipstrm"
_HEAD = struct.Struct("<8sQQQ")
_DONE = struct.Struct("<Q")
_MIB = 1 << 20


def segment_length(size: int) -> int:
    """Return the length in bytes of the ranges in which a file is downloaded."""
    return min(max(-(-size // 16), _MIB), 32 * _MIB)


def segment_bounds(size: int, segment: int) -> list[int]:
    """Return the start of each segment, and the end of the last.

    Hashing runs from the start, so bytes after an unfinished segment must wait. Dividing the last eight segments further leaves
    little to hash when the last byte arrives.
    """
    if segment >= size:
        return [0, size] if size else [0]
    coarse = max(size // segment - 8, 0) * segment
    return [*range(0, coarse, segment), *range(coarse, size, max(segment // 8, _MIB)), size]


class PartialFile:
    """An open unfinished file. Threads may write to separate segments concurrently.

    Args:
        path: a new file, or an unfinished one to continue.
        size: bytes of the finished file.
    """

    def __init__(self, path: Path, size: int) -> None:
        self.path, self.size = path, size
        self.generation = 0  # number of restarts; writes from earlier generations are refused
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
        if os.fstat(self._fd).st_size == self.size:  # complete, without its record: only verification is left
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
        """Start over with empty segments. Readers see all old segments or all new ones."""
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
        """Return a segment's range of missing bytes: start and end offsets."""
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
        """Return the number of bytes present from the start without a gap."""
        bounds, done = self._segments
        total = 0
        for here, (start, end) in zip(done, pairwise(bounds), strict=True):
            total += here
            if here < end - start:
                break
        return total

    def write(self, index: int, data: bytes | memoryview, generation: int) -> bool:
        """Append to a segment. Return False if the file was closed or restarted."""
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
        """Read bytes from `start` and return their number, or 0 if the file is closed."""
        with self._duplicate() as fd:
            return 0 if fd is None else os.preadv(fd, [into], start)

    def restart(self, whole: bool = False) -> int:
        """Discard all bytes and return the new generation, with one segment if `whole`."""
        with self._lock:
            self.generation += 1
            self._clear(max(self.size, _MIB) if whole else segment_length(self.size))
            return self.generation

    def flush(self) -> None:
        """Flush written bytes to disk early, so that the final sync is short."""
        with self._duplicate() as fd:
            if fd is not None:
                os.fsync(fd)

    @contextmanager
    def _duplicate(self) -> Iterator[int | None]:
        """Yield a duplicate descriptor that a close doesn't affect, or None if closed."""
        with self._lock:
            fd = None if self._fd is None else os.dup(self._fd)
        try:
            yield fd
        finally:
            if fd is not None:
                os.close(fd)

    def finish(self, destination: Path) -> bool:
        """Sync the file and give it its final name. Return False if already closed."""
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
    """Return the bytes present in an unfinished file, opened only for reading."""
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
    """Return the segment length and the bytes present per segment, or None if invalid."""
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
