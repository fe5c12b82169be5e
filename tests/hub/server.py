"""The local hub for other processes, over sockets: two ports, since the real hub and its CDN are two hosts."""

import socket
import struct
import threading
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urljoin

import httpx2

from tests.hub.local_hub import LocalHub


class ServedHub(LocalHub):
    """Answers requests of other processes, too."""

    def __init__(self, rate: float | None = None, send_buffer: int | None = 64 * 1024, host: str = "127.0.0.1") -> None:
        super().__init__(rate)
        self.host = host
        self.send_buffer = send_buffer  # kept small, so that what was sent and what arrived differ little
        self.servers: list[ThreadingHTTPServer] = []

    def __enter__(self) -> "ServedHub":
        for _ in range(2):
            server = _Server((self.host, 0), type("Handler", (_Handler,), {"hub": self}))
            self.servers.append(server)
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        self.url, self.content_url = (f"http://{self.host}:{server.server_address[1]}" for server in self.servers)
        super().__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        super().__exit__()
        for server in self.servers:
            server.shutdown()
            server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that disconnect."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: ServedHub

    def setup(self) -> None:
        super().setup()
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.hub.send_buffer:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, self.hub.send_buffer)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Quiet."""

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        host = self.hub.url if self.server is self.hub.servers[0] else self.hub.content_url
        answer = self.hub.answer(httpx2.Request(self.command, urljoin(host, self.path), headers=list(self.headers.items())))
        self.send_response(answer.status_code)
        for name, value in answer.headers.multi_items():
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = "Content-Length" not in answer.headers
        try:
            self.send_body(answer)
        except httpx2.TransportError as fault:
            self.close_connection = True
            if isinstance(fault, httpx2.ReadTimeout):
                self.connection.recv(1)  # until the client disconnects
            if isinstance(fault, httpx2.ReadError):
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    def send_body(self, answer: httpx2.Response) -> None:
        for piece in answer.stream:
            try:
                self.expect_client()
                self.connection.sendall(piece)
            except OSError:
                self.hub.take_back(answer.headers.get("ETag", "").strip('"'), len(piece))
                raise

    def expect_client(self) -> None:
        """Check that the client is connected, since bytes written to a closed connection would count as sent.

        Raises:
            ConnectionError: it has disconnected.
        """
        with suppress(BlockingIOError):
            # by the socket itself: one with TLS takes no flags
            if not socket.socket.recv(self.connection, 1, socket.MSG_PEEK | socket.MSG_DONTWAIT):
                raise ConnectionAbortedError
