"""The thread that owns an engine, and its interface for front ends.

MLX arrays belong to the thread that made them. One thread loads, runs, and frees models for as long as the process lives.
"""

import logging
import math
import queue
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from mlx_engine.contract.client import Deliver, Run
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import Event, Failed, LoadProgress, Queued
from mlx_engine.contract.machine_events import ReliefStep
from mlx_engine.contract.requests import (
    Compare,
    CountTokens,
    GenerationRequest,
    LoadPair,
    MeasureMachine,
    ReadMemory,
    Request,
    Rest,
    TuneDrafter,
)
from mlx_engine.contract.urgency import Urgency, enter, place
from mlx_engine.engine.relief import INTERVAL_S, Relief

if TYPE_CHECKING:
    from mlx_engine.engine.engine import Engine

log = logging.getLogger(__name__)

MAX_ACTIVE = 16  # most background replies that are generated at the same time
MAX_QUEUED = 32  # background replies that wait
_MIN_ACTIVE = 4  # so that a short reply needn't wait for a long one; agents send two to four requests at once
_FIRST_REPLY_S = 10.0  # assumed duration of a reply before any has ended
_LATEST_WEIGHT = 0.2  # weight of the latest reply in the average duration
_IDLE_S = 5.0  # between looks at the memory pressure while nothing runs
_HELD_S = 0.1  # how soon a canceled run that is held ends
STACK_BYTES = 16 << 20  # macOS gives a second thread 512 KB; tracing a deep model needs more


class _HostRun(Run):
    """A request to the host.

    Attributes:
        takes_turns: whether other requests may run between its steps.
        exact: whether it is an exact reply, which takes turns only with others; None if it isn't a reply.
        urgency: who waits for it.
        foreground: whether the run gets every second turn.
        passed: number of later runs that went before it in the queue.
        submitted: time of submission, from `time.perf_counter`.
        began: time at which it began; 0 before.
        steps: yields the events of each step, once the run has started.
        position: last reported position in the queue.
    """

    def __init__(self, request: Request, deliver: Deliver) -> None:
        super().__init__(request, deliver)
        reply = request if isinstance(request, GenerationRequest) else None
        self.takes_turns = isinstance(request, GenerationRequest | CountTokens | Rest | ReadMemory)
        self.exact = reply.exact if reply else None
        self.urgency = reply.urgency if reply else Urgency.FRONT
        self.foreground = self.urgency == Urgency.FRONT
        self.passed = 0
        self.submitted = time.perf_counter()
        self.began = 0.0
        self.steps: Generator[Sequence[Event], None, None] = _no_steps()
        self.position = 0


class EngineHost:
    """An `EngineClient` of an engine in this process.

    Replies take turns of one step: a chunk of the prompt, or a pass of decoding, which they share. A foreground reply has every
    second turn. A reply for which there isn't enough memory has empty steps until others have ended. Tokens
    are counted in a turn of their own. Exact replies run only next to each other. Other requests wait until all running replies
    have ended, and run alone; later requests wait for them.

    While memory is short, the host takes the steps of `ReliefStep` between two turns. They never end a reply that a user waits for.

    Args:
        make_engine: creates the engine; called on the engine's thread.
        log_file: where a user finds the details of an internal error.
        max_active: most background replies that run at the same time. Fewer do if one waits for memory, or if more weren't faster
            together.
        min_active: replies that run at the same time even if more weren't faster together.
        max_queued: number of background replies that can wait. Further ones fail with the code `too_busy` and the value `seconds`,
            after which the next reply will probably have ended.
        relief: reads the memory pressure, and says which steps to take.
    """

    def __init__(
        self,
        make_engine: "Callable[[], Engine] | None" = None,
        log_file: str = "the log",
        max_active: int = MAX_ACTIVE,
        max_queued: int = MAX_QUEUED,
        min_active: int = _MIN_ACTIVE,
        relief: Relief | None = None,
    ) -> None:
        self._make_engine = make_engine or local_engine
        self._engine: Engine | None = None
        self._log_file = log_file
        self._lock = threading.Lock()
        self._queue: queue.SimpleQueue[_HostRun | None] = queue.SimpleQueue()
        self._open: list[_HostRun] = []  # submitted and not finished
        self._max_active, self._max_queued, self._min_active = max_active, max_queued, min_active
        self._reply_s = _FIRST_REPLY_S  # average duration
        self._relief = relief or Relief()
        self._waiting: list[_HostRun] = []  # this and the following are used only on the engine's thread
        self._foreground: deque[_HostRun] = deque()  # running; the first has the next turn
        self._background: deque[_HostRun] = deque()
        self._foreground_had_turn = False
        self._received_all = False
        self._closed: Callable[[], None] | None = None
        self._closing = False
        self._ended = threading.Event()
        before = threading.stack_size(STACK_BYTES)
        self._thread = threading.Thread(target=self._serve, name="engine", daemon=True)
        self._thread.start()
        threading.stack_size(before)

    def submit(self, request: Request, deliver: Deliver) -> Run:
        """Queue a request, and cancel runs that give way to it.

        If the queue is full, memory is short, or the host was closed, the run ends before this returns.
        """
        run = _HostRun(request, deliver)
        if self._relief.step >= ReliefStep.REFUSAL and _is_new_work(request):
            run.deliver(Failed.because(UserError("memory_full", "Memory is almost full. Quit other apps, then try again.")))
            run.deliver(None)
            return run
        with self._lock:
            background = [other for other in self._open if not other.foreground]
            is_full, running = len(background) >= self._max_active + self._max_queued, sum(other.began > 0 for other in background)
            if not self._closing and (run.foreground or not is_full):
                for other in self._open if not isinstance(request, ReadMemory) else ():
                    if other.request.gives_way and not (run.takes_turns and other.takes_turns):
                        other.cancel()
                self._open.append(run)
                self._queue.put(run)
                return run
        if not self._closing:
            seconds = math.ceil(self._reply_s / max(running, 1))
            template = "Too many replies are waiting. Try again in {seconds} seconds."
            run.deliver(Failed.because(UserError("too_busy", template, seconds=seconds)))
        run.deliver(None)
        return run

    def close(self, closed: Callable[[], None] | None = None) -> None:
        """Cancel all runs, free the models, and end the thread. Returns immediately.

        Then `closed` is called on the engine's thread.
        """
        with self._lock:
            ended = self._ended.is_set()
            self._closed = closed or self._closed
            if not self._closing:
                self._closing = True
                for run in self._open:
                    run.cancel()
                self._queue.put(None)
        if ended and closed is not None:
            closed()

    def wait(self, seconds: float) -> bool:
        """Close the host, and return whether its thread ended within `seconds`."""
        self.close()
        return self._ended.wait(seconds)

    def _serve(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # so that Ctrl-C interrupts the main thread
        while self._receive():
            if self._waiting:
                self._begin_runs()
            self._take_turn()
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

    def _receive(self) -> bool:
        """Queue the submitted runs. Return False if there will be no more.

        If there is nothing to do, wait for a run.
        """
        while True:
            self._relieve()
            is_idle = not (self._waiting or self._foreground or self._background)
            is_held = not (is_idle or self._foreground or self._background) and all(map(self._is_held, self._waiting))
            if is_idle and self._received_all:
                return False
            if not (is_idle or is_held) and self._queue.empty():
                return True
            try:
                run = self._queue.get(timeout=self._idle_wait(is_held))
            except queue.Empty:
                continue
            if run is None:
                self._received_all = True
                continue
            if isinstance(run.request, ReadMemory):
                self._report_memory(run, run.request)
            elif isinstance(run.request, GenerationRequest):
                enter(self._waiting, run)  # never before one that runs alone, whose urgency is the highest
            elif run.takes_turns:  # such as a count of tokens: short, so it needn't pass replies
                self._waiting.insert(place(self._waiting, run), run)
            else:
                self._waiting.append(run)

    def _relieve(self) -> None:
        """Take the steps that memory pressure needs now, if it is time to look at it."""
        if not self._relief.look():
            return
        step = self._relief.step
        try:
            if self._engine is not None:
                # What runs alone may wait for replies of its own in one step, without a look at the pressure
                self._engine.give_back(step, narrows=all(run.takes_turns for run in self._foreground))
            if step >= ReliefStep.BACKGROUND:
                for run in self._foreground:
                    if run.request.gives_way and not run.takes_turns:  # its front end submits it again, and it waits
                        run.cancel()
        except Exception:
            log.exception("Memory can't be given back")

    def _is_held(self, run: _HostRun) -> bool:
        """Return whether a run begins only when memory is less short."""
        is_background = not run.foreground or run.request.gives_way
        return self._relief.step >= ReliefStep.BACKGROUND and is_background and not run.cancelled.is_set()

    def _report_memory(self, run: _HostRun, request: ReadMemory) -> None:
        try:
            if self._engine is not None:
                run.deliver(self._engine.memory_use(self._relief, request.tuning))
        except Exception:
            log.exception("The memory can't be read")
        self._end(run)

    def _idle_wait(self, is_held: bool) -> float | None:
        """Save a part of a past prompt.

        Args:
            is_held: whether runs wait until memory is less short.

        Returns:
            The seconds until there is more to do, or None.
        """
        waits = [_HELD_S] if is_held else [INTERVAL_S] if self._relief.step > ReliefStep.NONE else []
        try:
            if self._engine is not None and self._queue.empty():
                if (save := self._engine.save_next()) is not None:
                    waits.append(save)
                if self._engine.can_give_back:
                    waits.append(_IDLE_S)
        except Exception:
            log.exception("A prompt can't be saved")
        return min(waits, default=None)

    def _begin_runs(self) -> None:
        """Begin the waiting runs that may run now, and report the others' positions.

        Canceled runs that would run alone end immediately, because later runs would wait for them.
        """
        for run in [run for run in self._waiting if run.cancelled.is_set() and not run.takes_turns]:
            self._waiting.remove(run)
            self._end(run)
        running = [*self._foreground, *self._background]
        in_order = all(run.takes_turns for run in running)  # whether no earlier run runs alone or waits to run alone
        has_room = True  # whether no earlier background reply must wait
        if in_order:
            for run in list(self._waiting):
                if run.takes_turns:
                    if not run.foreground:
                        has_room = has_room and len(self._background) < self._max_active and self._admits(len(running), run.urgency)
                    in_order = in_order and all(None in (run.exact, other.exact) or run.exact == other.exact for other in running)
                    begins = run.cancelled.is_set() or (in_order and (run.foreground or has_room))
                elif self._is_held(run):
                    begins = False  # no later run waits for it
                else:
                    begins, in_order = in_order and not running, False
                if begins:
                    self._waiting.remove(run)
                    run.began, run.steps = time.perf_counter(), self._steps(run)
                    (self._foreground if run.foreground else self._background).append(run)
                    running.append(run)
                    if not run.takes_turns:
                        break
        for position, run in enumerate((run for run in self._waiting if isinstance(run.request, GenerationRequest)), 1):
            if run.position != position:
                run.position = position
                run.deliver(Queued(position))

    def _admits(self, running: int, urgency: Urgency) -> bool:
        """Return whether the engine can run another background reply now."""
        if self._relief.step >= ReliefStep.BACKGROUND:
            return False
        if self._engine is None or running == 0:
            return True
        return not self._engine.awaits_memory(urgency) and (running < self._min_active or self._engine.gains(running))

    def _steps(self, run: _HostRun) -> Generator[Sequence[Event], None, None]:
        """Start a run, and yield the events of each step."""
        if self._engine is None:
            if run.cancelled.is_set():
                return
            run.deliver(LoadProgress(0.0, EngineText.of("starting_engine", "Starting the engine")))
            self._engine = self._make_engine()
        if run.takes_turns and isinstance(run.request, GenerationRequest | CountTokens):
            for _ in self._engine.read_sizes(run.request.messages, run.cancelled):
                yield []
        if run.takes_turns and isinstance(run.request, GenerationRequest):
            yield from self._engine.steps(run.request, run.cancelled, run.submitted)
            return
        if not run.takes_turns:
            self._engine.give_back(self._relief.step, narrows=False)  # see `_relieve`
        for event in self._engine.run(run.request, run.cancelled):
            yield [event]
            if isinstance(run.request, LoadPair) and run.cancelled.is_set():
                return

    def _take_turn(self) -> None:
        """Run a step of the next run.

        No exception leaves this method: a bug is logged, and other runs continue.
        """
        is_front = bool(self._foreground) and not (self._background and self._foreground_had_turn)
        group = self._foreground if is_front else self._background
        if not group:
            return
        self._foreground_had_turn = is_front
        run = group.popleft()
        try:
            events = next(run.steps, None)
        except UserError as error:
            events = None
            run.deliver(Failed.because(error))
        except BaseException as error:
            events = None
            log.exception("The engine failed on %s", type(run.request).__name__)
            bug = UserError("internal", "Something went wrong in Slipstream. Details are in {log_file}.", log_file=self._log_file)
            run.deliver(Failed.because(_gpu_error(error) or bug))
        if events is not None:
            group.append(run)
            for event in events:
                run.deliver(event)
            return
        if not run.foreground:
            self._reply_s += _LATEST_WEIGHT * (time.perf_counter() - run.began - self._reply_s)
        self._end(run)

    def _end(self, run: _HostRun) -> None:
        with self._lock, suppress(ValueError):
            self._open.remove(run)
        run.deliver(None)


def _no_steps() -> Generator[Sequence[Event], None, None]:
    yield from ()


def _is_new_work(request: Request) -> bool:
    """Return whether a request needs memory that no reply has yet, and can't wait.

    The next step of a reply that a user waits for isn't new. What gives way, such as a title, waits.
    """
    if isinstance(request, GenerationRequest):
        return not request.gives_way and not (request.foreground and request.messages and request.messages[-1].role == "tool")
    return isinstance(request, Compare | MeasureMachine | TuneDrafter)


def _gpu_error(error: BaseException) -> UserError | None:
    """Return the explanation of an error of the GPU, which is then forgotten."""
    from mlx_engine.hardware import gpu_faults, memory  # here, because they import MLX

    fault = gpu_faults.find(error)
    if fault is not None:
        memory.settle()
    return fault.error if fault is not None else None


def local_engine() -> "Engine":
    """Create this machine's engine. Imports MLX, so call it on the engine's thread."""
    from mlx_engine.hardware import blas, open_files

    blas.prepare()
    open_files.import_mlx_lm()
    from mlx_engine.engine.engine import Engine

    return Engine()
