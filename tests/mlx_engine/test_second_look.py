"""Kernels that won their trials go again where real replies are slower with them, and stay where they are not."""

import random
import threading
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine import proving, second_look
from mlx_engine.decoding.costs import PLAIN as PLAIN_STEP
from mlx_engine.decoding.costs import Pass
from mlx_engine.decoding.width import Choice, Outcome
from mlx_engine.events import CompareRequest, Trial
from mlx_engine.kernels.operations import PLAIN, Operations
from mlx_engine.second_look import SecondLook, due
from tests.mlx_engine.asking import reply, tokens

TRIALS = (
    Trial("kv_injection", True, "20.0 % less time a token", 0.010, 0.008),
    Trial("block_verify", False, "not quicker", 0.010, 0.011),
    Trial("verify_matmul", True, "10.0 % less time a token", 0.010, 0.009),
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
    assert not due(found)


def test_it_says_nothing_of_passes_that_cannot_be_compared():
    look = SecondLook(TRIALS)
    assert due(TRIALS) and not due(TRIALS[1:2])
    while not look.given_up:
        kind = Pass("drafter", 8 if look.with_kernels else 16)
        for _ in range(100):
            look.saw(Outcome(Choice(kind), 0, 0.01))
        look.ended()
    assert look.concluded() is None


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
def looking(tiny, tmp_path, monkeypatch):
    """An engine whose pair runs kernels that no second look was taken at."""
    monkeypatch.setattr(proving, "folder", lambda: tmp_path / "kernels")
    monkeypatch.setattr(second_look, "_ENOUGH", 4)

    def begin(pause: float) -> Kernels:
        kernels = Kernels(pause)
        proving.keep(tiny.pair, TRIALS)
        monkeypatch.setattr(proving, "operations", lambda pair: kernels.operations())
        tiny._use_proved(tiny.pair)
        return kernels

    yield begin
    tiny._look = None
    tiny.pair.use(PLAIN)


def test_real_replies_run_them_in_turn_and_keep_their_text(tiny, looking):
    """The pause of 50 ms a round is several times what a round of the tiny pair takes, whatever else runs here."""
    want = reply(tiny, ASKED)
    kernels = looking(0.05)
    turns = []
    for _ in range(4):
        before = kernels.calls
        assert reply(tiny, ASKED).tokens == want.tokens
        turns.append(kernels.calls > before)
    found = {trial.kernel: trial for trial in proving.known(tiny.pair)}
    assert turns[:2] == [True, False]
    assert not found["kv_injection"].used and "slower in real use" in found["kv_injection"].why
    assert tiny.pair.operations == PLAIN and tiny._look is None


def test_what_is_not_slower_is_used_from_then_on(tiny, looking, monkeypatch):
    monkeypatch.setattr(second_look, "_SLOWER", 1e9)
    kernels = looking(0.0)
    proved = tiny.pair.operations
    for _ in range(4):
        reply(tiny, ASKED)
    assert tiny._look is None and tiny.pair.operations is proved
    found = {trial.kernel: trial for trial in proving.known(tiny.pair)}
    assert found["kv_injection"].used and found["kv_injection"].in_use and found["kv_injection"].why == TRIALS[0].why
    before = kernels.calls
    for _ in range(2):
        reply(tiny, ASKED)
    assert kernels.calls > before + 2
    tiny._use_proved(tiny.pair)
    assert tiny._look is None  # once


def test_plain_decoding_and_comparisons_are_left_alone(tiny, looking):
    looking(0.0)
    proved, look = tiny.pair.operations, tiny._look
    reply(tiny, replace(ASKED, mode="plain", width=None))
    list(tiny.compare(CompareRequest(ASKED, repeats=1)))
    assert look is tiny._look and look.with_kernels and look._replies == 0
    assert tiny.pair.operations is proved


def test_a_stopped_or_closed_reply_leaves_the_kernels_in_use(tiny, looking):
    looking(0.0)
    proved = tiny.pair.operations
    for _ in range(2):
        events = tiny.generate(ASKED, threading.Event())
        next(events)
        events.close()
        assert tiny.pair.operations is proved
