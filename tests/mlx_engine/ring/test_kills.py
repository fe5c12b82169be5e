"""Ranks that die or stop at any moment: the reply ends with what it has, and the next one is complete."""

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from random import Random

import pytest

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Commit, Event, Failed, Finished
from mlx_engine.contract.requests import LoadPair
from mlx_engine.contract.whole_replies import fold
from mlx_engine.engine.bridge import to_iter
from mlx_engine.engine.engine import Engine
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.network.channel import Channel, free_address, listen
from mlx_engine.network.frames import ChannelClosed
from mlx_engine.ring.pairing import KnownWorker, meet_leader, new_identity
from mlx_engine.ring.ring_engine import RingEngine
from mlx_engine.ring.ring_plan import RingPlan
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.ring.workers import HOST, RunningWorker, children, plan, running_workers

pytestmark = pytest.mark.long

REQUEST = tokens(range(5, 45), seed=3, max_tokens=40, ignore_eos=True)
LOST = {"worker_lost", "worker_failed", "worker_silent", "ring_ended", "ring_not_joined"}
KILLS = 50


class Followed:
    """A request's events, as they arrive."""

    def __init__(self, engine: RingEngine) -> None:
        self.events: list[Event] = []
        self.writes, self.ended = threading.Event(), threading.Event()
        engine.submit(REQUEST, self._add)

    def _add(self, event: Event | None) -> None:
        if event is None:
            self.ended.set()
            return
        self.events.append(event)
        if isinstance(event, Commit):
            self.writes.set()

    @property
    def tokens(self) -> list[int]:
        return [token for event in self.events if isinstance(event, Commit) for token in event.tokens]


def kill_leader() -> None:
    for leader in children(os.getpid(), "mlx_engine.ring.leader"):
        with suppress(ProcessLookupError):
            os.kill(leader, signal.SIGKILL)


def test_replies_end_after_kills_at_random_moments(demo: Engine) -> None:
    whole, random = list(reply(demo, REQUEST).tokens), Random(40)
    with running_workers(1) as workers:
        engine = RingEngine(lambda: plan(workers))
        list(to_iter(engine, LoadPair(*demo_pair())))
        for _ in range(KILLS):
            followed = Followed(engine)
            if random.random() < 0.5:  # otherwise probably while the pair is loaded again
                followed.writes.wait(120)
            time.sleep(random.uniform(0, 2))
            kill: Callable[[], object] = random.choice([workers[0].kill_rank, kill_leader])
            kill()
            assert followed.ended.wait(120), "nothing hangs"
            last = followed.events[-1]
            assert isinstance(last, Finished) or (isinstance(last, Failed) and last.code in LOST), last
            assert followed.tokens == whole[: len(followed.tokens)]
        assert list(fold(list(to_iter(engine, REQUEST))).tokens) == whole
        assert engine.wait(60)


def test_ranks_that_cannot_reach_each_other_are_named() -> None:
    """A firewall that drops MLX's connection: it waits without end, and no other thread of rank 0 runs."""
    identity, server, is_over = new_identity(), listen(HOST, 0), threading.Event()

    def pretend() -> None:
        channel = Channel.accepted(server)
        assert channel is not None and meet_leader(channel, identity, identity.context())
        for message in (["model", True], ["started"], ["address", free_address(HOST)]):
            channel.send(message)
        with suppress(ChannelClosed):
            while not is_over.wait(1):
                channel.send(["alive"])
        channel.close()

    thread = threading.Thread(target=pretend)
    thread.start()
    engine = RingEngine(lambda: RingPlan((KnownWorker(HOST, server.getsockname()[1], identity.code),)))
    with pytest.raises(UserError, match="firewall"):
        list(to_iter(engine, LoadPair(*demo_pair())))
    is_over.set()
    thread.join()
    server.close()
    assert engine.wait(60)


@pytest.mark.parametrize(("stop", "code"), [(RunningWorker.kill_rank, "worker_silent"), (RunningWorker.stop, "worker_lost")])
def test_a_computer_that_sleeps_ends_the_reply(stop: Callable[..., object], code: str, demo: Engine) -> None:
    """The next reply is complete, after it has woken up."""
    limits = {"silent_s": 15.0} if stop is RunningWorker.stop else {"pass_s": 5.0}
    with running_workers(1) as workers:
        engine = RingEngine(lambda: plan(workers, **limits))
        list(to_iter(engine, LoadPair(*demo_pair())))
        followed = Followed(engine)
        assert followed.writes.wait(120)
        stop(workers[0], signal.SIGSTOP)
        assert followed.ended.wait(120)
        assert [event.code for event in followed.events if isinstance(event, Failed)] == [code]
        assert followed.tokens == list(reply(demo, REQUEST).tokens)[: len(followed.tokens)]
        stop(workers[0], signal.SIGCONT)
        assert fold(list(to_iter(engine, REQUEST))).tokens == reply(demo, REQUEST).tokens
        assert engine.wait(60)
