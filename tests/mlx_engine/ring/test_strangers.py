"""What anyone in the network can send to a worker, or a worker to anyone, without the code."""

import errno
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest

from mlx_engine.contract.errors import UserError
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.network import connection_log
from mlx_engine.network.channel import Channel, listen
from mlx_engine.network.frames import HEAD, MOST_STRANGER_BYTES, ChannelClosed
from mlx_engine.ring.links import pair
from mlx_engine.ring.pairing import KnownWorker, meet_worker, new_identity
from mlx_engine.ring.worker_address import read_address
from mlx_engine.ring.worker_models import config_digest, weights_digest
from mlx_engine.ring.worker_service import WorkerService
from tests.mlx_engine.ring.workers import HOST, RunningWorker

IDENTITY = new_identity()
OPEN_FILES = 64  # of the worker's process
RESET = struct.pack("ii", 1, 0)  # no waiting when it is closed
NESTED = b"[" * (MOST_STRANGER_BYTES // 2)


@pytest.fixture(scope="module")
def worker() -> Iterator[RunningWorker]:
    running = RunningWorker(open_files=OPEN_FILES)
    yield running
    running.close()


def test_a_worker_survives_more_connections_than_it_can_open_files(worker: RunningWorker) -> None:
    address = worker.known.host, worker.known.port
    with ExitStack() as idle:
        for at in range(4 * OPEN_FILES):
            connection = idle.enter_context(socket.create_connection(address, 30))
            if at % 2:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                connection.close()
        assert pair(worker.known).fingerprint
    assert pair(worker.known).fingerprint


def test_strangers_are_not_recorded(worker: RunningWorker) -> None:
    pair(worker.known)
    before = {each.id for each in connection_log.read()}
    for _ in range(20):
        socket.create_connection((worker.known.host, worker.known.port), 30).close()
    pair(worker.known)
    records = [each for each in connection_log.read() if each.id not in before]
    assert 1 <= len(records) <= 2  # of `pair`, and of its other side


def test_a_connection_that_was_reset_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone(socket.socket):
        def setsockopt(self, *_: Any) -> None:
            raise OSError(errno.EINVAL, "Invalid argument")  # on macOS

        def accept(self) -> tuple[socket.socket, Any]:
            return Gone(), (HOST, 1)

    assert Channel.accepted(Gone()) is None


class Stranger:
    """An encrypted connection that says what it wants."""

    def __init__(self, port: int) -> None:
        self._channel = Channel.connected(HOST, port, 10)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self._channel.encrypt(context, False, 10)
        self.send, self.receive = self._channel.send, self._channel.receive
        self.close = self._channel.close

    def send_bytes(self, data: bytes) -> None:
        self._channel._socket.sendall(data)

    def ends(self) -> str:
        """Return how the worker ends the connection."""
        with pytest.raises(ChannelClosed) as closed:
            while True:
                self.receive(10)
        self.close()
        return str(closed.value)


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerService]:
    """A worker in this process. No thread of it may end by an error."""
    errors: list[object] = []
    monkeypatch.setattr(threading, "excepthook", errors.append)
    service = WorkerService(IDENTITY, HOST)
    threading.Thread(target=service.serve, daemon=True).start()
    yield service
    assert not errors


def test_long_messages_are_refused_before_the_proof(service: WorkerService) -> None:
    stranger = Stranger(service.port)
    stranger.send_bytes(HEAD.pack(MOST_STRANGER_BYTES + 1))
    assert stranger.ends() == "ended"


def frame(data: bytes) -> bytes:
    return HEAD.pack(len(data)) + data


@pytest.mark.parametrize(
    "sent",
    [
        [frame(NESTED)],
        [frame(b'["nonce","\\ud800"]'), frame('["proof","é"]'.encode())],
        [frame(b'["nonce",{}]'), frame(b'["proof","\\ud800"]')],
        [frame(b'["nonce","a"]'), frame(b'["proof",{"a":[]}]')],
        [frame(b'"nonce"')],
        [frame(b"\xff")],
    ],
)
def test_nonsense_ends_the_connection(sent: list[bytes], service: WorkerService) -> None:
    stranger = Stranger(service.port)
    for data in sent:
        stranger.send_bytes(data)
    assert stranger.ends() == "ended"
    assert pair(KnownWorker(HOST, service.port, IDENTITY.code)).fingerprint


@pytest.mark.parametrize(("proof", "code"), [(b'["proof","\xc3\xa9"]', "worker_code_wrong"), (NESTED, "worker_unreachable")])
def test_a_leader_survives_nonsense(proof: bytes, code: str) -> None:
    """It also closes the connection."""
    server, ends = listen(HOST, 0), list[str]()

    def pretend() -> None:
        channel = Channel.accepted(server)
        assert channel is not None
        channel.encrypt(IDENTITY.context(), True, 10)
        channel.receive(10)
        channel.send(["nonce", "a"])
        channel.receive(10)
        channel._socket.sendall(frame(proof))
        with pytest.raises(ChannelClosed) as closed:
            channel.receive(10)
        ends.append(str(closed.value))
        channel.close()

    thread = threading.Thread(target=pretend)
    thread.start()
    with pytest.raises(UserError) as raised:
        pair(KnownWorker(HOST, server.getsockname()[1], IDENTITY.code))
    thread.join()
    server.close()
    assert raised.value.text.code == code
    assert ends == ["ended"]


@pytest.mark.parametrize("message", [[1, ["127.0.0.1:9", "127.0.0.1:10"], "/etc"], ["ring", 1, ['127.0.0.1:9"],["10.0.0.1:9']]])
def test_a_paired_computer_cannot_choose_what_a_worker_reads(worker: RunningWorker, message: Any) -> None:
    """The worker finds the folder, and MLX gets nothing but addresses."""
    channel = Channel.connected(worker.known.host, worker.known.port, 10)
    meet_worker(channel, worker.known)
    target = demo_pair()[0]
    channel.send(["model", config_digest(target), weights_digest(target)])
    seen: list[Any] = []
    while ["started"] not in seen:
        seen.append(channel.receive(60))
    channel.send(message)
    channel.send(["alive"])
    with suppress(ChannelClosed):
        for _ in range(30):  # it would wait for MLX's connection
            if channel.receive(60)[0] == "failed":
                break
        else:
            pytest.fail("It is still connected.")
    channel.close()


@pytest.mark.parametrize("host", ["mac..local", ".", ".local", "a" * 64, "é" * 63 + ".local"])
def test_names_that_no_computer_can_have_are_no_addresses(host: str) -> None:
    assert read_address(host) is None
    with pytest.raises(UserError) as raised:
        pair(KnownWorker(host, 1, ""))
    assert raised.value.text.code == "worker_unreachable"
    with pytest.raises(OSError, match="name"):
        listen(host, 0)
