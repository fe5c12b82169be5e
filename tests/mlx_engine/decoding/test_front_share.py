"""The reply that a user waits for keeps its share of the time, by a scripted clock; see `front_share`."""

from collections import Counter
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.urgency import Urgency
from mlx_engine.decoding.costs import PLAIN_STEP, PassKind
from mlx_engine.decoding.front_share import FrontShare
from mlx_engine.decoding.scheduler import Scheduler, decode
from mlx_engine.engine.engine import Engine
from tests.examples import sampled
from tests.mlx_engine.decoding.streams import Scripted, prefilled
from tests.mlx_engine.targets.target_passes import before_each_pass

PROMPT = (73, 119, 51, 37, 73, 117, 82)


class Machine:
    """A machine whose passes take `base + per_row * rows` seconds, and turns of a scheduler as the host gives them."""

    def __init__(self, engine: Engine, patch: pytest.MonkeyPatch, base: float, per_row: float) -> None:
        self.engine, self.now = engine, 0.0
        self.base, self.per_row = base, per_row
        self.chunks = 0  # of prompts
        self.scheduler = Scheduler(lambda: self.now)
        before_each_pass(engine.pair.target, patch, lambda rows: self.work(self.base + self.per_row * rows))

    def work(self, seconds: float) -> None:
        self.now += seconds

    def reply(self, passes: list[PassKind], limit: int, foreground: bool) -> Iterator[list[int]]:
        """Yield the tokens of each turn of a reply."""
        stream = prefilled(self.engine.pair, PROMPT, Scripted(passes), limit, foreground=foreground)
        for step in decode(stream, self.engine.pair.target, self.scheduler, alone=lambda: False):
            yield list(step.tokens) if step is not None else []

    def prompts(self, seconds: float, urgency: Urgency = Urgency.NORMAL) -> Iterator[list[int]]:
        """Yield in each turn of an endless prompt, whose chunks take so long."""
        with self.scheduler.prompt(urgency):
            while True:
                for _ in self.scheduler.before_chunk(urgency):
                    yield []
                with self.scheduler.chunk():
                    self.work(seconds)
                self.chunks += 1
                yield []

    def run(self, front: Iterator[list[int]], others: list[Iterator[list[int]]]) -> list[int]:
        """Return the tokens of the front, which has every second turn, after its end."""
        said: list[int] = []
        waiting = list(others)
        for tokens in front:
            said += tokens
            while waiting:
                other = waiting.pop(0)
                if next(other, None) is not None:
                    waiting.append(other)
                    break
        return said


@pytest.fixture
def machine(tiny, monkeypatch) -> Callable[[float, float], Machine]:
    return lambda base, per_row: Machine(tiny, monkeypatch, base, per_row)


KINDS = st.sampled_from([[PLAIN_STEP], [PassKind("drafter", 4)], [PassKind("drafter", 8), PLAIN_STEP]])


@sampled(6)
@given(
    kinds=KINDS,
    others=st.lists(KINDS, max_size=6),
    chunks=st.lists(st.floats(0.5, 40.0), max_size=3),
    per_row=st.floats(0.0, 1.0),
)
def test_the_front_runs_at_half_of_its_speed_alone_at_least(tiny, kinds, others, chunks, per_row):
    """Whatever others' passes and chunks cost, but for the first chunk, whose time is unknown, and a few passes."""
    limit = 60
    with pytest.MonkeyPatch.context() as patch:
        alone = Machine(tiny, patch, 1.0, per_row)
        wanted = alone.run(alone.reply(kinds, limit, True), [])
    with pytest.MonkeyPatch.context() as patch:
        shared = Machine(tiny, patch, 1.0, per_row)
        work = [shared.reply(each, 10_000, False) for each in others] + [shared.prompts(seconds) for seconds in chunks]
        assert shared.run(shared.reply(kinds, limit, True), work) == wanted
        for each in work:
            each.close()  # type: ignore[attr-defined]
    largest = 1.0 + per_row * 8 * (len(others) + 1)
    assert shared.now <= 2 * (alone.now + max(chunks, default=0.0)) + 3 * largest


@pytest.mark.parametrize("urgency", [Urgency.NORMAL, Urgency.LOW])
def test_prompts_progress_next_to_the_front_and_other_replies(machine, urgency):
    """A shared pass takes three times as long as one alone, so the front never earns a chunk in shared passes."""
    one = machine(0.0, 1.0)
    work = [*(one.reply([PLAIN_STEP], 10_000, False) for _ in range(2)), one.prompts(4.0, urgency)]
    counts = Counter[int]()

    def counted(at: int) -> Iterator[list[int]]:
        for turn in work[at]:
            counts[at] += len(turn)
            yield turn

    one.run(one.reply([PLAIN_STEP], 200, True), [counted(at) for at in range(len(work))])
    assert one.chunks >= (4 if urgency == Urgency.NORMAL else 2) and min(counts[0], counts[1]) >= 4
    for each in work:
        each.close()  # type: ignore[attr-defined]


def test_the_time_alone_is_that_of_the_front(machine):
    """Another reply's passes alone took longer, so they must not be what the front earns."""
    one = machine(80.0, 0.0)
    other = one.reply([PLAIN_STEP], 10_000, False)
    for _ in range(10):
        next(other)
    one.base, one.per_row, began = 0.0, 30.0, one.now
    others = [other, *(one.reply([PLAIN_STEP], 10_000, False) for _ in range(2))]
    one.run(one.reply([PLAIN_STEP], 60, True), others)
    assert one.now - began <= 2 * 60 * 30.0 + 3 * 120.0
    for each in others:
        each.close()  # type: ignore[attr-defined]


def test_the_next_front_learns_its_own_time_alone():
    """It has another depth, and perhaps another pair."""
    share = FrontShare()
    share.record_alone(1, 80.0)
    share.earn(1)
    assert not share.is_behind
    share.begin()
    assert share.is_behind


@pytest.mark.parametrize("streams", [0, 1])
def test_a_prompt_that_gives_way_is_computed_between_endless_prompts(machine, streams):
    one = machine(1.0, 0.0)
    others = [one.reply([PLAIN_STEP], 10_000, False) for _ in range(streams)]
    high, low = one.prompts(3.0), one.prompts(3.0, Urgency.LOW)
    for _ in range(300):
        for each in (*others, high):
            next(each)
        before = one.now
        next(low)
        if one.now > before:
            break
    else:
        pytest.fail("it never is")
    for each in (*others, high, low):
        each.close()  # type: ignore[attr-defined]


def test_others_share_its_passes_while_these_are_cheap(machine):
    """Three plain streams next to it: the pass takes 1.4 times as long, so that all are faster together."""
    one = machine(0.9, 0.1)
    others = [one.reply([PLAIN_STEP], 10_000, False) for _ in range(3)]
    counts = [0] * 3

    def counted(at: int) -> Iterator[list[int]]:
        for tokens in others[at]:
            counts[at] += len(tokens)
            yield tokens

    said = one.run(one.reply([PLAIN_STEP], 60, True), [counted(at) for at in range(3)])
    assert len(said) == 60 and min(counts) >= 40
    assert one.now < 60 * 1.5
    for each in others:
        each.close()  # type: ignore[attr-defined]


def test_without_a_front_a_chunk_follows_each_pass(machine):
    """A prompt's first token comes as soon as its chunks and one pass for each of them allow."""
    one = machine(1.0, 0.0)
    streams = [one.reply([PLAIN_STEP], 10_000, False) for _ in range(3)]
    for _ in range(4):
        for each in streams:
            next(each)
    began, prompt = one.now, one.prompts(5.0)
    chunks = 0
    while chunks < 8:
        before = one.now
        next(prompt)
        chunks += one.now - before >= 5.0
        for each in streams:
            next(each)
    assert one.now - began <= 8 * (5.0 + 1.0) + 3
    for each in (*streams, prompt):
        each.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("streams", [0, 1])
@pytest.mark.parametrize("higher", [Urgency.FRONT, Urgency.NORMAL])
def test_chunks_of_replies_that_give_way_come_last(machine, higher, streams):
    one = machine(1.0, 0.0)
    others = [one.reply([PLAIN_STEP], 10_000, False) for _ in range(streams)]
    high, low = one.prompts(3.0, higher), one.prompts(3.0, Urgency.LOW)
    for each in (*others, high):
        next(each)
    for _ in range(12):
        before = one.now
        next(low)
        assert one.now == before
        for each in (high, *others):
            next(each)
    high.close()  # type: ignore[attr-defined]
    before = one.now
    next(low)
    assert one.now == before + 3.0
    for each in (*others, low):
        each.close()  # type: ignore[attr-defined]


def test_a_front_that_makes_no_passes_does_not_stop_others(machine):
    one = machine(1.0, 0.1)
    front, other = one.reply([PLAIN_STEP], 100, True), one.reply([PLAIN_STEP], 20, False)
    next(front)  # and then never again
    said = [token for turn in other for token in turn]
    assert len(said) == 20
    front.close()  # type: ignore[attr-defined]
