"""Copies of targets: whole, verified, continued, and nowhere but in their folder."""

import hashlib
import threading
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from mlx_engine.cli.main import main
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import LoadProgress
from mlx_engine.models.files.checkpoint import weights_checksum
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.network.frames import ChannelClosed
from mlx_engine.ring import model_copy
from mlx_engine.ring.links import WorkerLink
from mlx_engine.ring.model_copy import receive_model, remove_copies, send_model
from mlx_engine.ring.pairing import KnownWorker, new_identity
from mlx_engine.ring.worker_models import config_digest, copies_folder, find_model, weights_digest
from mlx_engine.ring.worker_service import WorkerService
from tests.mlx_engine import tiny_families


class Cable:
    """A leader's link to a worker whose answers are known before."""

    name = "there"

    def __init__(self, *wanted: str) -> None:
        self.told: list[Any] = []
        self._wanted = wanted

    def tell(self, message: Any) -> None:
        self.told.append(message)

    def check(self) -> None:
        pass

    def wait_for(self, kind: str, seconds: float | None = None) -> list[Any]:
        return [list(self._wanted)] if kind == "wanted" else []


def sent(folder: Path, *wanted: str) -> tuple[list[Any], list[LoadProgress]]:
    cable: Any = Cable(*wanted)
    progress = list(send_model(cable, folder))
    return cable.told, progress


def received(folder: Path, messages: list[Any]) -> list[Any]:
    """Return a worker's answers to messages, after which the leader is gone."""
    answers: list[Any] = []
    rest: Iterator[Any] = iter(messages)

    def receive() -> Any:
        try:
            return next(rest)
        except StopIteration:
            raise ChannelClosed("ended") from None

    receive_model(folder, receive, answers.append)
    return answers


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.is_file())


def test_a_copy_is_found_and_an_interrupted_one_continues(tmp_path: Path) -> None:
    source, copy = demo_pair()[0], tmp_path / "copy"
    told, progress = sent(source, *names(source))
    ends = [at for at, message in enumerate(told) if message[0] == "whole"]
    assert len(ends) > 2 and "100%" in progress[-1].step.message
    with pytest.raises(ChannelClosed):
        received(copy, told[: ends[1]])  # in the second file
    wanted = [name for name, _ in told[0][1]]
    with pytest.raises(ChannelClosed):
        received(copy, told[:1])
    told, _ = sent(source, *wanted[1:])
    assert received(copy, told) == [["wanted", wanted[1:]], ["copied"]]
    assert find_model(config_digest(source), weights_digest(source), [copy]) == copy
    assert names(copy) == sorted(wanted)
    assert received(copy, told[:1]) == [["wanted", []], ["copied"]]


@given(st.binary(min_size=1, max_size=50), st.integers(0, 49), st.integers(1, 255))
def test_a_changed_byte_is_noticed(tmp_path_factory: pytest.TempPathFactory, content: bytes, at: int, change: int) -> None:
    copy = tmp_path_factory.mktemp("copy")
    damaged = bytearray(content)
    damaged[at % len(content)] ^= change
    messages = [
        ["files", [["config.json", len(content)]]],
        ["piece", b64encode(damaged).decode()],
        ["whole", hashlib.sha256(content).hexdigest()],
    ]
    with pytest.raises(ChannelClosed):
        received(copy, messages)
    assert not (copy / "config.json").exists()


@pytest.mark.parametrize("name", ["../config.json", "/config.json", "a/config.json", ".config.json", "run.py", "", ".."])
def test_files_outside_and_programs_are_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ChannelClosed):
        received(tmp_path / "copy", [["files", [[name, 1]]], ["piece", b64encode(b"x").decode()]])
    assert not (tmp_path / "copy").exists()


def test_a_full_disk_is_named_before_anything_is_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_copy.shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
    with pytest.raises(UserError, match="Free up space"):
        received(tmp_path, [["files", [["config.json", 10**12]]]])


def test_what_is_left_of_an_interrupted_copy_takes_no_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A shard begins again, so its first part is deleted before the free space is read."""
    part = tmp_path / "model-00001-of-00002.safetensors.incomplete"
    part.write_bytes(b"x")
    monkeypatch.setattr(model_copy.shutil, "disk_usage", lambda _: SimpleNamespace(free=0 if part.exists() else 10**12))
    assert received(tmp_path, [["files", []]]) == [["wanted", []], ["copied"]]
    with pytest.raises(ChannelClosed):
        received(tmp_path, [["files", [["config.json", 1]]]])


def test_a_copy_is_on_the_disk_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[list[str]] = []
    monkeypatch.setattr(model_copy.os, "fsync", lambda _: synced.append(names(tmp_path)))
    received(tmp_path, [["files", [["config.json", 0]]], ["whole", hashlib.sha256().hexdigest()]])
    assert synced == [["config.json.incomplete"]] and names(tmp_path) == ["config.json"]


def test_a_damaged_copy_is_deleted_and_then_sent_again(tmp_path: Path) -> None:
    """All its sizes are right, so nothing of it would be sent again."""
    source, copies = tmp_path / "source", tmp_path / "copies"
    tiny_families.save("qwen3", source)
    identity = new_identity()
    service = WorkerService(identity, "127.0.0.1", copies=copies)
    threading.Thread(target=service.serve, daemon=True).start()

    def used() -> str:
        """Return how copying ends."""
        link = WorkerLink(KnownWorker("127.0.0.1", service.port, identity.code), 60)
        link.tell(["model", config_digest(source), weights_digest(source)])
        try:
            assert link.wait_for("model", 60) == [False]
            for _ in send_model(link, source):
                pass
            link.wait_for("address", 60)
        except UserError as error:
            return error.text.code
        finally:
            link.close()
        return "used"

    assert used() == "used"
    [copy] = copies.iterdir()
    config = copy / "config.json"
    config.write_bytes(b"x" * config.stat().st_size)
    assert used() == "worker_failed"
    assert not copy.exists()
    assert used() == "used"
    assert remove_copies(copies) > 0 and not copies.exists()
    assert remove_copies(copies) == 0


def test_models_that_differ_in_one_tensor_are_not_the_same(tmp_path: Path) -> None:
    """Samples of a large file miss small tensors."""
    tensors = {"a": np.zeros(3_000_000, np.float32), "b": np.zeros(10, np.float32), "c": np.zeros(3_000_000, np.float32)}
    for folder, value in (("one", 0.0), ("other", 1.0)):
        (tmp_path / folder).mkdir()
        save_file({**tensors, "b": tensors["b"] + value}, tmp_path / folder / "model.safetensors")
    one, other = tmp_path / "one", tmp_path / "other"
    assert weights_checksum(one) == weights_checksum(other)
    assert weights_digest(one) != weights_digest(other)
    (one / "model.safetensors").write_bytes(b"x" * 100)
    with pytest.raises(UserError):
        weights_digest(one)


def test_the_command_removes_copies(capsys: pytest.CaptureFixture[str]) -> None:
    copy = copies_folder() / "0" / "config.json"
    copy.parent.mkdir(parents=True)
    copy.write_bytes(b"x" * 10_000_000)
    assert main(["worker", "--remove-copies"]) == 0
    assert not copies_folder().exists() and "0.01 GB" in capsys.readouterr().out
