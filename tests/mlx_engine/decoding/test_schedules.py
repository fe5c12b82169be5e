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
from mlx_engine.decoding.speculative import Rounds
from mlx_engine.decoding.width import AutomaticWidth, PassOutcome, WidthChoice
from mlx_engine.drafters.lookup import Offer
from mlx_engine.formats import chat_prompt
from tests.demo_pair.corpus.questions import fresh_questions
from tests.examples import SAMPLE, sampled
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.prefix.prefix_pairs import SHORT

QUESTIONS = fresh_questions(count=120, seed=20261121)
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
        self._at = 1

    def add(self, tokens: tuple[int, ...]) -> None:
        self._at += len(tokens)

    def offer(self) -> Offer | None:
        return Offer(15, 3)

    def propose(self, count: int) -> list[int]:
        drafts = [*self._plain[self._at : self._at + count], *[5] * count][:count]
        wrong = next(self._wrong)
        return [5 if i == wrong else token for i, token in enumerate(drafts)]


def decoded(engine, prompt, sampling, seed, limit, passes, wrong, plain, queue_ahead):
    """Return the tokens and steps of the loop under a script, and the loop."""
    pair = engine.pair
    caches, context = pair.target.caches(), pair.drafter.context()
    chooser, penalties = Chooser(sampling, seed), Penalties(sampling, prompt)
    *_, logits = prefill(pair.target, caches, prompt, pair.drafter, context)
    first = int(mx.argmax(chooser.scores(penalties.apply(logits), chooser.noise(len(prompt), 1, logits.shape[-1])), axis=-1).item())
    penalties.add((first,))
    parts = (pair.target, pair.drafter, caches, context, chooser, penalties)
    rounds = Rounds(*parts, Scripted(passes), SometimesWrong(plain, wrong), queue_ahead=queue_ahead)
    ends = frozenset(pair.tokenizer.eos_token_ids)
    got, steps = [first], []
    if limit > 1 and first not in ends:
        for step in rounds.run(first, limit - 1, ends):
            steps.append(step)
            got += step.tokens
    if set(got) & ends:
        got = got[: next(i for i, token in enumerate(got) if token in ends) + 1]
    return tuple(got), steps, rounds


def check(engine, prompt, sampling, seed, limit, passes, wrong, queue_ahead=False):
    request = dataclasses.replace(tokens(prompt, seed=seed, max_tokens=limit, mode="plain"), sampling=sampling)
    plain = reply(engine, request).tokens
    got, steps, rounds = decoded(engine, prompt, sampling, seed, limit, passes, wrong, plain, queue_ahead)
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
    assert rounds.context.position == rounds.caches.length
    return steps, rounds


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
        caches, context = pair.target.caches(), pair.drafter.context()
        for _ in prefill(pair.target, caches, whole[:-1], pair.drafter, context):
            pass
        expected = pair.drafter.propose(context, mx.array([whole[-1]], mx.uint32), 8, Chooser(Sampling(), 0), None).tolist()
        caches, context = pair.target.caches(), pair.drafter.context()
        for _ in prefill(pair.target, caches, prompt, pair.drafter, context):
            pass
        rounds = Rounds(
            pair.target, pair.drafter, caches, context, Chooser(Sampling(), 0), Penalties(Sampling(), ()), Scripted([PLAIN_STEP])
        )
        for _ in rounds.run(whole[len(prompt)], plain_steps, frozenset()):
            pass
        assert rounds.caches.length == rounds.context.position == len(whole) - 1
        got = pair.drafter.propose(context, mx.array([whole[-1]], mx.uint32), 8, Chooser(Sampling(), 0), None).tolist()
        assert got == expected


def test_stopping_during_plain_steps_leaves_caches_and_context_at_the_same_position(tiny):
    pair = tiny.pair
    prompt = (73, 119, 51, 37)
    caches, context = pair.target.caches(), pair.drafter.context()
    for _ in prefill(pair.target, caches, prompt, pair.drafter, context):
        pass
    rounds = Rounds(
        pair.target, pair.drafter, caches, context, Chooser(Sampling(), 0), Penalties(Sampling(), ()), Scripted([PLAIN_STEP])
    )
    running = rounds.run(5, 40, frozenset())
    for _ in range(10):
        next(running)
    running.close()
    # the pass over the tenth token may have been queued
    assert len(prompt) + 10 <= rounds.caches.length == rounds.context.position <= len(prompt) + 11


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
