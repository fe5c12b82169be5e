"""A pair on several computers, with the interface of this computer's engine."""

import logging
import os
import queue
import subprocess
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from itertools import count
from multiprocessing.connection import Connection
from typing import Any

from mlx_engine.contract.client import Deliver, Run
from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import Event, Failed, PairInfo, PromptsSaved
from mlx_engine.contract.requests import (
    Compare,
    CountTokens,
    ForgetPrompts,
    GenerationRequest,
    KeepPrompts,
    LoadPair,
    Request,
    SavePrompts,
    UnloadPair,
)
from mlx_engine.models.configs.shardable import sharding_problem
from mlx_engine.models.files.checkpoint import read_config
from mlx_engine.models.files.loadable import check_loadable
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.ring.links import RING_ENDED
from mlx_engine.ring.rank import start_rank
from mlx_engine.ring.ring_plan import RingPlan

log = logging.getLogger(__name__)

_END_S = 30.0  # in which a killed process is gone
_NO_PAIR = EngineText.of("no_pair_loaded", "No model is loaded. Load one first.")


class _RingRun(Run):
    """A request to rank 0.

    Attributes:
        stop: tells rank 0 that the run is canceled.
        has_ended: whether all events were delivered.
    """

    stop: Callable[[], None] | None = None
    has_ended = False

    def deliver(self, event: Event | None) -> None:
        self.has_ended = event is None
        super().deliver(event)

    def cancel(self) -> None:
        super().cancel()
        if (stop := self.stop) is not None:
            stop()


class _Leader:
    """The child process of rank 0.

    Starting it and writing to it never block the caller, which may be the window.

    Args:
        plan: the ring.
        ended: called with the runs that it leaves open, on this leader's thread.
    """

    def __init__(self, plan: RingPlan, ended: "Callable[[_Leader], None]") -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self.runs: dict[int, _RingRun] = {}
        self.reason = RING_ENDED
        self._is_ending = False
        self._numbers, self._ended, self._lock = count(1), ended, threading.Lock()
        self._silent_s = 2 * plan.silent_s  # as it may wait for a worker that it is about to lose
        self._messages = queue.SimpleQueue[Any]()
        self._messages.put(plan)
        self._thread = threading.Thread(target=self._run, name="ring", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def submit(self, run: _RingRun) -> None:
        number = next(self._numbers)
        self.runs[number] = run
        run.stop = lambda: self._messages.put(("cancel", number, None))
        self._messages.put(("submit", number, run.request))
        if run.cancelled.is_set():
            run.stop()

    def end(self, reason: EngineText = RING_ENDED) -> None:
        """End the process. Its open runs fail for this reason."""
        with self._lock:
            self.reason, self._is_ending = reason, True
            if self._process is not None:
                self._process.kill()

    def join(self, seconds: float) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            process, to_rank, from_rank = start_rank("mlx_engine.ring.leader")
        except OSError as error:
            log.warning("Rank 0 can't be started: %s", error.strerror)
            self._ended(self)
            return
        with self._lock:
            self._process = process
        with to_rank, from_rank:
            requests = Connection(os.dup(to_rank.fileno()), readable=False)
            events = Connection(os.dup(from_rank.fileno()), writable=False)
        writing = threading.Thread(target=self._write, args=(requests,), name="ring requests", daemon=True)
        writing.start()
        self._receive(events)
        process.kill()
        process.wait()
        self._messages.put(None)
        writing.join()
        requests.close()
        events.close()
        self._ended(self)

    def _write(self, requests: Connection) -> None:
        with suppress(OSError):  # it has ended, and `_receive` fails its runs
            while (message := self._messages.get()) is not None:
                requests.send(message)

    def _receive(self, events: Connection) -> None:
        try:
            while not self._is_ending and events.poll(self._silent_s):
                kind, *values = events.recv()
                if kind == "event":
                    number, event = values
                    run = self.runs.get(number) if event is not None else self.runs.pop(number, None)
                    if run is not None:
                        run.deliver(event)
                elif kind == "reason":
                    self.reason = values[0]
        except (EOFError, OSError):
            pass
        except Exception:
            log.exception("Rank 0 can't be understood")


class RingEngine:
    """An `EngineClient` of a pair that several computers run together.

    Rank 0 runs in a child process. When a rank is lost, the child ends, and the open requests fail with what they have so far. The
    next reply or comparison that a user waits for loads the pair again.

    Args:
        make_plan: returns the computers, on a thread of its own, as the keychain may ask the user.
    """

    def __init__(self, make_plan: Callable[[], RingPlan]) -> None:
        self._make_plan, self._plan = make_plan, RingPlan(())
        self._leader: _Leader | None = None
        self._pair: LoadPair | None = None  # that was loaded
        self._lock = threading.RLock()
        self._closing = False

    def submit(self, request: Request, deliver: Deliver) -> Run:
        """Send a request to rank 0. If the engine is closed, the run ends immediately."""
        run = _RingRun(request, deliver)
        with self._lock:
            if self._closing:
                run.deliver(None)
            elif isinstance(request, LoadPair):
                threading.Thread(target=self._load, args=(run,), name="ring start", daemon=True).start()
            elif isinstance(request, UnloadPair):
                self._pair = None
                self._stop()
                run.deliver(None)
            elif isinstance(request, GenerationRequest | Compare | CountTokens):
                if self._leader is None and self._pair is None:
                    _fail(run, _NO_PAIR)
                elif self._leader is None and _is_minor(request):
                    _fail(run, RING_ENDED)
                else:
                    self._running(self._pair).submit(run)
            elif self._leader is not None:
                self._leader.submit(run)
            else:
                if isinstance(request, SavePrompts | ForgetPrompts | KeepPrompts):
                    run.deliver(PromptsSaved())
                run.deliver(None)
        return run

    def close(self, closed: Callable[[], None] | None = None) -> None:
        """End all runs and disconnect, then call `closed`, without blocking."""
        with self._lock:
            self._closing = True
            leader = self._stop()
        if closed is not None:
            if leader is None:
                closed()
            else:
                threading.Thread(target=lambda: (leader.join(_END_S), closed()), daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Close the engine, and return whether it ended within `seconds`."""
        with self._lock:
            leader = self._leader
        self.close()
        return leader is None or leader.join(seconds)

    def _load(self, run: _RingRun) -> None:
        request = run.request
        assert isinstance(request, LoadPair)
        try:
            plan = self._make_plan()
            target, drafter = (request.target, request.drafter) if request.target else demo_pair()
            check_loadable(target, None if request.auto else drafter)
            if (problem := sharding_problem(read_config(target), len(plan.workers) + 1)) is not None:
                raise UserError.of(problem)
        except UserError as error:
            _fail(run, error.text)
            return
        pair = replace(request, target=target, drafter=drafter)
        with self._lock:
            if self._closing:
                run.deliver(None)
                return
            self._stop()
            self._plan, self._pair = plan, None
            leader = self._running(None)
            loading = _RingRun(pair, self._noting(leader, pair, run.deliver))

            def stop() -> None:
                if not loading.has_ended:
                    loading.cancelled.set()
                    leader.end()  # rank 0 may wait for other ranks

            run.stop = stop
            leader.submit(loading)
        if run.cancelled.is_set():
            stop()

    def _running(self, pair: LoadPair | None) -> _Leader:
        """Return the running leader, or a new one that loads this pair first."""
        if self._leader is None:
            self._leader = leader = _Leader(self._plan, self._on_end)
            leader.start()
            if pair is not None:
                leader.submit(_RingRun(pair, self._noting(leader, pair, lambda _: None)))
        return self._leader

    def _noting(self, leader: _Leader, pair: LoadPair, deliver: Deliver) -> Deliver:
        """Return a `deliver` that notes a loaded pair, or ends the leader."""
        failures: list[Failed] = []

        def follow(event: Event | None) -> None:
            if isinstance(event, PairInfo):
                with self._lock:
                    if self._leader is leader:  # otherwise another pair, or none, was chosen since
                        self._pair = pair
            elif isinstance(event, Failed):
                failures.append(event)
            elif event is None and failures:
                leader.end(failures[0])
            deliver(event)

        return follow

    def _stop(self) -> _Leader | None:
        """End the leader, if there is one."""
        leader, self._leader = self._leader, None
        if leader is not None:
            leader.end()
        return leader

    def _on_end(self, leader: _Leader) -> None:
        with self._lock:
            is_expected = self._leader is not leader
            if not is_expected:
                self._leader = None
            runs = [*leader.runs.values()]
        for run in runs:
            if is_expected or run.cancelled.is_set():
                run.deliver(None)
            else:
                _fail(run, leader.reason)


def _is_minor(request: Request) -> bool:
    """Return whether a request isn't worth loading the pair again.

    So are titles, and token counts while the user types.
    """
    return isinstance(request, CountTokens) or (isinstance(request, GenerationRequest) and request.gives_way)


def _fail(run: Run, reason: EngineText) -> None:
    run.deliver(Failed(reason.code, reason.message, reason.values))
    run.deliver(None)
