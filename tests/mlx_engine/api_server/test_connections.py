"""Connections: half-closed ones, and more than there are file descriptors."""

import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import pytest

from mlx_engine.contract.events import Commit, Event, Finished, PrefillProgress
from mlx_engine.contract.requests import GenerationRequest
from tests.mlx_engine.api_server.serving import serving
from tests.mlx_engine.api_server.test_hostile_clients import HEALTH, LAST_HEALTH, chat, received
from tests.mlx_engine.scripted_engine import ScriptedEngine, stats

_PROGRAM = """
import resource, sys
from mlx_engine.cli.main import main
from tests.mlx_engine.scripted_engine import ScriptedEngine

resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[1])))
main(["serve", "--json", "--port", "0", "--key", "none"], ScriptedEngine)
"""


@contextmanager
def with_descriptors(most: int) -> Iterator[tuple["subprocess.Popen[str]", tuple[str, int]]]:
    """Start a server that can open `most` files, and yield its process and address."""
    command = [sys.executable, "-c", _PROGRAM, str(most)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            host, _, port = json.loads(process.stdout.readline())["url"].removeprefix("http://").rpartition(":")
            yield process, (host, int(port))
        finally:
            process.kill()


@contextmanager
def burst(process: "subprocess.Popen[str]", address: tuple[str, int], count: int) -> Iterator[None]:
    """Hold connections until a server finds all of them together."""
    process.send_signal(signal.SIGSTOP)
    with ExitStack() as opened:
        for _ in range(count):
            connection = opened.enter_context(socket.socket())
            connection.setblocking(False)
            with suppress(BlockingIOError):
                connection.connect(address)
        process.send_signal(signal.SIGCONT)
        yield


def served(address: tuple[str, int]) -> bool:
    with socket.create_connection(address, timeout=60) as connection:
        connection.sendall(LAST_HEALTH)
        return received(connection).startswith(b"HTTP/1.1 200")


def test_the_limit_of_connections_applies_before_file_descriptors_run_out() -> None:
    with with_descriptors(256) as (process, address):
        with burst(process, address, 600):
            pass
        assert served(address)
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=60) == ("", "")


def test_a_lack_of_file_descriptors_is_logged_in_one_line_and_ends() -> None:
    with with_descriptors(64) as (process, address):
        assert process.stderr is not None
        with burst(process, address, 100):
            assert "open files" in process.stderr.readline()
        assert served(address)
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=60) == ("", "")


class Gated(ScriptedEngine):
    """Reads the prompt until `gate` is open or the request is canceled."""

    def __init__(self) -> None:
        super().__init__()
        self.gate, self.was_cancelled = threading.Event(), threading.Event()

    def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
        assert cancel is not None
        yield PrefillProgress(7, 7, 0)
        while not self.gate.wait(0.01):
            if cancel.is_set():
                self.was_cancelled.set()
                yield Finished("cancelled", stats("dflash"))
                return
        yield Commit("Here you are.", "answer", (1,), ("drafter",))
        yield Finished("eos", stats("dflash"))


class TestHalfClosed:
    """Clients that end their side of the connection after their requests."""

    @pytest.mark.parametrize(("stream", "probe"), [(False, b"HTTP/1.1 100 Continue\r\n"), (True, b"\n:\n\n")])
    def test_a_client_that_still_reads_gets_its_reply(self, stream: bool, probe: bytes) -> None:
        engine = Gated()
        with serving(lambda: engine) as server, socket.create_connection(server.address, timeout=60) as connection:
            connection.sendall(chat(stream=stream))
            data = b""
            while stream and b"text/event-stream" not in data:
                data += connection.recv(1000)
            connection.shutdown(socket.SHUT_WR)
            while probe not in data:
                part = connection.recv(1000)
                assert part
                data += part
            engine.gate.set()
            data += received(connection)
            assert b"HTTP/1.1 200" in data and b"Here you are." in data
            assert not stream or b"[DONE]" in data
            assert not engine.was_cancelled.is_set()

    @pytest.mark.parametrize("stream", [False, True])
    def test_a_client_that_leaves_later_ends_its_reply(self, stream: bool) -> None:
        engine = Gated()
        with serving(lambda: engine) as server:
            with socket.create_connection(server.address, timeout=60) as connection:
                connection.sendall(chat(stream=stream))
                connection.shutdown(socket.SHUT_WR)
                assert connection.recv(1000)
            assert engine.was_cancelled.wait(60)

    def test_all_pipelined_requests_are_answered(self) -> None:
        engine = Gated()
        engine.gate.set()
        with serving(lambda: engine) as server, socket.create_connection(server.address, timeout=60) as connection:
            connection.sendall((HEALTH + chat()) * 3)
            connection.shutdown(socket.SHUT_WR)
            assert received(connection).count(b"HTTP/1.1 200") == 6

    @pytest.mark.parametrize("unfinished", [b"", b"GET /health HTTP/1.1\r\n", chat()[:-1]])
    def test_unfinished_requests_are_closed(self, unfinished: bytes) -> None:
        with serving(Gated) as server, socket.create_connection(server.address, timeout=60) as connection:
            connection.sendall(unfinished)
            connection.shutdown(socket.SHUT_WR)
            assert received(connection) == b""
