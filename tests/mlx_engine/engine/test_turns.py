"""Replies that are generated at the same time have the texts that they have alone."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.events import Commit, CompletedReply, Event, Finished
from mlx_engine.contract.requests import GenerationRequest, LoadPair, Sampling
from mlx_engine.contract.whole_replies import fold
from mlx_engine.decoding import prefill
from mlx_engine.decoding.costs import ASSUMED, PLAIN_STEP, PassKind
from mlx_engine.decoding.scheduler import decode
from mlx_engine.decoding.stream import Stream
from mlx_engine.engine.bridge import to_iter
from mlx_engine.engine.engine import Engine
from mlx_engine.engine.host import EngineHost
from mlx_engine.hardware import device, memory
from mlx_engine.hardware.ledger import MemoryLedger
from mlx_engine.kernels.operations import PLAIN
from mlx_engine.targets.target import StreamRows, Target
from tests.examples import sampled
from tests.mlx_engine import tiny_families
from tests.mlx_engine.asking import question, reply, tokens, wait_for
from tests.mlx_engine.conftest import loaded, loaded_case
from tests.mlx_engine.decoding.streams import Scripted, prefilled
from tests.mlx_engine.prefix.prefix_pairs import LONGEST, PAIRS, PROMPT
from tests.mlx_engine.targets.target_passes import before_each_pass


@dataclass
class Running:
    """A reply whose steps a test takes."""

    steps: Iterator[Sequence[Event]]
    cancel: threading.Event
    events: list[Event] = field(default_factory=list)
    ended: bool = False

    def step(self) -> None:
        if self.ended:
            return
        events = next(self.steps, None)
        self.ended = events is None
        self.events += events or ()

    def finish(self) -> None:
        for _ in range(1000):
            if self.ended:
                return
            self.step()
        pytest.fail("the reply makes no progress")

    @property
    def whole(self) -> CompletedReply:
        end = self.events[-1]
        assert isinstance(end, Finished), end
        return fold(self.events)


def begin(engine: Engine, request: GenerationRequest) -> Running:
    cancel = threading.Event()
    return Running(engine.steps(request, cancel), cancel)


def together(engine: Engine, requests: Sequence[GenerationRequest]) -> list[CompletedReply]:
    """Return the replies to requests that start together and take turns."""
    running = [begin(engine, request) for request in requests]
    while going := [one for one in running if not one.ended]:
        for one in going:
            one.step()
    return [one.whole for one in running]


SAMPLED = ("growing", "rotating", "recurrent", "assistant")
OTHERS = (pytest.param(kind, marks=pytest.mark.long) for kind in ("dspark", "eagle3", "mtp"))


@pytest.fixture(scope="module", params=[*SAMPLED, *OTHERS])
def engine(request, tmp_path_factory) -> Iterator[Engine]:
    engine = loaded_case(PAIRS[request.param], tmp_path_factory)
    engine.snapshots.budget = 6 << 20
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prefill, "CHUNK", 8)
        yield engine
    engine.unload()


HEADS = st.sampled_from([(), PROMPT, PROMPT * 3])
REQUESTS = st.builds(
    lambda head, prompt, sampling, **options: GenerationRequest(
        prompt_tokens=(*head, *prompt), sampling=sampling, ignore_eos=True, **options
    ),
    HEADS,
    st.lists(st.integers(3, 120), min_size=1, max_size=24),
    st.sampled_from([Sampling(), Sampling(0.8), Sampling(0.8, repetition_penalty=1.2)]),
    mode=st.sampled_from(["dflash", "dflash", "plain"]),
    width=st.sampled_from([None, None, 1, 4, 8]),
    seed=st.integers(0, 2**64 - 1),
    max_tokens=st.integers(1, LONGEST),
    reuse=st.booleans(),
)


@sampled(3)
@given(requests=st.lists(REQUESTS, min_size=2, max_size=4))
def test_exact_replies_share_passes(tiny, requests):
    """With the text of one alone. Afterwards, other replies run their own operations."""
    requests = [replace(request, exact=True, reuse=False) for request in requests]
    wanted = [reply(tiny, request) for request in requests]
    shared, forward = [], Target.forward_packed

    def watched(target: Target, streams: Sequence[StreamRows], tapped: bool) -> list:
        shared.append(target.attend)
        return forward(target, streams, tapped)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Target, "forward_packed", watched)
        found = together(tiny, requests)
    assert [one.tokens for one in found] == [one.tokens for one in wanted]
    assert all(one.stats.exact for one in found) and None not in shared
    assert shared or min(request.max_tokens for request in requests) < 3
    assert tiny.pair.running_exactly is None and tiny.pair.target.attend is None


@sampled(3)
@given(data=st.data())
def test_text_does_not_depend_on_other_replies(engine, data):
    """Replies of any mode begin at any step; some are canceled, and some share a prefix. Rounds are queued ahead or not."""
    requests = data.draw(st.lists(REQUESTS, min_size=2, max_size=4), "requests")
    begins = [data.draw(st.integers(0, 30), "first turn") for _ in requests]
    stops = [data.draw(st.sampled_from([None, None, 3, 9]), "steps before it is canceled") for _ in requests]
    queued = data.draw(st.booleans(), "queued ahead")
    wanted = [reply(engine, replace(request, reuse=False)).tokens for request in requests]
    engine.pair.use_costs(replace(ASSUMED, queued=queued))
    running: dict[int, Running] = {}
    with pytest.MonkeyPatch.context() as patch:
        if queued:
            patch.setattr(device, "runs_beside_host", lambda: True)
        turn = 0
        while len(running) < len(requests) or any(not one.ended for one in running.values()):
            for at, request in enumerate(requests):
                if at not in running and begins[at] <= turn:
                    running[at] = begin(engine, request)
                if at in running and not running[at].ended:
                    running[at].step()
                    if stops[at] == turn - begins[at]:
                        running[at].cancel.set()
            turn += 1
    for at, one in running.items():
        got = one.whole
        assert got.tokens == wanted[at][: len(got.tokens)]
        assert got.reason == "cancelled" or len(got.tokens) == len(wanted[at])
    assert not engine._turns.replies


def test_replies_that_share_a_prefix_reuse_it_or_compute_it_again(engine):
    """The first takes the snapshot of the earlier chat; the others find a copy or nothing."""
    engine.pair.use_costs(ASSUMED)
    head = PROMPT * 3
    earlier = reply(engine, tokens(head, max_tokens=4, reuse=True, ignore_eos=True)).tokens
    requests = [tokens((*head, *earlier, *end), max_tokens=20, reuse=True, ignore_eos=True) for end in ((5,), (6,), (5, 7))]
    wanted = [reply(engine, replace(request, reuse=False)).tokens for request in requests]
    assert [got.tokens for got in together(engine, requests)] == wanted
    assert all(reply(engine, request).stats.reused_tokens > len(head) for request in requests)


def test_no_rate_includes_the_turns_of_others(tiny, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("mlx_engine.decoding.turns.time.perf_counter", lambda: now[0])
    request = tokens(PROMPT, max_tokens=11, mode="plain", ignore_eos=True)
    slow, quick = begin(tiny, request), begin(tiny, replace(request, max_tokens=400))
    while not slow.ended:
        now[0] += 1.0  # the next step follows a second after the other's
        slow.step()
        now[0] += 100.0
        quick.step()
    stats = slow.whole.stats
    # The first step begins immediately. In each of the others, a pause of 101 seconds passes
    assert stats.waiting_s == pytest.approx(101.0 * (len(slow.events) - 1), rel=0.1)
    assert stats.prefill_s + stats.decode_s < 5 and stats.ttft_s > 100
    quick.steps.close()


def test_the_time_in_the_queue_is_waiting(tiny, monkeypatch):
    monkeypatch.setattr("mlx_engine.decoding.turns.time.perf_counter", lambda: 50.0)
    *_, (*_, end) = tiny.steps(tokens(PROMPT, max_tokens=3), submitted=20.0)
    assert (end.stats.waiting_s, end.stats.ttft_s, end.stats.prefill_s) == (30.0, 30.0, 0.0)


def test_alone_nothing_is_waiting(tiny):
    assert reply(tiny, tokens(PROMPT, max_tokens=12)).stats.waiting_s == 0.0


@pytest.mark.parametrize("kind", [PLAIN_STEP, PassKind("drafter", 4)], ids=["plain step", "round"])
@pytest.mark.parametrize("queued", [False, True])
def test_a_pass_that_ran_during_anothers_turn_is_not_timed(tiny, kind, queued):
    """It was queued while the reply was alone. Later passes begin and end in one turn."""
    pair, replies, now, controller = tiny.pair, [1], count(), Scripted([kind])
    stream = prefilled(pair, PROMPT, controller, 60, clock=lambda: next(now), queue_ahead=queued)
    steps = decode(stream, pair.target, alone=lambda: len(replies) == 1)
    next(steps)
    for number in range(8):
        if number == 4:
            replies.append(2)
        next(steps)
    steps.close()
    timed = [outcome.seconds is not None for outcome in controller.outcomes]
    assert timed[1:5] == [True, True, True, False]
    # what is queued in its own turn includes a wait, as the first pass of a reply does
    assert timed[5:] == [timed[0]] * 3 == [kind != PLAIN_STEP and not queued] * 3


@pytest.mark.parametrize("mode", ["plain", "dflash"])
def test_a_step_is_one_chunk_of_the_prompt_or_two_passes(tiny, monkeypatch, mode):
    """A stream waits only for one step of each other reply. A plain pass is queued behind the one that is read."""
    rows: list[int] = []
    before_each_pass(tiny.pair.target, monkeypatch, rows.append)
    options = {"mode": mode, "width": 1 if mode == "plain" else 4}
    running = [begin(tiny, tokens(PROMPT * 50, max_tokens=6, ignore_eos=True, **options)) for _ in range(3)]
    while not all(one.ended for one in running):
        for one in running:
            before, rows[:] = len(one.events), []
            one.step()
            assert len(rows) <= (2 if said(one.events[before:]) else 1)


@pytest.mark.parametrize(("options", "width"), [({"mode": "plain"}, 1), ({"width": 4}, 4)])
def test_replies_share_all_their_passes(tiny, monkeypatch, options, width):
    """They join one after the other, and end so."""
    rows: list[int] = []
    request = tokens(PROMPT, max_tokens=40, ignore_eos=True, **options)
    wanted = reply(tiny, request).tokens
    running = [begin(tiny, request) for _ in range(3)]
    for one in running:
        one.step()
        one.step()
    before_each_pass(tiny.pair.target, monkeypatch, rows.append)
    while not all(one.ended for one in running):
        for one in running:
            one.step()
    assert [one.whole.tokens for one in running] == [wanted] * 3
    assert rows[rows.index(3 * width) :][:4] == [3 * width] * 4


@pytest.mark.parametrize("decoding", [1, 2])
def test_chunks_of_prompts_alternate_with_passes(tiny, monkeypatch, decoding):
    """However many prompts are read, a stream waits for one chunk at most. Prompts take turns."""
    monkeypatch.setattr(prefill, "CHUNK", 8)
    made: list[tuple[int, int]] = []  # reply, rows
    options = {"mode": "plain", "ignore_eos": True}
    running = [begin(tiny, tokens(PROMPT, max_tokens=90, **options)) for _ in range(decoding)]
    for one in running:
        while not said(one.events):
            one.step()
    running += [begin(tiny, tokens(PROMPT * 6, max_tokens=2, **options)) for _ in range(3)]
    now = [0]
    before_each_pass(tiny.pair.target, monkeypatch, lambda rows: made.append((now[0], rows)))
    while any(not said(one.events) for one in running):
        for now[0], one in enumerate(running):
            one.step()
    chunks = [reply for reply, rows in made if rows == 8]
    assert all(8 not in (earlier, later) or earlier != later for (_, earlier), (_, later) in pairwise(made))
    assert chunks[:9] == [decoding, decoding + 1, decoding + 2] * 3
    for one in running:
        one.steps.close()


def test_each_reply_runs_the_kernels_for_its_own_length(tiny, monkeypatch):
    pair, seen = tiny.pair, []
    long = replace(PLAIN, traceable=False)
    pair.use(PLAIN, (20, long))
    try:
        monkeypatch.setattr(pair.target, "use", lambda operations: seen.append(operations))
        one, other = begin(tiny, tokens(PROMPT, max_tokens=9)), begin(tiny, tokens(PROMPT * 2, max_tokens=9))
        for _ in range(3):
            one.step()
            assert pair.operations is pair.drafter.operations is seen[-1] is PLAIN
            other.step()
            assert pair.operations is pair.drafter.operations is seen[-1] is long
        one.steps.close()
        other.steps.close()
    finally:
        monkeypatch.undo()
        pair.use(PLAIN)


def test_a_reply_waits_while_others_hold_the_memory(tiny, monkeypatch):
    request = tokens(PROMPT, max_tokens=12, ignore_eos=True)
    wanted = reply(tiny, request).tokens
    room = MemoryLedger(lambda count: (count, 0), lambda: 0, None)
    monkeypatch.setattr(tiny, "_ledger", room)
    monkeypatch.setattr(memory, "working_set", lambda: 60 + tiny.snapshots.nbytes)
    one, two, three, four = (begin(tiny, request) for _ in range(4))  # each takes 23
    for running in (one, two, three, four):
        running.step()
    assert one.events and two.events and not three.events and not four.events
    three.cancel.set()
    three.finish()
    assert three.events[-1].reason == "cancelled"
    while not one.ended:
        four.step()
        assert not four.events
        one.step()
    four.finish()
    two.finish()
    assert [running.whole.tokens for running in (one, two, four)] == [wanted] * 3
    assert four.whole.stats.waiting_s > 0


def test_memory_goes_to_the_reply_that_a_user_waits_for_first_and_to_titles_last(tiny, monkeypatch):
    request = tokens(PROMPT, max_tokens=12, ignore_eos=True)
    monkeypatch.setattr(tiny, "_ledger", MemoryLedger(lambda count: (count, 0), lambda: 0, None))
    monkeypatch.setattr(memory, "working_set", lambda: 30 + tiny.snapshots.nbytes)  # of 23 each
    running, title, agent, window = (
        begin(tiny, replace(request, reuse=False, **options)) for options in ({}, {"gives_way": True}, {}, {"foreground": True})
    )
    running.step()
    ended = []
    for _ in range(1000):
        for each in (running, title, agent, window):
            if each not in ended and each.ended:
                ended.append(each)
            each.step()
    assert ended == [running, window, agent, title]


def test_a_prompt_that_can_never_fit_is_refused(tiny, monkeypatch):
    monkeypatch.setattr(tiny, "_ledger", MemoryLedger(lambda count: (count, 5), lambda: 100, 120))
    assert list(tiny.generate(tokens(PROMPT, max_tokens=1000)))[-1].reason == "eos"
    refused = list(tiny.generate(tokens(PROMPT * 2, max_tokens=1)))
    assert [event.code for event in refused] == ["reply_memory"]


def test_if_memory_runs_out_in_the_prompt_the_reply_waits_for_the_others(tiny, monkeypatch):
    first, second = tokens(PROMPT, max_tokens=20, ignore_eos=True), tokens(PROMPT * 2, max_tokens=20, ignore_eos=True)
    wanted = [reply(tiny, request).tokens for request in (first, second)]
    other, one = begin(tiny, first), begin(tiny, second)
    for _ in range(3):
        other.step()
    with monkeypatch.context() as patch:
        before_each_pass(tiny.pair.target, patch, lambda rows: (_ for _ in ()).throw(MemoryError))
        one.step()
        one.step()
    assert not other.ended and not one.ended
    while not other.ended:
        seen = len(one.events)
        one.step()
        assert len(one.events) == seen
        other.step()
    one.finish()
    assert [other.whole.tokens, one.whole.tokens] == wanted


@pytest.mark.parametrize("error", [MemoryError, ValueError])
def test_after_an_error_in_a_shared_pass_each_reply_makes_its_own(tiny, monkeypatch, error):
    """The pass needs more memory than one reply's, and no one knows whose fault another error is."""
    calls: list[int] = []

    def fail(*_: object) -> None:
        calls.append(1)
        raise error

    request = tokens(PROMPT, max_tokens=20, ignore_eos=True)
    wanted = reply(tiny, request).tokens
    running = [begin(tiny, request) for _ in range(3)]
    for _ in range(4):
        for one in running:
            one.step()
    monkeypatch.setattr(tiny.pair.target, "forward_packed", fail)
    while not all(one.ended for one in running):
        for one in running:
            one.step()
    assert [one.whole.tokens for one in running] == [wanted] * 3
    assert len(calls) == 1


def test_an_error_of_one_reply_ends_no_other(tiny, monkeypatch):
    """It happens in the turn of whichever reply makes the pass."""
    accept, request = Stream.accept, tokens(PROMPT, max_tokens=20, ignore_eos=True)
    wanted, passes = reply(tiny, request).tokens, list[int]()

    def faulty(stream: Stream, *results: object) -> None:
        if stream.limit > 20:
            passes.append(1)
            assert len(passes) < 4
        accept(stream, *results)

    monkeypatch.setattr(Stream, "accept", faulty)
    wrong, *right = [begin(tiny, one) for one in (replace(request, max_tokens=99), request, request)]
    with pytest.raises(AssertionError):
        for _ in range(100):
            for one in right:
                one.step()
            wrong.step()
    for one in right:
        one.finish()
    assert [one.whole.tokens for one in right] == [wanted] * 2
    assert reply(tiny, request).tokens == wanted


@pytest.mark.parametrize("stop", range(3, 9))
def test_a_reply_that_is_canceled_next_to_another_is_reused(engine, stop):
    """Although others make its passes, its caches have no token that it doesn't say."""
    engine.pair.use_costs(ASSUMED)
    running = [
        begin(engine, tokens((*PROMPT, at), max_tokens=20, mode="plain", reuse=True, ignore_eos=True, seed=stop)) for at in (5, 6)
    ]
    while len(said(running[0].events)) < stop:
        for one in running:
            one.step()
    running[0].cancel.set()
    for _ in range(3):  # the other one may have made a pass for it
        for one in running:
            one.step()
    assert running[0].ended
    running[1].finish()
    length = len(PROMPT) + 1 + len(running[0].whole.tokens)
    again = tokens((*PROMPT, 5, *running[0].whole.tokens, 7), max_tokens=2, reuse=True, ignore_eos=True)
    got = reply(engine, again)
    assert got.stats.reused_tokens >= length - 1
    assert got.tokens == reply(engine, replace(again, reuse=False)).tokens


@pytest.mark.parametrize("family", ["qwen3", "qwen3_5", "gpt_oss"])
def test_replies_of_a_target_without_a_drafter_share_passes(family, monkeypatch, tmp_path):
    engine, rows = loaded(tiny_families.save(family, tmp_path / "target"), None), list[int]()
    requests = [tokens((*PROMPT, at), max_tokens=9, ignore_eos=True) for at in (5, 6, 7)]
    wanted = [reply(engine, request).tokens for request in requests]
    before_each_pass(engine.pair.target, monkeypatch, rows.append)
    assert [one.tokens for one in together(engine, requests)] == wanted
    assert rows.count(3) >= 6


def test_four_streams_of_the_demo_pair_have_the_texts_they_have_alone() -> None:
    host = EngineHost(Engine)
    list(to_iter(host, LoadPair()))
    texts = ("What is 7 + 5?", "Spell “lantern” backwards.", "Count from 3 to 9.", "Write a short poem.")
    modes = ("dflash", "plain", "dflash", "plain")
    requests = [question(text, max_tokens=12, width=None if at else 6, seed=at, mode=modes[at]) for at, text in enumerate(texts)]
    requests[3] = replace(requests[3], sampling=Sampling(0.8))
    wanted = [said(to_iter(host, request)) for request in requests]
    found: list[list[Event | None]] = [[] for _ in requests]
    for request, seen in zip(requests, found, strict=True):
        host.submit(request, seen.append)
    wait_for(host, found)
    assert [said(seen) for seen in found] == wanted


def said(found: Iterable[Event | None]) -> list[int]:
    return [token for event in found if isinstance(event, Commit) for token in event.tokens]
