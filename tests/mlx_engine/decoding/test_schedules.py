"""The text equals plain decoding's for every sequence of widths, proposers and plain steps."""

import dataclasses
from collections.abc import Sequence
from itertools import cycle

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.requests import Message, Sampling
from mlx_engine.decoding.costs import PLAIN_STEP, PassKind
from mlx_engine.decoding.prefill import prefill
from mlx_engine.decoding.sampling import Chooser, Penalties
from mlx_engine.decoding.stream import Stream, decode
from mlx_engine.decoding.width import AutomaticWidth, PassOutcome, WidthChoice
from mlx_engine.drafters.lookup import Offer
from mlx_engine.formats import chat_prompt
from tests.demo_pair.corpus.questions import fresh_questions
from tests.examples import SAMPLE, sampled
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.prefix.prefix_pairs import SHORT

QUESTIONS = fresh_questions(count=120, seed=20261121)
GREEDY = Sampling()
PASSES = st.one_of(
    st.just(PLAIN_STEP),
    st.builds(PassKind, st.just("drafter"), st.integers(2, 8)),
    st.builds(PassKind, st.just("lookup"), st.integers(2, 8)),
)


class Scripted:
    """A controller that repeats a list of choices and records the outcomes."""

    def __init__(self, passes: Sequence[PassKind]) -> None:
        self._passes = cycle(passes)
        self.outcomes: list[PassOutcome] = []

    def choose(self, depth: int, offer: Offer | None = None) -> WidthChoice:
        kind = next(self._passes)
        return WidthChoice(kind, "as scripted" if kind == PLAIN_STEP else "")

    def record(self, outcome: PassOutcome) -> None:
        self.outcomes.append(outcome)


class SometimesWrong:
    """Proposes the tokens of the plain reply, with one of each block replaced."""

    def __init__(self, plain: Sequence[int], wrong: Sequence[int]) -> None:
        self._plain, self._wrong = plain, cycle(wrong)
        self._at = 0

    def add(self, tokens: tuple[int, ...]) -> None:
        self._at += len(tokens)

    def offer(self) -> Offer | None:
        return Offer(15, 3)

    def propose(self, count: int) -> list[int]:
        drafts = [*self._plain[self._at : self._at + count], *[5] * count][:count]
        wrong = next(self._wrong)
        return [5 if i == wrong else token for i, token in enumerate(drafts)]


def decoded(engine, prompt, sampling, seed, limit, passes, wrong, plain, queue_ahead):
    """Return the tokens of a stream under a script, its steps after the first token, and the stream."""
    options = {
        "copies": SometimesWrong(plain, wrong),
        "queue_ahead": queue_ahead,
        "ends": frozenset(engine.pair.tokenizer.eos_token_ids),
    }
    stream = prefilled(engine.pair, prompt, Scripted(passes), limit, sampling, seed, **options)
    first, *steps = decode(stream, engine.pair.target)
    assert first.sources == ("prefill",)
    return tuple(token for step in (first, *steps) for token in step.tokens), steps, stream


def prefilled(pair, prompt, controller, limit, sampling=GREEDY, seed=0, **options) -> Stream:
    """Return the stream of a reply whose prompt is computed but for its last token."""
    caches, context = pair.target.caches(), pair.drafter.context()
    list(prefill(pair.target, caches, prompt, pair.drafter, context))
    options |= {"drafter": pair.drafter, "context": context}
    parts = (caches, pair.target.vocabulary, Chooser(sampling, seed), Penalties(sampling, prompt), controller)
    return Stream(*parts, prompt[-1], limit, **options)


def check(engine, prompt, sampling, seed, limit, passes, wrong, queue_ahead=False):
    request = dataclasses.replace(tokens(prompt, seed=seed, max_tokens=limit, mode="plain"), sampling=sampling)
    plain = reply(engine, request).tokens
    got, steps, stream = decoded(engine, prompt, sampling, seed, limit, passes, wrong, plain, queue_ahead)
    assert got == plain
    assert sum(len(step.tokens) for step in steps) <= limit - 1
    left = limit - 1
    for step in steps:
        assert step.width <= left + 1
        assert step.sources == (step.proposer,) * min(step.accepted, len(step.tokens)) + ("target",) * (
            len(step.tokens) - min(step.accepted, len(step.tokens))
        )
        left -= len(step.tokens)
    # caches and context end at the same position, so a later turn can continue
    assert stream.context.position == stream.caches.length
    return steps, stream


@given(
    prompt=st.lists(st.integers(3, 120), min_size=1, max_size=40),
    sampling=st.sampled_from([Sampling(), Sampling(0.6), Sampling(1.0, top_p=0.9), Sampling(0.8, repetition_penalty=1.2)]),
    seed=st.integers(0, 2**64 - 1),
    limit=st.integers(1, 40 if SAMPLE else 70),
    passes=st.lists(PASSES, min_size=1, max_size=8),
    wrong=st.lists(st.integers(0, 8), min_size=1, max_size=5),
    queue_ahead=st.booleans(),
)
@sampled(4)
@pytest.mark.parametrize("pair", ["tiny", "tiny2", "dspark", "eagle3", "mtp", "assistant"])
def test_any_schedule_gives_the_plain_text(pair, request, prompt, sampling, seed, limit, passes, wrong, queue_ahead):
    check(request.getfixturevalue(pair), prompt, sampling, seed, limit, passes, wrong, queue_ahead)


@sampled(3)
@given(
    asked=st.sampled_from(QUESTIONS),
    sampling=st.sampled_from([Sampling(), Sampling(0.7)]),
    seed=st.integers(0, 2**32 - 1),
    limit=st.integers(2, 24),
    passes=st.lists(PASSES, min_size=1, max_size=6),
    wrong=st.lists(st.integers(0, 8), min_size=1, max_size=3),
    queue_ahead=st.booleans(),
)
def test_any_schedule_gives_the_demo_pairs_text(demo, asked, sampling, seed, limit, passes, wrong, queue_ahead):
    prompt = chat_prompt.template(demo.pair.tokenizer, [Message(**turn) for turn in asked.messages], asked.thinking)
    check(demo, prompt, sampling, seed, limit, passes, wrong, queue_ahead)


@given(
    replies=st.lists(
        st.tuples(
            st.lists(st.integers(3, 120), min_size=1, max_size=20),
            st.sampled_from([Sampling(), Sampling(0.7), Sampling(0.8, presence_penalty=0.5)]),
            st.lists(PASSES, min_size=1, max_size=4),
            st.integers(1, 30),
        ),
        min_size=2,
        max_size=4,
    ),
)
@sampled(3)
@pytest.mark.parametrize("pair", ["tiny", "tiny2"])
def test_streams_whose_passes_are_made_together_have_their_own_texts(pair, request, replies):
    """Each round proposes the rows of all streams, then makes all passes, then accepts, then reads."""
    engine = request.getfixturevalue(pair)
    streams, wanted, said = [], [], {}
    for prompt, sampling, passes, limit in replies:
        asked = dataclasses.replace(tokens(prompt, seed=7, max_tokens=limit, mode="plain", ignore_eos=True), sampling=sampling)
        wanted.append([*reply(engine, asked).tokens])
        copies = SometimesWrong(wanted[-1], [8, 2])
        streams.append(prefilled(engine.pair, prompt, Scripted(passes), limit, sampling, 7, copies=copies))
        said[streams[-1]] = []
    while going := [stream for stream in streams if not stream.ended]:
        made = [engine.pair.target.forward_tapped(stream.propose().tokens, stream.caches) for stream in going]
        for stream, found in zip(going, made, strict=True):
            stream.accept(*found)
        for stream in going:
            said[stream] += stream.read().tokens
    assert [said[stream] for stream in streams] == wanted


def test_a_correct_copy_is_accepted_and_named_as_the_source(tiny):
    steps, _ = check(tiny, (9, 8, 7), Sampling(), 0, 41, [PassKind("lookup", 8)], [8])
    assert [step.accepted for step in steps] == [7] * 5
    assert steps[0].sources == ("lookup",) * 7 + ("target",)


def test_a_wrong_copy_is_rejected_from_its_first_wrong_token(tiny):
    steps, _ = check(tiny, (9, 8, 7), Sampling(), 0, 41, [PassKind("lookup", 8)], [3])
    assert [(step.accepted, step.tested) for step in steps[:3]] == [(3, 4)] * 3


def test_rounds_after_plain_steps_draft_from_a_complete_context(tiny):
    """A context with a gap, or in the wrong order, would still give the same text, in more rounds."""
    prompt = (73, 119, 51, 37, 73, 117, 82, 108, 70, 73, 52)
    pair = tiny.pair
    for plain_steps in (1, 5, 70):
        whole = (*prompt, *reply(tiny, tokens(prompt, mode="plain", max_tokens=plain_steps + 1, ignore_eos=True)).tokens)
        found = []
        for stream in (prefilled(pair, whole, None, 0), prefilled(pair, prompt, Scripted([PLAIN_STEP]), plain_steps + 1)):
            if stream.limit:
                list(decode(stream, pair.target))
            assert stream.caches.length == stream.context.position == len(whole) - 1
            found.append(pair.drafter.propose(stream.context, mx.array(whole[-1:], mx.uint32), 8, stream.chooser, None).tolist())
        assert found[0] == found[1]


def test_stopping_during_plain_steps_leaves_caches_and_context_at_the_same_position(tiny):
    pair = tiny.pair
    prompt = (73, 119, 51, 37)
    stream = prefilled(pair, prompt, Scripted([PLAIN_STEP]), 40)
    running = decode(stream, pair.target)
    for _ in range(11):
        next(running)
    running.close()
    # the pass over the last token may have been queued
    assert len(prompt) + 10 <= stream.caches.length == stream.context.position <= len(prompt) + 11


def test_the_drafters_confidence_sets_the_width(dspark, monkeypatch):
    """Of a block that is always drafted whole; not if a width is requested."""
    lengths = []

    def fit(self, choice, depth, confidence):
        lengths.append(len(confidence))
        return dataclasses.replace(choice, kind=PassKind("drafter", 3))

    monkeypatch.setattr(AutomaticWidth, "fit", fit)
    asked = {"max_tokens": 40, "ignore_eos": True}
    plain = reply(dspark, tokens(SHORT["dspark"], mode="plain", **asked)).tokens
    got = reply(dspark, tokens(SHORT["dspark"], **asked))
    assert lengths[0] == 7 and got.stats.widths[0] == 3 and got.tokens == plain
    lengths.clear()
    assert reply(dspark, tokens(SHORT["dspark"], width=5, **asked)).tokens == plain and not lengths
