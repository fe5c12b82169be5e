"""`slipstream models pull`: a pair from the hub, with a line of progress; Ctrl-C keeps what came."""

import argparse
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mlx_engine.errors import EngineText, UserError
from mlx_engine.pairs.bandwidth import Throttle, download_limit
from mlx_engine.pairs.cache import Cache
from mlx_engine.pairs.catalog import Catalog
from mlx_engine.pairs.download import Download, DownloadProgress, IncompatiblePair
from mlx_engine.pairs.download_queue import QueueFile
from mlx_engine.pairs.hub import Hub
from mlx_engine.pairs.matching import alternatives
from mlx_engine.pairs.pair import Pair
from mlx_engine.terminal.model_words import names, print_json

_GOODBYE = 5.0  # seconds that Ctrl-C leaves to what is being written


def pull(given: argparse.Namespace, hub: Hub, cache: Cache, known: Catalog, pair: Pair) -> int:
    """Fetch what is missing of a pair; returns the exit status.

    Raises:
        UserError: why it is not complete. What came is kept.
    """
    queue = QueueFile()
    kept = queue.find(pair)
    made = Download(pair, hub, cache, dict(kept.pins) if kept else {}, given.connections, Throttle(given.limit or download_limit()))
    show = _Bar(pair, given.json)
    stop, ended = threading.Event(), threading.Event()

    def work() -> tuple[Path, ...] | None:
        try:
            return made.run(stop, lambda progress: show(progress, queue, made))
        finally:
            ended.set()

    queue.put(pair, state="waiting", reason=None)
    try:
        show.say(f"Asking {hub.endpoint} about {pair.name}…")
        result = in_background(work, stop)  # so that Ctrl-C is heard at once
    except UserError as error:
        if kept is None and not made.started:
            queue.remove(pair)  # a slip of the pen is nothing to go on with
        else:
            queue.put(pair, state="failed", pins=made.pins, reason=error.text)
        show.end()
        raise with_alternatives(error, known, pair) if isinstance(error, IncompatiblePair) else error from None
    except KeyboardInterrupt:
        show.end()
        if (ended.is_set() or not made.started) and any(map(cache.is_downloading, pair.repos)):
            queue.update(pair, pins=made.pins)
            print("What came is kept; another program goes on fetching it.", file=sys.stderr)
        elif kept is None and not made.started:
            queue.remove(pair)  # the hub was still being asked
            print("Nothing was fetched.", file=sys.stderr)
        else:
            queue.put(pair, state="paused", pins=made.pins)
            print("What came is kept; the same command goes on from there.", file=sys.stderr)
        raise
    show.end()
    assert result is not None, "only Ctrl-C stops it"
    queue.remove(pair)
    if given.json:
        folders = {repo: str(folder) for repo, folder in zip(pair.repos, result, strict=True)}
        print_json({**names(pair), "folders": folders, "fetched_bytes": made.downloaded, "notes": list(map(str, made.notes))})
        return 0
    for note in made.notes:
        print(note, file=sys.stderr)
    print("Complete and checked:")
    for folder in result:
        print(f"  {folder}")
    return 0


def in_background(work: Callable[[], Any], stop: threading.Event) -> Any:
    """What `work` returns or raises, on a thread of its own; Ctrl-C sets `stop`, waits a little and goes on."""
    outcome: list[Any] = [None, None]
    ended = threading.Event()  # a `join` that Ctrl-C has interrupted takes the thread for ended (Python 3.11)

    def target() -> None:
        try:
            outcome[0] = work()
        except BaseException as error:
            outcome[1] = error
        finally:
            ended.set()

    threading.Thread(target=target, daemon=True).start()
    try:
        while not ended.wait(0.1):
            pass
    except KeyboardInterrupt:
        stop.set()
        ended.wait(_GOODBYE)
        raise
    if outcome[1] is not None:
        raise outcome[1]
    return outcome[0]


def with_alternatives(error: UserError, known: Catalog, pair: Pair) -> UserError:
    """The error for a pair that doesn't fit together, with what the catalog offers instead."""
    return UserError.of(EngineText(error.text.code, " ".join(map(str, (error, *alternatives(known, pair))))))


class _Bar:
    """One line on standard error, written over and over; where that is no terminal, each sentence on a line of its own.

    Keeps the pins in the queue as soon as they are known.
    """

    def __init__(self, pair: Pair, quiet: bool) -> None:
        self._pair, self._shown = pair, sys.stderr.isatty() and not quiet
        self._pins: dict[str, str] = {}
        self._said = ""

    def __call__(self, progress: DownloadProgress, queue: QueueFile, made: Download) -> None:
        if self._pins != made.pins:
            self._pins = dict(made.pins)
            queue.update(self._pair, pins=self._pins)
        if not self._shown or not progress.total:
            self.say(str(progress.status or ""))
            return
        share = progress.done / progress.total if progress.total else 1.0
        left = progress.seconds_left
        when = f", {_duration(left)} left" if left is not None and progress.done < progress.total else ""
        text = f"{share:4.0%} of {progress.total / 1e9:,.2f} GB, {progress.bytes_per_s / 1e6:,.1f} MB/s{when}"
        print(f"\r\033[K{text}  {progress.status or ''}"[:200], end="", file=sys.stderr, flush=True)

    def say(self, words: str) -> None:
        """Show a sentence by itself."""
        before, self._said = self._said, words
        if words and words != before:
            print(f"\r\033[K{words}"[:200] if self._shown else words, end="" if self._shown else "\n", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
