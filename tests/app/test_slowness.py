"""Why a reply was slow: the order of causes, and when there is none."""

from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.storage.chat_tree import Node
from app.storage.records import details, node_from
from app.storage.reply import Reply
from app.storage.slow_wording import cause_names, notable, slow_chip, slow_explanation, slow_replies
from app.storage.slowness import UNKNOWN_SPEED, UsualSpeed, is_slower_than, slow_cause
from app.storage.speed_history import speed_history, usual_in_chat
from mlx_engine.contract.conditions import UNKNOWN, Conditions
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import Stats
from tests.app.scripted_engine import stats
from tests.mlx_engine.hardware.test_sensors import CONDITIONS

# 100 tokens at 50 tok/s after a prompt of 200 tokens, 60 of 100 tested drafts accepted
GOOD = replace(
    stats(tokens=100, decode_tok_s=50.0),
    prompt_tokens=200,
    tested=100,
    accepted=60,
    prefill_s=0.5,
    decode_s=2.0,
    own_passes=40,
    passes=40.0,
)
USUAL = UsualSpeed(50.0, 0.6)
COOL = Conditions("normal", False, False, 0.9, "normal")

STATS = st.builds(
    lambda **figures: replace(GOOD, **figures),
    tokens=st.integers(0, 200),
    decode_tok_s=st.none() | st.floats(0, 200),
    waiting_s=st.floats(0, 10),
    prefill_s=st.floats(0, 20),
    decode_s=st.floats(0, 20),
    rest_s=st.just(0.0) | st.floats(0, 10),
    passes=st.floats(0, 40),
    tested=st.integers(0, 100),
    accepted=st.integers(0, 50),
    reused_tokens=st.integers(0, 200),
    few_accepted=st.none() | st.just(EngineText("", "the drafter was trained for another target")),
)
USUALS = st.builds(UsualSpeed, st.none() | st.floats(1, 200), st.none() | st.floats(0, 1))
CAUSES = ["quiet", "memory", "heat", "power_mode", "replies", "drafter", "battery", "prompt"]


@pytest.mark.parametrize(
    ("figures", "conditions", "usual", "cause"),
    [
        ({}, COOL, USUAL, None),
        ({}, UNKNOWN, UNKNOWN_SPEED, None),
        ({"decode_tok_s": 30.0}, COOL, USUAL, None),  # nothing explains it
        (
            {},
            replace(COOL, heat="critical", saves_power=True, pressure="critical", on_battery=True),
            USUAL,
            None,
        ),  # as fast as usual
        ({"decode_tok_s": 41.0}, replace(COOL, heat="serious"), USUAL, None),  # hardly slower
        ({"decode_tok_s": 39.0}, replace(COOL, heat="serious"), USUAL, "heat"),
        ({"decode_tok_s": 39.0}, replace(COOL, heat="fair"), USUAL, None),
        ({}, replace(COOL, heat="serious"), UNKNOWN_SPEED, "heat"),
        ({}, replace(COOL, saves_power=True), UNKNOWN_SPEED, "power_mode"),
        ({}, replace(COOL, pressure="critical", heat="serious"), UNKNOWN_SPEED, "memory"),
        ({"tokens": 31}, replace(COOL, pressure="critical", heat="serious"), UNKNOWN_SPEED, None),  # too short to tell
        ({}, replace(COOL, pressure="warning", on_battery=True), UNKNOWN_SPEED, None),
        ({"decode_tok_s": 30.0}, replace(COOL, pressure="warning", on_battery=True), USUAL, "memory"),
        ({"decode_tok_s": 30.0}, replace(COOL, on_battery=True), USUAL, "battery"),
        ({"passes": 20.0}, COOL, UNKNOWN_SPEED, "replies"),
        ({"passes": 20.0}, COOL, USUAL, None),  # shared, but as fast as usual
        ({"passes": 36.0}, COOL, UNKNOWN_SPEED, None),
        ({"waiting_s": 2.5}, COOL, USUAL, "replies"),
        ({"waiting_s": 1.5}, COOL, USUAL, None),
        ({"accepted": 30, "decode_tok_s": 30.0}, COOL, USUAL, "drafter"),
        ({"accepted": 30}, COOL, USUAL, None),
        ({"accepted": 80, "lookup_accepted": 60, "lookup_tested": 60, "decode_tok_s": 30.0}, COOL, USUAL, None),  # 20 of 40
        ({"accepted": 70, "lookup_accepted": 60, "lookup_tested": 60, "decode_tok_s": 30.0}, COOL, USUAL, "drafter"),  # 10 of 40
        ({"few_accepted": EngineText("", "it is another text")}, COOL, USUAL, "drafter"),
        ({"rest_s": 1.2, "decode_tok_s": 25.0}, replace(COOL, heat="critical"), USUAL, "quiet"),
        ({"prefill_s": 6.0}, COOL, USUAL, "prompt"),
        ({"rest_s": 1.2}, COOL, USUAL, None),  # as fast as usual: a slower reply next to it had no label
        ({"rest_s": 1.2}, COOL, UNKNOWN_SPEED, "quiet"),
        ({"prefill_s": 6.0, "reused_tokens": 150}, COOL, USUAL, "prompt"),
        ({"prefill_s": 11.0, "decode_s": 40.0}, COOL, USUAL, "prompt"),  # a long reply had no label
        ({"prefill_s": 4.9}, COOL, USUAL, None),
        ({"waiting_s": 11.0, "decode_s": 60.0}, COOL, USUAL, "replies"),
        ({"waiting_s": 4.0, "decode_s": 60.0}, COOL, USUAL, None),
        ({"decode_tok_s": 1.0, "measured_by": "server"}, replace(COOL, heat="critical"), UNKNOWN_SPEED, None),
    ],
)
def test_a_slow_reply_has_the_cause_that_explains_it(
    figures: dict[str, object], conditions: Conditions, usual: UsualSpeed, cause: str | None
) -> None:
    assert slow_cause(replace(GOOD, **figures), conditions, usual) == cause  # type: ignore[arg-type]


@given(STATS, CONDITIONS, USUALS)
def test_a_worse_computer_never_hides_that_a_reply_was_slow(figures: Stats, conditions: Conditions, usual: UsualSpeed) -> None:
    cause = slow_cause(figures, conditions, usual)
    for worse in (
        replace(conditions, heat="critical"),
        replace(conditions, saves_power=True),
        replace(conditions, pressure="critical"),
    ):
        assert slow_cause(figures, worse, usual) in (cause, "memory", "heat", "power_mode")


@given(STATS, CONDITIONS, USUALS)
def test_a_reply_as_fast_as_usual_blames_no_computer(figures: Stats, conditions: Conditions, usual: UsualSpeed) -> None:
    assume(usual.tok_s is not None)
    fast = replace(figures, decode_tok_s=usual.tok_s, few_accepted=None)
    cause = slow_cause(fast, conditions, usual)
    assert cause in (None, "replies", "prompt") and cause == slow_cause(fast, COOL, usual)


@given(STATS, CONDITIONS, USUALS)
def test_every_cause_has_a_label_an_explanation_and_advice(figures: Stats, conditions: Conditions, usual: UsualSpeed) -> None:
    reply = Reply("dflash", 100, reason="eos", stats=figures, conditions=conditions)
    reply.slow_cause = slow_cause(figures, conditions, usual)
    reply.usual_tok_s = usual.tok_s if reply.slow_cause and is_slower_than(figures, usual) else None
    label, explanation = slow_chip(reply), slow_explanation(reply)
    assert bool(label) == bool(explanation) == (reply.slow_cause is not None)
    if reply.slow_cause is not None:
        assert label == cause_names()[reply.slow_cause]
        assert explanation.count(". ") + 1 == 2 + (reply.usual_tok_s is not None) and explanation.endswith(".")
    reply.reason = None
    assert slow_chip(reply) == slow_explanation(reply) == "", "a reply that is continued"


@given(STATS, st.none() | CONDITIONS, st.sampled_from([None, *CAUSES]), st.none() | st.floats(0, 100))
def test_conditions_and_cause_are_stored_with_the_reply(
    figures: Stats, conditions: Conditions | None, cause: str | None, usual: float | None
) -> None:
    reply = Reply("dflash", 100, reason="eos", stats=figures, conditions=conditions, usual_tok_s=usual)
    reply.slow_cause = cause  # type: ignore[assignment]
    node = Node("assistant", reply=reply)
    found = node_from("assistant", "x", "", "", 0.0, details(node)).reply
    assert found is not None and found.stats is not None
    assert (found.conditions, found.slow_cause, found.usual_tok_s) == (conditions, cause, usual)
    assert found.stats.rest_s == figures.rest_s


def test_replies_of_other_versions_open() -> None:
    stored = details(Node("assistant", reply=Reply("dflash", 100, reason="eos", stats=GOOD)))
    old = {name: value for name, value in stored.items() if name not in ("conditions", "slow_cause", "usual_tok_s")}
    del old["stats"]["rest_s"]
    newer = stored | {"slow_cause": "comet", "conditions": {"heat": "plasma", "charge": 0.5, "moon": 1}}
    for found in (node_from("assistant", "x", "", "", 0.0, one).reply for one in (old, newer)):
        assert found is not None and found.slow_cause is None and found.stats == GOOD
    assert found.conditions == Conditions(charge=0.5)


def chat(*figures: Stats) -> Node:
    """Return the last reply of a chat."""
    node = Node("root")
    for one in figures:
        node = node.add(Node("user", text="Hi")).add(Node("assistant", reply=Reply(one.mode, 100, reason="eos", stats=one)))
    return node


def test_a_reply_is_compared_with_earlier_ones_of_its_pair_in_the_chat() -> None:
    rates = [40.0, 50.0, 60.0]
    same = [replace(GOOD, decode_tok_s=rate) for rate in rates]
    assert usual_in_chat(chat(*same, GOOD), GOOD) == UsualSpeed(50.0, 0.6)
    assert usual_in_chat(chat(*same[1:], GOOD), GOOD) == UNKNOWN_SPEED  # too few
    for other in (
        replace(GOOD, mode="plain"),
        replace(GOOD, drafter="another"),
        replace(GOOD, measured_by="server"),
        replace(GOOD, tokens=9),
    ):
        assert usual_in_chat(chat(*same[1:], other, GOOD), GOOD) == UNKNOWN_SPEED
    last = chat(*same, GOOD)
    slowed = last.path()[1].reply
    assert slowed is not None
    slowed.slow_cause = "heat"
    assert usual_in_chat(last, GOOD) == UNKNOWN_SPEED, "a slow reply isn't usual"


def test_the_history_of_a_chat_has_the_measured_replies() -> None:
    last = chat(GOOD, replace(GOOD, decode_tok_s=None), replace(GOOD, decode_tok_s=20.0))
    assert last.reply is not None
    last.reply.slow_cause = "power_mode"
    points = speed_history(last)
    assert [(point.number, point.tok_s, point.cause) for point in points] == [(1, 50.0, None), (3, 20.0, "power_mode")]
    assert slow_replies(points) == "Reply 3: 20 tok/s. Slower: Low Power Mode"
    assert speed_history(None) == []


@pytest.mark.parametrize(
    ("conditions", "text"),
    [
        (None, ""),
        (COOL, ""),
        (UNKNOWN, ""),
        (Conditions("critical", True, True, 0.31, "warning"), "hot, Low Power Mode, on battery (31%), low memory"),
        (Conditions(on_battery=True), "on battery"),
    ],
)
def test_details_name_the_conditions_that_can_slow_a_computer_down(conditions: Conditions | None, text: str) -> None:
    assert notable(conditions) == text
