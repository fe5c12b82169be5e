"""The listening socket, and the limits on connections."""

import asyncio
import errno
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from mlx_engine.api_server.app import Api
from mlx_engine.api_server.guard import MAX_HEADER_BYTES
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import why_failed
from mlx_engine.network.offline import OfflineRefusal
from mlx_engine.network.traffic import AcceptedConnection, check_lookup

log = logging.getLogger(__name__)

HEADERS_S = 10.0  # seconds for a client to send its next request's headers
WRITE_S = 60.0  # seconds for a client to read what was sent
PROBE_S = 0.1  # seconds between the first two probes of a client that sends nothing more; later ones are rarer
MAX_CONNECTIONS = 128
_WAITING = 128  # connections that the system keeps until they are accepted
_ACCEPTED = 16  # connections per turn of the event loop: those over the limit stay open for a few turns
_NO_RESOURCES = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_REPORT_S = 60.0  # seconds between messages about connections that can't be accepted


class TimedConnection(H11Protocol):
    """A connection that is closed unless its client sends and reads in time.

    A client may end its own side after its requests, and then read the responses. Only writing, which fails if the client has gone,
    tells the two apart.
    """

    _accepted: AcceptedConnection | None = None
    _is_half_closed = False
    _probe: asyncio.TimerHandle | None = None
    _check: asyncio.TimerHandle | None = None
    _stalled: asyncio.TimerHandle | None = None  # runs while the client doesn't read

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        try:
            self._accepted = transport = AcceptedConnection(transport, "server")  # type: ignore[assignment]
        except OfflineRefusal as refusal:
            transport.abort()
            log.warning("Refused a program on another computer: %s", refusal)
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
        self._wait_for_headers()

    def data_received(self, data: bytes) -> None:
        if self._accepted is not None:
            self._accepted.add(received=len(data))
        super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if self._accepted is not None:
            self._accepted.end()
        for timer in (self._check, self._stalled, self._probe):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keep the connection open for a response to a complete request."""
        self._is_half_closed = True
        return self._awaits_response() and self._write_probe()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._wait_for_headers()
        if self._is_half_closed and not self._awaits_response():
            self.transport.close()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled = self.loop.call_later(WRITE_S, self.transport.abort)

    def resume_writing(self) -> None:
        if self._stalled is not None:
            self._stalled.cancel()
        super().resume_writing()

    def _awaits_response(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete and not self.cycle.more_body

    def _write_probe(self, pause: float = PROBE_S) -> bool:
        """Write what clients ignore, again and again, and return whether that is possible."""
        event: h11.Event = h11.InformationalResponse(status_code=100, headers=[], reason="Continue")
        if self.cycle.response_started:
            event = h11.Data(data=b":\n\n")  # only event streams have a start without an end
        elif self.scope["http_version"] != "1.1":
            return False
        if not self.flow.write_paused:
            self.transport.write(self.conn.send(event) or b"")
        if self._probe is not None:
            self._probe.cancel()
        self._probe = self.loop.call_later(pause, self._probe_again, 2 * pause)
        return True

    def _probe_again(self, pause: float) -> None:
        if self._awaits_response():
            self._write_probe(min(pause, HEADERS_S))

    def _wait_for_headers(self) -> None:
        if self._check is not None:
            self._check.cancel()
        self._check = self.loop.call_later(HEADERS_S, self._close_if_idle)

    def _close_if_idle(self) -> None:
        if self.transport.is_closing() and not self.flow.write_paused:
            self.transport.abort()  # the client hasn't read the rest of a response
        elif self.cycle is None or self.cycle.response_complete:
            self.transport.close()
        self._wait_for_headers()


class Listener:
    """A server on an open socket.

    Args:
        host: name or address to listen on.
        port: 0 selects a free one.

    Raises:
        UserError: the address can't be used, or Offline is on and its name would be looked up.
    """

    def __init__(self, host: str, port: int) -> None:
        if host:
            check_lookup(host)
        try:
            family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
            self._socket = socket.socket(family, socket.SOCK_STREAM)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind(address)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise UserError("port_in_use", "Port {port} is in use. Choose another port.", port=str(port)) from None
            template = "Can't listen on “{host}”: {reason}. Choose another address."
            raise UserError("cannot_listen", template, host=host, reason=why_failed(error)) from None
        self._socket.listen(_WAITING)
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self._socket.getsockname()[1]}"

    async def serve(self, api: Api, stop: asyncio.Event, ready: Callable[[], None]) -> None:
        """Serve until `stop` is set. Replies in progress are then canceled.

        Args:
            ready: called once requests are served.
        """
        asyncio.get_running_loop().set_exception_handler(_Reporter())
        config = uvicorn.Config(
            api,
            http=TimedConnection,
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=_ACCEPTED,
            h11_max_incomplete_event_size=MAX_HEADER_BYTES,
            timeout_graceful_shutdown=0,
        )
        server = _Server(config)
        running = asyncio.ensure_future(server.serve(sockets=[self._socket]))
        try:
            while not server.started and not running.done():
                await asyncio.sleep(0.01)
            self._socket.listen(_WAITING)  # uvicorn reduced it to its backlog
            ready()
            await stop.wait()
        finally:
            server.should_exit = True
            await running
            api.files.pdfs.clear()


class _Reporter:
    """Says in one line that no connection can be accepted.

    asyncio calls it for each attempt, and tries again after a second.
    """

    def __init__(self) -> None:
        self._reported = float("-inf")

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not (isinstance(error, OSError) and "socket" in context and error.errno in _NO_RESOURCES):
            loop.default_exception_handler(context)
        elif loop.time() - self._reported >= _REPORT_S:
            self._reported = loop.time()
            log.warning("Can't accept more connections: %s. The server tries again every second.", error.strerror)


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the front end."""
        yield
