"""The first difference of two replies, and whether it is a tie."""

import math
import threading
from dataclasses import replace
from pathlib import Path

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.events import (
    Commit,
    ContestantEvent,
    ContestantResult,
    Finished,
    LoadProgress,
    NextReply,
    Stats,
    TextDifference,
)
from mlx_engine.contract.requests import Compare, Contestant, GenerationRequest, LoadPair, Sampling, with_drafters
from mlx_engine.contract.whole_replies import first_difference
from mlx_engine.decoding.sampling import Chooser
from mlx_engine.engine import local_comparison
from mlx_engine.engine.comparison import Comparison, play
from mlx_engine.engine.local_comparison import difference, tie_margin
from mlx_engine.formats.chat_prompt import RenderedPrompt
from tests.mlx_engine.asking import reply, tokens

some = st.lists(st.integers(0, 3), max_size=8)


@given(some, some)
def test_the_first_difference_is_the_length_of_the_shared_prefix(a, b):
    at = first_difference(a, b)
    if at is None:
        assert a == b
    else:
        assert a[:at] == b[:at]
        assert a[at : at + 1] != b[at : at + 1]


def test_a_shorter_reply_differs_where_it_ends():
    assert first_difference((1, 2), (1, 2, 3)) == 2


PROMPT = (73, 122, 51, 37, 73, 117, 82, 108, 70, 73, 52)


def test_a_clear_decision_is_not_a_tie(tiny):
    request = tokens(PROMPT, max_tokens=20, seed=1)
    got = reply(tiny, request).tokens
    other = (*got[:7], (got[7] + 1) % 128, *got[8:])
    found = difference(tiny.pair, request, got, other, 7)
    assert not found.tie and found.margin > tie_margin(tiny.pair.dtype, 16.0, request.sampling)


def test_two_equal_scores_are_a_tie(tiny):
    """A tie is constructed: two tokens get the same row of the head."""
    target = tiny.pair.target
    request = tokens((73, 122, 51), max_tokens=4, seed=1)
    first = reply(tiny, request).tokens[0]
    twin = (first + 1) % 128
    head = target.model.lm_head if hasattr(target.model, "lm_head") else target.model.model.embed_tokens
    kept = head.weight
    try:
        head.weight = kept.at[twin].multiply(0.0).at[twin].add(kept[first])
        assert difference(tiny.pair, request, (first,), (twin,), 0).tie
    finally:
        head.weight = kept


def test_a_filtered_token_is_not_a_tie(tiny):
    request = replace(tokens(PROMPT, max_tokens=4, seed=1), sampling=Sampling(temperature=1.0, top_k=1))
    first = reply(tiny, request).tokens[0]
    assert difference(tiny.pair, request, (first,), ((first + 1) % 128,), 0) == TextDifference(0)


def test_the_end_of_a_reply_has_no_margin(tiny):
    assert difference(tiny.pair, tokens(PROMPT, seed=1), (1, 2), (1, 2, 3), 2) == TextDifference(2)


class _Scripted:
    """A pair whose target returns `logits` [1, 4] in every pass."""

    def __init__(self) -> None:
        self.dtype, self.tokenizer, self.target = mx.bfloat16, None, self
        self.logits = mx.zeros((1, 4))
        self.pace = self.exact_pace = self.images = None

    def caches(self) -> None:
        return None

    def forward(self, tokens: mx.array, caches: None) -> mx.array:
        return self.logits


@pytest.fixture
def scripted(monkeypatch):
    pair = _Scripted()
    monkeypatch.setattr(local_comparison, "prefill", lambda *_: ())
    monkeypatch.setattr(
        local_comparison.chat_prompt, "render", lambda _, request, sight: RenderedPrompt([*request.prompt_tokens], [], [])
    )
    return pair


@pytest.mark.parametrize("penalty", [1.0, 1.3])
@pytest.mark.parametrize("size", [1.0, 16.0, 40.0])
@pytest.mark.parametrize("temperature", [0.01, 0.2, 1.0, 2.0])
def test_a_margin_of_one_rounding_is_a_tie_and_of_ten_is_not(scripted, temperature, size, penalty):
    """Two tokens of a half-precision target whose scores differ by one rounding of a logit, or by ten."""
    sampling = Sampling(temperature=temperature, repetition_penalty=penalty)
    request = GenerationRequest(prompt_tokens=(0,), sampling=sampling, seed=3)
    once = 2.0 ** math.floor(math.log2(max(size, 16.0))) * 2**-7
    noise = Chooser(sampling, 3).noise(1, 1, 4)[0]
    alike = temperature * (noise[2] - noise[1]).item()
    for gap, tie in ((0.9 * once, True), (10 * once, False)):
        scripted.logits = mx.array([[size, alike + gap, 0.0, -size]])
        found = difference(scripted, request, (1,), (2,), 0)
        assert found.margin == pytest.approx(gap, rel=0.01) and found.tie == tie


STATS = Stats("plain", 1, 0, 1, None, None, None, 0, 0, 0, 0, (), (), 0, 0, 1)


ASKED, SAME, OTHER = GenerationRequest(prompt_tokens=(0,)), (1, 1, 1), (1, 2, 1)


def compared(*replies, requests=(ASKED,), differences=(), on_endpoint=False, is_loaded=lambda pair: False, **options):
    """The events of a comparison in which each run returns the next tokens, text, or failure."""
    left, measured = list(replies), list(differences)

    def generate(request):
        if isinstance(found := left.pop(0), Exception):
            raise found
        end = Finished("length", replace(STATS, tokens=3, decode_tok_s=float(len(left) + 1)))
        is_text = isinstance(found, str)
        yield [Commit(found if is_text else "", "answer", () if is_text else found, ())]
        yield [end]

    def measure(request, baseline, reply, at):
        return measured.pop(0) if measured else TextDifference(at)

    request = Compare(tuple(requests), **options)
    comparison = Comparison(request, threading.Event(), lambda: None, measure, is_loaded, on_endpoint)
    return list(play(comparison.steps(), load, generate))


def load(pair):
    yield LoadProgress(1.0, EngineText("", ""))


def test_a_difference_in_any_run_is_found():
    """plain, DFlash, DFlash, plain, plain, DFlash: only the last one differs."""
    *_, outcome = compared(SAME, SAME, SAME, SAME, SAME, OTHER, repeats=3)
    plain, drafted = outcome.results
    assert drafted.difference == TextDifference(1) and drafted.replies[0].tokens == OTHER and drafted.verdict == "different"
    assert plain.difference is None and len(plain.runs) == len(drafted.runs) == 3
    *_, outcome = compared(*[SAME] * 6, repeats=3)
    assert outcome.results[1].verdict == "identical" and outcome.results[1].identical == 1


def test_a_difference_is_reported_rather_than_a_tie():
    ties = TextDifference(0, 0.1, True), TextDifference(0, 5.0)
    *_, outcome = compared((1,), (2,), (3,), (1,), repeats=2, differences=ties)
    assert outcome.results[1].difference == ties[1] and outcome.results[1].replies[0].tokens == (3,)


def test_the_baselines_reply_is_the_one_that_differs():
    *_, outcome = compared(SAME, OTHER, OTHER, OTHER, repeats=2)
    assert [one.replies[0].tokens for one in outcome.results] == [SAME, OTHER]


def test_in_exact_mode_no_difference_is_a_tie():
    exact = GenerationRequest(prompt_tokens=(0,), exact=True)
    *_, outcome = compared(SAME, OTHER, requests=(exact,), differences=(TextDifference(1, 0.0, True),))
    assert outcome.results[1].verdict == "different"


def test_a_cancel_during_the_pause_ends_the_comparison():
    cancel, seen = threading.Event(), []
    comparison = Comparison(Compare((GenerationRequest(prompt_tokens=(0,)),), pause_s=60.0), cancel)

    def generate(request):
        yield [Finished("cancelled" if cancel.is_set() else "eos", STATS)]

    for event in play(comparison.steps(), load, generate):
        seen.append(event)
        if isinstance(event, ContestantEvent):
            cancel.set()
    assert [type(event) for event in seen] == [NextReply, ContestantEvent] * 2 and seen[-1].event.reason == "cancelled"


def test_contestants_of_one_pair_take_turns_and_the_loaded_pair_comes_first():
    contestants = with_drafters(Path("t"), (Path("a"), Path("b")))
    requests = [GenerationRequest(prompt_tokens=(at,)) for at in range(2)]
    is_loaded = lambda pair: pair.drafter == Path("b")  # noqa: E731
    events = compared(*[SAME] * 16, requests=requests, contestants=contestants, repeats=2, is_loaded=is_loaded)
    starts = [event for event in events if isinstance(event, NextReply)]
    order = [contestants.index(event.contestant) for event in starts]
    assert order == [0, 1, 3] * 2 + [3, 1, 0] * 2 + [2] * 4
    assert [(event.index, event.total) for event in starts] == [(index, 16) for index in range(16)]
    assert [contestants.index(one.contestant) for one in events if isinstance(one, ContestantResult)] == [0, 1, 3, 2]
    assert [one.contestant for one in events[-1].results] == list(contestants)


@pytest.mark.parametrize("repeats", [1, 3])
def test_the_only_opponents_failure_ends_the_comparison(repeats):
    with pytest.raises(UserError, match="No room"):
        compared(SAME, UserError("scripted", "No room."), repeats=repeats)


def test_a_server_that_sends_no_tokens_is_compared_by_characters():
    *_, outcome = compared("Fine", "Five", on_endpoint=True)
    assert outcome.in_characters and outcome.results[1].difference == TextDifference(2)
    *_, outcome = compared(SAME, OTHER, on_endpoint=True)
    assert not outcome.in_characters and outcome.results[1].difference == TextDifference(1)
    here = Contestant("drafter", LoadPair()), Contestant("drafter")
    *_, outcome = compared(SAME, OTHER, on_endpoint=True, contestants=here)
    assert outcome.in_characters and outcome.results[1].difference is None, "tokens of other models aren't compared"


# Contestants that reply at the same time

THREE = with_drafters(Path("t"), (Path("a"),))


def test_contestants_reply_in_turns_of_a_step_and_have_no_ratio():
    *events, outcome = compared(SAME, SAME, SAME, OTHER, together=True, repeats=2)
    plain, drafter = (one.contestant for one in outcome.results)
    replies = [(type(event), event.contestant) for event in events if not isinstance(event, ContestantResult)]
    first = [(NextReply, plain), (NextReply, drafter), *[(ContestantEvent, plain), (ContestantEvent, drafter)] * 2]
    assert replies[:6] == first
    assert replies[6:] == [(kind, {plain: drafter, drafter: plain}[one]) for kind, one in first], "the other one comes first"
    assert [event.index for event in events if isinstance(event, NextReply)] == [0, 1, 2, 3]
    assert outcome.together and outcome.fastest is None and outcome.ratio(outcome.results[1]) is None
    assert outcome.results[1].verdict == "different" and all(one.tok_s for one in outcome.results)
    *_, outcome = compared(SAME, SAME)
    assert not outcome.together and outcome.fastest is not None and outcome.ratio(outcome.results[1]) is not None


def outcome_of(script, requests, contestants, repeats, together):
    """What a comparison finds, or its error, if replies depend on contestant, prompt, and number of earlier replies."""
    counts = {}

    def generate(request):
        who = 0 if request.mode == "plain" else 1 if request.lookup_only else len(contestants) - 1
        key = who, request.prompt_tokens[0]
        counts[key] = counts.get(key, -1) + 1
        replies = script[key]
        if replies is None:
            yield []
            raise UserError("scripted", "{who} failed at {prompt}.", who=who, prompt=key[1])
        found = replies[counts[key]]
        for token in found:
            yield [Commit("", "answer", (token,), ())]
        yield [Finished("length", replace(STATS, tokens=len(found), decode_tok_s=1.0 + counts[key]))]

    request = Compare(tuple(requests), contestants, repeats, together=together)
    try:
        *_, outcome = play(Comparison(request, threading.Event()).steps(), load, generate)
    except UserError as error:
        return str(error)
    return replace(outcome, together=False)


texts = st.lists(st.integers(0, 1), min_size=1, max_size=3).map(tuple)


@given(st.data(), st.sampled_from([2, 3]), st.integers(1, 3), st.integers(1, 3))
def test_replies_at_the_same_time_are_compared_like_those_one_after_the_other(data, count, prompts, repeats):
    answers = st.none() | st.lists(texts, min_size=repeats, max_size=repeats)
    script = {(who, at): data.draw(answers) for who in range(count) for at in range(prompts)}
    requests = [GenerationRequest(prompt_tokens=(at,), seed=1) for at in range(prompts)]
    contestants = THREE if count == 3 else (Contestant("plain"), Contestant("drafter"))
    alone, together = (outcome_of(script, requests, contestants, repeats, one) for one in (False, True))
    assert together == alone


def test_a_reply_ends_when_the_only_other_one_fails():
    closed = []

    def generate(request):
        yield [Commit("One", "answer", (1,), ())]
        if request.mode == "dflash":
            raise UserError("scripted", "No room.")
        try:
            for _ in range(100):
                yield []
            pytest.fail("The reply goes on.")
        except GeneratorExit:
            closed.append(request.mode)
            raise

    comparison = Comparison(Compare((ASKED,), together=True), threading.Event())
    with pytest.raises(UserError, match="No room"):
        list(play(comparison.steps(), load, generate))
    assert closed == ["plain"]


def test_a_prompt_that_the_baseline_cannot_answer_is_left_out_though_the_others_end_early():
    requests = [GenerationRequest(prompt_tokens=(at,)) for at in range(2)]
    failed = UserError("scripted", "Too long.")
    *_, outcome = compared(failed, SAME, SAME, SAME, requests=requests, together=True)
    assert [at for at, _ in outcome.left_out] == [0] and [len(one.replies) for one in outcome.results] == [1, 1]


def test_a_cancel_ends_all_replies_without_a_result():
    cancel, seen = threading.Event(), []

    def generate(request):
        while not cancel.is_set():
            yield [Commit("One", "answer", (1,), ())]
        yield [Finished("cancelled", STATS)]

    for event in play(Comparison(Compare((ASKED,), together=True), cancel).steps(), load, generate):
        seen.append(event)
        if len(seen) == 9:
            cancel.set()
    ends = [one.event.reason for one in seen if isinstance(one, ContestantEvent) and isinstance(one.event, Finished)]
    assert ends == ["cancelled"] * 2 and isinstance(seen[-1], ContestantEvent)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"on_endpoint": True}, "server_not_together"),
        ({"on_endpoint": True, "contestants": (Contestant("drafter", LoadPair()), Contestant("drafter"))}, "server_not_together"),
        ({"contestants": with_drafters(Path("t"), (Path("a"), Path("b")))}, "pairs_not_together"),
    ],
)
def test_contestants_that_cannot_reply_at_the_same_time_are_refused(options, code):
    with pytest.raises(UserError) as refused:
        compared(together=True, **options)
    assert refused.value.text.code == code
