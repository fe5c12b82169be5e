"""The front end's side of rank 0: it never waits for it, and starts it again only for what a user waits for."""

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import IO, Any

import pytest

from mlx_engine.contract.events import Event, Failed
from mlx_engine.contract.requests import Compare, CountTokens, GenerationRequest, LoadPair, Message, Request, UnloadPair
from mlx_engine.models.library.pair import demo_pair
from mlx_engine.ring import ring_engine
from mlx_engine.ring.pairing import KnownWorker
from mlx_engine.ring.ring_engine import RingEngine
from mlx_engine.ring.ring_plan import RingPlan
from tests.app.scripted_engine import PAIR

HELLO = GenerationRequest((Message("user", "Hello"),))
PLAN = RingPlan((KnownWorker("127.0.0.1", 1, ""),))


class Rank0:
    """Rank 0 in this process. It answers each request with a loaded pair, unless it is stuck."""

    def __init__(self, is_stuck: bool = False) -> None:
        reads, self._writes = os.pipe()
        self._reads, writes = os.pipe()
        self.requests, self._answers = Connection(reads, writable=False), Connection(writes, readable=False)
        self.seen: list[Request] = []
        self._thread = threading.Thread(target=self._answer)
        self._is_stuck, self._killing = is_stuck, threading.Lock()
        if not is_stuck:
            self._thread.start()

    def _answer(self) -> None:
        with suppress(EOFError, OSError):
            self.requests.recv()  # the plan
            while True:
                _, number, request = self.requests.recv()
                self.seen.append(request)
                if isinstance(request, LoadPair):
                    self._answers.send(("event", number, PAIR))
                self._answers.send(("event", number, None))

    def pipes(self) -> tuple[IO[bytes], IO[bytes]]:
        return os.fdopen(self._writes, "wb"), os.fdopen(self._reads, "rb")

    def kill(self) -> None:
        with self._killing:  # `_answer` ends with the other pipe
            self._answers.close()
            if self._is_stuck:
                self.requests.close()

    def wait(self) -> None:
        pass


class Ranks:
    """Starts ranks.

    Attributes:
        started: all so far.
        error: why no more can be started, or None.
        are_stuck: whether the next ones do nothing.
    """

    def __init__(self) -> None:
        self.started: list[Rank0] = []
        self.error: OSError | None = None
        self.are_stuck = False

    def start(self, module: str) -> tuple[Any, IO[bytes], IO[bytes]]:
        if self.error is not None:
            raise self.error
        self.started.append(rank := Rank0(self.are_stuck))
        return rank, *rank.pipes()


@pytest.fixture
def ranks(monkeypatch: pytest.MonkeyPatch) -> Ranks:
    made = Ranks()
    monkeypatch.setattr(ring_engine, "start_rank", made.start)
    return made


@pytest.fixture
def engine(ranks: Ranks) -> Iterator[RingEngine]:
    made = RingEngine(lambda: PLAN)
    yield made
    assert made.wait(60)


def run(engine: RingEngine, request: Request) -> list[Event]:
    found: list[Event] = []
    ended = threading.Event()
    engine.submit(request, lambda event: found.append(event) if event is not None else ended.set())
    assert ended.wait(60)
    return found


def lose(engine: RingEngine, ranks: Ranks) -> None:
    """Let rank 0 end, and wait until that is noticed."""
    leader = engine._leader
    assert leader is not None
    ranks.started[-1].kill()
    assert leader.join(60)


def test_only_what_a_user_waits_for_loads_the_pair_again(engine: RingEngine, ranks: Ranks) -> None:
    assert run(engine, LoadPair(*demo_pair())) == [PAIR]
    lose(engine, ranks)
    for minor in (CountTokens(HELLO), replace(HELLO, gives_way=True)):
        (failed,) = run(engine, minor)
        assert isinstance(failed, Failed) and failed.code == "ring_ended"
    assert len(ranks.started) == 1
    waiting: tuple[Request, ...] = (HELLO, Compare((HELLO,)))
    for at, waited_for in enumerate(waiting, 2):
        assert run(engine, waited_for) == []
        assert len(ranks.started) == at and ranks.started[-1].seen[-1] == waited_for
        assert run(engine, CountTokens(HELLO)) == [], "counted while rank 0 runs"
        lose(engine, ranks)


def test_a_rank_that_reads_nothing_does_not_block_the_window(engine: RingEngine, ranks: Ranks) -> None:
    ranks.are_stuck = True
    many = replace(HELLO, messages=(Message("user", "x" * 10_000_000),))
    engine.submit(LoadPair(*demo_pair()), lambda _: None)
    submitted = threading.Event()

    def submit() -> None:
        while engine._leader is None:  # it loads on a thread of its own
            pass
        engine.submit(many, lambda _: None).cancel()
        submitted.set()

    threading.Thread(target=submit, daemon=True).start()
    assert submitted.wait(60)


def test_a_rank_that_cannot_be_started_fails_the_request(engine: RingEngine, ranks: Ranks) -> None:
    assert run(engine, LoadPair(*demo_pair())) == [PAIR]
    lose(engine, ranks)
    ranks.error = OSError(24, "Too many open files")
    for request in (HELLO, LoadPair(*demo_pair())):
        (failed,) = run(engine, request)
        assert isinstance(failed, Failed) and failed.code == "ring_ended"


def test_an_unloaded_pair_stays_unloaded(engine: RingEngine, ranks: Ranks) -> None:
    """Also if rank 0 has loaded it at the same moment."""
    pair = LoadPair(*demo_pair())
    run(engine, pair)
    leader = engine._leader
    assert leader is not None
    late = engine._noting(leader, pair, lambda _: None)
    run(engine, UnloadPair())
    late(PAIR)
    (failed,) = run(engine, HELLO)
    assert isinstance(failed, Failed) and failed.code == "no_pair_loaded"
