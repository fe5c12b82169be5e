"""Parallel transfer of listed files into the cache, resumable after any failure."""

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

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.files import cannot_write
from mlx_engine.models.downloads.bandwidth import Throttle
from mlx_engine.models.downloads.hub import TRANSIENT, Hub, Unreachable, busy, explain, no_ranges, unsafe_redirect
from mlx_engine.models.files import locks
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.files.mtp_head import is_intact
from mlx_engine.models.files.partial import PartialFile, received_so_far
from mlx_engine.models.files.repo import RemoteFile, RepoListing
from mlx_engine.network import traffic
from mlx_engine.network.hub_session import get_session

_EXPIRED = (401, 403, 404, 410)  # status codes of content hosts for an expired link
_READ = 1 << 20
# Bytes that a connection buffers: about a thousandth of the file, so that `kill -9` loses little
_SMALLEST_BUFFER, _LARGEST_BUFFER = 64 << 10, 1 << 20
_PROGRESS = (
    16 << 10
)  # bytes of a response; shorter ones count as failures, or a host that cuts off all of them would be retried forever
_WRITE_EVERY = 0.2  # at most this many seconds between writes
_MOST_REFUSALS = 12  # consecutive refusals of new links before giving up
_FLUSH_EVERY = 0.25  # seconds
_JOIN_TIMEOUT = 0.5  # seconds for all connections; a silent one times out on its own and can't write anymore
_POLL_OTHER = 0.5  # seconds between checks of another program's download


@dataclass(frozen=True)
class RetryPolicy:
    """Waiting times in seconds: initial, longest, and total before giving up."""

    first_wait: float = 0.5
    longest_wait: float = 30.0
    give_up: float = 300.0


class _Damaged(Exception):
    """An error for received data that doesn't match the listing."""


class _CutOff(Exception):
    """An error for a response that ended early."""


_SILENT = EngineText.of("hub_silent", "The model hub isn't responding. Trying again.")
_CUTS_OFF = EngineText.of("hub_cut_off", "The model hub cuts off its responses. Trying again.")


@dataclass
class _FileDownload:
    """The download of one file. The transfer's lock protects all fields but the hash."""

    listing: RepoListing
    remote: RemoteFile
    before: int  # bytes from an earlier attempt or another program
    elsewhere: bool = False  # another program is downloading the file
    partial: PartialFile | None = None
    lock: filelock.BaseFileLock | None = None
    link: tuple[str, dict[str, str]] | None = None
    opening: bool = False
    active: set[tuple[int, int]] = field(default_factory=set)  # (generation, segment) in progress
    ranged: bool | None = None  # whether the host supports Range; None before the first response
    failures: int = 0  # since the last progress
    refusals: int = 0  # of links, since the last progress
    not_before: float = 0.0
    damaged: bool = False  # failed verification before
    finished: bool = False
    hashed: int = 0  # bytes hashed of generation `hash_of`
    hash_of: int = -1
    hash: Any = None

    @property
    def received(self) -> int:
        return self.remote.size if self.finished else self.partial.received if self.partial else self.before

    def close(self) -> None:
        if self.partial is not None:
            self.partial.close()
        lock, self.lock = self.lock, None
        if lock is not None:
            lock.release()


class FileTransfer:
    """A transfer of listings' missing files into existing folders.

    Call `run` once. The other attributes can be read at any time.

    Args:
        connections: number of parallel connections.
        notes: receives messages to show after the transfer.
    """

    def __init__(
        self,
        hub: Hub,
        cache: HubCache,
        listings: list[RepoListing],
        connections: int = 6,
        throttle: Throttle | None = None,
        retry: RetryPolicy | None = None,
        notes: list[EngineText] | None = None,
    ) -> None:
        self._hub, self._cache, self._connections = hub, cache, connections
        self._throttle, self._retry = throttle or Throttle(), retry or RetryPolicy()
        self._notes = [] if notes is None else notes
        self._changed = threading.Condition()
        self._stop = threading.Event()
        self._error: BaseException | None = None
        self._last_progress = time.monotonic()
        self._cut_off = False  # whether the latest failure was a cut-off response
        self._waiting = False
        files = [(listing, file, cache.has(listing, file)) for listing in listings for file in listing.distinct]
        self._kept = sum(file.size for _, file, here in files if here)
        self._files = [
            _FileDownload(listing, file, received_so_far(cache.partial(listing, file), file.size))
            for listing, file, here in files
            if not here
        ]
        self.status: EngineText | None = None  # shown to the user now
        self.downloaded = 0  # bytes received over the network
        self.by_others = 0  # bytes of the same files that another program downloaded

    @property
    def received(self) -> int:
        """Bytes of the listings on this disk; fewer after a file starts over."""
        return self._kept + sum(file.received for file in self._files)

    def run(self, stop: threading.Event, tick: Callable[[], None] = lambda: None) -> bool:
        """Download until all files are verified. Return False if `stop` was set.

        Args:
            tick: called frequently, on this thread.

        Raises:
            UserError: the transfer can't continue; possibly RevisionGone or Unreachable.
        """
        workers = [threading.Thread(target=self._work, daemon=True) for _ in range(min(self._connections, 4 * len(self._files)))]
        verifier = threading.Thread(target=self._verify, daemon=True)
        for thread in (*workers, verifier, threading.Thread(target=self._flush, daemon=True)):
            thread.start()
        try:
            while any(worker.is_alive() for worker in workers):
                if stop.wait(0.02) or self._stop.is_set():
                    break
                self._check_timeout()
                tick()
        finally:
            self._stop.set()
            with self._changed:
                self._changed.notify_all()
            until = time.monotonic() + _JOIN_TIMEOUT
            for thread in (*workers, verifier):
                thread.join(max(until - time.monotonic(), 0.0))
            for file in self._files:
                file.close()
        if self._error is not None:
            raise self._error
        return all(file.finished for file in self._files)

    # --- Connections --------------------------------------------------------------------------------------------------------------
    def _work(self) -> None:
        traffic.use_for("download")
        try:
            while (job := self._next_job()) is not None:
                file, key = job
                try:
                    if file.partial is None:
                        self._open(file)
                    else:
                        self._download(file, file.partial, key)
                except httpx2.UnsupportedProtocol:
                    raise unsafe_redirect(self._hub.endpoint) from None
                except (Unreachable, httpx2.TransportError, _CutOff) as error:
                    self._failed(file, error)
                except httpx2.RequestError as error:  # too many redirects
                    raise explain(error, file.listing.repo, self._hub.endpoint, has_token=True) from None
                except _Damaged:
                    self._start_over(file)
                finally:
                    with self._changed:
                        file.opening = False
                        file.active.discard(key)
                        self._changed.notify_all()
        except BaseException as error:
            self._end(error)

    def _flush(self) -> None:
        while not self._stop.wait(_FLUSH_EVERY):
            for file in self._files:
                if file.partial is not None and not file.finished:
                    with suppress(OSError):  # writers report the same error
                        file.partial.flush()

    def _next_job(self) -> tuple[_FileDownload, tuple[int, int]] | None:
        """Return a file to open or a segment to download, or None if all are done."""
        with self._changed:
            while not self._stop.is_set() and not all(file.finished for file in self._files):
                now = time.monotonic()
                for file in self._files:
                    if file.finished or file.opening or file.not_before > now:
                        continue
                    if file.partial is None:
                        file.opening = True
                        return file, (0, 0)
                    if (key := self._free_segment(file, file.partial)) is not None:
                        file.active.add(key)
                        return file, key
                self._changed.wait(0.05)
            return None

    def _free_segment(self, file: _FileDownload, partial: PartialFile) -> tuple[int, int] | None:
        generation = partial.generation
        taken = {segment for age, segment in file.active if age == generation}
        if taken and not file.ranged:  # one connection only, until the host is known to support Range
            return None
        free = (segment for segment in range(partial.count) if segment not in taken and not partial.is_full(segment))
        return next(((generation, segment) for segment in free), None)

    def _open(self, file: _FileDownload) -> None:
        # a program that only tests the lock holds it for a moment, so a short wait suffices
        lock = self._cache.lock(file.listing, file.remote, 0.0 if file.elsewhere else locks.PROBE_TIMEOUT)
        if lock is None:
            self._follow(file)
            return
        try:
            whole = self._cache.has(file.listing, file.remote)
            partial = None if whole else PartialFile(self._cache.partial(file.listing, file.remote), file.remote.size)
        except BaseException:
            lock.release()
            raise
        with self._changed:
            file.partial, file.lock, file.finished = partial, lock, whole
            if file.elsewhere:
                self._count_others(file, file.received)
                file.elsewhere = False
                if not any(each.elsewhere for each in self._files):
                    self.status = None
        if whole or self._stop.is_set():
            file.close()

    def _follow(self, file: _FileDownload) -> None:
        """Show the progress of another program's download, and retry the lock later."""
        here = received_so_far(self._cache.partial(file.listing, file.remote), file.remote.size)
        with self._changed:
            now = time.monotonic()
            file.elsewhere, file.not_before, self._last_progress = True, now + _POLL_OTHER, now
            self._count_others(file, here)
            template = "Another program is also downloading {repo}. Each file is downloaded only once."
            self.status = EngineText.of("downloaded_elsewhere", template, repo=file.listing.repo)

    def _count_others(self, file: _FileDownload, here: int) -> None:
        self.by_others += max(here - file.before, 0)
        file.before = here

    def _download(self, file: _FileDownload, partial: PartialFile, key: tuple[int, int]) -> None:
        with self._changed:
            generation, segment = key
            if generation != partial.generation:
                return
            link, (first, end) = file.link, partial.missing(segment)
        shift = 0
        if (part := file.remote.excerpt) is not None:
            if first < len(part.start):
                partial.write(segment, part.start[first:end], generation)
                return
            place, end = part.locate(first, end)
            shift = place - first
        if link is None:
            link = self._hub.locate(file.listing, file.remote)
            with self._changed:
                file.link = link
        url, headers = link
        headers = {**headers, "Range": f"bytes={first + shift}-{end + shift - 1}"}
        with get_session().stream("GET", url, headers=headers, timeout=self._hub.timeout) as answer:
            if answer.status_code == 200:
                if part is not None:
                    raise no_ranges(file.listing.repo, file.remote.path)
                with self._changed:
                    if generation != partial.generation:
                        return
                    file.ranged = False
                    if (first, end) != (0, file.remote.size):
                        generation = self._restart_without_ranges(file, partial)
                        segment, first, end = 0, 0, file.remote.size
            self._check_answer(file, answer, link, first + shift)
            with self._changed:
                file.ranged = answer.status_code == 206
                self._changed.notify_all()  # other connections may join now
            try:
                whole = self._receive(file, partial, answer, (generation, segment), end - first)
            finally:
                if generation != key[0]:  # the claim of a restart; `_work` ends the claim of `key`
                    with self._changed:
                        file.active.discard((generation, segment))
        if not whole and not self._stop.is_set() and generation == partial.generation:
            raise _CutOff

    def _receive(self, file: _FileDownload, partial: PartialFile, answer: httpx2.Response, key: tuple[int, int], left: int) -> bool:
        """Write a response's body to its segment, and return whether it is complete."""
        buffer = memoryview(bytearray(min(max(file.remote.size >> 10, _SMALLEST_BUFFER), _LARGEST_BUFFER, left)))
        asked, written_bytes, held, wrote = left, 0, 0, time.monotonic()

        def write() -> bool:
            nonlocal written_bytes, held, wrote
            count, held, wrote = held, 0, time.monotonic()
            if count and not partial.write(key[1], buffer[:count], key[0]):
                return False
            if count:
                written_bytes += count
                self._count(file, count, written_bytes >= min(_PROGRESS, asked))
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
        except httpx2.TransportError as error:
            if left < asked and write() and not isinstance(error, httpx2.TimeoutException):
                raise _CutOff from None
            raise
        finally:
            written = write()  # also after an error
        return written and left == 0

    def _check_answer(self, file: _FileDownload, answer: httpx2.Response, link: tuple[str, dict[str, str]], first: int) -> None:
        """Refuse a response that isn't the requested range."""
        status, size = answer.status_code, str(file.remote.source.size)
        if status in TRANSIENT:
            raise busy(answer)
        if status in _EXPIRED:
            with self._changed:
                if file.link is link:  # other connections use the same link
                    file.link, file.refusals = None, file.refusals + 1
                refusals = file.refusals
            if refusals <= _MOST_REFUSALS:
                raise Unreachable("link_expired", "The download link has expired. Try again.", after_s=0.0)
        if status == 206:
            sent, _, total = answer.headers.get("Content-Range", "").removeprefix("bytes ").partition("/")
            if not sent.startswith(f"{first}-") or total not in ("*", size):
                raise _Damaged
        elif status == 200:
            if answer.headers.get("Content-Length", size) != size:
                raise _Damaged
        elif status == 416:
            raise _Damaged
        else:
            template = "The download server refused {file} in {repo} (status {status}). Downloaded data is kept. Try again later."
            raise UserError("content_refused", template, file=file.remote.path, repo=file.listing.repo, status=status)

    def _restart_without_ranges(self, file: _FileDownload, partial: PartialFile) -> int:
        """Restart a file as one request, since its host ignores Range."""
        lost = partial.received
        generation = partial.restart(whole=True)
        file.active.add((generation, 0))
        if lost:
            template = "The host of {file} can't resume downloads, so this one starts over."
            self._note(EngineText.of("host_cannot_resume", template, file=file.remote.path))
        return generation

    # --- Verification -------------------------------------------------------------------------------------------------------------
    def _verify(self) -> None:
        """Hash files as they arrive, without delaying connections, and complete them."""
        buffer = memoryview(bytearray(_READ))
        try:
            while not self._stop.is_set():
                open_files = [(file, file.partial) for file in self._files if file.partial is not None and not file.finished]
                if not any([self._hash(file, partial, buffer) for file, partial in open_files]):
                    self._stop.wait(0.02)
        except BaseException as error:
            self._end(error)

    def _hash(self, file: _FileDownload, partial: PartialFile, buffer: memoryview) -> bool:
        """Hash the next contiguous bytes, and return whether there were any."""
        generation = partial.generation
        if file.hash_of != generation:
            file.hash_of, file.hashed = generation, 0
            file.hash = hashlib.sha256() if file.remote.lfs else hashlib.sha1(b"blob %d\0" % file.remote.size)
        count = partial.read(file.hashed, buffer[: max(partial.prefix() - file.hashed, 0)])
        file.hash.update(buffer[:count])
        file.hashed += count
        if file.hashed == file.remote.size and generation == partial.generation:
            part = file.remote.excerpt
            if is_intact(partial.path, part) if part else file.hash.hexdigest() == file.remote.digest:
                if partial.finish(self._cache.blob(file.listing, file.remote)):  # otherwise a stop has closed the file
                    with self._changed:
                        file.finished = True
                    file.close()
            else:
                self._start_over(file)
        return count > 0

    def _start_over(self, file: _FileDownload) -> None:
        with self._changed:
            again, file.damaged, file.link = file.damaged, True, None
            if file.partial is not None:
                file.partial.restart()
        template = "{file} was corrupted during download and is being downloaded again."
        note = EngineText.of("file_damaged", template, file=file.remote.path)
        if again:
            self._notes[:] = [each for each in self._notes if each != note]
            template = (
                "{file} in {repo} was corrupted in two downloads and has been deleted. Try again later, or use another mirror."
            )
            raise UserError("file_damaged_twice", template, file=file.remote.path, repo=file.listing.repo)
        self._note(note)

    # --- Failures -----------------------------------------------------------------------------------------------------------------
    def _count(self, file: _FileDownload, count: int, progress: bool) -> None:
        with self._changed:
            self.downloaded += count
            if not progress:
                return
            self._last_progress = time.monotonic()
            file.failures = file.refusals = 0
            if self._waiting:
                self._waiting, self.status = False, None

    def _failed(self, file: _FileDownload, error: Exception) -> None:
        after = error.after_s if isinstance(error, Unreachable) else None
        with self._changed:
            wait = min(self._retry.longest_wait, self._retry.first_wait * 2 ** min(file.failures, 99)) * random.uniform(0.75, 1.0)
            if after is not None:
                wait = min(max(after, wait if file.failures > 2 else 0.0), self._retry.give_up)
            file.failures += 1
            file.not_before = time.monotonic() + wait
            self._cut_off = isinstance(error, _CutOff)
            if self._waiting or file.failures > 3:
                self._waiting = True
                self.status = _CUTS_OFF if self._cut_off else _SILENT

    def _check_timeout(self) -> None:
        with self._changed:
            silent, cut_off = time.monotonic() - self._last_progress, self._cut_off
            failing = any(file.failures and not file.finished for file in self._files)
        if failing and silent > self._retry.give_up and cut_off:
            template = (
                "{endpoint} has cut off every response for {seconds:.0f} seconds. Downloaded data is kept. Check your network and "
                "proxy, then resume the download."
            )
            self._end(Unreachable("hub_cuts_off", template, endpoint=self._hub.endpoint, seconds=silent))
        elif failing and silent > self._retry.give_up:
            template = "{endpoint} hasn't responded for {seconds:.0f} seconds. Check your network, then resume the download."
            self._end(Unreachable("hub_timeout", template, endpoint=self._hub.endpoint, seconds=silent))

    def _end(self, error: BaseException) -> None:
        if isinstance(error, OSError):
            error = self._disk_error(error)
        with self._changed:
            self._error = self._error or error
            self._stop.set()
            self._changed.notify_all()

    def _disk_error(self, error: OSError) -> UserError:
        folder = str(self._cache.root)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            missing = sum(file.remote.size - file.received for file in self._files)
            template = "The disk that contains “{folder}” is full. Downloaded data is kept. Free up {missing:,.2f} GB, then resume."
            return UserError("disk_full", template, folder=folder, missing=missing / 1e9)
        if error.errno == errno.EFBIG:
            template = "The disk that contains “{folder}” doesn't support files this large. Move the model folder to another disk."
            return UserError("disk_without_large_files", template, folder=folder)
        return cannot_write(self._cache.root, error)

    def _note(self, note: EngineText) -> None:
        self.status = note
        if note not in self._notes:
            self._notes.append(note)
