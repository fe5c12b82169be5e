"""The download queue at work: one pair after another on a thread, each paused, resumed or cancelled at any time."""

import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from mlx_engine.errors import UserError
from mlx_engine.pairs import locks
from mlx_engine.pairs.cache import Cache
from mlx_engine.pairs.download import Download, Progress
from mlx_engine.pairs.metadata import Hub
from mlx_engine.pairs.pair import Pair
from mlx_engine.pairs.queue_file import Queued, QueueFile
from mlx_engine.pairs.throttle import Throttle
from mlx_engine.pairs.transfer import Patience

_LOOK_EVERY = 1.0  # seconds between two looks at what other programs do with the queue


@dataclass(frozen=True)
class QueueChanged:
    """The whole queue as it is now."""

    queue: tuple[Queued, ...]


@dataclass(frozen=True)
class PairProgress:
    """How far the pair is that is being fetched."""

    pair: Pair
    progress: Progress


@dataclass(frozen=True)
class PairReady:
    """Both halves are complete and checked. `folders`: target, then drafter."""

    pair: Pair
    folders: tuple[Path, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class PairFailed:
    """Why a pair cannot be fetched, or cannot go on. It stays in the queue, and what came is kept."""

    pair: Pair
    words: str


QueueEvent = QueueChanged | PairProgress | PairReady | PairFailed


class Queue:
    """Works from the moment it is made until `close`. Only one process at a time works on a queue.

    Args:
        tell: told of every event, on the queue's own thread or the caller's.

    Raises:
        UserError: another process works on this queue.
    """

    def __init__(
        self,
        tell: Callable[[QueueEvent], None],
        hub: Hub | None = None,
        cache: Cache | None = None,
        file: QueueFile | None = None,
        patience: Patience | None = None,
        connections: int = 6,
    ) -> None:
        self._tell, self._hub, self._cache, self._file = tell, hub or Hub(), cache or Cache(), file or QueueFile()
        self._patience, self._connections, self._throttle = patience or Patience(), connections, Throttle()
        self._file.path.parent.mkdir(parents=True, exist_ok=True)
        alone = locks.acquire(self._file.path.with_suffix(".running"))
        if alone is None:
            raise UserError("Another Slipstream is fetching already; its queue goes on there.")
        self._alone = alone
        self._turn, self._telling = threading.Condition(), threading.Lock()
        self._told: tuple[Queued, ...] = ()
        self._looked = 0.0
        self._closed = False
        self._current: Pair | None = None
        self._unwritten: dict[
            Pair, str | None
        ] = {}  # what the file could not be told: why a pair failed; None: it has left the queue
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def add(self, pair: Pair) -> None:
        """Put a pair at the end; one that is there already is resumed."""
        self._put(pair, state="waiting", words="")

    def resume(self, pair: Pair) -> None:
        """Go on with a pair that was paused or has failed."""
        self.add(pair)

    def pause(self, pair: Pair) -> None:
        """Stop fetching a pair; what came is kept. It stops even where that cannot be written down."""
        try:
            self._put(pair, state="paused")
        except UserError as error:
            self._unwritten[pair] = str(error)
            raise
        finally:
            self._halt(pair)

    def cancel(self, pair: Pair) -> int:
        """Take a pair out of the queue and remove what came of it; returns the bytes freed. What another pair needs stays, and what
        another program is fetching."""
        self._drop(pair)
        self._halt(pair, wait=True)
        needed = {repo for one in self._queue() for repo in one.pair.repos}
        freed = sum(self._cache.discard(repo) for repo in pair.repos if repo not in needed)
        self._changed()
        return freed

    def limit(self, rate: float | None) -> None:
        """At most so many bytes a second, from now on; None: no limit."""
        self._throttle.rate = rate

    def close(self) -> None:
        """Stop working; the queue and what came stay as they are."""
        with self._turn:
            self._closed = True
            self._stop.set()
            self._turn.notify_all()
        self._thread.join(5.0)
        self._alone.release()

    def _put(self, pair: Pair, **fields: object) -> None:
        self._file.put(pair, **fields)
        self._unwritten.pop(pair, None)
        self._changed()

    def _changed(self) -> None:
        with self._telling:  # read and told in one turn: else what is out of date might be told last
            queue, told = self._queue(), self._told
            self._told = queue
            if _shown(queue) != _shown(told):
                self._tell(QueueChanged(queue))
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
            self._look()
            with self._turn:
                if self._closed:
                    return
                if (waiting := self._next()) is None:
                    self._turn.wait(_LOOK_EVERY)
                    continue
                self._current = waiting.pair
                self._stop.clear()
            try:
                self._changed()  # whoever put it there may not have told yet, and nobody wants news of a pair they do not know
                self._fetch(waiting)
            except Exception as error:  # whatever happens to one pair, the queue goes on, and the person is told
                traceback.print_exception(error)
                self._fail(waiting.pair, _words(error))
            finally:
                with self._turn:
                    self._current = None
                    self._turn.notify_all()

    def _next(self) -> Queued | None:
        return next((one for one in self._queue() if one.state == "waiting"), None)

    def _look(self) -> None:
        """Tell what another program has changed: a command at a terminal fetches a pair, or has fetched it."""
        if not self._closed and time.monotonic() - self._looked >= _LOOK_EVERY:
            self._looked = time.monotonic()
            self._changed()

    def _queue(self) -> tuple[Queued, ...]:
        """The file's, with what could not be written into it."""
        unwritten = dict(self._unwritten)
        try:
            queue = self._file.known()
        except UserError:
            return ()
        for pair in unwritten.keys() - {one.pair for one in queue}:
            if self._unwritten.get(pair) == unwritten[pair]:
                self._unwritten.pop(pair, None)  # another program took it out; should it come again, that is news
        return tuple(
            replace(one, state="failed", words=words) if (words := unwritten.get(one.pair)) else one
            for one in queue
            if one.pair not in unwritten or unwritten[one.pair]
        )

    def _fetch(self, queued: Queued) -> None:
        pair = queued.pair
        made = Download(pair, self._hub, self._cache, dict(queued.pins), self._connections, self._throttle, self._patience)
        kept: dict[str, str] = {}

        def tell(progress: Progress) -> None:
            if kept != made.pins:  # so that after a crash both halves go on as they were begun
                kept.update(made.pins)
                with suppress(UserError):
                    self._file.amend(pair, pins=dict(made.pins))
            self._tell(PairProgress(pair, progress))
            self._look()

        try:
            folders = made.run(self._stop, tell)
        except UserError as error:
            self._fail(pair, str(error), pins=made.pins)
            return
        if folders is None:
            with suppress(UserError):
                self._file.amend(pair, pins=made.pins)
            return
        self._drop(pair)
        self._tell(PairReady(pair, folders, tuple(made.notes)))
        self._changed()

    def _fail(self, pair: Pair, words: str, **fields: object) -> None:
        """Told whether or not it can be written down: the disk may be full, which may be the very reason. What has left the queue
        meanwhile, because it was cancelled, is of interest to nobody."""
        there = self._unwritten.get(pair, "") is not None
        try:
            if there:
                there = self._file.amend(pair, state="failed", words=words, **fields)
                self._unwritten.pop(pair, None)
        except UserError:
            self._unwritten[pair] = words
        if there:
            self._tell(PairFailed(pair, words))
        self._changed()

    def _drop(self, pair: Pair) -> None:
        """It has left the queue, whether or not that can be written down."""
        try:
            self._file.drop(pair)
            self._unwritten.pop(pair, None)
        except UserError:
            self._unwritten[pair] = None


def _shown(queue: tuple[Queued, ...]) -> list[tuple[Pair, str, str]]:
    """What of a queue is of interest to whoever looks at it."""
    return [(one.pair, one.state, one.words) for one in queue]


def _words(error: Exception) -> str:
    """What is told of a failure that nobody foresaw."""
    if isinstance(error, OSError) and error.strerror:
        place = f" at {error.filename}" if error.filename else ""
        return f"The disk or the network fails{place} ({error.strerror}). What came is kept; mend that and go on."
    return f"Slipstream made a mistake ({type(error).__name__}: {error}). What came is kept; please report this."
