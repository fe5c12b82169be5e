"""The engine's requests and events: their order, their values, and that the engine is ready again after every end."""

import dataclasses
import threading

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Commit, CompareResult, ContestantEvent, Finished, NextReply, PrefillProgress, Round
from mlx_engine.contract.requests import (
    Calibrate,
    Compare,
    CountTokens,
    GenerationRequest,
    MeasureMachine,
    Message,
    Sampling,
    SelectKernels,
)
from mlx_engine.decoding.width import WIDTH_1_REQUESTED
from mlx_engine.engine.engine import Engine
from mlx_engine.models.configs import families
from tests.examples import sampled
from tests.mlx_engine.asking import events, failure, question, reply, tokens
from tests.mlx_engine.conftest import GOLDEN, loaded

PROMPT = (73, 122, 51, 37, 73, 117, 82, 108, 70, 73, 52)


def test_events_come_in_order_and_add_up(tiny):
    seen = events(tiny, tokens(PROMPT, max_tokens=40, width=8))
    kinds = [type(event) for event in seen]
    assert kinds[-1] is Finished and kinds.count(Finished) == 1
    last_prefill = max(i for i, kind in enumerate(kinds) if kind is PrefillProgress)
    assert last_prefill < kinds.index(Commit)
    progress = [event for event in seen if isinstance(event, PrefillProgress)]
    assert [p.done for p in progress] == sorted(p.done for p in progress)
    assert progress[-1] == PrefillProgress(len(PROMPT), len(PROMPT), 0)
    stats = seen[-1].stats
    rounds = [event for event in seen if isinstance(event, Round)]
    commits = [event for event in seen if isinstance(event, Commit)]
    assert stats.rounds == len(rounds) and stats.accepted == sum(r.accepted for r in rounds)
    assert stats.tokens == sum(len(commit.tokens) for commit in commits) == 40
    assert stats.drafted == sum(r.width - 1 for r in rounds)
    assert stats.plain_steps == 0
    assert all(r.accepted <= r.tested <= min(r.accepted + 1, r.width - 1) for r in rounds)
    assert stats.tokens_per_round == 39 / stats.rounds <= stats.accepted / stats.rounds + 1
    assert stats.ttft_s > 0 and stats.decode_tok_s > 0 and stats.peak_memory_bytes > 0


def test_every_token_has_a_source(tiny):
    commits = [event for event in events(tiny, tokens(PROMPT, max_tokens=40, width=4)) if isinstance(event, Commit)]
    sources = [source for commit in commits for source in commit.sources]
    assert all(len(commit.tokens) == len(commit.sources) for commit in commits)
    assert sources[0] == "prefill" and sources.count("prefill") == 1
    assert "drafter" in sources and "target" in sources


def test_a_round_near_the_end_of_the_budget_is_narrower(tiny):
    stats = reply(tiny, tokens(PROMPT, max_tokens=6, width=8)).stats
    left = 5
    for width, accepted in zip(stats.widths, stats.accepted_per_round, strict=True):
        assert width == min(8, left + 1)
        left -= accepted + 1


def test_width_one_decodes_plainly_step_by_step(tiny):
    stats = reply(tiny, tokens(PROMPT, max_tokens=12, width=1)).stats
    assert (stats.rounds, stats.plain_steps, stats.tokens_per_round, stats.acceptance) == (0, 11, None, None)
    assert stats.plain_because == ((WIDTH_1_REQUESTED, 11),)


def test_a_reply_of_one_token_needs_no_round(tiny):
    got = reply(tiny, tokens(PROMPT, max_tokens=1))
    assert len(got.tokens) == 1 and got.reason == "length" and got.stats.decode_tok_s is None


@pytest.mark.parametrize("mode", ["dflash", "plain"])
def test_cancel_ends_the_reply_and_keeps_its_text(tiny, mode):
    cancel, seen = threading.Event(), []
    for event in tiny.generate(tokens(PROMPT, max_tokens=400, ignore_eos=True, mode=mode), cancel):
        seen.append(event)
        if isinstance(event, Commit):
            cancel.set()
    assert seen[-1].reason == "cancelled"
    assert 1 <= seen[-1].stats.tokens < 400
    assert reply(tiny, tokens(PROMPT, max_tokens=5)).reason == "length"


def test_cancel_before_the_first_token_ends_the_prefill(tiny):
    cancel = threading.Event()
    cancel.set()
    seen = events(tiny, tokens(PROMPT * 50), cancel)
    assert seen[-1].reason == "cancelled" and seen[-1].stats.tokens == 0
    assert seen[-1].stats.ttft_s is None and seen[-1].stats.decode_tok_s is None


def test_closing_the_events_early_leaves_the_engine_ready(tiny):
    running = tiny.generate(tokens(PROMPT, max_tokens=400))
    next(event for event in running if isinstance(event, Commit))
    running.close()
    assert reply(tiny, tokens(PROMPT, max_tokens=5)).reason == "length"


def test_a_second_reply_at_the_same_time_is_refused_if_one_of_both_is_exact(tiny):
    running = tiny.generate(tokens(PROMPT, max_tokens=30, exact=True))
    first = next(event for event in running if isinstance(event, Commit))
    assert "still being generated" in failure(tiny, tokens(PROMPT))
    running.close()
    running = tiny.generate(tokens(PROMPT, max_tokens=30))
    first = next(event for event in running if isinstance(event, Commit))
    assert "still being generated" in failure(tiny, tokens(PROMPT, exact=True))
    rest = [event for event in running if isinstance(event, Commit)]
    got = tuple(token for commit in (first, *rest) for token in commit.tokens)
    assert got == reply(tiny, tokens(PROMPT, max_tokens=30)).tokens


@pytest.mark.parametrize("mode", ["dflash", "plain"])
def test_a_stop_string_ends_the_reply_and_its_statistics(tiny, mode):
    text = reply(tiny, tokens(PROMPT, max_tokens=40)).text
    stop = text.split()[12]
    got = reply(tiny, tokens(PROMPT, max_tokens=40, mode=mode, stop=(stop,)))
    assert got.reason == "stop_string" and got.text == text.split(stop)[0]
    assert got.stats.tokens == len(got.tokens) < 40


def test_an_end_token_or_the_limit_inside_a_block_ends_the_reply_there(tiny):
    """A reply that ends inside a block ends as in plain decoding; the rest of the block is neither shown nor counted."""
    whole = reply(tiny, tokens(PROMPT, mode="plain", max_tokens=30, ignore_eos=True)).tokens
    inside = {"length": 0, "eos": 0}
    for at in range(1, 30, 3):
        drafted = reply(tiny, tokens(PROMPT, max_tokens=at, ignore_eos=True, width=8))
        assert (drafted.tokens, drafted.reason, drafted.stats.tokens) == (whole[:at], "length", at)
        inside["length"] += sum(drafted.stats.accepted_per_round) + drafted.stats.rounds + 1 > at
    ends, mine = tiny.pair.tokenizer.eos_token_ids, sorted(set(whole[5:]))[::2]
    try:
        for end in mine:
            tiny.pair.tokenizer.eos_token_ids = [end]
            at = whole.index(end) + 1
            drafted = reply(tiny, tokens(PROMPT, max_tokens=30, width=8))
            assert (drafted.tokens, drafted.reason, drafted.stats.tokens) == (whole[:at], "eos", at)
            inside["eos"] += sum(drafted.stats.accepted_per_round) + drafted.stats.rounds + 1 > at
    finally:
        tiny.pair.tokenizer.eos_token_ids = ends
    assert inside["length"] and inside["eos"]


def test_unloading_ends_a_reply_in_progress():
    engine = loaded(GOLDEN / "e2e_qwen3" / "target", GOLDEN / "e2e_qwen3" / "drafter")
    running = engine.generate(tokens(PROMPT, max_tokens=100))
    next(event for event in running if isinstance(event, Commit))
    engine.unload()
    assert list(running) == []
    assert "No model is loaded" in failure(engine, tokens(PROMPT))


def test_another_pair_is_not_judged_by_the_speed_of_the_earlier_one():
    engine = loaded(GOLDEN / "e2e_qwen3" / "target", GOLDEN / "e2e_qwen3" / "drafter")
    for streams, seconds in ((4, 0.01), (5, 1.0)):
        for _ in range(40):
            engine._turns.scheduler.gain.record(streams, 1, seconds)
    assert not engine.gains(4)
    list(engine.load(GOLDEN / "e2e_qwen3_5" / "target", None))
    assert engine.gains(4)
    engine.unload()


def test_width_one_does_not_accumulate_features(tiny):
    held = []
    for event in tiny.generate(tokens(PROMPT, max_tokens=180, width=1, ignore_eos=True)):
        if isinstance(event, Commit):
            held.append(mx.get_active_memory())
    assert held[160] - held[20] < 140 * 256  # the outputs of 2 taps are 512 bytes per token


@sampled(3)
@given(temperature=st.sampled_from([0.6, 1.0]), seed=st.integers(0, 2**64 - 1))
def test_a_sampled_text_depends_on_the_seed_alone(tiny, temperature, seed):
    request = tokens(PROMPT, temperature, seed=seed, max_tokens=24)
    assert reply(tiny, request).tokens == reply(tiny, request).tokens


def test_without_a_seed_a_new_one_is_drawn_and_reported(tiny):
    first, second = (reply(tiny, tokens(PROMPT, 1.0, max_tokens=24)) for _ in range(2))
    assert first.stats.seed != second.stats.seed
    assert reply(tiny, tokens(PROMPT, 1.0, max_tokens=24, seed=first.stats.seed)).tokens == first.tokens


@pytest.mark.parametrize("reuse", [False, True])
def test_a_plain_reply_without_reuse_does_no_work_for_the_drafter(tiny, monkeypatch, reuse):
    """The plain side of a comparison includes none of DFlash's work."""
    injected = []
    inject = tiny.pair.drafter.inject
    monkeypatch.setattr(tiny.pair.drafter, "inject", lambda *given: injected.append(given) or inject(*given))
    reply(tiny, tokens(PROMPT, mode="plain", max_tokens=12, reuse=reuse))
    assert bool(injected) == reuse


def test_a_target_without_a_drafter_says_why_it_decodes_plainly():
    engine = loaded(GOLDEN / "e2e_qwen3" / "target", None)
    for mode in ("dflash", "plain"):  # an app that can't turn DFlash on asks for plain replies
        stats = reply(engine, tokens(PROMPT, mode=mode, max_tokens=8)).stats
        assert stats.mode == "plain" and stats.why_plain.code == "no_drafter"


def test_a_family_without_dflash_still_decodes_plainly(monkeypatch):
    monkeypatch.delitem(families.FAMILIES, "gpt_oss")
    engine = loaded(GOLDEN / "e2e_gpt_oss" / "target", None)
    got = reply(engine, tokens((5, 6, 7, 8), max_tokens=8))
    assert got.stats.mode == "plain" and "gpt_oss" in str(got.stats.why_plain)


def filtered(**options):
    return dataclasses.replace(tokens(PROMPT), sampling=Sampling(**options))


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (GenerationRequest(), "no message to reply to"),
        (GenerationRequest(prompt_tokens=()), "empty"),
        (tokens(PROMPT, max_tokens=0), "token limit can't be 0"),
        (tokens(PROMPT, width=9), "from 1 to 8 with this drafter."),
        (tokens(PROMPT, width=0), "from 1 to 8"),
        (tokens(PROMPT, temperature=-1.0), "temperature can't be -1"),
        (tokens(PROMPT, temperature=float("nan")), "temperature can't be nan"),
        (tokens((1, 2, 128)), "Token 128"),
        (tokens(PROMPT, seed=-1), "18446744073709551615"),
        (tokens(PROMPT, mode="fast"), "dflash or plain"),
        (tokens(PROMPT, temperature=1e30), "temperature can't be 1e+30"),
        (tokens(PROMPT, temperature="hot"), "temperature can't be hot"),
        (tokens(PROMPT, max_tokens=2.5), "token limit can't be 2.5"),
        (tokens(PROMPT, seed=1 << 64), "18446744073709551615"),
        (tokens(PROMPT, stop=("\n", "")), "stop sequence is empty"),
        (tokens(PROMPT, effort="as much as you like"), "Use one word"),
        (question("Hello"), "no chat template"),
        (filtered(presence_penalty=float("nan")), "presence penalty can't be nan"),
        (filtered(frequency_penalty=-1e9), "from -100 to 100 (0 is off)."),
        (filtered(repetition_penalty=float("inf")), "repetition penalty can't be inf"),
        (filtered(temperature=10**400), "temperature can't be 1000"),
        (filtered(top_p=float("nan")), "top-p can't be nan"),
        (filtered(repetition_penalty=0.0), "from 0.01 to 100 (1 is off)."),
        (filtered(top_p=0.0), "leaves no token"),
        (filtered(top_p=1.2), "top-p can't be 1.2"),
        (filtered(min_p=-0.1), "min-p can't be -0.1"),
        (filtered(top_k=-1), "top-k can't be -1. Use a whole number, 0 or greater (0 is off)."),
    ],
)
def test_a_bad_request_is_refused_and_the_engine_stays_ready(tiny, request_, words):
    assert words in failure(tiny, request_)
    assert reply(tiny, tokens(PROMPT, max_tokens=3)).reason == "length"


def test_a_prompt_that_exceeds_the_context_is_refused_and_a_reply_ends_at_its_limit(tiny):
    limit = tiny.pair.info.context_limit
    message = failure(tiny, tokens((PROMPT * limit)[: limit + 7]))
    assert f"{limit:,}" in message and f"{limit + 7:,}" in message
    assert f"{limit:,}" in failure(tiny, tokens((PROMPT * limit)[:limit]))
    got = reply(tiny, tokens((PROMPT * limit)[: limit - 3], ignore_eos=True, max_tokens=50))
    assert len(got.tokens) == 3 and got.reason == "length"


def test_every_request_without_a_pair_is_refused():
    engine = Engine()
    assert "No model is loaded" in failure(engine, question("Hello"))
    for request in (
        Compare((question("Hello"),)),
        CountTokens(GenerationRequest(())),
        Calibrate(),
        SelectKernels(),
        MeasureMachine(),
    ):
        with pytest.raises(UserError, match="No model is loaded"):
            list(engine.run(request))


def test_compare_alternates_modes_with_one_seed_and_finds_them_identical(tiny):
    seen = list(tiny.run(Compare((tokens(PROMPT, 0.8, max_tokens=30),), repeats=2)))
    assert [event.contestant.proposer for event in seen if isinstance(event, NextReply)] == ["plain", "drafter", "drafter", "plain"]
    result = seen[-1]
    assert isinstance(result, CompareResult)
    plain, drafted = result.results
    assert (drafted.verdict, drafted.difference, drafted.identical) == ("identical", None, 1)
    assert len({run.seed for run in (*plain.runs, *drafted.runs)}) == 1 and len(drafted.runs) == 2
    assert result.ratio(drafted) > 0


def test_a_cancelled_comparison_ends_without_a_verdict(tiny):
    cancel = threading.Event()
    seen = []
    for event in tiny.run(Compare((tokens(PROMPT, max_tokens=60),)), cancel):
        seen.append(event)
        if isinstance(event, ContestantEvent) and isinstance(event.event, Commit):
            cancel.set()
    assert isinstance(seen[-1], ContestantEvent) and seen[-1].event.reason == "cancelled"


def test_tokens_of_a_chat_are_counted_against_the_context(demo):
    count = demo.count_tokens(CountTokens(GenerationRequest((Message("user", "What is 2 + 2?"),))))
    assert 0 < count.tokens < 60 and count.limit == demo.pair.info.context_limit
