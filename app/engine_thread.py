"""The one thread that owns the engine.

MLX arrays belong to the thread that made them, so a pair is loaded, used and freed on a single thread that lives as long as the
app. Jobs go in by a queued signal. Events come back through a mailbox: the worker rings once, the window's thread empties the box
on a beat of its own, so the number of signals does not grow with the number of tokens and no event waits for the next one.
"""

import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from PySide6.QtCore import QObject, QThread, QTimer, Signal, Slot

from app.door import Engine, demo_pair, real_engine
from app.language import tr
from mlx_engine.errors import UserError
from mlx_engine.events import Event, Failed, LoadProgress
from mlx_engine.requests import (
    Calibrate,
    CompareRequest,
    CountTokens,
    GenerationRequest,
    LoadPair,
    MeasureMachine,
    Request,
    SelectKernels,
)

log = logging.getLogger(__name__)

BEAT_MS = 50
SLOWEST_BEAT_MS = 250
# macOS gives a second thread 512 KB; tracing a deep model needs more.
STACK_BYTES = 16 << 20
# A call into Qt gives Python's lock away, and the window waits no longer than this to have it back from the engine, which builds a
# round in Python; by itself Python says 5 ms.
TURN_S = 0.001


@dataclass(frozen=True)
class Job:
    """A request, its number, and the event that cancels it."""

    number: int
    request: Request
    cancel: threading.Event


@dataclass(frozen=True)
class News:
    """Something that happened: the event, or None for the end of the job, and when on the monotonic clock."""

    job: int
    event: Event | None
    at_s: float


class Mailbox:
    """Where the worker leaves news for the window's thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._news: list[News] = []

    def put(self, news: News) -> bool:
        """Leave news; True when the box was empty, so that someone must be called."""
        with self._lock:
            self._news.append(news)
            return len(self._news) == 1

    def take(self) -> list[News]:
        """All there is; the box is empty afterwards."""
        with self._lock:
            taken, self._news = self._news, []
            return taken


class _Worker(QObject):
    """Lives in the engine's thread. No exception leaves it: a bug is logged and told in one sentence, and the chat goes on."""

    rang = Signal()

    def __init__(self, make_engine: Callable[[], Engine], mailbox: Mailbox, where_logs_are: str) -> None:
        super().__init__()
        self._make_engine = make_engine
        self._engine: Engine | None = None
        self._mailbox = mailbox
        self._where_logs_are = where_logs_are

    @Slot(object)
    def work(self, job: Job) -> None:
        try:
            for event in self._events(job):
                self._post(job, event)
                if isinstance(job.request, LoadPair) and job.cancel.is_set():
                    break
        except UserError as error:
            self._post(job, Failed.because(error))
        except BaseException:
            log.exception("The engine failed on %s", type(job.request).__name__)
            self._post(
                job,
                Failed(
                    "internal",
                    tr("Something went wrong inside Slipstream; the details are in {log_file}.", log_file=self._where_logs_are),
                ),
            )
        self._post(job, None)

    @Slot()
    def close(self) -> None:
        try:
            if self._engine is not None:
                self._engine.unload()
        except BaseException:
            log.exception("The engine failed to unload")
        self._engine = None
        QThread.currentThread().quit()

    def _events(self, job: Job) -> Iterator[Event]:
        if self._engine is None:
            yield LoadProgress(0.0, "Starting the engine")
            self._engine = self._make_engine()
        match job.request:
            case LoadPair(target=None):
                yield from self._engine.load(*demo_pair())
            case LoadPair(target=target, drafter=drafter):
                assert target is not None
                yield from self._engine.load(target, drafter)
            case GenerationRequest():
                yield from self._engine.generate(job.request, job.cancel)
            case CompareRequest():
                yield from self._engine.compare(job.request, job.cancel)
            case CountTokens():
                yield self._engine.count_tokens(job.request)
            case MeasureMachine(again=again):
                yield from self._engine.roofline(job.cancel, again)
            case Calibrate():
                yield from self._engine.calibrate(job.cancel)
            case SelectKernels():
                yield from self._engine.prove(job.cancel)

    def _post(self, job: Job, event: Event | None) -> None:
        if self._mailbox.put(News(job.number, event, time.monotonic())):
            self.rang.emit()


class EngineThread(QObject):
    """The window's side of the engine: hand in requests, hear what happens. Lives in the window's thread."""

    happened = Signal(list)  # of News, in order
    stopped = Signal()  # the thread has ended

    _submitted = Signal(object)
    _closing = Signal()

    def __init__(
        self, make_engine: Callable[[], Engine] = real_engine, where_logs_are: str = "the log", parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._mailbox = Mailbox()
        self._cancels: dict[int, threading.Event] = {}
        self._gives_way: int | None = None
        self._next_number = 1
        self._shut = False
        self._drained_at = 0.0
        self._beat_ms = BEAT_MS
        self._beat = QTimer(self)
        self._beat.setSingleShot(True)
        self._beat.timeout.connect(self._drain)

        sys.setswitchinterval(TURN_S)
        self._thread = QThread(self)
        self._thread.setObjectName("engine")
        self._thread.setStackSize(STACK_BYTES)
        self._worker = _Worker(make_engine, self._mailbox, where_logs_are)
        self._worker.moveToThread(self._thread)
        self._worker.rang.connect(self._hear)
        self._submitted.connect(self._worker.work)
        self._closing.connect(self._worker.close)
        self._thread.finished.connect(self._end)
        self._thread.start()

    def submit(self, request: Request) -> int:
        """Queue a request; its news carry the number returned. Requests are answered one after the other."""
        number = self._next_number
        self._next_number += 1
        if self._shut:
            return number
        if self._gives_way is not None:
            self.cancel(self._gives_way)
        self._gives_way = number if isinstance(request, Calibrate | SelectKernels) else None
        cancel = threading.Event()
        self._cancels[number] = cancel
        self._submitted.emit(Job(number, request, cancel))
        return number

    @property
    def busy(self) -> bool:
        """Whether a request has not been answered to its end."""
        return bool(self._cancels)

    def cancel(self, number: int) -> None:
        """End a job within a round. Its last news still comes."""
        if cancel := self._cancels.get(number):
            cancel.set()

    def shut_down(self) -> None:
        """Cancel everything, free the models on their own thread and end it; `stopped` tells when. Returns at once."""
        if self._shut:
            return
        self._shut = True
        for cancel in self._cancels.values():
            cancel.set()
        self._closing.emit()

    def wait(self, seconds: float) -> bool:
        """Shut down and wait for the end of the thread; False when it has not ended in time."""
        self.shut_down()
        return self._thread.wait(int(seconds * 1000))

    def drain(self) -> None:
        """Hand over what has happened by now, where no event loop does it any more."""
        self._drain()

    @Slot()
    def _hear(self) -> None:
        if not self._beat.isActive():
            since_ms = (time.monotonic() - self._drained_at) * 1000
            self._beat.start(max(0, int(self._beat_ms - since_ms)))

    @Slot()
    def _drain(self) -> None:
        began = time.monotonic()
        news = self._mailbox.take()
        for item in news:
            if item.event is None:
                self._cancels.pop(item.job, None)
        if news:
            self.happened.emit(news)
        self._drained_at = time.monotonic()
        # Drawing may take a quarter of the time at most: where a machine is slow the beat slows down, not the window.
        self._beat_ms = min(max(BEAT_MS, int(3000 * (self._drained_at - began))), SLOWEST_BEAT_MS)

    @Slot()
    def _end(self) -> None:
        self._drain()
        self.stopped.emit()
