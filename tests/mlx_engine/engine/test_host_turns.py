"""The host gives fair turns to replies, and runs other requests alone."""

import threading
from collections.abc import Iterator, Sequence
from itertools import pairwise
from math import ceil
from typing import Any

import pytest

from mlx_engine.contract.client import Run
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import Commit, Event, Failed, Queued, WorkProgress
from mlx_engine.contract.requests import CountTokens, GenerationRequest, MeasureMachine, Message, Request
from mlx_engine.contract.token_counts import TokenCount
from mlx_engine.contract.urgency import MOST_PASSED, Urgency
from mlx_engine.engine.host import EngineHost
from tests.engine_double import EngineDouble
from tests.mlx_engine.asking import wait_for


class Stepping(EngineDouble):
    """Records who makes each step. A reply's seed is its name, and its token limit the number of its steps."""

    def __init__(self) -> None:
        self.order: list[Any] = []
        self.gate = threading.Event()

    def steps(
        self, request: GenerationRequest, cancel: threading.Event, submitted: float | None = None
    ) -> Iterator[Sequence[Event]]:
        for _ in range(request.max_tokens):
            assert self.gate.wait(120)
            self.order.append(request.seed)
            if cancel.is_set():
                return
            yield [Commit("a", "answer", (1,), ("target",))]

    def generate(self, request: GenerationRequest, cancel: threading.Event) -> Iterator[Event]:
        return (event for events in self.steps(request, cancel) for event in events)

    def count_tokens(self, request: CountTokens) -> TokenCount:
        self.order.append("count")
        return TokenCount(1, 2)

    def roofline(self, cancel: threading.Event, again: bool) -> Iterator[Event]:
        for _ in range(2):
            self.order.append("alone")
            yield WorkProgress(0.5, EngineText.of("measuring", "Measuring"))


def named(name: int, steps: int, **options: Any) -> GenerationRequest:
    return GenerationRequest(prompt_tokens=(1,), seed=name, max_tokens=steps, **options)


class Host:
    """An `EngineHost` of a `Stepping` engine, whose first step waits until all jobs are submitted."""

    def __init__(self, **limits: int) -> None:
        self.engine = Stepping()
        self.host = EngineHost(lambda: self.engine, **limits)  # type: ignore[arg-type, return-value]
        self.events: list[list[Event | None]] = []
        self.submit(named(0, 1))  # keeps the engine's thread at the gate

    def submit(self, request: Request) -> Run:
        seen: list[Event | None] = []
        self.events.append(seen)
        return self.host.submit(request, seen.append)

    def run(self) -> list[Any]:
        """Let the engine go on, and return the order of all steps."""
        self.engine.gate.set()
        wait_for(self.host, self.events)
        return self.engine.order


def gaps(order: list[Any], name: int) -> int:
    """Return the most steps of others between two steps of a reply."""
    at = [index for index, each in enumerate(order) if each == name]
    return max(later - earlier - 1 for earlier, later in pairwise(at))


def test_replies_take_turns_and_later_ones_wait_for_their_end() -> None:
    host = Host(max_active=4)
    for name in range(1, 7):
        host.submit(named(name, 20))
    order = host.run()
    assert order[0] == 0 and order.count(6) == 20
    for name in range(1, 7):
        assert gaps(order, name) <= 3  # one step of each of the other active ones
    first = [order.index(name) for name in range(1, 7)]
    assert first == sorted(first) and first[3] > order.index(0) and first[4] >= 3 * 20
    queued = [[event.position for event in seen if isinstance(event, Queued)] for seen in host.events]
    assert queued[1:4] == [[], [], []] and queued[5] == [2, 1] and queued[6] == [3, 2, 1]


def test_more_replies_begin_only_if_the_engine_gains_from_them() -> None:
    class Full(Stepping):
        def gains(self, running: int) -> bool:
            return running < 2

    host = Host(min_active=1)
    host.engine.__class__ = Full
    while host.host._engine is None:
        assert not host.host._ended.wait(0.001)
    for name in range(1, 6):
        host.submit(named(name, 9))
    host.submit(named(9, 9, foreground=True))
    order = host.run()
    assert order.index(9) <= 2, "a user's reply always begins"
    for name in range(3, 6):
        ended = [order[: order.index(name)].count(earlier) == 9 for earlier in range(1, name)]
        assert sum(ended) >= name - 2
    assert all(order.count(name) == 9 for name in range(1, 6))


def test_no_reply_begins_while_one_that_comes_before_it_waits_for_memory() -> None:
    class Full(Stepping):
        def awaits_memory(self, urgency: Urgency) -> bool:
            return urgency == Urgency.LOW

    host = Host()
    host.engine.__class__ = Full
    while host.host._engine is None:
        assert not host.host._ended.wait(0.001)
    for name in (1, 2):
        host.submit(named(name, 9))
    host.submit(named(3, 9, gives_way=True))
    order = host.run()
    assert order.index(2) < 4 and order[order.index(3) :] == [3] * 9


def test_a_reply_that_gives_way_goes_on_next_to_others_but_not_next_to_what_runs_alone() -> None:
    host = Host()
    title = host.submit(named(1, 9, gives_way=True))
    host.submit(named(2, 9, foreground=True))
    host.submit(CountTokens(GenerationRequest((Message("user", "Hello"),))))
    assert not title.cancelled.is_set()
    host.submit(MeasureMachine())
    assert title.cancelled.is_set()
    host.run()


def test_counts_of_tokens_are_no_replies_that_pass() -> None:
    host = Host(max_active=1, max_queued=99)
    host.submit(named(1, 1))
    host.submit(named(2, 1, gives_way=True))
    for _ in range(MOST_PASSED):
        host.submit(CountTokens(GenerationRequest((Message("user", "a"),))))
    host.submit(named(3, 1))
    assert [each for each in host.run() if each != "count"] == [0, 1, 3, 2]


def test_replies_that_give_way_begin_last_but_are_passed_only_so_often() -> None:
    host = Host(max_active=1, max_queued=99)
    host.submit(named(1, 1))
    for name in (2, 3):
        host.submit(named(name, 1, gives_way=True))
    others = list(range(4, 4 + 2 * MOST_PASSED))
    for name in others:
        host.submit(named(name, 1))
    assert host.run() == [0, 1, *others[:MOST_PASSED], 2, 3, *others[MOST_PASSED:]]


def test_the_foreground_begins_within_two_steps_and_has_every_second_turn() -> None:
    host = Host(max_active=4)
    for name in range(1, 9):
        host.submit(named(name, 30))
    host.submit(named(9, 10, foreground=True))
    order = host.run()
    assert order.index(9) <= 2  # the first step was made before it was submitted
    assert gaps(order, 9) == 1
    for name in range(1, 4):
        assert gaps(order, name) <= 7  # three others, and the foreground four times


def test_two_foreground_replies_share_their_turns() -> None:
    host = Host()
    for name in (1, 2):
        host.submit(named(name, 12))
    for name in (8, 9):
        host.submit(named(name, 6, foreground=True))
    order = host.run()
    both = [name for name in order if name in (8, 9)]
    assert both == [8, 9] * 6 and gaps(order, 8) == gaps(order, 9) == 3


def test_a_full_queue_refuses_replies_and_says_when_to_try_again() -> None:
    host = Host(max_active=2, max_queued=3)
    for name in range(1, 8):
        host.submit(named(name, 2))
    host.submit(named(9, 2, foreground=True))
    for seen in host.events[5:8]:
        failed, end = seen
        assert isinstance(failed, Failed) and failed.code == "too_busy" and end is None
        assert dict(failed.values)["seconds"] == 10, "one runs so far"
    order = host.run()
    assert sorted(set(order)) == [0, 1, 2, 3, 4, 9]


def test_a_refusal_counts_the_replies_that_run_not_those_that_could() -> None:
    class Full(Stepping):
        def gains(self, running: int) -> bool:
            return running < 2

    host = Host(max_active=4, max_queued=1, min_active=1)
    host.engine.__class__ = Full
    running: list[Event | None] = []
    expected: list[int] = []

    def submit_others(event: Event | None) -> None:
        running.append(event)
        if len(running) == 2:  # next to another reply
            for name in range(3, 7):
                host.submit(named(name, 2))
            expected.append(ceil(host.host._reply_s / 2))

    host.submit(named(1, 9))
    host.host.submit(named(2, 9), submit_others)
    host.engine.gate.set()
    while not expected:
        assert not host.host._ended.wait(0.001)
    host.run()
    failed = host.events[-1][0]
    assert isinstance(failed, Failed) and dict(failed.values)["seconds"] == expected[0] > 1


def test_other_requests_run_alone_and_later_replies_wait_behind_them() -> None:
    host = Host()
    host.submit(named(1, 5))
    host.submit(MeasureMachine())
    host.submit(named(2, 5))
    host.submit(named(3, 5, foreground=True))
    order = host.run()
    alone = order.index("alone")
    assert order[:alone].count(1) == 5 and order[alone + 1] == "alone" and set(order[alone + 2 :]) == {2, 3}


def test_exact_replies_run_only_next_to_each_other() -> None:
    host = Host()
    for name, exact in enumerate((True, True, False, False, True), 1):
        host.submit(named(name, 5, exact=exact))
    assert host.run() == [0] + [1, 2] * 5 + [3, 4] * 5 + [5] * 5


def test_tokens_are_counted_between_the_steps_of_replies() -> None:
    host = Host()
    host.submit(named(1, 9))
    host.submit(CountTokens(GenerationRequest((Message("user", "Hello"),))))
    order = host.run()
    assert order.index("count") <= 2


def test_a_reply_cancelled_in_the_queue_ends_at_once() -> None:
    host = Host(max_active=2)
    runs = [host.submit(named(name, 20)) for name in range(1, 5)]
    runs[-1].cancel()
    order = host.run()
    assert order.index(4) <= 4 and order.count(4) == 1


def test_a_bug_in_one_reply_does_not_end_the_others(caplog: pytest.LogCaptureFixture) -> None:
    class Faulty(Stepping):
        def steps(self, request: GenerationRequest, *rest: Any) -> Iterator[Sequence[Event]]:
            if request.seed == 2:
                raise ZeroDivisionError
            return super().steps(request, *rest)

    host = Host()
    host.engine.__class__ = Faulty
    for name in (1, 2, 3):
        host.submit(named(name, 4))
    order = host.run()
    assert order.count(1) == order.count(3) == 4
    assert [event.code for event in host.events[2] if event] == ["internal"] and "ZeroDivisionError" in caplog.text


def test_a_reply_cancelled_behind_a_request_that_runs_alone_does_not_run_next_to_it() -> None:
    host = Host()

    def submit_others(event: Event | None) -> None:  # as soon as the first measurement runs
        if event is not None and len(host.events) == 1:
            host.submit(MeasureMachine())
            host.submit(named(1, 5)).cancel()

    host.host.submit(MeasureMachine(), submit_others)
    host.engine.gate.set()
    while len(host.events) < 3:
        assert not host.host._ended.wait(0.001)
    assert host.run() == [0, *["alone"] * 4, 1]
