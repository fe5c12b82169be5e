"""The computer rests between the steps of replies, whose texts stay the same."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.events import CompareResult, Event
from mlx_engine.contract.requests import Compare, Rest
from mlx_engine.decoding import turns
from mlx_engine.decoding.costs import ASSUMED, PassCosts, PassKind
from mlx_engine.engine.engine import Engine
from mlx_engine.engine.host import EngineHost
from mlx_engine.hardware import device
from tests.examples import sampled
from tests.mlx_engine.asking import reply, tokens, wait_for
from tests.mlx_engine.engine.test_host_turns import Stepping, named
from tests.mlx_engine.engine.test_turns import REQUESTS, together
from tests.mlx_engine.prefix.prefix_pairs import PROMPT
from tests.mlx_engine.targets.target_passes import before_each_pass

PASS_S = 0.25


class Clock(threading.Event):
    """Time that passes only in passes, and in rests, which it records: the reply waits for its own cancellation."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.rests: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.rests.append(timeout)
        self.now += timeout
        return self.is_set()


@pytest.fixture
def clock(tiny: Engine, monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()

    def work(rows: int) -> None:
        found.now += PASS_S

    monkeypatch.setattr("mlx_engine.decoding.turns.time.perf_counter", lambda: found.now)
    before_each_pass(tiny.pair.target, monkeypatch, work)
    return found


@contextmanager
def resting(engine: Engine, share: float) -> Iterator[None]:
    assert list(engine.run(Rest(share))) == []
    try:
        yield
    finally:
        assert list(engine.run(Rest())) == []


@sampled(6)
@given(data=st.data())
def test_no_text_depends_on_rests(tiny: Engine, data: st.DataObject) -> None:
    """Neither alone nor next to others, nor if rests begin or end in the middle, whether rounds are queued ahead or not."""
    requests = data.draw(st.lists(REQUESTS, min_size=1, max_size=3), "requests")
    queued, changes = data.draw(st.booleans(), "queued ahead"), data.draw(st.sets(st.integers(0, 40)), "turns with a change")
    exact = data.draw(st.booleans(), "exact")
    requests = [replace(request, reuse=False, exact=exact) for request in requests]
    wanted = [reply(tiny, request) for request in requests]
    tiny.pair.use_costs(replace(ASSUMED, queued=queued))
    turn = 0

    def change(*_: object) -> None:
        nonlocal turn
        if turn in changes:
            list(tiny.run(Rest(0.0 if tiny._turns.rest_share else 0.2)))
        turn += 1

    with pytest.MonkeyPatch.context() as patch, resting(tiny, 0.2):
        if queued:
            patch.setattr(device, "runs_beside_host", lambda: True)
        patch.setattr(turns, "LEAST_REST_S", 0.0)
        patch.setattr(turns.ReplyClock, "pause", _after(turns.ReplyClock.pause, change))
        found = together(tiny, requests)
    tiny.pair.use_costs(ASSUMED)
    assert [(one.tokens, one.text, one.reason) for one in found] == [(one.tokens, one.text, one.reason) for one in wanted]


def _after(method, act):  # type: ignore[no-untyped-def]
    def run(*arguments):  # type: ignore[no-untyped-def]
        method(*arguments)
        act()

    return run


@pytest.mark.parametrize("mode", ["plain", "dflash"])
def test_rests_are_in_proportion_to_the_work_and_part_of_the_rates(tiny: Engine, clock: Clock, mode: str) -> None:
    request = tokens(PROMPT, max_tokens=11, mode=mode, ignore_eos=True)
    *_, (*_, alone) = tiny.steps(request, clock)
    worked = clock.now
    assert not clock.rests and alone.stats.rest_s == 0.0
    with resting(tiny, 0.5):
        *_, (*_, end) = tiny.steps(request, clock)
    assert {rest for rest in clock.rests if rest} == {PASS_S}
    assert clock.now == worked * 2 + sum(clock.rests) == worked * 3
    assert end.stats.rest_s == worked - PASS_S  # the one after the last token isn't part of the reply
    assert end.stats.prefill_s + end.stats.decode_s == 2 * worked - PASS_S
    assert end.stats.decode_tok_s == (end.stats.tokens - 1) / end.stats.decode_s
    clock.rests.clear()
    with resting(tiny, 0.2):  # four passes for one that rests
        list(tiny.steps(request, clock))
    assert set(clock.rests) == {PASS_S} and len(clock.rests) == int(worked / PASS_S) // 4
    with resting(tiny, 0.9):
        list(tiny.steps(request, clock))
    assert max(clock.rests) == 0.5  # so that a new message begins soon


@pytest.mark.parametrize("mode", ["plain", "dflash"])
@pytest.mark.parametrize("replies", [1, 2])
def test_no_pass_is_in_progress_while_the_computer_rests(
    tiny: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch, mode: str, replies: int
) -> None:
    """Not even where rounds, plain steps and shared passes would be queued ahead."""
    monkeypatch.setattr(device, "runs_beside_host", lambda: True)
    tiny.pair.use_costs(replace(ASSUMED, queued=True))
    unread: list[int] = []
    wait = clock.wait

    def watch(timeout: float | None = None) -> bool:
        unread.append(sum(stream.unread for stream in tiny._turns.scheduler._streams))
        return wait(timeout)

    monkeypatch.setattr(clock, "wait", watch)
    request = tokens(PROMPT, max_tokens=24, mode=mode, ignore_eos=True)
    with resting(tiny, 0.5):
        running = [tiny.steps(request, clock) for _ in range(replies)]
        while running:
            running = [steps for steps in running if next(steps, None) is not None]
    tiny.pair.use_costs(ASSUMED)
    # Of replies that share a pass, the others read it in their turns
    assert len(unread) > 5 and max(unread) <= replies - 1


def test_costs_of_passes_contain_no_rests(tiny: Engine, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    seconds: list[float] = []
    record = PassCosts.record

    def watch(costs: PassCosts, kind: PassKind, depth: int, taken: float, times: int = 1) -> None:
        seconds.append(taken)
        record(costs, kind, depth, taken, times)

    monkeypatch.setattr(PassCosts, "record", watch)
    with resting(tiny, 0.5):
        list(tiny.steps(tokens(PROMPT, max_tokens=24, ignore_eos=True), clock))
    assert seconds and set(seconds) == {PASS_S}


def test_comparisons_do_not_rest(tiny: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "LEAST_REST_S", 0.0)
    with resting(tiny, 0.3):
        *_, result = tiny.run(Compare((tokens(PROMPT, max_tokens=8, ignore_eos=True),)))
        assert isinstance(result, CompareResult)
        assert [run.rest_s for one in result.results for run in one.runs] == [0.0, 0.0]
        assert reply(tiny, tokens(PROMPT, max_tokens=8, ignore_eos=True)).stats.rest_s > 0


def test_rests_begin_in_the_middle_of_replies() -> None:
    class Resting(Stepping):
        def run(self, request, cancel):  # type: ignore[no-untyped-def]
            if isinstance(request, Rest):
                self.order.append(request.share)
            return super().run(request, cancel)

    engine = Resting()
    host = EngineHost(lambda: engine)  # type: ignore[arg-type, return-value]
    seen: list[list[Event | None]] = [[], []]
    host.submit(named(1, 6), seen[0].append)
    host.submit(Rest(0.5), seen[1].append)
    engine.gate.set()
    wait_for(host, seen)
    assert engine.order.index(0.5) < 6
