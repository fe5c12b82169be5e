"""Pairing: both sides prove that they know the code, and a relay is refused."""

import argparse
import re
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from types import SimpleNamespace

import pytest

from mlx_engine.cli import worker_options
from mlx_engine.cli.main import main
from mlx_engine.cli.worker_options import ring_engine
from mlx_engine.contract.errors import UserError
from mlx_engine.network import connection_log, offline
from mlx_engine.network.channel import Channel, listen
from mlx_engine.network.frames import ChannelClosed
from mlx_engine.ring import pairing
from mlx_engine.ring.links import WorkerLink, pair
from mlx_engine.ring.pairing import KnownWorker, WorkerIdentity, known_worker, meet_leader, meet_worker, new_identity, own_identity
from mlx_engine.ring.worker_service import WorkerService

IDENTITY = new_identity()


class PairingWorker:
    """A worker that meets leaders, and does nothing else.

    Attributes:
        met: for each leader that showed a proof, whether it knew the code.
    """

    def __init__(self, identity: WorkerIdentity, shown: WorkerIdentity | None = None) -> None:
        self._server, self._identity, self._context = listen("127.0.0.1", 0), identity, (shown or identity).context()
        self.known = KnownWorker("127.0.0.1", self._server.getsockname()[1], identity.code)
        self.met: list[bool] = []
        self._thread = threading.Thread(target=self._serve)
        self._thread.start()

    def _serve(self) -> None:
        if (channel := Channel.accepted(self._server)) is not None:
            with suppress(ChannelClosed):
                self.met.append(meet_leader(channel, self._identity, self._context))
            channel.close()

    def end(self) -> None:
        self._thread.join()
        self._server.close()


def refusal(worker: PairingWorker, known: KnownWorker) -> str:
    with pytest.raises(UserError) as raised:
        pair(known)
    worker.end()
    return raised.value.text.code


def test_a_worker_is_known_after_pairing() -> None:
    worker = PairingWorker(IDENTITY)
    assert known_worker(worker.known.host, worker.known.port) is None
    paired = pair(replace(worker.known, code=IDENTITY.code.lower().replace("-", " ")))
    worker.end()
    assert worker.met == [True]
    assert paired.fingerprint == IDENTITY.fingerprint.hex()
    assert known_worker(worker.known.host, worker.known.port) == paired
    assert IDENTITY.code not in repr(IDENTITY) + repr(paired)


def test_a_wrong_code_is_refused_on_both_sides() -> None:
    worker = PairingWorker(IDENTITY)
    assert refusal(worker, replace(worker.known, code=new_identity().code)) == "worker_code_wrong"
    assert worker.met == [False]


def test_someone_in_between_is_refused() -> None:
    """It has a certificate of its own, and passes on what the worker that knows the code says."""
    worker = PairingWorker(IDENTITY, shown=new_identity())
    assert refusal(worker, worker.known) == "worker_code_wrong"
    assert worker.met == [False]


def test_another_certificate_than_the_paired_one_is_refused() -> None:
    worker = PairingWorker(replace(new_identity(), code=IDENTITY.code))
    assert refusal(worker, replace(worker.known, fingerprint=IDENTITY.fingerprint.hex())) == "worker_certificate_changed"


def test_another_version_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    own = pairing.versions()
    answers = iter([own, {**own, "mlx": "0.1"}, own])  # sent, answered, compared
    monkeypatch.setattr(pairing, "versions", lambda: next(answers))
    worker = PairingWorker(IDENTITY)
    assert refusal(worker, worker.known) == "worker_version_differs"


def test_offline_refuses_other_computers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(offline.VARIABLE, "1")
    with pytest.raises(offline.OfflineRefusal):
        WorkerLink(KnownWorker("192.0.2.1", 1, ""), 1.0)


def test_connections_are_recorded() -> None:
    before = {each.id for each in connection_log.read()}
    worker = PairingWorker(IDENTITY)
    pair(worker.known)
    worker.end()
    records = [each for each in connection_log.read() if each.id not in before]
    assert [each.outcome for each in records if each.feature == "worker"] == ["closed", "closed"]  # of both sides
    assert all(each.sent and each.received for each in records)


@pytest.fixture
def service() -> Iterator[WorkerService]:
    service = WorkerService(IDENTITY, "127.0.0.1")
    threading.Thread(target=service.serve, daemon=True).start()
    yield service


def test_a_leader_that_reads_its_files_slowly_is_served(service: WorkerService) -> None:
    """It shows that it is alive before it asks for a model."""
    channel = Channel.connected("127.0.0.1", service.port, 5)
    meet_worker(channel, KnownWorker("127.0.0.1", service.port, IDENTITY.code))
    channel.send(["alive"])
    channel.send(["model", "0" * 64, "0" * 64])
    assert channel.receive(30) == ["model", False]
    channel.close()


def test_the_code_is_asked_for_again_when_it_has_changed(service: WorkerService, monkeypatch: pytest.MonkeyPatch) -> None:
    args = argparse.Namespace(workers=[("127.0.0.1", service.port)])
    KnownWorker("127.0.0.1", service.port, new_identity().code, "00").save()
    with pytest.raises(UserError):  # without a terminal
        ring_engine(args)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(worker_options, "ask", lambda _: IDENTITY.code)
    ring_engine(args)
    monkeypatch.setattr("sys.stdin", SimpleNamespace(isatty=lambda: False))
    ring_engine(args)


def test_each_worker_has_its_own_code_in_the_environment(service: WorkerService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLIPSTREAM_WORKER_CODE", f"{IDENTITY.code},{new_identity().code}")
    address = ("127.0.0.1", service.port)
    ring_engine(argparse.Namespace(workers=[address]))
    with pytest.raises(UserError, match="code"):
        ring_engine(argparse.Namespace(workers=[address, address]))


def test_the_command_prints_the_code_that_pairs_with_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    running: list[WorkerService] = []
    monkeypatch.setattr(WorkerService, "serve", lambda service: running.append(service))
    monkeypatch.setattr("mlx_engine.cli.worker.show_log", lambda name: None)  # it would change the logs of later tests
    assert main(["worker", "--host", "127.0.0.1", "--port", "0"]) == 0
    printed = capsys.readouterr().out
    assert "without encryption" in printed and f"port {running[0].port}" in printed
    monkeypatch.undo()
    threading.Thread(target=running[0].serve, daemon=True).start()
    [code] = re.findall("Pairing code: (.+)", printed)
    paired = pair(KnownWorker("127.0.0.1", running[0].port, code))
    assert known_worker("127.0.0.1", running[0].port) == paired


def test_a_worker_keeps_its_identity() -> None:
    first = own_identity()
    assert own_identity() == replace(first, kept=own_identity().kept)
    assert own_identity(renew=True).code != first.code
