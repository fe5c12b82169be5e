"""Connections of HTTP clients: each is recorded once with its bytes, and none is made while Offline is on."""

import asyncio
import gc
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.files import data_folder, write_json
from mlx_engine.network import connection_log, offline, traffic
from mlx_engine.network.connection_log import ConnectionRecord
from mlx_engine.network.offline import OfflineRefusal


class CountingServer:
    """A server that counts the bytes of each connection, as they are on the wire.

    The path of a request is how many bytes to send: "/20" a whole response, "/20/drop" half of one, "/20/wait" half of one, and
    then nothing until the client ends the connection.
    """

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.bytes: list[list[int]] = []  # received and sent, of each connection
        self.waiting = threading.Semaphore(0)  # released when half of a response was sent
        self.threads: list[threading.Thread] = []
        self._accepts = threading.Thread(target=self._accept, daemon=True)
        self._accepts.start()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def close(self) -> None:
        with suppress(OSError):
            self.listener.shutdown(socket.SHUT_RDWR)
        self._accepts.join()
        self.listener.close()
        for thread in self.threads:
            thread.join()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                counts = [0, 0]
                self.bytes.append(counts)
                self.threads.append(threading.Thread(target=self._serve, args=(connection, counts), daemon=True))
                self.threads[-1].start()

    def _serve(self, connection: socket.socket, counts: list[int]) -> None:
        with connection, suppress(OSError):
            data = b""
            while piece := connection.recv(65536):
                counts[0] += len(piece)
                data += piece
                head, end, body = data.partition(b"\r\n\r\n")
                length = next((int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0)
                if not end or len(body) < length:
                    continue
                data = b""
                size, _, mode = head.split()[1].decode().removeprefix("http://host.example").strip("/").partition("/")
                response = b"HTTP/1.1 200 OK\r\nContent-Length: %s\r\n\r\n" % size.encode() + bytes(int(size))
                response = response[: len(response) - (int(size) + 1) // 2] if mode else response
                connection.sendall(response)
                counts[1] += len(response)
                self.waiting.release()
                if mode == "drop":
                    return


@pytest.fixture
def server() -> Iterator[CountingServer]:
    made = CountingServer()
    yield made
    made.close()


REQUESTS = st.tuples(
    st.sampled_from(["ok", "ok", "drop", "refused", "offline"]), st.integers(0, 200_000), st.integers(0, 100_000), st.booleans()
)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def expected(server: CountingServer, requests: list[Any]) -> Counter[tuple[str, int, int]]:
    """Return the outcome and bytes of all connections, by what the server saw."""
    found = Counter(("closed", received, sent) for received, sent in server.bytes)
    found["failed", 0, 0] += sum(kind == "refused" for kind, *_ in requests)
    found["refused", 0, 0] += sum(kind == "offline" for kind, *_ in requests)
    return +found


def listed() -> Counter[tuple[str, int, int]]:
    return Counter((record.outcome, record.sent, record.received) for record in connection_log.read())


@given(st.lists(REQUESTS, max_size=8))
def test_every_connection_is_listed_once_with_its_bytes(requests: list[Any]) -> None:
    connection_log.clear()
    server = CountingServer()
    closed = free_port()
    with traffic.client("hub", trust_env=False, timeout=60) as client:
        for kind, down, up, keep in requests:
            url = server.url(f"/{down}{'/drop' if kind == 'drop' else ''}")
            url = {"refused": f"http://127.0.0.1:{closed}/", "offline": "http://host.example/"}.get(kind, url)
            offline.set_offline(kind == "offline")
            with suppress(httpx2.HTTPError, OfflineRefusal):
                response = client.post(url, content=bytes(up), headers={} if keep else {"Connection": "close"})
                assert kind in ("ok", "drop") and len(response.content) == down
    server.close()
    assert listed() == expected(server, requests)


@given(st.lists(REQUESTS, max_size=8))
def test_every_connection_of_an_asynchronous_client_is_listed_once_with_its_bytes(requests: list[Any]) -> None:
    connection_log.clear()
    server = CountingServer()
    closed = free_port()

    async def ask() -> None:
        async with traffic.async_client("endpoint", trust_env=False, timeout=60) as client:

            async def one(kind: str, down: int, up: int, keep: bool) -> None:
                url = server.url(f"/{down}{'/drop' if kind == 'drop' else ''}")
                url = f"http://127.0.0.1:{closed}/" if kind == "refused" else url
                with suppress(httpx2.HTTPError):
                    response = await client.post(url, content=bytes(up), headers={} if keep else {"Connection": "close"})
                    assert kind in ("ok", "drop") and len(response.content) == down

            await asyncio.gather(*(one(*request) for request in requests if request[0] != "offline"))

    asyncio.run(ask())
    server.close()
    assert listed() == expected(server, [request for request in requests if request[0] != "offline"])


def only() -> ConnectionRecord:
    (found,) = connection_log.read()
    return found


def test_a_connection_is_recorded_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[ConnectionRecord] = []

    def fail(*_: object, **__: object) -> None:
        seen.append(only())
        raise OSError

    monkeypatch.setattr(socket, "create_connection", fail)
    with traffic.client("update", trust_env=False) as client, pytest.raises(httpx2.ConnectError):
        client.get("http://host.example:81/")
    assert [(one.host, one.port, one.feature, one.outcome) for one in seen] == [("host.example", 81, "update", "open")]
    assert only().outcome == "failed"


def test_the_feature_is_that_of_the_work_that_opens_the_connection(server: CountingServer) -> None:
    with traffic.client("hub", trust_env=False) as client, traffic.used_for("search"):
        client.get(server.url("/1"))
    with traffic.client("hub", trust_env=False) as client:
        client.get(server.url("/1"))
    assert sorted(one.feature for one in connection_log.read()) == ["hub", "search"]


def test_a_proxy_is_listed_and_refused_even_on_this_computer(server: CountingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.url(""))
    monkeypatch.delenv("NO_PROXY", raising=False)
    with traffic.client("hub") as client:
        assert len(client.get("http://host.example/1").content) == 1
    assert only().proxy and only().port == server.port
    connections = len(server.bytes)
    offline.set_offline(True)
    with traffic.client("hub") as client, pytest.raises(OfflineRefusal):
        client.get("http://host.example/")
    assert len(server.bytes) == connections


def test_this_computer_is_allowed_while_offline(server: CountingServer) -> None:
    offline.set_offline(True)
    with traffic.client("endpoint", trust_env=False) as client:
        assert len(client.get(server.url("/30")).content) == 30
    assert only().outcome == "closed"


@pytest.mark.usefixtures("elsewhere")
def test_turning_offline_on_ends_a_transfer_that_waits(server: CountingServer) -> None:
    def turn_on() -> None:
        server.waiting.acquire()
        offline.set_offline(True)

    switch = threading.Thread(target=turn_on)
    switch.start()
    with traffic.client("download", trust_env=False, timeout=600) as client, pytest.raises(OfflineRefusal, match="Offline is on"):
        client.get(server.url("/100000/wait"))
    switch.join()
    found = only()
    assert found.outcome == "cut" and found.received > 50_000


@pytest.mark.usefixtures("elsewhere")
def test_turning_offline_on_ends_an_asynchronous_transfer_that_waits(server: CountingServer) -> None:
    told: list[OfflineRefusal] = []

    async def ask() -> None:
        async with traffic.async_client("tool", told.append, trust_env=False, timeout=600) as client:
            await client.get(server.url("/1"))  # idle while the other one waits
            request = asyncio.create_task(client.get(server.url("/100000/wait")))
            await asyncio.to_thread(server.waiting.acquire)
            await asyncio.to_thread(server.waiting.acquire)
            await asyncio.to_thread(offline.set_offline, True)
            with pytest.raises(OfflineRefusal):
                await request

    asyncio.run(ask())
    assert only().outcome == "cut" and told


@pytest.mark.usefixtures("elsewhere")
def test_an_idle_connection_carries_nothing_after_offline_is_on(server: CountingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(traffic, "_POLL_S", 600.0)  # another process turns Offline on, and the request comes first
    with traffic.client("hub", trust_env=False) as client:
        client.get(server.url("/1"))
        before = server.bytes[0][0]
        write_json(data_folder() / "offline.json", {"offline": True})
        with pytest.raises(OfflineRefusal):
            client.get(server.url("/1"))
    offline.set_offline(False)  # also wakes the thread that would wait for ten minutes
    server.close()
    assert [received for received, _ in server.bytes] == [before]


class Waits(threading.Event):
    """An event that tells when a thread waits for it without a limit."""

    def __init__(self) -> None:
        super().__init__()
        self.unlimited = threading.Event()

    def wait(self, timeout: float | None = None) -> bool:
        if timeout is None:
            self.unlimited.set()
        return super().wait(timeout)


@pytest.mark.usefixtures("elsewhere")
def test_an_idle_connection_keeps_no_thread_awake_and_a_transfer_does(
    server: CountingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It looked for Offline twice a second while a connection was kept for later."""
    monkeypatch.setattr(traffic, "_POLL_S", 0.01)
    monkeypatch.setattr(traffic, "_SAVE_S", 0.0)
    monkeypatch.setattr(traffic, "_watcher", watcher := traffic._Watcher())
    watcher._wake = waits = Waits()

    def turn_on() -> None:  # as another process does
        server.waiting.acquire()
        while only().received <= 50_000:  # all that was sent has been read, and recorded
            time.sleep(0.01)
        write_json(data_folder() / "offline.json", {"offline": True})

    with traffic.client("download", trust_env=False, timeout=600) as client:
        client.get(server.url("/1"))
        for _ in range(2):  # it may have been about to wait since before the request
            waits.unlimited.clear()
            watcher.wake()
            assert waits.unlimited.wait(60)
        assert only().outcome == "open" and only().received > 0
        server.waiting.acquire()  # of this response
        switch = threading.Thread(target=turn_on)
        switch.start()
        with pytest.raises(OfflineRefusal):
            client.get(server.url("/100000/wait"))
        switch.join()
    assert only().outcome == "cut" and only().received > 50_000
    offline.set_offline(False)


def test_a_failed_handshake_is_a_failed_connection(server: CountingServer) -> None:
    with traffic.client("hub", trust_env=False, timeout=1) as client, pytest.raises(httpx2.TransportError):
        client.get(server.url("/1").replace("http:", "https:"))  # the server waits for a request in plain text
    assert only().outcome == "failed"


def test_a_forgotten_connection_ends_in_the_record(server: CountingServer) -> None:
    client = traffic.client("hub", trust_env=False)
    client.get(server.url("/1"))
    assert only().outcome == "open"
    del client
    gc.collect()
    assert only().outcome == "closed" and only().received > 0


@pytest.mark.parametrize(
    "end",
    [
        "from app.application import _leave; _leave(0)",
        "from mlx_engine.cli.serve import _end_now; _end_now(0)",
        "from mlx_engine.cli import main; from types import SimpleNamespace\n"
        "busy = SimpleNamespace(wait=lambda timeout: False)\n"
        "main._report = lambda args, make_engine, clients: clients.append(busy) or 0\n"
        "main.main(['cache', 'list'])",
    ],
)
def test_connections_end_in_the_record_before_os_exit(server: CountingServer, end: str) -> None:
    code = (
        "import sys; from mlx_engine.network import traffic\n"
        f"client = traffic.client('hub', trust_env=False); client.get(sys.argv[1])\n{end}"
    )
    subprocess.run([sys.executable, "-c", code, server.url("/1000")], check=True)
    found = only()
    assert found.outcome == "closed" and found.received > 1000


def test_other_versions_of_httpx2_fail_before_they_connect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(httpx2.Client, "_init_transport", lambda *_, **__: object())
    with pytest.raises(AttributeError):
        traffic.client("hub")


@pytest.mark.usefixtures("elsewhere")
def test_a_failing_callback_keeps_no_other_transfer_alive(server: CountingServer) -> None:
    def fail(refusal: OfflineRefusal) -> None:
        raise RuntimeError("The loop is closed.")

    async def ask() -> None:
        async with (
            traffic.async_client("tool", fail, trust_env=False) as failing,
            traffic.async_client("tool", trust_env=False, timeout=600) as other,
        ):
            await failing.get(server.url("/1"))
            request = asyncio.create_task(other.get(server.url("/100000/wait")))
            await asyncio.to_thread(server.waiting.acquire)
            await asyncio.to_thread(server.waiting.acquire)
            await asyncio.to_thread(offline.set_offline, True)
            with pytest.raises(OfflineRefusal):
                await request
            offline.set_offline(False)
            await other.get(server.url("/1"))
            later = asyncio.create_task(other.get(server.url("/100000/wait")))
            await asyncio.to_thread(server.waiting.acquire)
            await asyncio.to_thread(server.waiting.acquire)
            await asyncio.to_thread(offline.set_offline, True)
            with pytest.raises(OfflineRefusal):
                await later

    asyncio.run(asyncio.wait_for(ask(), 60))


def test_no_line_follows_the_end_of_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """The watcher saves bytes while the owner ends the connection."""
    connection, append = traffic.Traffic("127.0.0.1", 80, "hub"), connection_log.append
    lines, between = list[ConnectionRecord](), threading.Event()

    def slow(record: ConnectionRecord) -> None:
        if record.outcome == "open":
            between.set()
            ended.join(0.2)  # the end waits for this line, or comes before it
        lines.append(record)
        append(record)

    monkeypatch.setattr(connection_log, "append", slow)
    connection.add(sent=1)
    ended = threading.Thread(target=lambda: (between.wait(60), connection.end()))
    ended.start()
    connection.save()
    ended.join()
    assert [line.outcome for line in lines] == ["open", "closed"]
