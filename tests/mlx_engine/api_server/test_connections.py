"""Connections to a server with few file descriptors."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

from tests.mlx_engine.api_server.test_hostile_clients import LAST_HEALTH, received

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
    """Hold connections that a server finds all at once."""
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
