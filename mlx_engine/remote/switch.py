"""The choice between the local engine and a server."""

import threading
from collections.abc import Callable

from mlx_engine.contract.client import Deliver, Run
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Event, Failed, PairInfo
from mlx_engine.contract.requests import Compare, Connect, CountTokens, GenerationRequest, LoadPair, Request, UnloadPair
from mlx_engine.engine.host import EngineHost
from mlx_engine.remote.remote_engine import RemoteEngine


class EngineSwitch:
    """The local engine's `EngineClient` or, after `Connect`, that of a server.

    `Connect` frees the local pair, and `LoadPair` disconnects. If one of them fails, the engine in use doesn't change. Requests
    about this computer always go to the local engine. Private requests never go to a server.
    """

    def __init__(self, local: EngineHost) -> None:
        self._local = local
        self._remote: RemoteEngine | None = None
        self._lock = threading.Lock()

    def submit(self, request: Request, deliver: Deliver) -> Run:
        """Queue a request at the engine in use."""
        if isinstance(request, Connect):
            return self._connect(request, deliver)
        if isinstance(request, LoadPair):
            return self._local.submit(request, self._then_use(None, deliver))
        remote = self._remote
        if remote is None or not isinstance(request, GenerationRequest | Compare | CountTokens):
            return self._local.submit(request, deliver)
        replies = request.requests if isinstance(request, Compare) else (request,)
        if any(isinstance(reply, GenerationRequest) and reply.private for reply in replies):
            run = Run(request, deliver)
            deliver(Failed.because(UserError("remote_private", "This chat is private, so it isn't sent to a server.")))
            deliver(None)
            return run
        return remote.submit(request, deliver)

    def close(self, closed: Callable[[], None] | None = None) -> None:
        """Cancel all runs and free the models, then call `closed`."""
        self._use(None)
        self._local.close(closed)

    def wait(self, seconds: float) -> bool:
        """Close the engines, and return whether the local one ended within `seconds`."""
        self._use(None)
        return self._local.wait(seconds)

    def _connect(self, request: Connect, deliver: Deliver) -> Run:
        remote = RemoteEngine(request.endpoint, self._local)
        connected = self._then_use(remote, deliver)

        def follow(event: Event | None) -> None:
            connected(event)
            if event is None and self._remote is not remote:
                remote.close()

        return remote.submit(request, follow)

    def _then_use(self, remote: RemoteEngine | None, deliver: Deliver) -> Deliver:
        """Return a `deliver` that changes the engine in use on success."""

        def follow(event: Event | None) -> None:
            if isinstance(event, PairInfo):
                self._use(remote)
                if remote is not None:
                    self._local.submit(UnloadPair(), lambda _: None)
            deliver(event)

        return follow

    def _use(self, remote: RemoteEngine | None) -> None:
        with self._lock:
            before, self._remote = self._remote, remote
        if before is not None and before is not remote:
            before.close()
