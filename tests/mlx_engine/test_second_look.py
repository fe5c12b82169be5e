"""Kernels that won their trials go again where real replies are slower with them, and stay where they are not."""

import json
import random
import threading
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.decoding.costs import PLAIN as PLAIN_STEP
from mlx_engine.decoding.costs import Pass
from mlx_engine.decoding.width import Choice, Outcome
from mlx_engine.engine import Engine
from mlx_engine.events import KernelTrial
from mlx_engine.kernels.operations import PLAIN, Operations
from mlx_engine.requests import CompareRequest
from mlx_engine.tuning import kernel_trials, second_look
from mlx_engine.tuning.second_look import SecondLook
from tests.mlx_engine.asking import failure, reply, tokens
from tests.mlx_engine.conftest import GOLDEN

TRIALS = (
    KernelTrial("kv_injection", True, "20.0 % less time a token", 0.010, 0.008),
    KernelTrial("block_verify", False, "not quicker", 0.010, 0.011),
    KernelTrial("verify_matmul", True, "10.0 % less time a token", 0.010, 0.009),
)
ASKED = tokens([5, 17, 40, 41, 42, 17, 40], seed=11, max_tokens=10, ignore_eos=True, width=4)


def use(look: SecondLook, factor: float, seed: int, replies: int = 16) -> None:
    """Replies of which a pass takes so much longer with the kernels; what a pass costs depends on its kind and depth."""
    draw = random.Random(seed)
    depth = 0
    for _ in range(replies):
        for _ in range(20):
            kind = draw.choice([PLAIN_STEP, Pass("drafter", 8), Pass("drafter", 16), Pass("lookup", 5)])
            seconds = (0.01 + 0.001 * kind.width) * (1 + depth // 1024) * draw.gauss(1.0, 0.01)
            look.saw(Outcome(Choice(kind), depth, seconds * (factor if look.with_kernels else 1.0)))
            depth += 4
        look.saw(Outcome(Choice(PLAIN_STEP), depth, None))  # a time that means nothing
        look.ended()


@given(st.floats(0.6, 0.99) | st.floats(1.05, 3.0), st.integers(0, 10**6))
def test_what_is_slower_in_use_goes_and_what_is_not_stays(factor, seed):
    look = SecondLook(TRIALS)
    use(look, factor, seed)
    found = look.concluded()
    assert found is not None
    assert found[1] == TRIALS[1]
    for trial, before in ((found[0], TRIALS[0]), (found[2], TRIALS[2])):
        assert trial.in_use == pytest.approx(factor, rel=0.03)
        if factor < 1:
            assert trial == replace(before, in_use=trial.in_use)
        else:
            assert not trial.used and trial.why.startswith("slower in real use: ") and "more time a pass" in trial.why
    assert not SecondLook(found).due


def test_it_says_nothing_of_passes_that_cannot_be_compared():
    look = SecondLook(TRIALS)
    assert look.due and not SecondLook(TRIALS[1:2]).due
    while look.due:
        kind = Pass("drafter", 8 if look.with_kernels else 16)
        for _ in range(100):
            look.saw(Outcome(Choice(kind), 0, 0.01))
        look.ended()
    assert look.concluded() is None
    assert not SecondLook(TRIALS, look.evidence).due  # nor after the next start


@given(st.integers(1, 5), st.integers(0, 10**6))
def test_few_replies_a_day_say_enough_in_time(replies, seed):
    """What was seen goes on at the next start, through a file."""
    look, starts = SecondLook(TRIALS), 0
    while (found := look.concluded()) is None:
        use(look, 1.5, seed + starts, replies)
        look = SecondLook(TRIALS, json.loads(json.dumps(look.evidence)))
        starts += 1
        assert look.due and starts * replies < 40
    assert not found[0].used


@pytest.mark.parametrize("evidence", [None, [], 3, "", {}, {"replies": "x", "passes": []}, {"replies": 2, "passes": [[1, 2]]}])
def test_what_is_no_evidence_counts_for_nothing(evidence):
    assert SecondLook(TRIALS, evidence).evidence == {"replies": 0, "passes": []}


def test_both_ways_take_turns_so_that_neither_has_the_deeper_contexts():
    look, turns = SecondLook(TRIALS), []
    for _ in range(8):
        turns.append(look.with_kernels)
        look.ended()
    assert turns == [True, False, False, True] * 2


class Kernels:
    """Stand-ins for kernels that are right; every call is counted, and a round takes so much longer."""

    def __init__(self, pause: float) -> None:
        self.pause, self.calls = pause, 0

    def operations(self) -> Operations:
        def slow(*arguments):
            self.calls += 1
            time.sleep(self.pause)
            return PLAIN.block_verify(*arguments)

        return Operations(block_verify=slow)


@pytest.fixture
def begin(tiny, tmp_path, monkeypatch):
    """Loads a pair that runs kernels which no second look was taken at."""
    monkeypatch.setattr(kernel_trials, "folder", lambda: tmp_path / "kernels")
    monkeypatch.setattr(second_look, "_ENOUGH", 4)
    kernel_trials.keep(tiny.pair, TRIALS)  # the same pair
    engines = []

    def load(pause: float = 0.0, **options) -> tuple[Engine, Kernels]:
        kernels = Kernels(pause)
        monkeypatch.setattr(kernel_trials, "operations", lambda pair: kernels.operations())
        engines.append(Engine(**{"second_look": True, **options}))
        for _ in engines[-1].load(GOLDEN / "e2e_qwen3" / "target", GOLDEN / "e2e_qwen3" / "drafter"):
            pass
        return engines[-1], kernels

    yield load
    for engine in engines:
        engine.unload()


def kept(engine: Engine) -> dict[str, KernelTrial]:
    return {trial.kernel: trial for trial in kernel_trials.known(engine.pair)}


def test_real_replies_run_them_in_turn_and_keep_their_text(tiny, begin):
    """The pause of 50 ms a round is several times what a round of the tiny pair takes, whatever else runs here."""
    want = reply(tiny, ASKED)
    engine, kernels = begin(0.05)
    turns = []
    for _ in range(4):
        before = kernels.calls
        assert reply(engine, ASKED).tokens == want.tokens
        turns.append(kernels.calls > before)
    assert turns[:2] == [True, False]
    found = kept(engine)["kv_injection"]
    assert not found.used and "slower in real use" in found.why
    assert engine.pair.operations == PLAIN and engine._look is None


def test_what_is_not_slower_is_used_from_then_on(begin, monkeypatch):
    monkeypatch.setattr(second_look, "_SLOWER", 1e9)
    engine, kernels = begin()
    proved = engine.pair.operations
    for _ in range(4):
        reply(engine, ASKED)
    assert engine._look is None and engine.pair.operations is proved
    found = kept(engine)["kv_injection"]
    assert found.used and found.in_use and found.why == TRIALS[0].why
    before = kernels.calls
    for _ in range(2):
        reply(engine, ASKED)
    assert kernels.calls > before + 2
    assert begin()[0]._look is None  # once


def test_what_was_seen_is_still_known_after_the_next_start(begin, monkeypatch):
    monkeypatch.setattr(second_look, "_ENOUGH", 1000)
    for started in range(3):
        engine, _ = begin()
        assert engine._look.evidence["replies"] == started
        reply(engine, ASKED)
    assert len(engine._look.evidence["passes"]) > 10


def test_plain_decoding_comparisons_and_benchmarks_are_left_alone(begin):
    engine, _ = begin()
    proved, look = engine.pair.operations, engine._look
    reply(engine, replace(ASKED, mode="plain", width=None))
    list(engine.compare(CompareRequest(ASKED, repeats=1)))
    assert look is engine._look and look.with_kernels and look.evidence["replies"] == 0
    assert engine.pair.operations is proved
    assert begin(second_look=False)[0]._look is None
    assert Engine()._second_look is False  # which is what benchmarks make


def test_a_stopped_or_closed_reply_leaves_the_kernels_in_use(begin):
    engine, _ = begin()
    proved = engine.pair.operations
    for _ in range(2):
        events = engine.generate(ASKED, threading.Event())
        next(events)
        events.close()
        assert engine.pair.operations is proved


def test_an_engine_without_a_pair_says_so_also_after_a_look(begin):
    engine, _ = begin()
    running = engine.generate(ASKED)
    next(running)
    engine.unload()
    assert list(running) == []
    assert "No pair is loaded" in failure(engine, ASKED)
