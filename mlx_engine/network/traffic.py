"""The one place through which Slipstream's own traffic goes.

It records each connection before it is made, and enforces Offline. Connections to this computer are recorded, too, but stay allowed
while Offline is on. Nothing else creates an HTTP client or looks up a name: `tests/test_structure.py`.
"""

import asyncio
import atexit
import ipaddress
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import replace
from itertools import count
from typing import Any
from weakref import WeakSet

import httpx2

from mlx_engine.network import connection_log, offline
from mlx_engine.network.connection_log import ConnectionRecord, Feature, Outcome
from mlx_engine.network.offline import OfflineRefusal

log = logging.getLogger(__name__)

_POLL_S = 0.5  # between checks whether another process has turned Offline on
_SAVE_S = 5.0  # between lines of a connection that transfers, so that a crash loses few bytes
_numbers = count(1)
_feature: ContextVar[Feature | None] = ContextVar("feature", default=None)


def client(feature: Feature, **options: Any) -> httpx2.Client:
    """Return an HTTP client whose connections are for `feature`.

    Args:
        options: those of httpx2.
    """
    made = httpx2.Client(**options)
    _take_over(made, _Backend, feature)
    return made


def async_client(
    feature: Feature, when_refused: Callable[[OfflineRefusal], object] | None = None, **options: Any
) -> httpx2.AsyncClient:
    """Return an asynchronous HTTP client, like `client`.

    Args:
        when_refused: called when Offline refuses or ends a connection of the client, from any thread.
    """
    made = httpx2.AsyncClient(**options)
    _take_over(made, _AsyncBackend, feature, when_refused)
    return made


@contextmanager
def used_for(feature: Feature) -> Iterator[None]:
    """Open connections for another feature than the client's, in this context."""
    before = _feature.set(feature)
    try:
        yield
    finally:
        _feature.reset(before)


def use_for(feature: Feature) -> None:
    """Like `used_for`, until the end of this task or thread."""
    _feature.set(feature)


def addresses(host: str) -> set[str]:
    """Look up the addresses of a name.

    Raises:
        OfflineRefusal: Offline is on, and the name isn't one of this computer.
        OSError, UnicodeError: the name is unknown or invalid.
    """
    check_lookup(host)
    return {str(entry[4][0]) for entry in socket.getaddrinfo(host, None)}


def check_lookup(host: str) -> None:
    """Refuse to look up a name of another computer while Offline is on.

    Raises:
        OfflineRefusal: it is such a name.
    """
    if offline.is_offline() and not (offline.is_this_computer(host) or _is_address(host)):
        raise offline.refusal(host)


def _is_address(host: str) -> bool:
    """Return whether a host needs no lookup."""
    with suppress(ValueError):
        ipaddress.ip_address(host.partition("%")[0])
        return True
    return False


class Traffic:
    """A connection that is being recorded.

    Args:
        host: the other side.
        port: the port there.
        proxy: whether the other side is a proxy.
        when_refused: called when Offline refuses or ends the connection, from any thread.

    Raises:
        OfflineRefusal: Offline is on, and the other side isn't this computer.
    """

    ended = True  # until the record begins
    _saved = 0.0  # time of the last line
    _at_work = 0  # number of reads, writes, and handshakes in progress

    def __init__(
        self,
        host: str,
        port: int,
        feature: Feature,
        proxy: bool = False,
        when_refused: Callable[[OfflineRefusal], object] | None = None,
    ) -> None:
        self._when_refused = when_refused or (lambda refusal: None)
        name = f"{os.getpid()}-{next(_numbers)}-{time.time_ns()}"
        self._record = ConnectionRecord(name, time.time(), host, port, feature, proxy=proxy)
        self._sent = self._received = 0
        self._lock = threading.RLock()  # also for an end by garbage collection
        self._is_outside = proxy or not offline.is_this_computer(host)  # a proxy on this computer leads outside, too
        self.cut = self.ended = False
        if self._is_outside and offline.is_offline():
            self.end("refused")
            refusal = offline.refusal(host)
            self._when_refused(refusal)
            raise refusal
        self._save("open")
        _watcher.add(self)

    def __del__(self) -> None:
        self.end("closed")

    def shut_down(self) -> None:
        """End the connection, from any thread."""

    def check(self) -> None:
        """Refuse to go on if Offline has been turned on."""
        if self._is_outside and offline.is_offline():
            self.end_offline()
        if self.cut:
            raise offline.refusal(self._record.host)

    @contextmanager
    def guarded(self) -> Iterator[None]:
        """Watch what may transfer bytes, and report an end by Offline as such."""
        self._at_work += 1
        _watcher.wake()
        try:
            yield
        except Exception:
            if not self.cut:
                raise
        finally:
            self._at_work -= 1
        if self.cut:
            raise offline.refusal(self._record.host)

    def add(self, sent: int = 0, received: int = 0) -> None:
        self._sent, self._received = self._sent + sent, self._received + received
        _watcher.wake()

    @property
    def needs_watching(self) -> bool:
        """Whether another process may have to end it, or its bytes aren't recorded yet.

        An idle connection looks at Offline itself before it is used again.
        """
        return not self.ended and (bool(self._at_work and self._is_outside) or self._is_unsaved)

    @property
    def _is_unsaved(self) -> bool:
        return (self._sent, self._received) != (self._record.sent, self._record.received)

    def end(self, outcome: Outcome = "closed") -> None:
        """Record the end, unless it is recorded."""
        if self.ended:
            return
        with self._lock:
            if not self.ended:
                self.ended = True
                self._save(outcome)

    def end_offline(self) -> None:
        """End a connection that leaves this computer."""
        if self._is_outside and not self.ended:
            self.cut = True
            self.end("cut")
            with suppress(OSError, RuntimeError):  # it has just ended
                self.shut_down()
            self._when_refused(offline.refusal(self._record.host))

    def save(self, after_s: float = 0.0) -> None:
        """Record new bytes, if the last time is long ago."""
        with self._lock:
            if not self.ended and self._is_unsaved and time.monotonic() - self._saved >= after_s:
                self._save("open")

    def _save(self, outcome: Outcome) -> None:
        self._record = replace(self._record, outcome=outcome, sent=self._sent, received=self._received)
        self._saved = time.monotonic()
        connection_log.append(self._record)


class AcceptedConnection(Traffic):
    """The transport of a connection that another program made to this one."""

    def __init__(self, transport: Any, feature: Feature) -> None:
        self._transport, self._loop = transport, asyncio.get_running_loop()
        self._at_work = 1  # the other side can send something at any time
        host, port, *_ = transport.get_extra_info("peername") or ("", 0)  # it has gone already
        super().__init__(host, port, feature)

    def write(self, data: bytes) -> None:
        self.add(sent=len(data))
        self._transport.write(data)

    def shut_down(self) -> None:
        self._loop.call_soon_threadsafe(self._transport.abort)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class _Watcher:
    """A thread that looks after open connections. It sleeps while none needs it.

    Attributes:
        sleeps: whether none needs it, or that is being found out.
    """

    def __init__(self) -> None:
        self._lock, self._wake = threading.Lock(), threading.Event()
        self._open: WeakSet[Traffic] = WeakSet()
        self._runs = False
        self.sleeps = threading.Event()
        offline.on_change(self._wake.set)

    def add(self, traffic: Traffic) -> None:
        with self._lock:
            self._open.add(traffic)
            if not self._runs:
                self._runs = True
                threading.Thread(target=self._run, name="traffic", daemon=True).start()
        self.wake()

    def wake(self) -> None:
        """Look after a connection that has just been used."""
        if self.sleeps.is_set():
            self._wake.set()

    def list_open(self) -> list[Traffic]:
        with self._lock:
            return [traffic for traffic in self._open if not traffic.ended]

    def _run(self) -> None:
        while True:
            self.sleeps.set()  # first, so that a connection that is used from now on wakes this thread
            if any(traffic.needs_watching for traffic in self.list_open()):
                self.sleeps.clear()
                self._wake.wait(_POLL_S)
            else:
                self._wake.wait()
            self._wake.clear()
            self._look(offline.is_offline())

    def _look(self, is_offline: bool) -> None:
        for traffic in self.list_open():
            try:
                if is_offline:
                    traffic.end_offline()
                traffic.save(_SAVE_S)
            except Exception:  # of `when_refused`: the others must still be ended
                log.exception("A connection wasn't looked after.")


_watcher = _Watcher()


@atexit.register
def close() -> None:
    """Record the end of all connections.

    Call it before `os._exit`, which skips `atexit`.
    """
    for traffic in _watcher.list_open():
        traffic.end()


# --- Connections of HTTP clients ------------------------------------------------------------------------------------------------


def _take_over(made: Any, backend: "type[_Backend]", feature: Feature, when_refused: Any = None) -> None:
    """Let a client open its connections here.

    httpx2 has no public way to do that. Other versions of it fail here, and make no connection.
    """
    for transport in (made._transport, *made._mounts.values()):
        if transport is not None:
            pool = transport._pool
            pool._network_backend = backend(pool._network_backend, feature, hasattr(pool, "_proxy_url"), when_refused)


class _Backend:
    """What opens the connections of a client, in place of httpx2's own."""

    def __init__(self, inner: Any, feature: Feature, proxy: bool, when_refused: Any) -> None:
        self._inner, self._feature, self._options = inner, feature, (proxy, when_refused)

    def connect_tcp(self, host: str, port: int, **options: Any) -> "_Stream":
        stream = _Stream(host, port, _feature.get() or self._feature, *self._options)
        with stream.opening():
            stream.inner = self._inner.connect_tcp(host, port, **options)
        return stream


class _AsyncBackend(_Backend):
    async def connect_tcp(self, host: str, port: int, **options: Any) -> "_AsyncStream":  # type: ignore[override]
        stream = _AsyncStream(host, port, _feature.get() or self._feature, *self._options)
        with stream.opening():
            stream.inner = await self._inner.connect_tcp(host, port, **options)
        return stream


class _OpenedConnection(Traffic):
    """What httpx2 reads and writes.

    `inner` is its own stream, which changes when TLS starts.
    """

    inner: Any = None

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Record a failure, and refuse the connection if Offline has been turned on."""
        try:
            with self.guarded():
                yield
        except BaseException:
            self.end("failed")
            with suppress(OSError, RuntimeError):  # it may be connected, if Offline has just been turned on
                self.shut_down()
            raise

    def get_extra_info(self, info: str) -> Any:
        return self.inner.get_extra_info(info)

    def shut_down(self) -> None:
        found = self.inner.get_extra_info("socket") if self.inner is not None else None
        if isinstance(found, socket.socket):
            socket.socket.shutdown(found, socket.SHUT_RDWR)  # not the method of TLS sockets, which forgets the encryption
        elif found is not None:
            found.shutdown(socket.SHUT_RDWR)


class _Stream(_OpenedConnection):
    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with self.guarded():
            data: bytes = self.inner.read(max_bytes, timeout)
        self.add(received=len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.check()
        with self.guarded():
            self.inner.write(buffer, timeout)
        self.add(sent=len(buffer))

    def close(self) -> None:
        self.end()
        self.inner.close()

    def start_tls(self, *arguments: Any, **options: Any) -> "_Stream":
        with self.opening():
            self.inner = self.inner.start_tls(*arguments, **options)
        return self


class _AsyncStream(_OpenedConnection):
    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        with self.guarded():
            data: bytes = await self.inner.read(max_bytes, timeout)
        self.add(received=len(data))
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.check()
        with self.guarded():
            await self.inner.write(buffer, timeout)
        self.add(sent=len(buffer))

    async def aclose(self) -> None:
        self.end()
        await self.inner.aclose()

    async def start_tls(self, *arguments: Any, **options: Any) -> "_AsyncStream":
        with self.opening():
            self.inner = await self.inner.start_tls(*arguments, **options)
        return self
