"""The choice between the local engine, a server, and several computers together."""

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial

from mlx_engine.contract.client import Deliver, EngineClient, Run
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Event, Failed, LoadProgress, PairInfo
from mlx_engine.contract.requests import (
    Calibrate,
    Compare,
    Connect,
    CountTokens,
    ForgetPrompts,
    GenerationRequest,
    LoadPair,
    Request,
    SelectKernels,
    TuneDrafter,
    UnloadPair,
)
from mlx_engine.engine.host import EngineHost
from mlx_engine.remote.remote_engine import RemoteEngine
from mlx_engine.ring.ring_engine import RingEngine
from mlx_engine.ring.ring_plan import paired_plan

_OF_PAIR = (GenerationRequest, Compare, CountTokens)
_REFUSED_BY_RING = (Calibrate, SelectKernels, TuneDrafter)  # by name; the local engine would miss a pair


def _ring_of(workers: tuple[str, ...]) -> EngineClient:
    return RingEngine(partial(paired_plan, workers))


class EngineSwitch:
    """The local engine's `EngineClient`, or that of a server or of several computers.

    `Connect` selects a server, and `LoadPair` the local engine or its `workers` together with this computer. If one of them fails,
    the engine in use doesn't change. Only one engine has a pair in this computer's memory. Requests about this computer always go
    to the local engine. Private requests never go to a server.

    Args:
        local: the engine in this process.
        make_ring: returns the engine of paired workers and this computer, without blocking.
    """

    def __init__(self, local: EngineHost, make_ring: Callable[[tuple[str, ...]], EngineClient] = _ring_of) -> None:
        self._local, self._make_ring = local, make_ring
        self._other: EngineClient | None = None  # in use instead of the local engine
        self._ring: EngineClient | None = None  # in use, or loading
        self._workers: tuple[str, ...] = ()  # of the ring
        self._lock = threading.Lock()

    def submit(self, request: Request, deliver: Deliver) -> Run:
        """Queue a request at the engine in use."""
        if isinstance(request, Connect):
            return self._connect(request, deliver)
        if isinstance(request, LoadPair):
            engine = self._ring_for(request.workers)
            return (engine or self._local).submit(request, self._freeing_others(engine, self._then_use(engine, deliver)))
        other = self._other
        is_remote = isinstance(other, RemoteEngine)
        if isinstance(request, ForgetPrompts) and other is not None and not is_remote:
            other.submit(replace(request, runs=False), lambda _: None)  # in memory; the local engine has those on disk
        if other is None or not isinstance(request, _OF_PAIR if is_remote else (*_OF_PAIR, *_REFUSED_BY_RING)):
            return self._local.submit(request, deliver)
        replies = request.requests if isinstance(request, Compare) else (request,)
        if is_remote and any(isinstance(reply, GenerationRequest) and reply.private for reply in replies):
            run = Run(request, deliver)
            deliver(Failed.because(UserError("remote_private", "This chat is private, so it isn't sent to a server.")))
            deliver(None)
            return run
        return other.submit(request, deliver)

    def close(self, closed: Callable[[], None] | None = None) -> None:
        """Cancel all runs and free the models, then call `closed`."""
        self._close_others()
        self._local.close(closed)

    def wait(self, seconds: float) -> bool:
        """Close the engines, and return whether the local one ended within `seconds`."""
        self._close_others()
        return self._local.wait(seconds)

    def _connect(self, request: Connect, deliver: Deliver) -> Run:
        remote = RemoteEngine(request.endpoint, self._local)
        connected = self._then_use(remote, deliver)

        def follow(event: Event | None) -> None:
            connected(event)
            if event is None and self._other is not remote:
                remote.close()

        return remote.submit(request, follow)

    def _ring_for(self, workers: tuple[str, ...]) -> EngineClient | None:
        """Return the engine of these workers, or None without workers."""
        if not workers:
            return None
        with self._lock:
            if self._ring is None or self._workers != workers:
                before, self._ring, self._workers = self._ring, self._make_ring(workers), workers
                if before is not None and before is not self._other:
                    before.close()
            return self._ring

    def _freeing_others(self, engine: EngineClient | None, deliver: Deliver) -> Deliver:
        """Return a `deliver` that frees other engines' memory once files are read."""
        is_freed = False

        def follow(event: Event | None) -> None:
            nonlocal is_freed
            if isinstance(event, LoadProgress) and event.fraction > 0 and not is_freed:
                is_freed = True
                for other in (self._local if engine is not None else None, self._other):
                    if other is not None and other is not engine and not isinstance(other, RemoteEngine):
                        other.submit(UnloadPair(), lambda _: None)
            deliver(event)

        return follow

    def _then_use(self, other: EngineClient | None, deliver: Deliver) -> Deliver:
        """Return a `deliver` that changes the engine in use on success."""

        def follow(event: Event | None) -> None:
            if isinstance(event, PairInfo):
                self._use(other)
                if other is not None:
                    self._local.submit(UnloadPair(), lambda _: None)
            deliver(event)

        return follow

    def _use(self, other: EngineClient | None) -> None:
        with self._lock:
            before, self._other = self._other, other
            if before is self._ring and before is not other:
                self._ring, self._workers = None, ()
        if before is not None and before is not other:
            before.close()

    def _close_others(self) -> None:
        with self._lock:
            others, self._other, self._ring = {self._other, self._ring}, None, None
        for other in others:
            if other is not None:
                other.close()
