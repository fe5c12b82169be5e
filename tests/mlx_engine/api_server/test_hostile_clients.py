"""Clients that flood, stall, or send nonsense, next to the window and a client that behaves."""

import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field

import pytest

from mlx_engine.api_server import body, listener
from mlx_engine.contract.events import Commit, Event, Finished, PrefillProgress
from mlx_engine.contract.requests import GenerationRequest, Message
from tests.mlx_engine.api_server.serving import Serving, serving
from tests.mlx_engine.api_server.test_requests_over_http import HI, PATH
from tests.mlx_engine.api_server.test_serve import started
from tests.mlx_engine.scripted_engine import ScriptedEngine, stats

HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
LAST_HEALTH = b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


class Endless(ScriptedEngine):
    """Writes long lines until the request is canceled. For “steady”, one word per step of the test; for “window”, one in all."""

    def __init__(self) -> None:
        super().__init__()
        self.word_asked, self.ended = threading.Semaphore(0), threading.Event()

    def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
        assert cancel is not None
        yield PrefillProgress(7, 7, 0)
        prompt = request.messages[0].content
        if prompt == "window":
            yield Commit("Here.", "answer", (1,), ("drafter",))
            yield Finished("eos", stats("dflash"))
            return
        is_steady = prompt == "steady"
        while not cancel.is_set():
            if not is_steady:
                yield Commit("x" * 10_000, "answer", (1,), ("drafter",))
            elif self.word_asked.acquire(timeout=0.001):
                yield Commit("word ", "answer", (1,), ("drafter",))
            else:
                yield PrefillProgress(7, 7, 0)
        if not is_steady:
            self.ended.set()
        yield Finished("cancelled", stats("dflash"))


@dataclass
class Attacked:
    """A server, and another client's reply in progress."""

    server: Serving
    engine: Endless
    lines: Iterator[str]
    _open: ExitStack = field(default_factory=ExitStack)

    def connect(self, data: bytes = b"", receive_buffer: int | None = None) -> socket.socket:
        connection = self._open.enter_context(socket.socket())
        if receive_buffer is not None:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        connection.settimeout(60)
        connection.connect(self.server.address)
        connection.sendall(data)
        return connection

    def check_others(self) -> None:
        """Wait for a word of the other client's reply, and for a reply in the window."""
        assert self.server.reply(GenerationRequest((Message("user", "window"),), foreground=True)).text == "Here."
        self.engine.word_asked.release()
        assert any('"word "' in line for line in self.lines)


@contextmanager
def attacked() -> Iterator[Attacked]:
    engine = Endless()
    with serving(lambda: engine) as server:
        steady = {"messages": [{"role": "user", "content": "steady"}], "stream": True}
        with server.client.stream("POST", PATH, json=steady) as response:
            found = Attacked(server, engine, response.iter_lines())
            with found._open:
                found.check_others()
                yield found
                found.check_others()


@pytest.fixture(scope="module")
def scene() -> Iterator[Attacked]:
    with attacked() as found:
        yield found


@pytest.fixture(autouse=True)
def others_are_served(scene: Attacked) -> Iterator[None]:
    yield
    scene.check_others()


def chat(**options: object) -> bytes:
    data = json.dumps({**HI, **options}).encode()
    return f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data


def received(connection: socket.socket) -> bytes:
    """Return what the server sends until it closes the connection."""
    data = b""
    try:
        while part := connection.recv(1 << 16):
            data += part
    except ConnectionResetError:
        pass
    return data


class TestReaders:
    def test_a_reader_that_stops_loses_its_reply(self, scene: Attacked, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(listener, "WRITE_S", 0.05)
        scene.engine.ended.clear()
        connection = scene.connect(chat(stream=True), receive_buffer=4096)
        assert connection.recv(100).startswith(b"HTTP/1.1 200")
        assert scene.engine.ended.wait(60)
        assert b"[DONE]" not in received(connection)

    def test_a_reader_that_leaves_a_whole_response_is_closed(self, scene: Attacked, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(listener, "WRITE_S", 0.05)
        document = len(scene.server.client.get("/openapi.json").content)
        request = b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
        connection = scene.connect(request * (8_000_000 // document), receive_buffer=4096)
        until_closed(scene, connection)

    def test_a_connection_that_stays_idle_after_a_reply_is_closed(self, scene: Attacked, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(listener, "HEADERS_S", 0.05)
        assert received(scene.connect(HEALTH)).startswith(b"HTTP/1.1 200")


def until_closed(scene: Attacked, connection: socket.socket) -> None:
    """Wait, without reading, until the server has aborted a connection."""
    connection.setblocking(False)
    for _ in range(6000):
        try:
            connection.send(b"\r\n")
        except BlockingIOError:
            pass
        except OSError:
            return
        scene.check_others()
    raise AssertionError("still open")


class TestSlowClients:
    def test_headers_and_bodies_that_trickle_hold_nobody_up(self, scene: Attacked, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(listener, "HEADERS_S", 1.0)
        monkeypatch.setattr(body, "READ_S", 1.0)
        head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n".encode()
        slow_headers = [scene.connect(b"GET / HTTP/1.1\r\n") for _ in range(20)]
        slow_bodies = [scene.connect(head) for _ in range(20)]
        for _ in range(5):
            for connection in (*slow_headers, *slow_bodies):
                connection.sendall(b"X")
            scene.check_others()
            assert scene.server.client.get("/health").status_code == 200
        assert [received(connection) for connection in slow_headers] == [b""] * 20
        assert all(received(connection).startswith(b"HTTP/1.1 408") for connection in slow_bodies)


class TestFloods:
    def test_connections_beyond_the_limit_are_closed(self, scene: Attacked, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(listener, "MAX_CONNECTIONS", 8)
        idle = [scene.connect() for _ in range(30)]
        assert sum(received(connection) == b"" for connection in idle[10:]) == 20
        for connection in idle:
            connection.close()
        monkeypatch.undo()
        assert scene.server.raw(LAST_HEALTH).startswith(b"HTTP/1.1 200")

    def test_pipelined_requests_are_answered_in_order(self, scene: Attacked) -> None:
        missing = b"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n"
        answered = scene.server.raw((HEALTH + missing) * 50 + LAST_HEALTH)
        statuses = [part[:3] for part in answered.split(b"HTTP/1.1 ")[1:]]
        assert statuses == [b"200", b"404"] * 50 + [b"200"]

    @pytest.mark.parametrize(
        "headers",
        [b"X: y\r\n" * 10_000, b"X: " + b"y" * 100_000 + b"\r\n", b"X" * 100_000 + b": y\r\n"],
        ids=["many", "long", "name"],
    )
    def test_header_floods_are_refused(self, scene: Attacked, headers: bytes) -> None:
        connection = scene.connect()
        with suppress(OSError):  # the server closes before all is sent
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n" + headers + b"\r\n")
        assert received(connection)[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 431", b"")  # empty if the connection was reset

    def test_endless_bodies_are_refused(self, scene: Attacked) -> None:
        connection = scene.connect(f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
        chunk = b"100000\r\n" + b"[" * (1 << 20) + b"\r\n"
        sent = 0
        with pytest.raises(OSError):
            while sent < 200:
                connection.sendall(chunk)
                sent += 1
        assert sent < 100

    def test_a_body_that_is_announced_too_long_is_refused_unread(self, scene: Attacked) -> None:
        head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {1 << 40}\r\n\r\n".encode()
        answered = received(scene.connect(head))
        assert answered.startswith(b"HTTP/1.1 413") and b"connection: close" in answered.lower()

    @pytest.mark.parametrize(
        "data",
        [b"[" * (8 << 20), b'{"messages": ' * 500_000, b'"' + b"\\" * (8 << 20), b'{"messages": [' + b"1," * (7 << 20)],
        ids=["lists", "objects", "text", "numbers"],
    )
    def test_large_malformed_bodies_are_refused(self, scene: Attacked, data: bytes) -> None:
        assert scene.server.client.post(PATH, content=data).status_code == 400


class TestNonsense:
    @pytest.mark.parametrize(
        ("request_line", "status"),
        [
            *((b"GET /%ff%00 HTTP/1.1", b"404"), (b"GET /health?\xff HTTP/1.1", b"400"), (b"GET \xc3\xa9 HTTP/1.1", b"400")),
            *((b"G\0T /health HTTP/1.1", b"400"), (b"CONNECT localhost:80 HTTP/1.1", b"404")),
            *((b"TRACE /health HTTP/1.1", b"405"), (b"OPTIONS * HTTP/1.1", b"404"), (b"GET http://evil/health HTTP/1.1", b"404")),
        ],
    )
    def test_odd_request_lines_are_refused(self, scene: Attacked, request_line: bytes, status: bytes) -> None:
        answered = scene.server.raw(request_line + b"\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert answered.startswith(b"HTTP/1.1 " + status)

    @pytest.mark.parametrize(
        "headers",
        [
            *(
                b"Content-Length: 5\r\nContent-Length: 6",
                b"Content-Length: 5\r\nTransfer-Encoding: chunked",
                b"Content-Length: 0x5",
            ),
            *(b"Transfer-Encoding: gzip, chunked", b"X: a\0b", b" folded: x", b"Content-Length: " + b"9" * 400),
        ],
    )
    def test_headers_that_smuggle_requests_are_refused(self, scene: Attacked, headers: bytes) -> None:
        head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\n".encode() + headers + b"\r\n\r\n"
        connection = scene.connect(head + b"GET /metrics HTTP/1.1\r\n")
        answered = connection.recv(1000)
        assert answered[:10] == b"HTTP/1.1 4" or answered[:12] == b"HTTP/1.1 501"
        assert b"slipstream_" not in answered

    def test_an_upgrade_is_ignored(self, scene: Attacked) -> None:
        upgrade = LAST_HEALTH.replace(b"Connection: close", b"Connection: upgrade, close\r\nUpgrade: websocket")
        assert scene.server.raw(upgrade).startswith(b"HTTP/1.1 200")


@pytest.mark.long
def test_memory_stays_flat_over_ten_thousand_connections() -> None:
    def memory() -> int:
        return int(subprocess.run(["ps", "-o", "rss=", "-p", str(process.pid)], capture_output=True, check=True).stdout)  # KiB

    def visit(count: int) -> None:
        for number in range(count):
            with socket.create_connection(address, timeout=60) as connection:
                kind = number % 4
                connection.sendall(
                    (LAST_HEALTH, b"nonsense\r\n\r\n", b"GET /v1", LAST_HEALTH.replace(b"health", b"v1/models"))[kind]
                )
                if kind != 2:  # which leaves in the middle of its headers
                    assert received(connection).startswith(b"HTTP/1.1 400" if kind == 1 else b"HTTP/1.1 200")

    with started("--key", "none") as (process, line):
        host, _, port = line["url"].removeprefix("http://").rpartition(":")
        address = host, int(port)
        visit(1000)
        before = memory()
        visit(10_000)
        assert memory() - before < 4096
