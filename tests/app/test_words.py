"""Figures in words: honest, short, none invented."""

from dataclasses import fields, replace

import pytest
from hypothesis import given

from app.conversations import wording
from app.conversations.chat_tree import Chat, Node
from app.conversations.comparison_record import ComparisonRecord
from app.conversations.comparison_words import verdict_on
from app.conversations.records import details, node_from
from app.conversations.reply import LiveRate, Reply, joined
from app.conversations.settings import ChatSettings
from mlx_engine.events import CompareResult, Failed, Finished, PrefillProgress, Stats
from mlx_engine.events import CompletedReply as WholeReply
from mlx_engine.requests import GenerationRequest, Message
from tests.app.chats import stats as made_up_stats
from tests.app.scripted_engine import PAIR, a_round, commit, done, stats


def test_before_anything_is_known_no_figure_is_shown() -> None:
    reply = Reply("dflash", 1024)
    assert wording.chip(reply) == "DFlash"
    assert wording.facts(reply) == ""


def test_a_running_rate_carries_a_tilde_and_is_over_the_last_second() -> None:
    reply = Reply("dflash", 1024)
    for at in range(30):
        reply.accept(commit("x", 10), at / 10)
    assert wording.facts(reply) == "~100 tok/s · 300 tokens"
    reply.accept(commit("x", 50), 3.0)
    assert "~140 tok/s" in wording.facts(reply)


def test_one_arrival_is_not_yet_a_rate() -> None:
    rate = LiveRate()
    rate.add(1.0, 20)
    assert rate.tok_s is None


def test_the_chip_grows_with_the_rounds_and_ends_with_the_engines_figures() -> None:
    reply = Reply("dflash", 1024)
    reply.accept(a_round(tested=6, accepted=5), 0.1)
    assert wording.chip(reply) == "DFlash · 6.0 tokens/round · 83 %"
    reply.accept(done(), 0.2)
    assert wording.chip(reply) == "DFlash · 6.0 tokens/round · 91 %"
    assert wording.facts(reply) == "512 tok/s · first token 38 ms · 12 tokens"


@pytest.mark.parametrize(
    ("reason", "ending"),
    [
        ("cancelled", " · stopped by you"),
        ("length", " · reached the limit of 1,024 tokens"),
        ("stop_string", " · ended at a stop word"),
        ("eos", "tokens"),
    ],
)
def test_the_reason_for_stopping_is_told_in_words(reason: str, ending: str) -> None:
    reply = Reply("plain", 1024)
    reply.accept(done("plain", reason, tokens=1024), 0.0)  # type: ignore[arg-type]
    assert wording.facts(reply).endswith(ending)


def test_a_reply_that_the_context_cut_short_does_not_blame_the_limit() -> None:
    reply = Reply("plain", 1024)
    reply.accept(done("plain", "length", tokens=800), 0.0)
    assert wording.facts(reply).endswith("800 tokens · the context is full")


def test_each_part_of_a_continued_reply_may_have_as_many_tokens_as_were_asked_for() -> None:
    for tokens, words_said in ((300, "the context is full"), (1024, "reached the limit of 1,024 tokens")):
        reply = Reply("plain", 1024)
        reply.accept(commit("text", 1024), 0.0)
        reply.accept(done("plain", "length", tokens=1024), 0.0)
        reply.resume("plain")
        reply.accept(done("plain", "length", tokens=tokens), 0.0)
        node = Node("assistant", reply=reply, request=GenerationRequest((Message("user", "One"),)))
        again = node_from("assistant", "id", reply.answer, "", 0.0, details(node)).reply
        assert again is not None
        for one in (reply, again):
            assert wording.stop_words(one) == words_said


def test_a_reply_that_fell_back_to_plain_says_so_and_why() -> None:
    reply = Reply("dflash", 1024)
    reply.accept(done("plain", why_plain="no drafter is loaded"), 0.0)
    assert wording.chip(reply) == "Plain · not available: no drafter is loaded"


def test_a_reply_that_was_not_worth_drafting_says_so_and_how_much_of_it() -> None:
    reply = Reply("dflash", 1024)
    figures = replace(stats(tokens=40), plain_steps=30, plain_because=(("few drafts were kept", 30),))
    reply.accept(Finished("eos", figures), 0.0)
    assert wording.chip(reply) == "Plain · hopeless here"
    assert "30 of them plainly, since few drafts were kept" in wording.facts(reply)


def test_a_plain_reply_that_was_asked_for_gives_no_excuse() -> None:
    reply = Reply("plain", 1024)
    reply.accept(done("plain", why_plain="DFlash is off"), 0.0)
    assert "DFlash" not in wording.facts(reply)


def test_a_rate_that_was_not_measured_is_left_out() -> None:
    reply = Reply("plain", 1024)
    reply.accept(done("plain", tokens=1, decode_tok_s=None), 0.0)
    assert wording.facts(reply) == "first token 38 ms · 1 token"


def test_a_long_prompt_shows_how_far_it_was_read() -> None:
    reply = Reply("plain", 1024)
    reply.accept(PrefillProgress(512, 2000, 0), 0.0)
    assert wording.facts(reply) == "reading the prompt, 512 of 2,000 tokens"


def test_an_error_ends_a_reply_and_keeps_its_text() -> None:
    reply = Reply("plain", 1024)
    reply.accept(commit("Half a"), 0.0)
    reply.accept(Failed("error", "The disk is gone."), 0.1)
    assert (reply.answer, reply.error, reply.running) == ("Half a", "The disk is gone.", False)
    assert wording.facts(reply).endswith("ended by an error")


def test_the_details_name_seed_and_reuse() -> None:
    text = wording.details(stats())
    assert "Seed: 7" in text and "9 tokens, 0 of them reused" in text and "Widths used: 16" in text


@given(made_up_stats)
def test_a_part_that_wrote_nothing_changes_no_figure(first: Stats) -> None:
    nothing = Stats(first.mode, 0, 0, 0, None, None, None, 0, 0, 0, 0, (), (), 0, "", 0, 0)
    first = replace(first, plain_because=joined(nothing, first).plain_because)  # reasons in the order of how often they held
    both = joined(first, nothing)
    for one in fields(Stats):
        if one.name != "decode_tok_s":
            assert getattr(both, one.name) == getattr(first, one.name), one.name
    assert both.decode_tok_s is None or both.decode_tok_s == pytest.approx(first.decode_tok_s)


def test_what_was_plain_before_a_pause_is_plain_after_it() -> None:
    reply = Reply("dflash", 100)
    for steps, why in ((30, "few drafts"), (2, "the end")):
        reply.accept(commit("a", 40), 0.0)
        part = replace(stats(tokens=40), plain_steps=steps, plain_because=((why, steps),), lookup_rounds=5, trials=1)
        reply.accept(Finished("length", part), 0.0)
        reply.resume("dflash")
    assert reply.stats is not None
    assert reply.stats.plain_because == (("few drafts", 30), ("the end", 2))
    assert (reply.stats.plain_steps, reply.stats.lookup_rounds, reply.stats.trials) == (32, 10, 2)


@pytest.mark.parametrize("system", ["", "Be brief."])
def test_the_system_prompt_is_no_message_that_stands_before_the_prompt(system: str) -> None:
    chat = Chat(settings=ChatSettings(system))
    first = chat.ask("Hi", "plain")
    first.reply.accept(commit("Hello"), 0.0)
    second = chat.ask("And?", "plain")
    result = CompareResult(whole("plain"), whole("dflash"), 3.0, None, None, "identical")
    befores = [ComparisonRecord.of(result, {}, PAIR, turn.prompt, turn.request).before for turn in (first, second)]
    assert befores == [0, 2]


def whole(mode: str) -> WholeReply:
    return WholeReply("text", "", (1, 2, 3), "eos", stats(mode))  # type: ignore[arg-type]


def compared(ratio: float, at: int | None, margin: float | None, verdict: str) -> ComparisonRecord:
    result = CompareResult(whole("plain"), whole("dflash"), ratio, at, margin, verdict)  # type: ignore[arg-type]
    return ComparisonRecord.of(result, {}, PAIR, "Hi", GenerationRequest())


def test_a_comparison_is_told_with_ratio_and_verdict() -> None:
    result = compared(3.94, None, None, "identical")
    headline, verdict = verdict_on(result)
    assert headline == "DFlash is 3.9 times as fast"
    assert verdict == "The two texts are identical, token for token (12 tokens)."
    assert "slower" in verdict_on(replace(result, ratio=0.8))[0]
    assert "equally" in verdict_on(replace(result, ratio=1.01))[0]
    assert "No speed" in verdict_on(replace(result, ratio=None))[0]


def test_a_tie_and_a_difference_are_told_apart_and_counted_from_one() -> None:
    result = compared(3.0, 41, 0.0004, "tie")
    assert "token 42" in verdict_on(result)[1] and "tie" in verdict_on(result)[1]
    other = replace(result, verdict="different", margin=1.5)
    assert "differ from token 42 on (their scores lay 1.5 apart)" in verdict_on(other)[1]
