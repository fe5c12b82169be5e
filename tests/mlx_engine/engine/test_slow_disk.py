"""Prompts that aren't saved yet are freed, however slow the disk is."""

import threading
from collections.abc import Iterator
from pathlib import Path

import mlx.core as mx
import pytest

from mlx_engine.contract.machine_events import ReliefStep
from mlx_engine.engine.engine import Engine
from mlx_engine.prefix import disk
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.engine.test_relief import LONG, code, memory_of, written
from tests.mlx_engine.engine.test_turns import Running, begin
from tests.mlx_engine.prefix.prefix_pairs import PROMPT


@pytest.fixture
def saving(tiny: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """An engine that saves prompts on a disk that is so slow that the writer never has room."""
    tiny.save_prompts(tmp_path, 1 << 30)
    monkeypatch.setattr(disk._Writer, "has_room", False)
    yield tiny
    tiny.give_back(ReliefStep.NONE)
    tiny.save_prompts(None)


class Patient(threading.Event):
    """An event that doesn't wait, and notes for how long it would have."""

    def __init__(self) -> None:
        super().__init__()
        self.waits: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waits.append(timeout)
        return self.is_set()


@pytest.mark.parametrize("is_ended", [False, True])
def test_a_reply_that_is_being_saved_can_be_canceled_or_ended_and_frees_its_memory(saving: Engine, is_ended: bool) -> None:
    running = begin(saving, tokens(PROMPT * 4, max_tokens=12, ignore_eos=True, reuse=True, chat="a"))
    while not written(running.events):
        running.step()
    saving.give_back(ReliefStep.BACKGROUND)
    for _ in range(3):
        running.step()
    held, own = mx.get_active_memory(), memory_of(saving)["snapshots"]
    assert own > 0
    if is_ended:
        saving.give_back(ReliefStep.ENDING)
    else:
        running.cancel.set()
    running.finish()
    assert code(running.events) == "memory_ended_reply" if is_ended else running.whole.reason == "cancelled"
    assert memory_of(saving)["snapshots"] == 0 and mx.get_active_memory() <= held - own


@pytest.mark.parametrize("step", [ReliefStep.SNAPSHOTS, ReliefStep.BACKGROUND])
def test_memory_of_prompts_that_are_not_saved_yet_is_freed(saving: Engine, step: ReliefStep) -> None:
    for at in range(2):
        reply(saving, tokens(LONG[at:], max_tokens=4, ignore_eos=True, reuse=True, chat=f"{at}"))
    held, before = mx.get_active_memory(), memory_of(saving)["snapshots"]
    saving.give_back(step)
    after = memory_of(saving)["snapshots"]
    assert (after > 0) == (step < ReliefStep.BACKGROUND) and after < before
    assert mx.get_active_memory() <= held - (before - after)


def test_the_engine_waits_for_the_writer_only_if_no_reply_goes_on(saving: Engine) -> None:
    asked = [
        tokens(PROMPT[at:] * 4, max_tokens=40, ignore_eos=True, reuse=True, chat=f"{at}", foreground=not at) for at in range(2)
    ]
    cancels = [Patient(), Patient()]
    replies = [Running(saving.steps(request, cancel), cancel) for request, cancel in zip(asked, cancels, strict=True)]
    while not all(written(each.events) for each in replies):
        for each in replies:
            each.step()
    front, paused = replies
    saving.give_back(ReliefStep.CACHES)
    for _ in range(3):
        paused.step()
    assert not cancels[1].waits, "another reply goes on"
    front.cancel.set()
    front.finish()
    saving.give_back(ReliefStep.BACKGROUND)
    for _ in range(3):
        paused.step()
    assert cancels[1].waits and set(cancels[1].waits) == {disk._RETRY_S}
    paused.cancel.set()
    paused.finish()
