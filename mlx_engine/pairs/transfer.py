"""The bytes of listings into the cache: several files and ranges of each at once, each file checked before it gets its name.

Whatever goes wrong on the way, what has arrived is kept, but for the cases that the sentences tell.
"""

import errno
import hashlib
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import filelock
import httpx2
from huggingface_hub import get_session

from mlx_engine.errors import UserError
from mlx_engine.pairs import active_use
from mlx_engine.pairs.cache import Cache
from mlx_engine.pairs.metadata import Hub
from mlx_engine.pairs.partial import Partial, received_so_far
from mlx_engine.pairs.refusals import PASSING, Unreachable, first_line, wish
from mlx_engine.pairs.repo import Listing, RemoteFile
from mlx_engine.pairs.throttle import Throttle

_EXPIRED = (401, 403, 404, 410)  # what content hosts say of a signed link that is too old
_READ = 1 << 20
# Bytes that one connection gathers before it writes: about a thousandth of the file, so that kill -9 costs little of it
_LEAST_WRITE, _MOST_WRITE = 64 << 10, 1 << 20
_WRITE_EVERY = 0.2  # seconds, at the latest: what is in memory when the program is killed is lost
_MOST_REFUSALS = 12  # of fresh links in a row, before a host is taken at its word
_FLUSH_EVERY = 0.25  # seconds
_GOODBYE = 0.5  # seconds; a connection that waits for a silent host is left to its timeout then: it can no longer write
_LOOK_EVERY = 0.5  # seconds between two looks at a file that another program is fetching


@dataclass(frozen=True)
class Patience:
    """When to try again, in seconds: after the first failure, at most, and when to give up for want of a single byte."""

    first_wait: float = 0.5
    longest_wait: float = 30.0
    give_up: float = 300.0


class _Damaged(Exception):
    """What came is not what the listing names."""


@dataclass
class _File:
    """One file on its way. Its fields are written under the transfer's lock, but for the hashing, which has a lock of its own."""

    listing: Listing
    file: RemoteFile
    before: int  # bytes that an earlier try left, or that another program has fetched of it by now
    elsewhere: bool = False  # another program is fetching it
    partial: Partial | None = None
    lock: filelock.BaseFileLock | None = None
    link: tuple[str, dict[str, str]] | None = None
    opening: bool = False
    busy: set[tuple[int, int]] = field(default_factory=set)  # (generation, segment) being fetched; (generation, -1) being checked
    ranged: bool | None = None  # whether its host honours Range; not known before the first answer
    failures: int = 0  # since its last byte
    refused: int = 0  # signed links, since its last byte
    not_before: float = 0.0
    damaged: int = 0
    finished: bool = False
    hashing: threading.Lock = field(default_factory=threading.Lock)
    hashed: int = 0  # bytes, of the generation `hash_of`
    hash_of: int = -1
    hash: Any = None

    def fresh_hash(self, generation: int) -> None:
        self.hash_of, self.hashed = generation, 0
        self.hash = hashlib.sha256() if self.file.lfs else hashlib.sha1(b"blob %d\0" % self.file.size)


class Transfer:
    """Fetches what is missing of the listings, into folders that are there. `run` once; `received` may be read from any thread.

    Args:
        connections: how many at once.
        say: told what a person should know just now, in a sentence: a wait for the network ("" when it is over).
        note: told what they should know afterwards too: a file that starts again.
    """

    def __init__(
        self,
        hub: Hub,
        cache: Cache,
        listings: list[Listing],
        connections: int = 6,
        throttle: Throttle | None = None,
        patience: Patience | None = None,
        say: Callable[[str], None] = lambda words: None,
        note: Callable[[str], None] = lambda words: None,
    ) -> None:
        self._hub, self._cache, self._say, self._note = hub, cache, say, note
        self._throttle, self._patience = throttle or Throttle(), patience or Patience()
        self._connections = connections
        self._turn = threading.Condition()
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._last_byte = time.monotonic()
        self._waiting = False
        self._kept = sum(file.size for listing in listings for file in listing.files if cache.has(listing, file))
        self._files = [
            _File(listing, file, received_so_far(cache.partial(listing, file), file.size))
            for listing in listings
            for file in listing.files
            if not cache.has(listing, file)
        ]
        self.fetched = 0  # bytes that came over the network in this run
        self.beside = 0  # bytes that another program fetched of the same files meanwhile

    @property
    def received(self) -> int:
        """Bytes of the listings that are here. It shrinks when a file has to start again."""
        return self._kept + sum(
            one.file.size if one.finished else one.partial.received if one.partial else one.before for one in self._files
        )

    def run(self, stop: threading.Event, tick: Callable[[], None] = lambda: None) -> bool:
        """Fetch until all is here and checked (True), or until `stop` is set (False): then all that came is kept.

        `tick` is called many times a second, on this thread.

        Raises:
            UserError: it cannot go on; what came is kept. RevisionGone, Unreachable: as they say.
        """
        workers = [threading.Thread(target=self._work, daemon=True) for _ in range(min(self._connections, 4 * len(self._files)))]
        beside = [threading.Thread(target=work, daemon=True) for work in (self._flush, self._hash)]
        for worker in [*workers, *beside]:
            worker.start()
        try:
            while any(worker.is_alive() for worker in workers):
                if stop.wait(0.02) or self._stop.is_set():
                    break
                self._look_at_the_clock()
                tick()
        finally:
            self._stop.set()
            with self._turn:
                self._turn.notify_all()
            until = time.monotonic() + _GOODBYE  # for all of them together
            for worker in workers:
                worker.join(max(until - time.monotonic(), 0.0))
            for one in self._files:
                self._close(one)
        if self._error is not None:
            raise self._error
        return all(one.finished for one in self._files)

    # --- One connection -----------------------------------------------------------------------------------------------------------
    def _work(self) -> None:
        try:
            while (job := self._next_job()) is not None:
                one, key = job
                try:
                    if one.partial is None:
                        self._open(one)
                    elif key[1] < 0:
                        self._finish(one)
                    else:
                        self._fetch(one, one.partial, key)
                except (Unreachable, httpx2.TransportError, httpx2.RemoteProtocolError) as error:
                    self._failed(one, error.after_s if isinstance(error, Unreachable) else None)
                except _Damaged:
                    self._start_again(one)
                finally:
                    with self._turn:
                        one.opening = False
                        one.busy.discard(key)
                        self._turn.notify_all()
        except OSError as error:
            self._end(self._disk_error(error))
        except BaseException as error:
            self._end(error)

    def _flush(self) -> None:
        while not self._stop.wait(_FLUSH_EVERY):
            for one in self._files:
                if one.partial is not None and not one.finished:
                    with suppress(OSError):  # a disk that is full or gone is met by the writers
                        one.partial.flush()

    def _hash(self) -> None:
        """Keep the checking close behind what arrives, so that no connection stops reading for it."""
        try:
            while not self._stop.wait(0.02):
                for one in self._files:
                    if one.partial is not None and not one.finished:
                        self._advance_hash(one, one.partial)
        except OSError as error:
            self._end(self._disk_error(error))
        except BaseException as error:
            self._end(error)

    def _next_job(self) -> tuple[_File, tuple[int, int]] | None:
        """A file to open, one to check (segment -1), or a segment to fetch; None when there is nothing left to do."""
        with self._turn:
            while not self._stop.is_set() and not all(one.finished for one in self._files):
                now = time.monotonic()
                for one in self._files:
                    if one.finished or one.opening or one.not_before > now:
                        continue
                    if one.partial is None:
                        one.opening = True
                        return one, (0, -1)
                    if (key := self._free(one, one.partial)) is not None:
                        one.busy.add(key)
                        return one, key
                self._turn.wait(0.05)
            return None

    def _free(self, one: _File, partial: Partial) -> tuple[int, int] | None:
        """What of a file nobody is at. While it is not known whether its host honours Range, one connection asks."""
        generation = partial.generation
        taken = {segment for age, segment in one.busy if age == generation}
        if partial.complete:
            return None if taken else (generation, -1)
        if taken and not one.ranged:
            return None
        free = (segment for segment in range(partial.count) if segment not in taken and not partial.full(segment))
        return next(((generation, segment) for segment in free), None)

    def _open(self, one: _File) -> None:
        # once it is known that another program fetches it, a look costs no waiting: it is tried again soon
        lock = self._cache.lock(one.listing, one.file, 0.0 if one.elsewhere else active_use.LOOK)
        if lock is None:
            self._follow(one)
            return
        try:
            whole = self._cache.has(one.listing, one.file)
            partial = None if whole else Partial(self._cache.partial(one.listing, one.file), one.file.size)
        except BaseException:
            lock.release()
            raise
        with self._turn:
            one.partial, one.lock, one.finished = partial, lock, whole
            over = one.elsewhere
            if over:
                self._note_beside(one, one.file.size if partial is None else partial.received)
                one.elsewhere = False
                over = not any(each.elsewhere for each in self._files)
        if over:
            self._say("")
        if self._stop.is_set():
            self._close(one)

    def _follow(self, one: _File) -> None:
        """Another program is fetching it: how far it is can be seen in its partial file. The lock is tried again soon."""
        here = received_so_far(self._cache.partial(one.listing, one.file), one.file.size)
        with self._turn:
            now = time.monotonic()
            one.elsewhere, one.not_before, self._last_byte = True, now + _LOOK_EVERY, now
            self._note_beside(one, here)
        self._say(f"Another program is fetching {one.listing.repo} too; nothing of it is fetched twice.")

    def _note_beside(self, one: _File, here: int) -> None:
        self.beside += max(here - one.before, 0)
        one.before = here

    def _fetch(self, one: _File, partial: Partial, key: tuple[int, int]) -> None:
        with self._turn:
            generation, segment = key
            if generation != partial.generation:
                return
            link, (first, end) = one.link, partial.missing(segment)
        if link is None:
            link = self._hub.locate(one.listing, one.file)
            with self._turn:
                one.link = link
        url, headers = link
        asked = {**headers, "Range": f"bytes={first}-{end - 1}"}
        with get_session().stream("GET", url, headers=asked, timeout=self._hub.timeout) as answer:
            if answer.status_code == 200:
                with self._turn:
                    if generation != partial.generation:
                        return
                    one.ranged = False
                    if (first, end) != (0, one.file.size):
                        generation = self._without_ranges(one, partial)
                        segment, first, end = 0, 0, one.file.size
            self._judge(one, answer, link, first, end)
            with self._turn:
                one.ranged = answer.status_code == 206
                self._turn.notify_all()  # the other connections may help now
            try:
                whole = self._take(one, partial, answer, (generation, segment), end - first)
            finally:
                with self._turn:
                    one.busy.discard((generation, segment))
        if not whole and not self._stop.is_set() and generation == partial.generation:
            raise httpx2.RemoteProtocolError("the answer is shorter than what was asked for")

    def _take(self, one: _File, partial: Partial, answer: httpx2.Response, key: tuple[int, int], left: int) -> bool:
        """The body of an answer into its segment; whether all of it came."""
        buffer = memoryview(bytearray(min(max(one.file.size >> 10, _LEAST_WRITE), _MOST_WRITE, left)))
        held, wrote = 0, time.monotonic()

        def write() -> bool:
            nonlocal held, wrote
            count, held, wrote = held, 0, time.monotonic()
            if count and not partial.write(key[1], buffer[:count], key[0]):
                return False
            if count:
                self._count(one, count)
            return True

        try:
            for piece in answer.iter_raw():
                data = memoryview(piece)[:left]
                left -= len(data)
                self._throttle.take(len(data), self._stop)
                while data:
                    fits = min(len(data), len(buffer) - held)
                    buffer[held : held + fits] = data[:fits]
                    data, held = data[fits:], held + fits
                    if (held == len(buffer) or time.monotonic() - wrote > _WRITE_EVERY) and not write():
                        return False
                if left == 0 or self._stop.is_set():
                    break
        finally:
            written = write()  # also when the connection broke off
        return written and left == 0

    def _judge(self, one: _File, answer: httpx2.Response, link: tuple[str, dict[str, str]], first: int, end: int) -> None:
        """Refuse an answer that is not the range asked for."""
        status = answer.status_code
        if status in PASSING:
            raise Unreachable(f"The content host is busy or out of order (status {status}).", wish(answer.headers))
        if status in _EXPIRED:
            with self._turn:
                if one.link is link:  # the other connections with the same link are refused with it
                    one.link, one.refused = None, one.refused + 1
                refused = one.refused
            if refused > _MOST_REFUSALS:
                raise self._refused(one, status)
            raise Unreachable("The link has expired.", 0.0)
        if status == 206:
            sent, _, total = answer.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
            if not sent.startswith(f"{first}-") or total not in ("*", str(one.file.size)):
                raise _Damaged
        elif status == 200:
            if answer.headers.get("Content-Length", str(one.file.size)) != str(one.file.size):
                raise _Damaged
        elif status == 416:
            raise _Damaged
        else:
            raise self._refused(one, status)

    def _refused(self, one: _File, status: int) -> UserError:
        return UserError(
            f"The content host refuses {one.file.path} of {one.listing.repo} (status {status}). What came is kept; try again later."
        )

    def _without_ranges(self, one: _File, partial: Partial) -> int:
        """The host sends the whole file whatever is asked: take it in one piece, from its start. Called under the lock."""
        lost = partial.received
        generation = partial.restart(whole=True)
        one.busy.add((generation, 0))
        if lost:
            self._note(f"The host of {one.file.path} cannot resume, so the file starts again from zero.")
        return generation

    # --- Checking -----------------------------------------------------------------------------------------------------------------
    def _advance_hash(self, one: _File, partial: Partial, wait: bool = False) -> None:
        """Hash what has come without a gap; one thread at a time."""
        if not one.hashing.acquire(blocking=wait):
            return
        try:
            buffer = memoryview(bytearray(_READ))
            generation, here = partial.generation, partial.prefix()
            if one.hash_of != generation:
                one.fresh_hash(generation)
            while one.hashed < here and generation == partial.generation and not self._stop.is_set():
                count = partial.read(one.hashed, buffer[: here - one.hashed])
                one.hash.update(buffer[:count])
                one.hashed += count
        finally:
            one.hashing.release()

    def _finish(self, one: _File) -> None:
        assert one.partial is not None
        self._advance_hash(one, one.partial, wait=True)
        if self._stop.is_set():
            return
        if one.hash is None or one.hash.hexdigest() != one.file.digest:
            raise _Damaged
        one.partial.finish(self._cache.blob(one.listing, one.file))
        with self._turn:
            one.finished = True
        self._close(one)

    def _start_again(self, one: _File) -> None:
        with self._turn:
            one.damaged += 1
            again = one.damaged == 1
            if one.partial is not None:
                one.partial.restart()
            one.link = None
        if not again:
            self._end(
                UserError(
                    f"{one.file.path} of {one.listing.repo} arrived damaged twice: its checksum is not the one that the hub lists. "
                    "Nothing of it was kept. Try again later, or another mirror."
                )
            )
            return
        self._note(f"{one.file.path} arrived damaged and is fetched again.")

    # --- What goes wrong ----------------------------------------------------------------------------------------------------------
    def _count(self, one: _File, count: int) -> None:
        with self._turn:
            self.fetched += count
            self._last_byte = time.monotonic()
            one.failures = one.refused = 0
            over, self._waiting = self._waiting, False
        if over:
            self._say("")

    def _failed(self, one: _File, after: float | None) -> None:
        with self._turn:
            wait = min(self._patience.longest_wait, self._patience.first_wait * 2**one.failures) * random.uniform(0.75, 1.0)
            if after is not None:
                wait = min(max(after, wait if one.failures > 2 else 0.0), self._patience.give_up)
            one.failures += 1
            one.not_before = time.monotonic() + wait
            tell = not self._waiting and one.failures > 3
            self._waiting = self._waiting or tell
        if tell:
            self._say("No answer from the model hub; trying again. What is here is kept.")

    def _look_at_the_clock(self) -> None:
        with self._turn:
            silent = time.monotonic() - self._last_byte
            failing = any(one.failures and not one.finished for one in self._files)
        if failing and silent > self._patience.give_up:
            self._end(
                Unreachable(
                    f"{self._hub.endpoint} has not answered for {silent:.0f} seconds. What came is kept: start the download again "
                    "when the network is back, and it goes on from there."
                )
            )

    def _disk_error(self, error: OSError) -> UserError:
        folder, missing = self._cache.root, sum(one.file.size for one in self._files) + self._kept - self.received
        match error.errno:
            case errno.ENOSPC | errno.EDQUOT:
                return UserError(
                    f"The disk of {folder} is full: {missing / 1e9:,.2f} GB more are needed. What came is kept. Free some room and "
                    "start the download again."
                )
            case errno.EFBIG:
                return UserError(f"The disk of {folder} takes no files this large. Move the model folder to another disk.")
            case _:
                return UserError(f"{folder} cannot be written to ({error.strerror or first_line(error)}). What came is kept.")

    def _end(self, error: BaseException) -> None:
        with self._turn:
            self._error = self._error or error
            self._stop.set()
            self._turn.notify_all()

    def _close(self, one: _File) -> None:
        if one.partial is not None:
            one.partial.close()
        if one.lock is not None:
            lock, one.lock = one.lock, None
            lock.release()
