"""Benchmarks of the loaded target, plain and with its drafters."""

import threading
import time
from contextlib import suppress
from dataclasses import replace
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
from mlx_engine.contract.events import Event, Failed, Finished, PairInfo
from mlx_engine.contract.requests import LoadPair
from mlx_engine.contract.whole_replies import fold
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.prompt_sets.published_sets import PUBLISHED_SETS, TOKEN_LIMIT
from mlx_engine.prompt_sets.set_download import download_set, find_set, read_set, remove_set

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
        reports: of the last benchmark, one for each drafter.
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
        self._prompts: tuple[BenchPrompt, ...] = ()
        self._pairs: list[LoadPair] = []  # to measure after the loaded one
        self._first: LoadPair | None = None  # to load again after them
        self._loads = False  # whether the benchmark loads a pair
        self._loaded: PairInfo | Failed | None = None  # what came of it
        self._events: list[Event] = []
        self._measured: list[MeasuredReply] = []
        self._name, self._settings, self._load_before = "", BenchSettings(BUILT_IN_TOKENS), list[float]()
        self._began, self._seconds = 0.0, 0.0
        self.paused = False
        self.done = self.total = 0
        self.downloaded = 0.0
        self.reports: list[dict[str, Any]] = []
        self.error = ""
        for signal in (activity.changed, loader.changed):
            signal.connect(self._follow)
        loader.loaded.connect(self._follow_loaded)
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
    def lines(self) -> list[ReportLine]:
        return [ReportLine.of(report) for report in self.reports]

    @property
    def saved(self) -> dict[str, Any]:
        """What a file of the report contains, as `slipstream bench` writes it."""
        return self.reports[0] if len(self.reports) == 1 else {"reports": self.reports}

    def is_downloaded(self, name: str) -> bool:
        """Whether a published set is on this disk."""
        return name in PUBLISHED_SETS and find_set(PUBLISHED_SETS[name]) is not None

    def remove_download(self, name: str) -> None:
        """Delete a published set from this disk."""
        self.error = ""
        self._background.run(lambda: remove_set(PUBLISHED_SETS[name]), lambda _: self.changed.emit(), self._end, saves=True)

    def start(
        self, name: str, most: int, temperature: float = 0.0, thinking: bool = False, drafters: tuple[Path, ...] = ()
    ) -> None:
        """Measure the first `most` prompts of a set, which may be downloaded first.

        Args:
            name: of the set; empty for built-in prompts.
            drafters: to load and measure, too, one after the other. Then the pair that was loaded is loaded again.
        """
        if not self.can_start:
            return
        name = name or ("general" if self._loader.here.target else "mixed")
        self._stop_download = stop = threading.Event()
        limit = TOKEN_LIMIT if name in PUBLISHED_SETS else BUILT_IN_TOKENS
        self._name, self._settings = name, BenchSettings(limit, temperature, thinking)
        self._steps, self._measured, self._seconds = [], [], 0.0
        self._first, here = None, self._loader.here
        target, loaded = (here.target, here.drafter) if here.target else demo_pair()
        others = [one for one in drafters if loaded is not None and one.resolve() != loaded.resolve()]
        self._pairs = [replace(here, target=target, drafter=one, auto=False) for one in others]
        self.reports, self.error, self.paused, self.done, self.total, self.downloaded = [], "", False, 0, 0, 0.0
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
        """End the benchmark. The drafter in progress gets no report."""
        if self._stop_download is not None:
            self._stop_download.set()
        self._stop_download, self._steps, self._pairs = None, [], []
        self._interrupt()
        if self._loads:
            self._loader.cancel()
        else:
            self._load_first()
        self.changed.emit()

    def close(self) -> None:
        self._first = None
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
        self._prompts = prompts
        self.total = len(order(prompts, 0)) * (1 + len(self._pairs))
        self._measure_pair()

    def _measure_pair(self) -> None:
        """Measure the loaded pair."""
        steps = [(0, prompt, mode) for _, prompt, mode in order(self._prompts, 0)]
        self._steps, self._measured = [(_WARM_UP, self._prompts[0], mode) for mode in (PLAIN, DFLASH)] + steps, []
        self._load_before = load_averages()
        self._next()
        self.changed.emit()

    def _load_next(self) -> None:
        """Load the next pair, or end after the last one."""
        if self._pairs:
            self._first = self._first or self._loader.loaded_from or LoadPair()
            self._loads, self._loaded = self._loader.load(self._pairs.pop(0), self._follow_load), None
            return
        self._end(self.error)
        self._load_first()

    def _load_first(self) -> None:
        """Load the pair again that was loaded before the others."""
        first, self._first = self._first, None
        if first is not None:
            self._loader.load(first)

    def _follow_load(self, event: Event | None) -> None:
        """Measure a pair once it is loaded. Leave out one that can't be loaded."""
        if isinstance(event, PairInfo | Failed):
            self._loaded = event
        if event is not None:
            return
        self._loads, loaded = False, self._loaded
        problem = loaded.why_plain if isinstance(loaded, PairInfo) else loaded
        if loaded is None:  # the user canceled it
            self.stop()
        elif self.running and problem is None:
            self._measure_pair()
        elif self.running and problem is not None:
            self.total -= len(order(self._prompts, 0))
            self.error = translated(problem)
            self._next()

    @Slot()
    def _follow_loaded(self) -> None:
        """End the benchmark if the user loads another pair."""
        if not self._loads:
            self._first = None
            self.stop()

    def _fail(self, stop: threading.Event, reason: str) -> None:
        if stop is self._stop_download:
            self._end(reason)

    def _end(self, error: str = "") -> None:
        self.error, self._stop_download, self._steps, self._pairs = error, None, [], []
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
        if self._run is not None or self._loads or not self.total or not self.running or self.paused or self.waiting:
            return
        if not self._steps:
            self._load_next()
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
            self.reports.append(about | {"cool_down_s": 0.0, "energy": "unknown"} | summarize(self._measured))


def _prompts(name: str, most: int, stop: threading.Event, report: Any) -> tuple[BenchPrompt, ...]:
    """Return the prompts of a set, or none if stopped."""
    if name in SETS:
        return SETS[name][:most]
    chosen = PUBLISHED_SETS[name]
    file: Path | None = find_set(chosen) or download_set(chosen, stop, report)
    return from_texts(name, read_set(file, chosen, most)) if file else ()
