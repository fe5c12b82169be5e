"""Connections between the computers that run a model together.

They are recorded as all of Slipstream's traffic is, but those of strangers aren't: anyone in the network can connect to a worker as
often as they like. Offline refuses connections to other computers, and ends them.
"""

import select
import socket
import ssl
import threading
import time
from contextlib import suppress
from typing import Any

from mlx_engine.network.connection_log import Outcome
from mlx_engine.network.frames import HEAD, MOST_BYTES, MOST_STRANGER_BYTES, ChannelClosed, frame_length, packed, unpacked
from mlx_engine.network.offline import OfflineRefusal
from mlx_engine.network.traffic import Traffic, check_lookup

_PIECE = 1 << 16
_WANTS = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that waits for connections to an address.

    Raises:
        OSError: the address can't be used.
    """
    _check_name(host)
    return socket.create_server((host, port))


def _check_name(host: str) -> None:
    check_lookup(host)
    try:
        host.encode("idna")  # a lookup of "mac..local" would raise an error of another type
    except UnicodeError:
        raise OSError("not a valid name") from None


def free_address(host: str) -> str:
    """Return an address with a free port, such as "192.168.1.2:49153"."""
    with socket.create_server((host, 0)) as server:
        return f"{host}:{server.getsockname()[1]}"


class Channel(Traffic):
    """Messages on a connection. One thread receives; any thread sends.

    OpenSSL can't read and write one connection at the same time, so both hold a lock, and wait outside it.

    Args:
        host: the other side.
        port: the port there.
        is_recorded: whether to record the connection before `trust`.

    Raises:
        OfflineRefusal: Offline is on, and the other side is another computer.
    """

    def __init__(self, host: str, port: int, is_recorded: bool = True) -> None:
        self._is_recorded, self._is_trusted = is_recorded, False
        self._at_work = 1  # the other side can send something at any time
        self._socket: Any = None
        self._buffer = bytearray()
        self._using = threading.Lock()  # the connection
        self._sending = threading.Lock()  # a message
        super().__init__(host, port, "worker")

    @classmethod
    def connected(cls, host: str, port: int, seconds: float) -> "Channel":
        """Return a channel to a worker.

        Raises:
            OfflineRefusal: Offline is on, and the worker is another computer.
            OSError: the worker can't be reached.
        """
        _check_name(host)
        channel = cls(host, port)
        try:
            channel._use(socket.create_connection((host, port), seconds))
        except OSError:
            channel.end("failed")
            raise
        return channel

    @classmethod
    def accepted(cls, server: socket.socket) -> "Channel | None":
        """Return a channel to the next computer that connects.

        Returns:
            None if Offline refuses it, or it is gone already.

        Raises:
            OSError: the socket was closed, or too many files are open.
        """
        connection, address = server.accept()
        try:
            channel = cls(address[0], address[1], False)
            channel._use(connection)
        except (OfflineRefusal, OSError):  # macOS refuses options of a connection that the other side has reset
            connection.close()
            return None
        return channel

    def trust(self) -> None:
        """Allow long messages and record the connection, because of a proof."""
        self._is_recorded = self._is_trusted = True
        self.save()

    def _save(self, outcome: Outcome) -> None:
        if self._is_recorded:
            super()._save(outcome)

    def _use(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setblocking(False)
        self._socket = connection

    def encrypt(self, context: ssl.SSLContext, server_side: bool, seconds: float) -> None:
        """Encrypt the connection, before any message is sent.

        Raises:
            ChannelClosed: the other side doesn't.
        """
        try:
            self._socket.settimeout(seconds)
            self._socket = context.wrap_socket(self._socket, server_side=server_side, do_handshake_on_connect=False)
            self._socket.do_handshake()  # which `shut_down` ends
            self._socket.setblocking(False)
        except (OSError, ValueError):
            raise ChannelClosed("ended") from None

    def certificate(self) -> bytes:
        """Return the other side's certificate."""
        found: bytes = self._socket.getpeercert(binary_form=True)
        return found

    @property
    def local_host(self) -> str:
        """Address of this computer in the network of the connection."""
        host: str = self._socket.getsockname()[0]
        return host

    def send(self, message: Any, seconds: float = 30.0) -> None:
        """Send a message.

        Raises:
            ChannelClosed: the other side is gone, or takes nothing for `seconds`.
        """
        with self._sending:
            self._send(packed(message), seconds)

    def show_life(self) -> None:
        """Send a sign of life without blocking, unless another message is on its way.

        Raises:
            ChannelClosed: the other side is gone.
        """
        if self._sending.acquire(blocking=False):
            try:
                if self._is_ready(select.POLLOUT, 0):
                    self._send(packed(["alive"]), 30.0)
            finally:
                self._sending.release()

    def _send(self, data: bytes, seconds: float) -> None:
        left, deadline = memoryview(data), time.monotonic() + seconds
        try:
            while left:
                try:
                    with self._using:
                        sent = self._socket.send(left)
                    left, deadline = left[sent:], time.monotonic() + seconds
                    self.add(sent=sent)
                except _WANTS:
                    if not self._is_ready(select.POLLOUT, deadline - time.monotonic()):
                        raise ChannelClosed("silent") from None
                except (OSError, ValueError):
                    raise ChannelClosed("ended") from None
        except ChannelClosed:
            with suppress(OSError):
                self.shut_down()  # no message can follow a part of one
            raise

    def _is_ready(self, event: int, seconds: float | None) -> bool:
        """Wait until the connection can be read or written, and return whether it can.

        Raises:
            ChannelClosed: it was closed.
        """
        poll = select.poll()
        try:
            poll.register(self._socket, event)
            return bool(poll.poll(None if seconds is None else max(seconds, 0.0) * 1000))
        except (OSError, ValueError):
            raise ChannelClosed("ended") from None

    def receive(self, seconds: float | None) -> Any:
        """Return the next message.

        Args:
            seconds: how long the other side may be silent; None for no limit. It is the limit of the whole message before `trust`.

        Raises:
            ChannelClosed: the other side is gone, or silent for `seconds`.
        """
        most = MOST_BYTES if self._is_trusted else MOST_STRANGER_BYTES
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            if len(self._buffer) >= HEAD.size:
                end = HEAD.size + frame_length(self._buffer[: HEAD.size], most)
                if len(self._buffer) >= end:
                    data = bytes(self._buffer[HEAD.size : end])
                    del self._buffer[:end]
                    return unpacked(data)
            try:
                with self._using:
                    piece = self._socket.recv(_PIECE)
                if not piece:
                    raise ChannelClosed("ended")
                self._buffer += piece
                self.add(received=len(piece))
                if seconds is not None and self._is_trusted:
                    deadline = time.monotonic() + seconds
            except _WANTS:
                if not self._is_ready(select.POLLIN, None if deadline is None else deadline - time.monotonic()):
                    raise ChannelClosed("silent") from None
            except (OSError, ValueError):
                raise ChannelClosed("ended") from None

    def shut_down(self) -> None:
        socket.socket.shutdown(self._socket, socket.SHUT_RDWR)  # TLS stays, because another thread may be reading

    def close(self) -> None:
        """Close the connection, which ends a `receive` of another thread."""
        with suppress(OSError):
            self.shut_down()
        self._socket.close()
        self.end()
