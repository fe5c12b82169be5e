"""Rounds queued ahead with every kind of cache give the same results as rounds that the host reads one by one."""

import threading
from dataclasses import replace
from functools import cache

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.requests import Sampling
from mlx_engine.decoding.costs import ASSUMED, PLAIN_STEP, PassKind
from mlx_engine.hardware import device
from mlx_engine.hardware.device import DevicePosition
from mlx_engine.kernels import operations
from mlx_engine.models.configs import families
from mlx_engine.targets.target import Target
from tests.examples import sampled
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.conftest import loaded
from tests.mlx_engine.decoding.streams import Run, Scripted, close, same_state
from tests.mlx_engine.decoding.test_plain_text import Foresight
from tests.mlx_engine.targets.test_families import contents, draw
from tests.mlx_engine.tiny_families import CONFIGS, FAMILIES, VOCABULARY, build, save, save_drafter

# Of each kind of caches one: growing, growing and recurrent (delta nets joined, and not; convolutions), with windows, compound
KINDS = (
    "qwen3_5",
    "lfm2",
    "gpt_oss",
    "glm_moe_dsa",
    *(pytest.param(name, marks=pytest.mark.long) for name in ("qwen3", "qwen3_next", "gemma4_text")),
)
TOKENS = st.integers(3, VOCABULARY - 1)


@cache
def target_of(name: str) -> Target:
    return Target(build(name), VOCABULARY, families.FAMILIES[CONFIGS[name]["model_type"]], (0,))


@given(
    before=st.lists(TOKENS, min_size=1, max_size=30),
    passes=st.lists(
        st.tuples(st.lists(TOKENS, min_size=2, max_size=16), st.integers(1, 16), st.booleans()), min_size=1, max_size=7
    ),
    after=st.lists(TOKENS, min_size=1, max_size=20),
    in_vain=st.booleans(),
)
@sampled(2, whole=100)
@pytest.mark.parametrize("name", FAMILIES)
def test_passes_at_positions_that_only_the_device_knows(name, before, passes, after, in_vain):
    """Each pass keeps some rows. With `ahead`, it is queued before the host knows how many rows the previous one kept."""
    target = target_of(name)
    known, placed = target.caches(), target.caches()
    for caches in (known, placed):
        target.forward(mx.array(before), caches)
    held, waiting = len(before), None  # rows kept of an unsettled pass
    for block, kept, ahead in passes:
        kept = min(kept, len(block))
        place = DevicePosition.known(held)
        if waiting is not None and ahead:
            rows, last = waiting
            place = DevicePosition(mx.array([held]), held - last + 1, held - last + rows, mx.array([last]))
        elif waiting is not None:
            placed.settle(held)
        found = target.forward(mx.array(block), placed, place.span(len(block)))
        if waiting is not None and ahead:
            placed.settle(held)
        expected = target.forward(mx.array(block), known)
        known.rewind(len(block) - kept)
        close([found], [expected])
        held, waiting = held + kept, (len(block), kept)
    if in_vain:  # one more that is never read
        rows, last = waiting
        place = DevicePosition(mx.array([held]), held - last + 1, held - last + rows, mx.array([last]))
        target.forward(mx.array(draw(5, held)), placed, place.span(5))
    placed.settle(held)
    placed.finish()
    assert placed.length == known.length == held
    close(contents(placed.layers), contents(known.layers))
    close([target.forward(mx.array(after), placed)], [target.forward(mx.array(after), known)])


@given(passes=st.lists(st.tuples(st.integers(2, 16), st.integers(1, 16)), min_size=2, max_size=8), seed=st.integers(0, 99))
@sampled(3)
@pytest.mark.parametrize("name", ["qwen3_5", "qwen3_next"])
def test_a_recurrent_state_is_bit_identical(name, passes, seed):
    """In the first layer, before any attention."""
    target = target_of(name)
    known, placed = target.caches(), target.caches()
    for caches in (known, placed):
        target.forward(mx.array(draw(5, seed)), caches)
    held, last = 5, None
    for index, (rows, kept) in enumerate(passes):
        kept, block = min(kept, rows), mx.array(draw(rows, seed + index))
        place = DevicePosition.known(held)
        if last is not None:
            place = DevicePosition(mx.array([held]), held - last[1] + 1, held - last[1] + last[0], mx.array([last[1]]))
        target.forward(block, placed, place.span(rows))
        if last is not None:
            placed.settle(held)
        target.forward(block, known)
        known.rewind(rows - kept)
        held, last = held + kept, (rows, kept)
    placed.settle(held)
    for ours, theirs in zip(placed.layers[0].cache, known.layers[0].cache, strict=True):
        assert np.array_equal(np.array(ours), np.array(theirs))


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """Return a function that loads a family's pair, whose drafter predicts what follows `draw(19, 11)` with a few errors."""
    place = tmp_path_factory.mktemp("families")

    @cache
    def load(name: str):
        folder = place / name
        engine = loaded(save(name, folder / "target"), save_drafter(name, folder / "drafter"))
        prompt = draw(19, 11)
        plain = reply(engine, tokens(prompt, mode="plain", max_tokens=100, ignore_eos=True)).tokens
        engine.pair.drafter = Foresight(engine.pair.drafter, [*prompt, *plain])
        return engine, prompt, plain

    return load


@given(
    script=st.lists(
        st.sampled_from([PLAIN_STEP, PassKind("drafter", 3), PassKind("drafter", 8), PassKind("drafter", 16)]),
        min_size=1,
        max_size=6,
    ),
    limit=st.integers(2, 40),
    end=st.integers(0, 39),
    stop=st.integers(1, 30),
    compiled=st.booleans(),
)
@sampled(2)
@pytest.mark.parametrize("name", KINDS)
def test_any_sequence_of_widths_and_plain_steps_and_any_end(pair, name, script, limit, end, stop, compiled):
    """The end is a token inside a round with another one queued, the token limit, or a closed generator."""
    engine, prompt, plain = pair(name)
    engine.pair.target.use(operations.PLAIN, compiled=compiled)
    runs = [Run(engine, prompt, Scripted(script), lag, Sampling(), 0) for lag in (False, True)]
    heard = [run.steps(limit, [plain[end]], stop) for run in runs]
    assert [token for step in heard[1] for token in step.tokens] == list(plain[1 : 1 + sum(len(step.tokens) for step in heard[1])])
    assert heard[0] == heard[1]
    same_state(*runs)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("how", ["by its end", pytest.param("by the listener", marks=pytest.mark.long)])
def test_the_next_turn_continues_from_the_reply(pair, name, how, monkeypatch):
    """After an end inside a round with another one queued, the reused tokens, the text and the rounds are the same."""
    engine, prompt, plain = pair(name)
    ends = {plain[30]} if how == "by its end" else set()
    monkeypatch.setattr(engine.pair.tokenizer, "_eos_token_ids", ends)
    turns = []
    for pays in (False, True):
        monkeypatch.setattr(device, "runs_beside_host", lambda pays=pays: pays)
        engine.pair.use_costs(replace(ASSUMED, queued=True))
        engine.free_memory()
        cancel, said, rounds = threading.Event(), [], 0
        for event in engine.generate(tokens(prompt, width=16, max_tokens=100, reuse=True), cancel):
            said += getattr(event, "tokens", ()) if type(event).__name__ == "Commit" else ()
            rounds += type(event).__name__ == "Round"
            if not ends and rounds == 4:
                cancel.set()
        assert tuple(said) == plain[: len(said)] and len(said) < 100
        again = reply(engine, tokens((*prompt, *said, 5), width=8, max_tokens=16, ignore_eos=True, reuse=True))
        turns.append((said, again.tokens, again.stats.accepted_per_round, again.stats.reused_tokens))
    assert turns[0] == turns[1]
    assert turns[1][3] >= len(prompt)
