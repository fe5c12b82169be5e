"""Memory for replies goes to those that a user waits for, and every reply gets some."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.urgency import MOST_PASSED, Urgency
from mlx_engine.hardware import memory
from mlx_engine.hardware.ledger import MemoryLedger
from tests.examples import sampled

LIMIT = 10
ARRIVALS = st.lists(st.tuples(st.sampled_from(Urgency), st.integers(1, LIMIT)), min_size=1, max_size=80)


@given(ARRIVALS, st.randoms(use_true_random=False))
@sampled(100)
def test_memory_goes_by_urgency_then_by_arrival_and_nobody_starves(arrivals: list[tuple[Urgency, int]], draw) -> None:
    room = MemoryLedger(lambda tokens: (tokens, 0), lambda: 0, None)
    waiting: list[int] = []  # indices of arrivals, as all of the following
    running: list[int] = []
    passed = dict.fromkeys(range(len(arrivals)), 0)
    began: list[int] = []
    arrived = 0

    def poll(reply: int) -> None:
        """Ask for memory, as a reply does in its turn."""
        urgency, size = arrivals[reply]
        if not room.take(reply, size, 0, urgency=urgency):
            return
        waiting.remove(reply)
        running.append(reply)
        began.append(reply)
        for other in waiting:
            if other < reply:
                passed[other] += 1
                assert arrivals[other][0] > urgency, "a reply passes only less urgent ones"
            elif arrivals[other][0] < urgency:
                assert passed[reply] == MOST_PASSED, "a reply goes before a more urgent one only if too many have passed it"

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "working_set", lambda: LIMIT)
        while arrived < len(arrivals) or waiting or running:
            if arrived < len(arrivals) and draw.random() < 0.6:
                waiting.append(arrived)
                arrived += 1
                poll(waiting[-1])
            elif waiting and draw.random() < 0.7:
                poll(draw.choice(waiting))
            elif running:
                room.release(running.pop(draw.randrange(len(running))))
            assert sum(arrivals[reply][1] for reply in running) <= LIMIT
            if waiting and not running:
                for reply in list(waiting):
                    poll(reply)
                assert running, "the first reply begins if none holds memory"
    assert sorted(began) == list(range(len(arrivals)))
    assert max(passed.values()) <= MOST_PASSED


def test_only_replies_that_come_first_keep_others_waiting() -> None:
    room = MemoryLedger(lambda tokens: (tokens, 0), lambda: 0, None)
    assert room.take("running", 9, 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "working_set", lambda: LIMIT)
        assert not room.take("title", 9, 0, urgency=Urgency.LOW)
        assert [room.is_awaited(urgency) for urgency in Urgency] == [False, False, True]
        assert not room.take("agent", 9, 0)
        assert [room.is_awaited(urgency) for urgency in Urgency] == [False, True, True]
        room.release("agent")
        room.release("running")
        assert room.take("title", 9, 0, urgency=Urgency.LOW) and not room.is_awaited(Urgency.LOW)


def test_replies_next_to_each_other_need_memory_for_the_passes_that_they_share() -> None:
    room = MemoryLedger(lambda tokens: (tokens, 1), lambda: 0, None, shared=5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "working_set", lambda: LIMIT)
        assert room.take("alone", 9, 0)
        room.release("alone")
        assert room.take("one", 2, 0) and room.take("two", 3, 0) and not room.take("three", 1, 0)
