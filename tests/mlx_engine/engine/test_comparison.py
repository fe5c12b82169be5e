"""The first difference of two replies, and whether it is a tie."""

import dataclasses
import math
import threading
from types import SimpleNamespace

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.events import Commit, Finished, Stats
from mlx_engine.contract.requests import CompareRequest, GenerationRequest, Sampling
from mlx_engine.contract.whole_replies import first_difference
from mlx_engine.decoding.sampling import Chooser
from mlx_engine.engine import comparison
from mlx_engine.engine.comparison import TextDifference, compare, difference, tie_margin
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
    request = dataclasses.replace(tokens(PROMPT, max_tokens=4, seed=1), sampling=Sampling(temperature=1.0, top_k=1))
    first = reply(tiny, request).tokens[0]
    assert difference(tiny.pair, request, (first,), ((first + 1) % 128,), 0) == TextDifference(0, None, False)


def test_the_end_of_a_reply_has_no_margin(tiny):
    assert difference(tiny.pair, tokens(PROMPT, seed=1), (1, 2), (1, 2, 3), 2) == TextDifference(2, None, False)


class _Scripted:
    """A pair whose target returns `logits` [1, 4] in every pass."""

    def __init__(self) -> None:
        self.dtype, self.tokenizer, self.target = mx.bfloat16, None, self
        self.logits = mx.zeros((1, 4))

    def caches(self) -> None:
        return None

    def forward(self, tokens: mx.array, caches: None) -> mx.array:
        return self.logits


@pytest.fixture
def scripted(monkeypatch):
    pair = _Scripted()
    monkeypatch.setattr(comparison, "prefill", lambda *_: ())
    monkeypatch.setattr(comparison.chat_prompt, "render", lambda _, request: SimpleNamespace(tokens=request.prompt_tokens))
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


def answers(*texts):
    """A stand-in for the engine: each run returns the next text."""
    left = list(texts)

    def generate(request, cancel):
        if cancel.is_set():
            yield Finished("cancelled", STATS)
            return
        yield Commit("", "answer", left.pop(0), ())
        yield Finished("length", STATS)

    return generate


def test_a_difference_in_any_run_is_found(scripted):
    """plain, DFlash, DFlash, plain, plain, DFlash: only the last one differs."""
    same, other = (1, 1, 1), (1, 2, 1)
    scripted.logits = mx.array([[0.0, 9.0, 0.0, 0.0]])
    request = CompareRequest(GenerationRequest(prompt_tokens=(0,)), repeats=3)
    *_, result = compare(scripted, answers(same, same, same, same, same, other), request, threading.Event())
    assert (result.verdict, result.first_difference, result.dflash.tokens) == ("different", 1, other)
    *_, result = compare(scripted, answers(*[same] * 6), request, threading.Event())
    assert (result.verdict, result.first_difference, result.margin) == ("identical", None, None)


def test_a_difference_is_reported_rather_than_a_tie(scripted):
    request = CompareRequest(GenerationRequest(prompt_tokens=(0,)), repeats=2)
    scripted.logits = mx.array([[0.0, 1.0, 1.0, -9.0]])
    *_, result = compare(scripted, answers((1,), (2,), (3,), (1,)), request, threading.Event())
    assert (result.verdict, result.dflash.tokens) == ("different", (3,))


def test_a_cancel_during_the_pause_ends_the_comparison(scripted):
    cancel, seen = threading.Event(), []
    request = CompareRequest(GenerationRequest(prompt_tokens=(0,)), pause_s=60.0)
    for event in compare(scripted, answers((1,), (1,)), request, cancel):
        seen.append(event)
        if isinstance(event, Finished):
            cancel.set()
    assert isinstance(seen[-1], Finished) and seen[-1].reason == "cancelled"
