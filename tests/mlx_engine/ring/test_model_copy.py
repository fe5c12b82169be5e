"""Copies of targets: whole, verified, continued, and nowhere but in their folder."""

import hashlib
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import LoadProgress
from mlx_engine.models.files.checkpoint import weights_checksum
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.network.frames import ChannelClosed
from mlx_engine.ring import model_copy
from mlx_engine.ring.model_copy import receive_model, send_model
from mlx_engine.ring.worker_models import config_digest, find_model


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
    assert find_model(config_digest(source), weights_checksum(source), [copy]) == copy
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
