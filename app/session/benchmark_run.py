"""Benchmarks of the loaded pair, plain and with its drafter, on a set of prompts."""

import threading
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from app.session.activity import SessionActivity
from app.session.background_work import Background
from app.session.engine_adapter import Delivery, EngineAdapter
from app.session.pair_session import PairLoader
from app.text.language import translated
from mlx_engine.cli.bench_merge import ReportLine
from mlx_engine.cli.bench_prompts import SETS, BenchPrompt, from_texts
from mlx_engine.cli.bench_report import BenchSettings, describe, load_averages, order
from mlx_engine.cli.bench_results import DFLASH, PLAIN, BenchMode, MeasuredReply, summarize
from mlx_engine.contract.client import Run
from mlx_engine.contract.events import Event, Failed, Finished
from mlx_engine.contract.whole_replies import fold
from mlx_engine.prompt_sets.published_sets import PUBLISHED_SETS, TOKEN_LIMIT
from mlx_engine.prompt_sets.set_download import download_set, find_set, read_set

BUILT_IN_TOKENS = 256
_WARM_UP = -1  # number of the run that isn't reported
_Step = tuple[int, BenchPrompt, BenchMode]  # number of the run, and what is answered


class BenchmarkRunner(QObject):
    """A benchmark that answers one prompt after the other, while nothing else runs.

    A message of the user interrupts it. The interrupted reply is measured again later.

    Attributes:
        paused: whether the user paused it.
        done: number of replies that are measured.
        total: of all replies, or 0 until the prompts are known.
        downloaded: share of the set that is downloaded.
        report: of the last benchmark, or None.
        error: why the last benchmark ended, or an empty string.
    """

    changed = Signal()

    _received = Signal(float)  # from the thread that downloads

    def __init__(self, engine: EngineAdapter, activity: SessionActivity, loader: PairLoader, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine, self._activity, self._loader = engine, activity, loader
        self._background = Background(self, threads=1)
        self._stop_download: threading.Event | None = None  # while the benchmark runs
        self._run: Run | None = None
        self._steps: list[_Step] = []
        self._events: list[Event] = []
        self._measured: list[MeasuredReply] = []
        self._name, self._settings, self._load_before = "", BenchSettings(BUILT_IN_TOKENS), list[float]()
        self._began, self._seconds = 0.0, 0.0
        self.paused = False
        self.done = self.total = 0
        self.downloaded = 0.0
        self.report: dict[str, Any] | None = None
        self.error = ""
        for signal in (activity.changed, loader.changed):
            signal.connect(self._follow)
        loader.loaded.connect(self.stop)
        self._received.connect(self._show_download)

    @property
    def running(self) -> bool:
        return self._stop_download is not None

    @property
    def can_start(self) -> bool:
        pair = self._loader.pair
        return pair is not None and not self._loader.sent_to and pair.why_plain is None and not self.running

    @property
    def waiting(self) -> bool:
        """Whether the benchmark waits for a reply or for models to load."""
        return self._activity.busy or self._loader.running

    @property
    def seconds_left(self) -> float | None:
        """The time that the rest will take, or None while it is unknown."""
        return self._seconds / self.done * (self.total - self.done) if self.done else None

    @property
    def line(self) -> ReportLine | None:
        return ReportLine.of(self.report) if self.report else None

    def start(self, name: str, most: int) -> None:
        """Measure the first `most` prompts of a set, which may be downloaded first.

        Without a name, those are built in.
        """
        if not self.can_start:
            return
        name = name or ("general" if self._loader.here.target else "mixed")
        self._stop_download = stop = threading.Event()
        self._name, self._settings = name, BenchSettings(TOKEN_LIMIT if name in PUBLISHED_SETS else BUILT_IN_TOKENS)
        self._steps, self._measured, self._seconds = [], [], 0.0
        self.report, self.error, self.paused, self.done, self.total, self.downloaded = None, "", False, 0, 0, 0.0
        self._background.run(
            lambda: _prompts(name, most, stop, self._note_download), partial(self._begin, stop), partial(self._fail, stop)
        )
        self.changed.emit()

    def pause(self) -> None:
        """Stop the reply in progress until `resume`."""
        self.paused = True
        self._interrupt()
        self.changed.emit()

    def resume(self) -> None:
        self.paused = False
        self._next()
        self.changed.emit()

    @Slot()
    def stop(self) -> None:
        """End the benchmark without a report."""
        if self._stop_download is not None:
            self._stop_download.set()
        self._stop_download, self._steps = None, []
        self._interrupt()
        self.changed.emit()

    def close(self) -> None:
        self.stop()
        self._background.close()

    def _note_download(self, received: int, size: int) -> None:
        """Pass whole percents on to the window's thread."""
        share = int(100 * received / max(size, 1)) / 100
        if share != self.downloaded:
            with suppress(RuntimeError):  # the window has been deleted
                self._received.emit(share)

    @Slot(float)
    def _show_download(self, share: float) -> None:
        self.downloaded = share
        self.changed.emit()

    def _begin(self, stop: threading.Event, prompts: tuple[BenchPrompt, ...]) -> None:
        if stop is not self._stop_download or not prompts:  # stopped
            return
        steps = [(0, prompt, mode) for _, prompt, mode in order(prompts, 0)]
        self._steps = [(_WARM_UP, prompts[0], mode) for mode in (PLAIN, DFLASH)] + steps
        self.total, self._load_before = len(steps), load_averages()
        self._next()
        self.changed.emit()

    def _fail(self, stop: threading.Event, reason: str) -> None:
        if stop is self._stop_download:
            self._end(reason)

    def _end(self, error: str = "") -> None:
        self.error, self._stop_download, self._steps = error, None, []
        self.changed.emit()

    @Slot()
    def _follow(self) -> None:
        """Make way for the user's replies, and continue after them."""
        if self.waiting:
            self._interrupt()
        self._next()
        if self.running:
            self.changed.emit()

    def _interrupt(self) -> None:
        if self._run is not None:
            self._run.cancel()

    def _next(self) -> None:
        if self._run is not None or not self._steps or self.paused or self.waiting:
            return
        number, prompt, mode = self._steps[0]
        self._events, self._began = [], time.monotonic()
        self._run = self._engine.submit(self._settings.request(prompt, mode, number), self._receive)

    def _receive(self, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            if delivery.event is not None:
                self._events.append(delivery.event)
                continue
            run, self._run = self._run, None
            last = self._events[-1] if self._events else None
            if run is not None and not run.cancelled.is_set():  # otherwise it was interrupted, and is repeated
                if isinstance(last, Failed):
                    self._end(translated(last))
                elif isinstance(last, Finished) and last.reason != "cancelled":
                    self._count()
            self._next()
        self.changed.emit()

    def _count(self) -> None:
        """Keep the reply, and finish after the last one."""
        number, prompt, mode = self._steps.pop(0)
        if number == _WARM_UP:
            return
        self._measured.append(MeasuredReply(number, prompt, mode, fold(self._events)))
        self._seconds += time.monotonic() - self._began
        self.done += 1
        if not self._steps and (pair := self._loader.pair) is not None:
            about = describe(pair, self._name, self._settings, self._load_before)
            self.report = about | {"cool_down_s": 0.0, "energy": "unknown"} | summarize(self._measured)
            self._end()


def _prompts(name: str, most: int, stop: threading.Event, report: Any) -> tuple[BenchPrompt, ...]:
    """Return the prompts of a set, or none if stopped."""
    if name in SETS:
        return SETS[name][:most]
    chosen = PUBLISHED_SETS[name]
    file: Path | None = find_set(chosen) or download_set(chosen, stop, report)
    return from_texts(name, read_set(file, chosen, most)) if file else ()
