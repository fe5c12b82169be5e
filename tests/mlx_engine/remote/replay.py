"""A local server that sends recorded responses of real servers.

A recording is a status line, headers, an empty line, and the body. They were taken from real servers with an older demo pair, so
the texts are not today's.
"""

import random
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

RECORDINGS = Path(__file__).with_name("recordings")
_DROPPED = ("content-length", "transfer-encoding", "connection", "keep-alive", "date", "server")


@dataclass(frozen=True)
class Response:
    """A response. If `cut`, the connection breaks before the body's end is announced."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    cut: bool = False


def recorded(name: str, cut: bool = False) -> Response:
    """Return a recording such as “vllm_dflash/v1_models”."""
    head, _, body = (RECORDINGS / f"{name}.txt").read_bytes().partition(b"\n\n")
    status, *headers = head.decode().splitlines()
    pairs = [tuple(line.split(": ", 1)) for line in headers if ": " in line]
    return Response(int(status.split()[1]), tuple((key, value) for key, value in pairs), body, cut)


@dataclass
class Replay:
    """A running server.

    Attributes:
        responses: by method and path. A function returns the response to a body.
        seen: the requests: method, path, headers, body.
        chunk: most bytes that are sent together.
    """

    responses: Mapping[tuple[str, str], Response | Callable[[bytes], Response]]
    url: str = ""
    chunk: int = 1 << 16
    seen: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)


@contextmanager
def replaying(
    responses: Mapping[tuple[str, str], Response | Callable[[bytes], Response]],
    chunk: int = 1 << 16,
    tls: ssl.SSLContext | None = None,
) -> Iterator[Replay]:
    """Serve responses on a free port of this computer. Other paths get status 404."""
    replay = Replay(responses, chunk=chunk)
    rng = random.Random(chunk)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer("GET")

        def do_POST(self) -> None:
            self._answer("POST")

        def _answer(self, method: str) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            replay.seen.append((method, self.path, {key.lower(): value for key, value in self.headers.items()}, body))
            found = replay.responses.get((method, self.path), Response(404, (("content-type", "text/plain"),), b"Not Found"))
            found = found if isinstance(found, Response) else found(body)
            self.send_response_only(found.status)
            for key, value in found.headers:
                if key not in _DROPPED or (key == "server" and "mlx" in value):
                    self.send_header(key, value)
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            rest = found.body
            while rest:
                size = rng.randint(1, replay.chunk)
                part, rest = rest[:size], rest[size:]
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            if not found.cut:
                self.wfile.write(b"0\r\n\r\n")
            self.close_connection = True

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    replay.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield replay
    finally:
        server.shutdown()
        server.server_close()
