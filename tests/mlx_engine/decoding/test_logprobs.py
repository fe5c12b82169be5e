"""Log-probabilities and logit bias: the target's own, and the same with and without DFlash."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.events import Commit, Failed
from mlx_engine.contract.requests import GenerationRequest, Sampling
from mlx_engine.contract.token_logprobs import PositionLogprobs
from mlx_engine.decoding.costs import ASSUMED
from mlx_engine.decoding.sampling import Penalties
from mlx_engine.engine.engine import Engine
from mlx_engine.formats import chat_prompt, logprobs
from mlx_engine.formats.reply_text import ReplyText
from mlx_engine.formats.token_texts import TokenTexts
from mlx_engine.hardware import device
from tests.examples import SAMPLE, sampled
from tests.mlx_engine.asking import events, failure, question, tokens
from tests.mlx_engine.conftest import GOLDEN, by_mlx_lm, loaded
from tests.mlx_engine.formats import made_tokenizers

PAIRS = {"growing": "e2e_qwen3", "rotating": "e2e_gpt_oss", "recurrent": "e2e_qwen3_5"}
PROMPT = (73, 122, 51, 37, 73, 117, 82, 108, 70, 73, 52)
LENGTH = 10 if SAMPLE else 20
SAMPLING = st.sampled_from([Sampling(), Sampling(0.8), Sampling(0.9, top_p=0.8), Sampling(0.8, repetition_penalty=1.3)])
BIAS = st.lists(st.tuples(st.integers(0, 100), st.floats(-100, 100)), max_size=3).map(tuple)


@pytest.fixture(scope="module", params=list(PAIRS))
def pair(request) -> Iterator[tuple[Engine, str]]:
    engine = loaded(GOLDEN / PAIRS[request.param] / "target", GOLDEN / PAIRS[request.param] / "drafter")
    yield engine, PAIRS[request.param]
    engine.unload()


def reported(engine: Engine, request: GenerationRequest) -> list[PositionLogprobs]:
    """Return the log-probabilities of each token of a reply."""
    found = events(engine, request)
    assert not isinstance(found[-1], Failed), found[-1]
    commits = [event for event in found if isinstance(event, Commit)]
    for commit in commits:
        assert [each.chosen.token for each in commit.logprobs] == list(commit.tokens)
    return [each for commit in commits for each in commit.logprobs]


def same(found: Sequence[PositionLogprobs], wanted: Sequence[PositionLogprobs], within: float) -> None:
    assert [each.chosen.token for each in found] == [each.chosen.token for each in wanted]
    assert [each.hidden for each in found] == [each.hidden for each in wanted]
    for one, other in zip(found, wanted, strict=True):
        assert one.chosen.logprob == pytest.approx(other.chosen.logprob, abs=within)
        assert [top.logprob for top in one.top] == pytest.approx([top.logprob for top in other.top], abs=within)


def by_one_pass(model, prompt: Sequence[int], reply: Sequence[int]) -> np.ndarray:
    """Return mlx-lm's log-probabilities [tokens, V] at each position of a reply, in float64, from a single pass."""
    logits = np.array(model(mx.array([[*prompt, *reply]]))[0, len(prompt) - 1 : -1].astype(mx.float32), np.float64)
    highest = logits.max(axis=-1, keepdims=True)
    return logits - highest - np.log(np.exp(logits - highest).sum(axis=-1, keepdims=True))


def check_values(found: Sequence[PositionLogprobs], wanted: np.ndarray, count: int) -> None:
    for each, row in zip(found, wanted, strict=True):
        assert each.chosen.logprob == pytest.approx(row[each.chosen.token], abs=1e-4)
        assert [top.logprob for top in each.top] == pytest.approx(sorted(row, reverse=True)[:count], abs=1e-4)
        assert [row[top.token] for top in each.top] == pytest.approx([top.logprob for top in each.top], abs=1e-4)


@sampled(3)
@given(data=st.data(), sampling=SAMPLING, bias=BIAS, seed=st.integers(0, 2**64 - 1), count=st.integers(0, 5))
def test_dflash_reports_what_plain_decoding_reports(pair, data, sampling, bias, seed, count):
    """At every width, with rounds queued ahead or not, and with a reused prompt."""
    engine, name = pair
    width, queued = data.draw(st.sampled_from([None, 1, 2, 5, 8]), "width"), data.draw(st.booleans(), "queued ahead")
    options = {"sampling": sampling, "logit_bias": bias, "seed": seed, "logprobs": count, "max_tokens": LENGTH, "ignore_eos": True}
    request = GenerationRequest(prompt_tokens=PROMPT, **options)
    plain = reported(engine, replace(request, mode="plain", reuse=False))
    assert len(plain) == LENGTH and all(len(each.top) == count for each in plain)
    engine.pair.use_costs(replace(ASSUMED, queued=queued))
    with pytest.MonkeyPatch.context() as patch:
        if queued:
            patch.setattr(device, "runs_beside_host", lambda: True)
        # the masks of a queued round, and gpt-oss's experts and windows in a pass of several rows, sum in another order:
        # a logit differs by up to 1.6e-5
        same(reported(engine, replace(request, width=width)), plain, 1e-4 if queued or "gpt_oss" in name else 1e-5)
        same(reported(engine, replace(request, mode="plain")), plain, 1e-5)


@pytest.mark.parametrize("mode", ["plain", "dflash"])
def test_values_are_mlx_lms_before_bias_penalties_and_filters(pair, mode):
    engine, name = pair
    sampling = Sampling(0.7, top_k=20, repetition_penalty=1.2, presence_penalty=0.5)
    request = GenerationRequest(prompt_tokens=PROMPT, mode=mode, sampling=sampling, seed=5, logprobs=4, max_tokens=LENGTH)
    found = reported(engine, replace(request, ignore_eos=True, logit_bias=((60, 4.0),)))
    reply = [each.chosen.token for each in found]
    check_values(found, by_one_pass(by_mlx_lm(GOLDEN / name / "target"), PROMPT, reply), 4)


def test_values_of_the_demo_pair(demo, demo_by_mlx_lm):
    request = question("What is the capital of France?", max_tokens=12, seed=1, sampling=Sampling(0.8), logprobs=20)
    found = reported(demo, request)
    prompt = chat_prompt.render(demo.pair.tokenizer, request).tokens
    check_values(found, by_one_pass(demo_by_mlx_lm, prompt, [each.chosen.token for each in found]), 20)
    shown = b"".join(each.chosen.text for each in found if not each.hidden).decode()
    assert shown == "".join(event.text for event in events(demo, request) if isinstance(event, Commit))


def test_nothing_is_reported_unless_asked(tiny):
    found = events(tiny, tokens(PROMPT, max_tokens=5))
    assert {event.logprobs for event in found if isinstance(event, Commit)} == {()}
    assert all(each.top == () for each in reported(tiny, tokens(PROMPT, max_tokens=5, logprobs=0)))


def test_a_vocabulary_smaller_than_the_count_is_reported_whole():
    rows = logprobs.read(logprobs.report(mx.array([[0.0, 2.0, 1.0]]), mx.array([0], mx.uint32), 20), 1)
    assert [token for token, _ in rows[0].top] == [1, 2, 0] and rows[0].top[2][1] == rows[0].chosen


SAMPLINGS = (Sampling(), Sampling(1.0), Sampling(0.8, top_k=5, frequency_penalty=0.3))
WAYS = zip(product(SAMPLINGS, ("plain", "dflash"), (False, True)), product(range(3), range(2), range(2)), strict=True)


@pytest.mark.parametrize(  # in a sample every two values, for each pair
    ("sampling", "mode", "queued"), [pytest.param(*way, marks=[pytest.mark.long][: sum(at) % 2]) for way, at in WAYS]
)
def test_a_bias_of_100_forces_a_token_and_of_minus_100_forbids_it(pair, monkeypatch, mode, sampling, queued):
    engine, _ = pair
    engine.pair.use_costs(replace(ASSUMED, queued=queued))
    monkeypatch.setattr(device, "runs_beside_host", lambda: queued)
    asked = {"sampling": sampling, "seed": 2, "max_tokens": LENGTH, "ignore_eos": True}
    request = GenerationRequest(prompt_tokens=PROMPT, mode=mode, width=4, **asked)

    def chosen(bias: tuple[tuple[int, float], ...]) -> list[int]:
        found = events(engine, replace(request, logit_bias=bias))
        return [token for event in found if isinstance(event, Commit) for token in event.tokens]

    free = set(chosen(()))
    assert chosen(((77, 100.0),)) == [77] * LENGTH
    assert free.isdisjoint(chosen(tuple((token, -100.0) for token in free)))


def test_a_bias_is_added_before_the_repetition_penalty(tiny):
    sampling = Sampling(repetition_penalty=2.0)
    logits, biased = mx.array([[4.0, 1.0, 5.0]]), [[(4.0 + 3.0) / 2, 1.0, 5.0]]
    assert Penalties(sampling, [0], [(0, 3.0)]).apply(logits).tolist() == biased


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"logit_bias": ((5, 100.5),)}, "logit bias can't be 100.5"),
        ({"logit_bias": ((5, float("nan")),)}, "logit bias can't be nan"),
        ({"logit_bias": ((128, 1.0),)}, "Token 128 in the logit bias is outside"),
        ({"logit_bias": ((-1, 1.0),)}, "Token -1 in the logit bias is outside"),
        ({"logprobs": 21}, "log-probabilities can't be 21"),
        ({"logprobs": -1}, "log-probabilities can't be -1"),
    ],
)
def test_values_out_of_range_are_refused(tiny, options, why):
    assert why in failure(tiny, tokens(PROMPT, **options))


@pytest.mark.parametrize("text", ["Plain words.\n", "Grüße, 東京 👩‍👩‍👧 \t end"])
@pytest.mark.parametrize("markers", ["think", "harmony"])
def test_texts_of_tokens_are_the_bytes_of_the_reply(markers, text):
    tokenizer = made_tokenizers.made(markers)
    texts = TokenTexts(tokenizer)
    assert b"".join(map(texts.text, made_tokenizers.ids(tokenizer, text))) == text.encode()
    assert texts.text(len(tokenizer)) == b""


def test_markers_headers_and_whitespace_before_the_text_are_hidden():
    tokenizer = made_tokenizers.made("harmony")
    text = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>\n Yes.<|return|>"
    found = made_tokenizers.ids(tokenizer, text)
    reply = ReplyText(tokenizer, chat_prompt.RenderedPrompt(made_tokenizers.ids(tokenizer, "<|start|>assistant"), [], []))
    rows = [logprobs.RowLogprobs(-1.0, ())] * len(found)
    commits = [part for part in reply.add(found, ["target"] * len(found), rows) if isinstance(part, Commit)]
    for channel, shown in (("thinking", b"Hm."), ("answer", b"Yes.")):
        of_channel = [each for commit in commits if commit.channel == channel for each in commit.logprobs]
        assert b"".join(each.chosen.text for each in of_channel if not each.hidden) == shown
