"""Warm-up: which passes run while a pair is loaded, and that nothing of them is kept."""

import gc
from dataclasses import replace
from pathlib import Path

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import LoadProgress
from mlx_engine.engine.engine import Engine
from mlx_engine.kernels.operations import PLAIN
from mlx_engine.loading import loaded_pair
from mlx_engine.loading.warmup import warm
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.conftest import GOLDEN

FOLDERS = GOLDEN / "e2e_qwen3" / "target", GOLDEN / "e2e_qwen3" / "drafter"
BLOCK = 8


class Watched:
    """A target or drafter that records its passes."""

    def __init__(self, real) -> None:
        self._real = real
        self.passes: list[tuple[str, int, int]] = []  # what, rows, and tokens before them

    def __getattr__(self, name):
        return getattr(self._real, name)

    def forward(self, asked, caches, *span):
        self.passes.append(("forward", asked.shape[0], caches.length))
        return self._real.forward(asked, caches, *span)

    def forward_tapped(self, asked, caches, *span):
        self.passes.append(("verify", asked.shape[0], caches.length))
        return self._real.forward_tapped(asked, caches, *span)

    def propose(self, context, anchor, rows, *rest):
        self.passes.append(("draft", rows, context.position))
        return self._real.propose(context, anchor, rows, *rest)

    def propose_packed(self, blocks):
        self.passes += [("draft", block.rows, block.context.position) for block in blocks]
        return self._real.propose_packed(blocks)


def test_a_prompt_and_plain_steps_narrow_and_widest_rounds_run_twice(tiny):
    target, drafter = Watched(tiny.pair.target), Watched(tiny.pair.drafter)
    warm(target, drafter, 4096)
    verified = [(rows, before) for _, rows, before in target.passes]
    assert verified == [(64, 0), (1, 64), (2, 65), (BLOCK, 66), (1, 67), (2, 68), (BLOCK, 69)]
    assert [(rows, before) for _, rows, before in drafter.passes] == [(2, 65), (BLOCK, 66), (2, 68), (BLOCK, 69)]


def test_two_rounds_are_queued_ahead_if_replies_will_and_kernels_choose(tiny):
    chosen = []

    def verify(*given):
        chosen.append(given[0].shape[0])
        return PLAIN.block_verify(*given)

    target, drafter = Watched(tiny.pair.target), Watched(tiny.pair.drafter)
    warm(target, drafter, 4096, replace(PLAIN, block_verify=verify), ahead=True)
    assert [rows for _, rows, _ in target.passes][-2:] == [BLOCK, BLOCK]
    assert [at for _, _, at in drafter.passes[:-2]] == [65, BLOCK + 58, 68, 69]
    assert chosen == [1, 1, 2, BLOCK, 1, 2, BLOCK, BLOCK, BLOCK]
    few = Watched(tiny.pair.target)
    warm(few, tiny.pair.drafter, 20, ahead=True)  # two don't fit
    assert len(few.passes) == 7


def test_without_a_drafter_a_prompt_and_plain_steps_run(tiny):
    target = Watched(tiny.pair.target)
    warm(target, None, 4096)
    assert target.passes == [("forward", 64, 0), ("forward", 1, 64), ("forward", 1, 65)]


@given(limit=st.integers(1, 90))
def test_a_small_context_gets_a_prompt_that_leaves_room_for_a_block(tiny, limit):
    target = Watched(tiny.pair.target)
    warm(target, tiny.pair.drafter, limit)
    prompt = target.passes[0][1]
    assert prompt == max(min(64, limit - BLOCK), 1)


@pytest.mark.parametrize("pair", ["tiny", "tiny2"])
@pytest.mark.parametrize("drafting", [True, False])
def test_nothing_is_kept(pair, drafting, request):
    """No memory, and no change in a later reply or random number."""
    engine = request.getfixturevalue(pair)
    asked = tokens(tuple(range(3, 40)), max_tokens=30, width=5, reuse=False)
    before = reply(engine, asked)
    warm(engine.pair.target, engine.pair.drafter, 4096)
    gc.collect()
    mx.random.seed(7)
    held = mx.get_active_memory()
    warm(engine.pair.target, engine.pair.drafter if drafting else None, 4096)
    gc.collect()
    assert mx.get_active_memory() == held
    drawn = mx.random.uniform().item()
    mx.random.seed(7)
    assert mx.random.uniform().item() == drawn
    after = reply(engine, asked)
    assert (after.tokens, after.stats.accepted_per_round) == (before.tokens, before.stats.accepted_per_round)


def test_loading_warms_up_once_and_only_pairs_that_can_run(monkeypatch, tmp_path: Path):
    warmed = []
    monkeypatch.setattr(loaded_pair, "warm", lambda *asked: warmed.append(asked))
    steps = []
    for event in Engine().load(*FOLDERS):
        if isinstance(event, LoadProgress):
            steps.append((event.step.code, len(warmed)))
    assert steps[-2:] == [("warming_up", 0), ("ready", 1)]
    with pytest.raises(UserError):
        list(Engine().load(FOLDERS[0], tmp_path / "nowhere"))
    assert len(warmed) == 1


def test_loading_stopped_before_the_warm_up_leaves_no_pair(monkeypatch):
    monkeypatch.setattr(loaded_pair, "warm", lambda *asked: pytest.fail("it was given up"))
    gc.collect()
    held = mx.get_active_memory()
    engine = Engine()
    events = engine.load(*FOLDERS)
    assert any(isinstance(event, LoadProgress) and event.step.code == "warming_up" for event in events)
    events.close()
    del events
    gc.collect()
    assert mx.get_active_memory() == held
    with pytest.raises(UserError, match="No model is loaded"):
        _ = engine.pair
    monkeypatch.undo()
    list(engine.load(*FOLDERS))
    assert len(reply(engine, tokens((5, 6, 7), max_tokens=4)).tokens) == 4
