"""Statistics in words: short, and none invented."""

import re
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.storage import wording
from app.storage.chat_tree import Chat, Node
from app.storage.comparison_record import ComparisonRecord, verdict_on
from app.storage.records import details, node_from
from app.storage.reply import LiveRate, Reply, joined
from app.storage.settings import ChatSettings
from app.text.language import number
from mlx_engine.cli.generate import stats_line
from mlx_engine.contract.errors import DFLASH_OFF, NO_DRAFTER, EngineText
from mlx_engine.contract.events import (
    CompareResult,
    ContestantResult,
    Failed,
    Finished,
    PrefillProgress,
    Stats,
    TextDifference,
)
from mlx_engine.contract.events import CompletedReply as WholeReply
from mlx_engine.contract.requests import BOTH_MODES, Compare, GenerationRequest, Message, Mode
from tests.app.chats import stats as made_up_stats
from tests.app.scripted_engine import PAIR, a_round, commit, done, stats


def test_a_new_reply_shows_no_statistics() -> None:
    reply = Reply("dflash", 1024)
    assert wording.chip(reply) == "DFlash"
    assert wording.facts(reply) == ""


def test_a_running_rate_has_a_tilde_and_covers_the_last_second() -> None:
    reply = Reply("dflash", 1024)
    for at in range(30):
        reply.accept(commit("x", 10), at / 10)
    assert wording.facts(reply) == "~100 tok/s · 300 tokens"
    reply.accept(commit("x", 50), 3.0)
    assert "~140 tok/s" in wording.facts(reply)


def test_one_arrival_gives_no_rate() -> None:
    rate = LiveRate()
    rate.add(1.0, 20)
    assert rate.tok_s is None


def test_the_chip_follows_the_rounds_and_ends_with_the_engines_statistics() -> None:
    reply = Reply("dflash", 1024)
    reply.accept(a_round(tested=6, accepted=5), 0.1)
    assert wording.chip(reply) == "DFlash · 6.0 tokens/round · 33% accepted"
    reply.accept(done(), 0.2)
    assert wording.chip(reply) == "DFlash · 6.0 tokens/round · 33% accepted"
    assert wording.facts(reply) == "512 tok/s · first token after 38 ms · 13 tokens"


def test_the_pill_shows_one_figure_and_the_mode_if_it_is_plain() -> None:
    reply = Reply("dflash", 1024)
    assert (wording.pill(reply), wording.ending(reply)) == ("DFlash", "")
    for at in range(30):
        reply.accept(commit("x", 10), at / 10)
    assert (wording.pill(reply), wording.ending(reply)) == ("~100 tok/s", "")
    reply.accept(done(reason="cancelled"), 3.0)
    assert (wording.pill(reply), wording.ending(reply)) == ("512 tok/s", "stopped")
    plain = Reply("plain", 1024)
    plain.accept(done("plain", decode_tok_s=131.4), 0.2)
    assert (wording.pill(plain), wording.ending(plain)) == ("Plain · 131 tok/s", "")
    assert wording.pill(replace(plain, origin="gpt-4o")) == "gpt-4o"
    reading = Reply("dflash", 1024)
    reading.accept(PrefillProgress(512, 2048, 0), 0.1)
    assert wording.reading(reading) == "reading prompt: 512 of 2,048 tokens"


@pytest.mark.parametrize(
    ("reason", "ending"),
    [
        ("cancelled", " · stopped"),
        ("length", " · reached the limit of 1,024 tokens"),
        ("stop_string", " · reached a stop sequence"),
        ("eos", "tokens"),
    ],
)
def test_the_stop_reason_is_shown(reason: str, ending: str) -> None:
    reply = Reply("plain", 1024)
    reply.accept(done("plain", reason, tokens=1024), 0.0)  # type: ignore[arg-type]
    assert wording.facts(reply).endswith(ending)


def test_a_full_context_is_not_reported_as_the_token_limit() -> None:
    reply = Reply("plain", 1024)
    reply.accept(done("plain", "length", tokens=800), 0.0)
    assert wording.facts(reply).endswith("800 tokens · context full")


def test_each_part_of_a_continued_reply_has_the_full_token_limit() -> None:
    for tokens, expected in ((300, "context full"), (1024, "reached the limit of 1,024 tokens")):
        reply = Reply("plain", 1024)
        reply.accept(commit("text", 1024), 0.0)
        reply.accept(done("plain", "length", tokens=1024), 0.0)
        reply.resume("plain")
        reply.accept(done("plain", "length", tokens=tokens), 0.0)
        node = Node("assistant", reply=reply, request=GenerationRequest((Message("user", "One"),)))
        again = node_from("assistant", "id", reply.answer, "", 0.0, details(node)).reply
        assert again is not None
        for one in (reply, again):
            assert wording.ending(one) == expected


def test_a_reply_that_fell_back_to_plain_says_why() -> None:
    reply = Reply("dflash", 1024)
    reply.accept(done("plain", why_plain=EngineText("", "the server doesn't report it")), 0.0)
    assert wording.chip(reply) == "Plain · DFlash isn't available: the server doesn't report it"


@pytest.mark.parametrize("mode", ["plain", "dflash"])
def test_a_reply_without_a_drafter_says_so_in_a_word(mode: Mode) -> None:
    """It said that DFlash is off, as if it could be turned on."""
    reply = Reply(mode, 1024)
    if mode == "plain":
        assert wording.chip(reply) == "Plain", "the reason isn't known yet"
    reply.accept(done("plain", why_plain=NO_DRAFTER), 0.0)
    assert wording.chip(reply) == "Plain · No drafter" and "DFlash" not in wording.facts(reply)


def test_a_mostly_plain_reply_says_why_and_how_much() -> None:
    reply = Reply("dflash", 1024)
    figures = replace(stats(tokens=40), plain_steps=30, plain_because=((EngineText("", "few drafts were kept"), 30),))
    reply.accept(Finished("eos", figures), 0.0)
    assert wording.chip(reply) == "Mostly plain"
    assert "30 plain steps: few drafts were kept" in wording.facts(reply)


def test_a_plain_reply_by_choice_gives_no_reason() -> None:
    reply = Reply("plain", 1024)
    reply.accept(done("plain", why_plain=DFLASH_OFF), 0.0)
    assert wording.chip(reply) == "Plain · DFlash off" and "DFlash" not in wording.facts(reply)


def test_an_unmeasured_rate_is_left_out() -> None:
    reply = Reply("plain", 1024)
    reply.accept(done("plain", tokens=1, decode_tok_s=None), 0.0)
    assert wording.facts(reply) == "first token after 38 ms · 1 token"


def test_a_long_prompt_shows_its_progress() -> None:
    reply = Reply("plain", 1024)
    reply.accept(PrefillProgress(512, 2000, 0), 0.0)
    assert wording.facts(reply) == "reading prompt: 512 of 2,000 tokens"


def test_an_error_ends_a_reply_and_keeps_its_text() -> None:
    reply = Reply("plain", 1024)
    reply.accept(commit("Half a"), 0.0)
    reply.accept(Failed("error", "The disk is gone."), 0.1)
    assert (reply.answer, reply.error, reply.running) == ("Half a", "The disk is gone.", False)
    assert wording.facts(reply).endswith("ended with an error")


def test_the_details_include_seed_and_reused_tokens() -> None:
    text = wording.details(stats())
    assert "Seed: 7" in text and "9 tokens, 0 reused" in text and "Checked per round: 16 tokens" in text
    assert "Exact mode" not in text and "Exact mode" in wording.details(replace(stats(), exact=True))


@pytest.mark.parametrize(("tokens", "past_end"), [(13, 0), (12, 0), (11, 1), (9, 3), (1, 4)])
def test_the_details_say_which_accepted_tokens_are_not_in_the_reply(tokens: int, past_end: int) -> None:
    """Two rounds accept 6 and 4 drafts, and add a token each. The first token is from the prompt."""
    made = replace(stats(tokens=tokens), plain_steps=0)
    assert wording.accepted_past_end(made) == past_end
    more = f", {past_end} of them past the end of the reply" if past_end else ""
    assert wording.detail_facts(made)["Accepted"] == f"10 (33%){more}"
    assert not wording.accepted_past_end(replace(made, measured_by="server")), "servers count differently"


def test_the_details_name_a_drafter_unless_its_folder_is_just_called_drafter() -> None:
    drafted = replace(stats(), drafter_kind="DFlash", drafter="drafter")
    assert "Drafter: DFlash" in wording.details(drafted).splitlines()
    assert "Drafter: DFlash, lab/D" in wording.details(replace(drafted, drafter="lab/D")).splitlines()


@pytest.mark.parametrize("rounds", [0, 3])
def test_the_details_count_copies_also_behind_drafts(rounds) -> None:
    copied = replace(stats(), lookup_rounds=rounds, lookup_tested=1240, lookup_accepted=1100)
    assert "Copied from earlier text: 1,100 of 1,240 accepted" in wording.details(copied).splitlines()
    assert "earlier text" not in wording.details(stats())


def test_the_details_say_why_almost_no_drafts_were_accepted() -> None:
    cause = EngineText("drafter_for_other_text", "the drafter was trained for another target or another kind of text")
    text = wording.details(replace(stats(), few_accepted=cause))
    assert f"Note: Almost no drafts were accepted, probably because {cause}" in text.splitlines()


def test_the_details_include_a_long_wait() -> None:
    assert "Wait time" not in wording.details(replace(stats(), waiting_s=0.04))
    assert "Wait time: 2.50 s" in wording.details(replace(stats(), waiting_s=2.5))
    assert "Images" not in wording.details(stats())
    shown = replace(stats(), images=2, image_tokens=560, image_s=0.25)
    assert "Images: 2, 560 tokens, read in 250 ms" in wording.details(shown)


def test_the_live_rate_leaves_out_the_turns_of_other_replies() -> None:
    reply = Reply("plain", 1024)
    for step in range(5):
        reply.accept(replace(commit("a", 10), at_s=0.1 * step), 100.0 + 0.4 * step)
    assert reply.rate.tok_s == pytest.approx(100)


@given(made_up_stats)
def test_joining_an_empty_part_changes_nothing(first: Stats) -> None:
    nothing = Stats(first.mode, 0, 0, 0, None, None, None, 0, 0, 0, 0, (), (), 0, 0, 0)
    first = replace(first, plain_because=joined(nothing, first).plain_because)  # sorted by count
    both = joined(first, nothing)
    for one in fields(Stats):
        if one.name != "decode_tok_s":
            assert getattr(both, one.name) == getattr(first, one.name), one.name
    assert both.decode_tok_s is None or both.decode_tok_s == pytest.approx(first.decode_tok_s)


def test_plain_steps_of_both_parts_are_added() -> None:
    reply = Reply("dflash", 100)
    few, end = EngineText("few_drafts", "few drafts"), EngineText("", "the end")
    for steps, why in ((30, few), (2, end)):
        reply.accept(commit("a", 40), 0.0)
        part = replace(stats(tokens=40), plain_steps=steps, plain_because=((why, steps),), lookup_rounds=5, trials=1)
        reply.accept(Finished("length", part), 0.0)
        reply.resume("dflash")
    assert reply.stats is not None
    assert reply.stats.plain_because == ((few, 30), (end, 2))
    assert (reply.stats.plain_steps, reply.stats.lookup_rounds, reply.stats.trials) == (32, 10, 2)


def test_the_prompt_of_a_continued_reply_is_counted_once() -> None:
    first = replace(stats(), prompt_tokens=40, reused_tokens=30, disk_tokens=20, images=1, image_tokens=10)
    second = replace(stats(), prompt_tokens=53, reused_tokens=52, disk_tokens=50, images=1, image_tokens=10)
    both = joined(first, second)
    for name in ("prompt_tokens", "reused_tokens", "disk_tokens", "images", "image_tokens"):
        assert getattr(both, name) == getattr(first, name), name


@pytest.mark.parametrize("system", ["", "Be brief."])
def test_the_system_prompt_does_not_count_as_a_message_before_the_prompt(system: str) -> None:
    chat = Chat(settings=ChatSettings(system))
    first = chat.ask("Hi", "plain")
    first.reply.accept(commit("Hello"), 0.0)
    second = chat.ask("And?", "plain")
    counts = [compared(1.0, None, turn.request).before for turn in (first, second)]
    assert counts == [0, 2]


def compared(
    ratio: float | None,
    difference: TextDifference | None = None,
    request: GenerationRequest | None = None,
    names: tuple[str, ...] = (),
) -> ComparisonRecord:
    plain, drafted = (
        ContestantResult(
            contestant,
            replies=(WholeReply("text", "", (1, 2, 3), "eos", stats(mode)),),  # type: ignore[arg-type]
            tok_s=rate and 100.0 * rate,
        )
        for contestant, mode, rate in zip(BOTH_MODES, ("plain", "dflash"), (1.0, ratio), strict=True)
    )
    outcome = CompareResult((plain, replace(drafted, difference=difference)))
    return ComparisonRecord.of(outcome, Compare((request or GenerationRequest(),)), PAIR, ("Hi",), names)


@given(st.floats(0.1, 900), st.floats(0.1, 900), st.booleans())
def test_the_ratio_of_a_comparison_follows_from_the_speeds_shown(plain: float, dflash: float, with_a_server: bool) -> None:
    record = compared(1.0, names=("Here", "Server") * with_a_server)
    rows = tuple(replace(row, tok_s=speed) for row, speed in zip(record.rows, (plain, dflash), strict=True))
    speeds = [float(wording.plain_rate(speed)) for speed in (dflash, plain)]
    headline = verdict_on(replace(record, rows=rows))[0]
    if found := re.search(r"([\d.,]+)×", headline):
        computed = max(speeds) / min(speeds) if with_a_server else speeds[0] / speeds[1]
        assert found[1] == number(computed, 2 if "slower" in headline else 1)
    else:
        assert headline == "Both are equally fast" and 0.95 < speeds[0] / speeds[1] < 1.05


def test_a_comparison_has_a_headline_and_a_verdict() -> None:
    headline, verdict = verdict_on(compared(3.94))
    assert headline == "DFlash is 3.9× as fast"
    assert verdict == "Both replies are identical, token for token (13 tokens). Speed is tokens per second after the first token."
    assert "slower" in verdict_on(compared(0.8))[0]
    assert "equally" in verdict_on(compared(1.01))[0]
    assert "too short to measure" in verdict_on(compared(None))[0]


def test_ties_and_differences_have_their_own_verdicts_and_count_from_one() -> None:
    verdict = verdict_on(compared(3.0, TextDifference(41, 0.0004, True)))[1]
    assert "token 42" in verdict and "tie" in verdict
    verdict = verdict_on(compared(3.0, TextDifference(41, 1.5)))[1]
    assert "differ starting at token 42" in verdict and "differ by 1.5" in verdict


@given(made=made_up_stats, running=st.booleans())
def test_acceptance_means_the_same_everywhere(made: Stats, running: bool) -> None:
    """A reply of this computer showed 98% where a server showed 53% for the same model."""
    shown = replace(made, mode="dflash", plain_because=())
    known = 0 < shown.drafted >= shown.accepted
    expected = wording.percent(shown.accepted / shown.drafted) if known else None
    reply = Reply("dflash", 1024, stats=shown, reason="eos")
    if running:
        reply = Reply("dflash", 1024, rounds=1, drafted=shown.drafted, accepted=shown.accepted)
    found = [part.removesuffix(" accepted") for part in wording.chip(reply).split(" · ") if part.endswith(" accepted")]
    assert found == ([expected] if known else [])
    line = [part for part in stats_line(shown, "eos").split(" · ") if part.endswith("% accepted")]
    assert line == ([f"{shown.accepted / shown.drafted:.0%} accepted"] if known else [])
    assert ("Drafted" in wording.detail_facts(shown)) == known
