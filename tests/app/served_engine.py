"""The window's engine behind Slipstream's own server, with a remote engine in front."""

import asyncio
import threading
from collections.abc import Callable
from dataclasses import replace

from mlx_engine.events import Event, PairInfo
from mlx_engine.host import Deliver, EngineHost, Job
from mlx_engine.remote.engine import RemoteEngine
from mlx_engine.remote.switch import EngineSwitch
from mlx_engine.requests import Connect, LoadPair, RemoteConnection, Request
from mlx_engine.server.app import Api
from mlx_engine.server.guard import Guard
from mlx_engine.server.listener import Listener


class ServedEngine(EngineSwitch):
    """An `EngineSwitch` that connects to a server of the local engine whenever a pair has loaded."""

    def __init__(self, local: EngineHost) -> None:
        super().__init__(local)
        self._api = Api(local, None, Guard("127.0.0.1", None))
        listener, ready = Listener("127.0.0.1", 0), threading.Event()
        self._url, self._loop, self._stop = listener.url, asyncio.new_event_loop(), asyncio.Event()
        serve = lambda: self._loop.run_until_complete(listener.serve(self._api, self._stop, ready.set))  # noqa: E731
        self._thread = threading.Thread(target=serve, daemon=True)
        self._thread.start()
        assert ready.wait(60)

    def submit(self, request: Request, deliver: Deliver) -> Job:
        if isinstance(request, LoadPair):
            return self._local.submit(request, self._then_connect(deliver))
        return super().submit(request, deliver)

    def wait(self, seconds: float) -> bool:
        ended = super().wait(seconds)
        if ended and self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(seconds)
        return ended

    def _then_connect(self, deliver: Deliver) -> Deliver:
        """Return a `deliver` for loading that connects to the server before the pair is reported."""
        connecting = False

        def follow(event: Event | None) -> None:
            nonlocal connecting
            if isinstance(event, PairInfo):
                connecting, self._api.pair = True, event
                remote = RemoteEngine(RemoteConnection(self._url))
                remote.submit(Connect(RemoteConnection(self._url)), self._connected(remote, event, deliver))
            elif event is not None or not connecting:
                deliver(event)

        return follow

    def _connected(self, remote: RemoteEngine, pair: PairInfo, deliver: Deliver) -> Callable[[Event | None], None]:
        def follow(event: Event | None) -> None:
            if isinstance(event, PairInfo):
                self._use(remote)
                names = ("name", "target", "drafter", "target_bytes", "drafter_bytes", "drafter_weights", "calibrated")
                deliver(replace(event, **{name: getattr(pair, name) for name in names}))
            elif event is None:
                deliver(None)

        return follow
