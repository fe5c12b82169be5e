"""`slipstream models pull`: download a pair."""

import argparse
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mlx_engine.cli.console import ProgressLine, note, print_json, say
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.models.downloads.bandwidth import Throttle, download_limit
from mlx_engine.models.downloads.download import Download, DownloadProgress, IncompatiblePair
from mlx_engine.models.downloads.download_queue import QueueFile
from mlx_engine.models.downloads.hub import Hub
from mlx_engine.models.downloads.matching import alternatives
from mlx_engine.models.files.hub_cache import HubCache
from mlx_engine.models.library.catalog import Catalog
from mlx_engine.models.library.identity import held_target
from mlx_engine.models.library.library import local_models
from mlx_engine.models.library.pair import Pair

_GRACE_S = 5.0  # after Ctrl-C, for pending writes


def pull(args: argparse.Namespace, hub: Hub, cache: HubCache, known: Catalog, pair: Pair) -> int:
    """Download missing files of a pair, and return the exit code."""
    queue = QueueFile()
    kept = queue.find(pair)
    throttle = Throttle(1e6 * args.limit if args.limit else download_limit())
    if (held := held_folder(cache, known, pair)) is not None:
        note(f"Using {pair.target} in “{held}”. Only the drafter is downloaded.")
    made = Download(pair, hub, cache, dict(kept.pins) if kept else {}, args.connections, throttle, held=held)
    show = _Display(pair, hub.endpoint, ProgressLine(args.json))
    stop, ended = threading.Event(), threading.Event()

    def work() -> tuple[Path, ...] | None:
        try:
            return made.run(stop, lambda status: show(status, queue, made))
        finally:
            ended.set()

    queue.put(pair, state="waiting", reason=None, held=held)
    try:
        show.say(f"Asking {hub.endpoint} about {pair.name}…")
        result = in_background(work, stop, show.wait)
    except UserError as error:
        if kept is None and not made.started:
            queue.remove(pair)  # such as a misspelled name, with nothing to resume
        else:
            queue.put(pair, state="failed", pins=made.pins, reason=error.text)
        show.end()
        raise with_alternatives(error, known, pair) if isinstance(error, IncompatiblePair) else error from None
    except KeyboardInterrupt:
        show.end()
        if (ended.is_set() or not made.started) and any(map(cache.is_downloading, pair.repos)):
            queue.update(pair, pins=made.pins)
            note("Stopped. Another program is still downloading this pair.")
        elif kept is None and not made.started:
            queue.remove(pair)
            note("Nothing was downloaded.")
        else:
            queue.put(pair, state="paused", pins=made.pins)
            note("Partial download kept. Run the command again to resume.")
        raise
    show.end()
    assert result is not None, "only Ctrl-C stops the download"
    queue.remove(pair)
    if args.json:
        folders = {repo: str(folder) for repo, folder in zip(pair.repos, result, strict=True)}
        print_json({**asdict(pair), "folders": folders, "fetched_bytes": made.downloaded, "notes": list(map(str, made.notes))})
        return 0
    for line in made.notes:
        note(str(line))
    say("Complete and verified:")
    for folder in result:
        say(f"  {folder}")
    return 0


def held_folder(cache: HubCache, known: Catalog, pair: Pair) -> Path | None:
    """Return the folder of a pair's target if it isn't to be downloaded, or None."""
    found = held_target(known, local_models(cache), pair.target) if len(pair.repos) > 1 else None
    return found.folder if found is not None else None


def in_background(work: Callable[[], Any], stop: threading.Event, tick: Callable[[], None] = lambda: None) -> Any:
    """Run `work` on its own thread, and return its result or raise its exception.

    Calls `tick` several times a second. On Ctrl-C, sets `stop`, waits briefly, and re-raises.
    """
    future: Future[Any] = Future()  # not `Thread.join`, which after an interrupt in Python 3.11 considers the thread ended

    def target() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=target, daemon=True).start()
    try:
        while not future.done():
            wait([future], 0.1)  # with a timeout, because a signal received by another thread wakes no thread
            tick()
        return future.result()
    except KeyboardInterrupt:
        stop.set()
        wait([future], _GRACE_S)
        raise


def with_alternatives(error: UserError, known: Catalog, pair: Pair) -> UserError:
    """Add the catalog's suggestions to the error for an incompatible pair."""
    return UserError.of(EngineText(error.text.code, " ".join(map(str, (error, *alternatives(known, pair))))))


class _Display:
    """A download's progress: numbers and messages.

    Also saves the pins in the queue once they are known.
    """

    def __init__(self, pair: Pair, endpoint: str, line: ProgressLine) -> None:
        self._pair, self._line = pair, line
        self._pins: dict[str, str] = {}
        self._said = ""
        self._state = f"Still waiting for {endpoint}…"  # until the sizes are known

    def __call__(self, download: DownloadProgress, queue: QueueFile, made: Download) -> None:
        if self._pins != made.pins:
            self._pins = dict(made.pins)
            queue.update(self._pair, pins=self._pins)
        status = str(download.status or "")
        if download.total:
            self._state = _numbers(download)
        if self._line.is_live and download.total:
            self._line.show(f"{self._state}  {status}")
        else:
            self.say(status)

    def wait(self) -> None:
        """Show now and then that the download continues, where no line is replaced."""
        if not self._line.is_live:
            self._line.show(self._state)

    def say(self, text: str) -> None:
        """Show a message, unless it repeats the previous one."""
        if text and text != self._said:
            self._line.say(text)
        self._said = text

    def end(self) -> None:
        self._line.end()


def _numbers(download: DownloadProgress) -> str:
    left = download.seconds_left
    when = f", {_duration(left)} left" if left is not None and download.done < download.total else ""
    speed = f"{download.bytes_per_s / 1e6:,.1f} MB/s"
    return f"{download.done / download.total:4.0%} of {download.total / 1e9:,.2f} GB, {speed}{when}"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"
