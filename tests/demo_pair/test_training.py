"""Training the demo pair: the marks of its text, and both models learn, from scratch and from the shipped pair."""

import random
import sys
from collections.abc import Iterator
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from tokenizers import Tokenizer

from mlx_engine.contract.requests import GenerationRequest, Message
from mlx_engine.loading.drafter_files import read
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.tuning import training_loop
from tests.demo_pair import __main__ as training
from tests.demo_pair import drafter, target, text
from tests.demo_pair.corpus.chats import tools_chat, training_chat
from tests.mlx_engine.conftest import loaded

PAIR = demo_pair()[0].parent


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target, "SHORT", (128, 4))
    monkeypatch.setattr(target, "LONG", (384, 2))
    monkeypatch.setattr(drafter, "SHORT", (128, 2, 8))
    monkeypatch.setattr(drafter, "LONG", (384, 2, 8))
    monkeypatch.setattr(training_loop, "SAVE_EVERY", 1)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4, "head_dim": 32}
    monkeypatch.setattr(target, "CONFIG", target.CONFIG | sizes)
    monkeypatch.setattr(drafter, "MLP", 96)


def train(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path, *options: str) -> list[float]:
    """Run the command, and return the losses of all steps."""
    monkeypatch.setattr(sys, "argv", ["", str(folder), "--chats", "300", "--tools-chats", "60", *options])
    training.main()
    return [float(line.split()[-1]) for line in capsys.readouterr().out.splitlines() if "loss" in line]


def test_marked_tokens_are_the_replies() -> None:
    words, rng = Tokenizer.from_file(str(PAIR / "target/tokenizer.json")), random.Random(3)
    for chat in (*(training_chat(rng) for _ in range(40)), *(tools_chat(rng) for _ in range(20))):
        row = text.row(words, [chat])
        written = "".join(piece for piece, writer in chat.parts() if writer == "reply")
        earlier = "".join(piece for piece, writer in chat.parts() if writer == "earlier")
        assert words.decode(row.ids.tolist(), skip_special_tokens=False) == "".join(piece for piece, _ in chat.parts())
        marked = words.decode(row.ids[row.reply].tolist(), skip_special_tokens=False)
        assert marked.endswith(written.rpartition("<|im_end|>")[0].rpartition("<|im_end|>")[2] + "<|im_end|>")
        assert earlier or marked == written


@pytest.mark.long  # Muon's products of the whole target
def test_the_shipped_pair_has_learned_and_continues(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    losses = train(monkeypatch, capsys, tmp_path, "--warm-start", str(PAIR), "--target-steps", "1", "--drafter-steps", "1")
    assert len(losses) == 2 and losses[0] < 0.3 and losses[1] < 1.5
    for name in ("target", "drafter"):
        before, after = read(PAIR / name), read(tmp_path / name)
        assert {name: array.shape for name, array in before.items()} == {name: array.shape for name, array in after.items()}
        assert any(not mx.array_equal(before[name], after[name]) for name in before)
    assert not list(tmp_path.rglob("*state*"))


@pytest.mark.long
def test_training_from_scratch_learns_and_makes_a_pair(
    tiny: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    losses = train(monkeypatch, capsys, tmp_path, "--target-steps", "20", "--drafter-steps", "20")
    for some in (losses[:20], losses[20:]):
        assert some[0] > 4 and np.mean(some[-3:]) < some[0] - 0.5, some
    engine = loaded(tmp_path / "target", tmp_path / "drafter")
    assert engine.pair.info.why_plain is None
    assert list(engine.generate(GenerationRequest((Message("user", "Hello!"),), max_tokens=8)))[-1].stats.tokens
    assert not list(tmp_path.rglob("*state*"))


def test_a_stopped_run_continues_at_its_step(
    tiny: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    options = ("--target-steps", "3", "--drafter-steps", "2")
    whole = train(monkeypatch, capsys, tmp_path / "whole", *options)
    run = training_loop.Trainer.run

    def stop(self: training_loop.Trainer, draw: training_loop.Draw) -> Iterator[float]:
        yield next(run(self, draw))
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(training_loop.Trainer, "run", stop)
        with pytest.raises(KeyboardInterrupt):
            train(patched, capsys, tmp_path / "stopped", *options)
    capsys.readouterr()
    assert train(monkeypatch, capsys, tmp_path / "stopped", *options) == whole[1:]
