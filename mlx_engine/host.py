"""The thread that owns an engine, and the interface through which front ends use it.

MLX arrays belong to the thread that made them. One thread loads, runs, and frees models for as long as the process lives.
"""

import logging
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from mlx_engine.errors import EngineText, UserError
from mlx_engine.events import Event, Failed, LoadProgress
from mlx_engine.requests import LoadPair, Request

if TYPE_CHECKING:
    from mlx_engine.engine import Engine

log = logging.getLogger(__name__)

BATCH_S = 0.02
_WAKE_S = 0.1
STACK_BYTES = 16 << 20  # macOS gives a second thread 512 KB; tracing a deep model needs more

Deliver = Callable[[Event | None], None]


class Job:
    """A submitted request.

    Its events go to `deliver` in order, on the engine's thread. None follows the last one.
    """

    def __init__(self, request: Request, deliver: Deliver) -> None:
        self.request = request
        self.deliver = deliver
        self.cancelled = threading.Event()

    def cancel(self) -> None:
        """End the job within one round. Can be called from any thread.

        Events until then still arrive.
        """
        self.cancelled.set()


class EngineDoor(Protocol):
    """The interface to an engine, wherever it runs."""

    def submit(self, request: Request, deliver: Deliver) -> Job:
        """Queue a request. Requests run one at a time."""
        ...

    def close(self, closed: Callable[[], None] | None = None) -> None:
        """Cancel all jobs, free the models, and end. Then call `closed`. Returns immediately."""
        ...


class EngineHost:
    """An `EngineDoor` to an engine in this process.

    Args:
        make_engine: creates the engine; called on the engine's thread.
        log_file: where a user finds the details of an internal error.
    """

    def __init__(self, make_engine: "Callable[[], Engine] | None" = None, log_file: str = "the log") -> None:
        self._make_engine = make_engine or local_engine
        self._engine: Engine | None = None
        self._log_file = log_file
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._open: list[Job] = []  # submitted and not finished
        self._closed: Callable[[], None] | None = None
        self._closing = False
        self._ended = threading.Event()
        before = threading.stack_size(STACK_BYTES)
        self._thread = threading.Thread(target=self._serve, name="engine", daemon=True)
        self._thread.start()
        threading.stack_size(before)

    def submit(self, request: Request, deliver: Deliver) -> Job:
        """Queue a request. It cancels jobs that are queued or running and give way to everything else."""
        job = Job(request, deliver)
        with self._lock:
            if not self._closing:
                for other in self._open:
                    if getattr(other.request, "gives_way", False):
                        other.cancel()
                self._open.append(job)
                self._queue.put(job)
                return job
        _deliver(job, None)
        return job

    def close(self, closed: Callable[[], None] | None = None) -> None:
        """Cancel all jobs, free the models, and end the thread. Returns immediately.

        Then `closed` is called on the engine's thread.
        """
        with self._lock:
            ended = self._ended.is_set()
            self._closed = closed or self._closed
            if not self._closing:
                self._closing = True
                for job in self._open:
                    job.cancel()
                self._queue.put(None)
        if ended and closed is not None:
            closed()

    def wait(self, seconds: float) -> bool:
        """Close, and return whether the thread ended within this time."""
        self.close()
        return self._ended.wait(seconds)

    def _serve(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # so that Ctrl-C interrupts the main thread
        while (job := self._queue.get()) is not None:
            self._run(job)
            del job  # otherwise the job's receiver would stay alive during the next wait
        try:
            if self._engine is not None:
                self._engine.unload()
        except BaseException:
            log.exception("The engine failed to unload")
        self._engine = None
        with self._lock:
            closed = self._closed
            self._ended.set()
        try:
            if closed is not None:
                closed()
        except BaseException:
            log.exception("The front end failed when the engine ended")
        if self._make_engine is local_engine:
            threading.Event().wait()  # MLX aborts the process if this thread ends while the process exits

    def _run(self, job: Job) -> None:
        """Deliver a job's events. Bugs are logged, and the next job runs."""
        try:
            if self._engine is None and not job.cancelled.is_set():
                _deliver(job, LoadProgress(0.0, EngineText.of("starting_engine", "Starting the engine")))
                self._engine = self._make_engine()
            for event in self._engine.run(job.request, job.cancelled) if self._engine else ():
                _deliver(job, event)
                if isinstance(job.request, LoadPair) and job.cancelled.is_set():
                    break
        except UserError as error:
            _deliver(job, Failed.because(error))
        except BaseException:
            log.exception("The engine failed on %s", type(job.request).__name__)
            bug = UserError("internal", "Something went wrong in Slipstream. Details are in {log_file}.", log_file=self._log_file)
            _deliver(job, Failed.because(bug))
        with self._lock, suppress(ValueError):
            self._open.remove(job)
        _deliver(job, None)


def _deliver(job: Job, event: Event | None) -> None:
    """Deliver an event, and log a front end's bug."""
    try:
        job.deliver(event)
    except BaseException:
        log.exception("The front end failed on %s", type(event).__name__)


def local_engine() -> "Engine":
    """Create this machine's engine. Imports MLX, so call it on the engine's thread."""
    from mlx_engine import blas

    blas.prepare()
    from mlx_engine.engine import Engine

    return Engine()


def events(door: EngineDoor, request: Request, started: Callable[[Job], None] | None = None) -> Iterator[Event]:
    """Submit a request and yield its events. Closing the iterator cancels the job.

    Args:
        started: receives the job, so that it can be cancelled from elsewhere.

    Raises:
        UserError: the request failed.
    """
    inbox: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
    job = door.submit(request, inbox.put)
    if started is not None:
        started(job)
    try:
        while (event := _next(inbox)) is not None:
            if isinstance(event, Failed):
                raise UserError.of(event)
            yield event
            if inbox.empty():
                time.sleep(BATCH_S)  # waking for every event would slow decoding on a CPU by 3 %
    finally:
        job.cancel()


def _next(inbox: "queue.SimpleQueue[Event | None]") -> Event | None:
    """Return the next event.

    Waits with a timeout: if another thread receives the signal of Ctrl-C, an endless wait isn't interrupted.
    """
    while True:
        with suppress(queue.Empty):
            return inbox.get(timeout=_WAKE_S)
