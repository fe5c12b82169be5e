"""The text equals plain decoding's for every sequence of widths, proposers and plain steps."""

import dataclasses

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.requests import Message, Sampling
from mlx_engine.decoding.costs import PLAIN_STEP, PassKind
from mlx_engine.decoding.scheduler import decode
from mlx_engine.decoding.width import AutomaticWidth
from mlx_engine.formats import chat_prompt
from tests.demo_pair.corpus.questions import fresh_questions
from tests.examples import SAMPLE, sampled
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.decoding.streams import Run, Scripted, SometimesWrong, prefilled, same_state
from tests.mlx_engine.prefix.prefix_pairs import SHORT

QUESTIONS = fresh_questions(count=120, seed=20261121)
GREEDY = Sampling()
QUEUED = st.just(PLAIN_STEP) | st.builds(PassKind, st.just("drafter"), st.integers(2, 8), st.just(0))
COPIES = st.builds(PassKind, st.just("lookup"), st.integers(2, 32), st.just(0))
BOTH = st.builds(lambda block, copied: PassKind("drafter", block + copied, copied), st.integers(2, 8), st.integers(1, 24))
PASSES = QUEUED | COPIES | BOTH


def check(engine, prompt, sampling, seed, limit, passes, wrong, end=None, stop=None):
    """Follow a script, with rounds read one by one and queued ahead. Both say the plain text, and leave the same state.

    Args:
        end: position of a token of the plain text that ends the reply.
        stop: steps after which the reply is closed.
    """
    request = dataclasses.replace(tokens(prompt, seed=seed, max_tokens=limit, mode="plain"), sampling=sampling)
    plain = reply(engine, request).tokens
    ends = {*engine.pair.tokenizer.eos_token_ids, *(() if end is None else (plain[end % len(plain)],))}
    until = next((at + 1 for at, token in enumerate(plain) if token in ends), limit)
    runs = [
        Run(engine, prompt, Scripted(passes), ahead, sampling, seed, copies=SometimesWrong(plain, wrong)) for ahead in (False, True)
    ]
    heard = [run.steps(limit - 1, ends, stop) for run in runs]
    for run, steps in zip(runs, heard, strict=True):
        said = run.first + tuple(token for step in steps for token in step.tokens)
        assert said == plain[: until if stop is None else min(until, len(said))]
        left = limit - 1
        for step in steps:
            assert step.width <= left + 1
            drafts = min(step.accepted, len(step.tokens))
            own = min(step.accepted - step.copies_accepted, drafts)
            wanted = ("drafter",) * own + ("lookup",) * (drafts - own) + ("target",) * (len(step.tokens) - drafts)
            assert step.sources == wanted
            left -= len(step.tokens)
        assert left >= 0
    for run in runs:  # so that a later turn can continue
        assert run.context.position == run.caches.length
    if all(kind.proposer != "lookup" and not kind.copied for kind in passes):  # a copy can't be queued, so the steps may be others
        assert heard[0] == heard[1]
        same_state(*runs)
    return heard[0]


OPTIONS = {
    "seed": st.integers(0, 2**64 - 1),
    "passes": st.lists(QUEUED, min_size=1, max_size=8) | st.lists(PASSES, min_size=1, max_size=8),
    "wrong": st.lists(st.integers(0, 31), min_size=1, max_size=5),
    "end": st.none() | st.integers(0, 29),
    "stop": st.none() | st.integers(1, 12),
}


@given(
    prompt=st.lists(st.integers(3, 120), min_size=1, max_size=40),
    sampling=st.sampled_from([Sampling(), Sampling(0.6), Sampling(1.0, top_p=0.9), Sampling(0.8, repetition_penalty=1.2)]),
    limit=st.integers(2, 30 if SAMPLE else 70),
    **OPTIONS,
)
@sampled(2)
@pytest.mark.parametrize("pair", ["tiny", "windows", "tiny2", "dspark", "eagle3", "mtp", "assistant"])
def test_any_schedule_gives_the_plain_text(pair, request, **options):
    check(request.getfixturevalue(pair), **options)


@sampled(2)
@given(asked=st.sampled_from(QUESTIONS), sampling=st.sampled_from([Sampling(), Sampling(0.7)]), limit=st.integers(2, 20), **OPTIONS)
def test_any_schedule_gives_the_demo_pairs_text(demo, asked, **options):
    check(demo, chat_prompt.template(demo.pair.tokenizer, [Message(**turn) for turn in asked.messages], asked.thinking), **options)


@given(
    replies=st.lists(
        st.tuples(
            st.lists(st.integers(3, 120), min_size=1, max_size=20),
            st.sampled_from([Sampling(), Sampling(0.7), Sampling(0.8, presence_penalty=0.5)]),
            st.lists(PASSES, min_size=1, max_size=4),
            st.integers(1, 20),
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
    steps = check(tiny, (9, 8, 7), Sampling(), 0, 41, [PassKind("lookup", 8)], [8])
    assert [step.accepted for step in steps] == [7] * 5
    assert steps[0].sources == ("lookup",) * 7 + ("target",)


def test_a_wrong_copy_is_rejected_from_its_first_wrong_token(tiny):
    steps = check(tiny, (9, 8, 7), Sampling(), 0, 41, [PassKind("lookup", 8)], [3])
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
