"""The download queue: saved pairs that are downloaded one after another.

`python -m mlx_engine.models.downloads.download_queue` runs the queue in its own process, so that the window never waits
for it and quitting loses nothing.

It reads commands as JSON lines from standard input: {"do": "add" | "pause" | "cancel", "target": …, "drafter": …}
or {"do": "limit", "bytes_per_s": number or null}, which is also saved. "add" may name the folder "held" in which another app has
the target. It writes events as JSON lines to standard output, where "event" is queue, progress, ready, failed, or error (a refused
command, with its pair). It ends when standard input ends.
"""

import json
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.files import DamagedFile, cannot_write, damaged_file, data_folder, read_json, why_failed, write_json
from mlx_engine.models.downloads.bandwidth import Throttle, download_limit, save_download_limit
from mlx_engine.models.downloads.download import Download, DownloadProgress
from mlx_engine.models.downloads.hub import Hub
from mlx_engine.models.downloads.transfer import RetryPolicy
from mlx_engine.models.files import locks
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.files.repo import is_commit
from mlx_engine.models.library.pair import Pair

_LONGEST_REASON = 1000  # characters
_POLL = 1.0  # seconds between checks for changes that other programs make to the queue
DownloadState = Literal["waiting", "running", "paused", "failed"]


@dataclass(frozen=True)
class QueuedPair:
    """A pair in the queue. Completed and canceled pairs are removed."""

    pair: Pair
    state: DownloadState = "waiting"
    pins: dict[str, str] = field(default_factory=dict)  # repo -> commit
    reason: EngineText | None = None  # why it failed
    held: Path | None = None  # the target's folder if another app holds it

    def to_json(self) -> dict[str, Any]:
        reason = text_to_json(self.reason) if self.reason else None
        held = {"held": str(self.held)} if self.held else {}
        return {**asdict(self.pair), "state": self.state, "pins": self.pins, "reason": reason, **held}

    @classmethod
    def from_json(cls, raw: Any) -> "QueuedPair | None":
        try:
            pair = Pair(raw["target"], raw.get("drafter"))
        except (UserError, KeyError, TypeError, AttributeError):
            return None
        pins = raw.get("pins")
        valid = {repo: pin for repo, pin in pins.items() if repo in pair.repos and is_commit(pin)} if isinstance(pins, dict) else {}
        state: DownloadState = raw["state"] if raw.get("state") in ("paused", "failed") else "waiting"
        words = raw.get("words")  # the reason as saved by earlier versions
        reason = text_from_json(raw.get("reason")) or (EngineText("", words[:500]) if words and isinstance(words, str) else None)
        return cls(pair, state, valid, reason, _held_folder(pair, raw.get("held")))


def _held_folder(pair: Pair, name: object) -> Path | None:
    return Path(name) if isinstance(name, str) and os.path.isabs(name) and len(pair.repos) > 1 else None


class QueueFile:
    """The saved queue, which several processes may use."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path or data_folder() / "downloads.json"
        self.running_lock = self.path.with_suffix(".running")  # held by the process that runs the queue

    def read(self) -> tuple[QueuedPair, ...]:
        """Return the queue, or () if the file can't be read."""
        try:
            return self.load()
        except UserError:
            return ()

    def load(self) -> tuple[QueuedPair, ...]:
        raw = read_json(self.path)
        if raw is not None and not isinstance(raw, list):
            raise damaged_file(self.path)
        return tuple(queued for item in (raw or ())[:1000] if (queued := QueuedPair.from_json(item)))

    def change(self, change: Callable[[tuple[QueuedPair, ...]], Iterable[QueuedPair]]) -> tuple[QueuedPair, ...]:
        """Read, change, and write the queue under a lock. A damaged file is set aside."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            lock = locks.acquire(self.path.with_suffix(".lock"), timeout=10.0)
            if lock is None:
                raise UserError("queue_locked", "Another program is using the download queue. Quit it, then try again.")
            try:
                try:
                    before = self.load()
                except DamagedFile:
                    os.replace(self.path, self.path.with_suffix(".damaged.json"))
                    before = ()
                queue = tuple(change(before))
                if queue != before:
                    write_json(self.path, [queued.to_json() for queued in queue])
                return queue
            finally:
                lock.release()
        except OSError as error:
            raise cannot_write(self.path, error) from None

    def find(self, pair: Pair) -> QueuedPair | None:
        return next((queued for queued in self.read() if queued.pair == pair), None)

    def put(self, pair: Pair, **fields: Any) -> None:
        """Update a pair, adding it at the end if it is new."""
        self.change(
            lambda queue: _updated(queue if any(one.pair == pair for one in queue) else (*queue, QueuedPair(pair)), pair, fields)
        )

    def update(self, pair: Pair, **fields: Any) -> bool:
        """Update a pair if it is in the queue, and return whether it is."""
        return any(queued.pair == pair for queued in self.change(lambda queue: _updated(queue, pair, fields)))

    def remove(self, pair: Pair) -> None:
        self.change(lambda queue: (queued for queued in queue if queued.pair != pair))


def _updated(queue: Iterable[QueuedPair], pair: Pair, fields: dict[str, Any]) -> Iterable[QueuedPair]:
    return (replace(queued, **fields) if queued.pair == pair else queued for queued in queue)


@dataclass(frozen=True)
class QueueChanged:
    """The whole queue after a change."""

    queue: tuple[QueuedPair, ...]


@dataclass(frozen=True)
class PairProgress:
    """Progress of the pair that is being downloaded."""

    pair: Pair
    progress: DownloadProgress


@dataclass(frozen=True)
class PairReady:
    """A pair that is complete and verified, with its folders (target, drafter)."""

    pair: Pair
    folders: tuple[Path, ...]
    notes: tuple[EngineText, ...]


@dataclass(frozen=True)
class PairFailed:
    """A pair whose download failed. It stays in the queue with its downloaded data."""

    pair: Pair
    reason: EngineText


QueueEvent = QueueChanged | PairProgress | PairReady | PairFailed


class DownloadQueue:
    """The running queue, active from its creation until `close`.

    Args:
        report: called with every event, on the queue's thread or the caller's.

    Raises:
        UserError: another process runs the queue.
    """

    def __init__(
        self,
        report: Callable[[QueueEvent], None],
        hub: Hub | None = None,
        cache: HubCache | None = None,
        retry: RetryPolicy | None = None,
        connections: int = 6,
    ) -> None:
        self._report, self._hub, self._cache, self._file = report, hub or Hub(), cache or HubCache(), QueueFile()
        self._retry, self._connections, self._throttle = retry or RetryPolicy(), connections, Throttle()
        self._file.path.parent.mkdir(parents=True, exist_ok=True)
        running = locks.acquire(self._file.running_lock)
        if running is None:
            raise UserError("queue_in_use", "Another copy of Slipstream is already downloading. Use that copy to manage downloads.")
        self._running = running
        self._turn, self._report_lock = threading.Condition(), threading.Lock()
        self._reported: tuple[QueuedPair, ...] = ()
        self._last_poll = 0.0
        self._closed = False
        self._current: Pair | None = None
        # changes that couldn't be saved: why a pair failed, or None if it was removed
        self._unsaved: dict[Pair, EngineText | None] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def add(self, pair: Pair, held: Path | None = None) -> None:
        """Add a pair at the end, or resume it if it is paused or failed.

        Args:
            held: the target's folder if another app holds it. A pair that is resumed keeps its folder.
        """
        self._file.put(pair, state="waiting", reason=None, **({"held": held} if held else {}))
        self._saved(pair)

    def pause(self, pair: Pair) -> None:
        """Stop downloading a queued pair, even if that can't be saved, and keep its data."""
        try:
            self._file.update(pair, state="paused")
            self._saved(pair)
        except UserError as error:
            self._unsaved[pair] = error.text
            raise
        finally:
            self._halt(pair)

    def cancel(self, pair: Pair) -> int:
        """Remove a pair and its unfinished download, and return the bytes freed."""
        self._remove(pair)
        self._halt(pair, wait=True)
        # other pairs may need the same repos
        needed = {repo for queued in self._queue() for repo in queued.pair.repos}
        freed = sum(self._cache.discard(repo) for repo in pair.repos if repo not in needed)
        self._report_changes()
        return freed

    def limit(self, rate: float | None) -> None:
        self._throttle.limit(rate)

    def close(self) -> None:
        """Stop downloading. The queue and downloaded data are kept."""
        with self._turn:
            self._closed = True
            self._stop.set()
            self._turn.notify_all()
        self._thread.join(5.0)
        self._running.release()

    def _saved(self, pair: Pair) -> None:
        self._unsaved.pop(pair, None)
        self._report_changes()

    def _report_changes(self) -> None:
        with self._report_lock:  # read and report together, so that the last report is the latest state
            queue, before = self._queue(), self._reported
            self._reported = queue
            if _visible(queue) != _visible(before):
                self._report(QueueChanged(queue))
        with self._turn:
            self._turn.notify_all()

    def _halt(self, pair: Pair, wait: bool = False) -> None:
        with self._turn:
            if self._current == pair:
                self._stop.set()
            if wait:
                self._turn.wait_for(lambda: self._current != pair, 10.0)

    def _work(self) -> None:
        while not self._closed:
            self._poll()
            with self._turn:
                if self._closed:
                    return
                queued = next((queued for queued in self._queue() if queued.state == "waiting"), None)
                if queued is None:
                    self._turn.wait(_POLL)
                    continue
                self._current = queued.pair
                self._stop.clear()
            try:
                self._report_changes()  # first, since `add` may not have reported the pair yet
                self._download(queued)
            except Exception as error:  # a bug in one download must not stop the queue
                traceback.print_exception(error)
                self._fail(queued.pair, _unexpected(error))
            finally:
                with self._turn:
                    self._current = None
                    self._turn.notify_all()

    def _poll(self) -> None:
        """Report changes by other programs, such as a command in a terminal."""
        if not self._closed and time.monotonic() - self._last_poll >= _POLL:
            self._last_poll = time.monotonic()
            self._report_changes()

    def _queue(self) -> tuple[QueuedPair, ...]:
        """Return the saved queue with unsaved changes applied."""
        unsaved = dict(self._unsaved)
        try:
            queue = self._file.load()
        except UserError:
            return ()
        for pair in unsaved.keys() - {queued.pair for queued in queue}:
            if self._unsaved.get(pair) == unsaved[pair]:
                self._unsaved.pop(pair, None)  # another program removed the pair, so the change is obsolete
        return tuple(
            replace(queued, state="failed", reason=reason) if (reason := unsaved.get(queued.pair)) else queued
            for queued in queue
            if queued.pair not in unsaved or unsaved[queued.pair]
        )

    def _download(self, queued: QueuedPair) -> None:
        pair = queued.pair
        pins, held = dict(queued.pins), queued.held
        download = Download(pair, self._hub, self._cache, pins, self._connections, self._throttle, self._retry, held)
        saved: dict[str, str] = {}

        def report(progress: DownloadProgress) -> None:
            if saved != download.pins:  # so that both repos keep their revisions after a crash
                saved.update(download.pins)
                with suppress(UserError):
                    self._file.update(pair, pins=dict(download.pins))
            self._report(PairProgress(pair, progress))
            self._poll()

        try:
            folders = download.run(self._stop, report)
        except UserError as error:
            self._fail(pair, error.text, pins=download.pins)
            return
        if folders is None:
            with suppress(UserError):
                self._file.update(pair, pins=download.pins)
            return
        self._remove(pair)
        self._report(PairReady(pair, folders, tuple(download.notes)))
        self._report_changes()

    def _fail(self, pair: Pair, reason: EngineText, **fields: Any) -> None:
        """Report a failure even if it can't be saved, unless the pair was canceled."""
        queued = self._unsaved.get(pair, reason) is not None
        try:
            if queued:
                queued = self._file.update(pair, state="failed", reason=reason, **fields)
                self._unsaved.pop(pair, None)
        except UserError:
            self._unsaved[pair] = reason
        if queued:
            self._report(PairFailed(pair, reason))
        self._report_changes()

    def _remove(self, pair: Pair) -> None:
        try:
            self._file.remove(pair)
            self._unsaved.pop(pair, None)
        except UserError:
            self._unsaved[pair] = None


def _visible(queue: tuple[QueuedPair, ...]) -> list[tuple[Pair, str, EngineText | None]]:
    return [(queued.pair, queued.state, queued.reason) for queued in queue]


def _unexpected(error: Exception) -> EngineText:
    if isinstance(error, OSError) and error.strerror:
        template = "Can't read or write “{path}” ({reason}). Fix the problem, then resume the download."
        return EngineText.of("download_io_error", template, path=str(error.filename or "–"), reason=why_failed(error))
    template = "Something went wrong in Slipstream ({error}). Downloaded data is kept. Please report this problem."
    return EngineText.of("download_bug", template, error=f"{type(error).__name__}: {error}")


# --- The queue as a process ---------------------------------------------------------------------------------------------------


def text_to_json(text: EngineText) -> dict[str, Any]:
    values = {name: text_to_json(value) if isinstance(value, EngineText) else value for name, value in text.values}
    return {"code": text.code, "message": text.message, "values": values}


def text_from_json(raw: Any) -> EngineText | None:
    """Return the text that a JSON object describes, or None if it is invalid."""
    try:
        values: dict[str, Any] = {
            name: text_from_json(value) if isinstance(value, dict) else value for name, value in raw["values"].items()
        }
        if not all(isinstance(value, str | int | float | EngineText) for value in values.values()):
            return None
        return EngineText(str(raw["code"]), str(raw["message"])[:_LONGEST_REASON], tuple(values.items()))
    except (KeyError, TypeError, AttributeError, RecursionError):
        return None


def event_to_json(event: QueueEvent) -> dict[str, Any]:
    match event:
        case QueueChanged(queue):
            return {"event": "queue", "pairs": [queued.to_json() for queued in queue]}
        case PairProgress(pair, progress):
            status = text_to_json(progress.status) if progress.status else None
            figures = {name: getattr(progress, name) for name in ("done", "total", "bytes_per_s", "seconds_left")}
            return {"event": "progress", **asdict(pair), **figures, "status": status}
        case PairReady(pair, folders, notes):
            return {"event": "ready", **asdict(pair), "folders": list(map(str, folders)), "notes": list(map(text_to_json, notes))}
        case PairFailed(pair, reason):
            return {"event": "failed", **asdict(pair), "reason": text_to_json(reason)}


def _command(queue: DownloadQueue, line: str) -> tuple[Callable[[], object], Pair | None]:
    """Return the action that a command requests, and the pair that it names."""
    try:
        command = json.loads(line)
        if command["do"] == "limit":
            rate = command["bytes_per_s"]
            if rate is not None and (isinstance(rate, bool) or not rate > 0):
                raise ValueError
            return partial(_limit, queue, rate), None
        pair = Pair(command["target"], command.get("drafter"))
        add = partial(queue.add, held=_held_folder(pair, command.get("held")))
        works: dict[str, Callable[[Pair], object]] = {"add": add, "pause": queue.pause, "cancel": queue.cancel}
        work = works[command["do"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise UserError("invalid_queue_command", "“{command}” isn't a valid queue command.", command=line.strip()[:80]) from None
    return partial(work, pair), pair


def _limit(queue: DownloadQueue, rate: float | None) -> None:
    queue.limit(rate)
    save_download_limit(rate)


def main() -> int:
    """Run the queue until standard input ends."""
    writing = threading.Lock()

    def send(value: dict[str, Any]) -> None:
        with writing, suppress(OSError):  # if the reader is gone, standard input ends too
            print(json.dumps(value, ensure_ascii=False), flush=True)

    try:
        queue = DownloadQueue(lambda event: send(event_to_json(event)))
    except UserError as error:
        send({"event": "error", "reason": text_to_json(error.text)})
        return 1
    queue.limit(download_limit())
    try:
        for line in sys.stdin:
            names = {}
            try:
                work, pair = _command(queue, line)
                names = asdict(pair) if pair else {}
                work()
            except UserError as error:
                send({"event": "error", "reason": text_to_json(error.text), **names})
            except Exception as error:  # a bug in one command must not stop the queue
                traceback.print_exception(error)
                send({"event": "error", "reason": text_to_json(_unexpected(error)), **names})
    except KeyboardInterrupt:
        pass
    finally:
        queue.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
