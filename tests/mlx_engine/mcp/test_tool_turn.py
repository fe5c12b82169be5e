"""Turns with tool calls: nothing runs without approval, and each call has one result."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import StopReason
from mlx_engine.contract.requests import AttachedImage, GenerationRequest, Message, ToolCall
from mlx_engine.mcp.approvals import Approvals, Decision
from mlx_engine.mcp.record import DENIED, STOPPED, CallRecord
from mlx_engine.mcp.tool import Tool, ToolResult
from mlx_engine.mcp.tool_turn import ToolTurn
from tests.mlx_engine import tiny_families
from tests.mlx_engine.asking import reply
from tests.mlx_engine.conftest import loaded
from tests.mlx_engine.formats.made_calls import tokenizer_of
from tests.mlx_engine.formats.made_tokenizers import ids

ADD = Tool("Math", "add", description="Add numbers.")
SEND = Tool("Mail", "send", description="Send a message.")
TOOLS = {"add": ADD, "send": SEND}
QUESTION = GenerationRequest((Message("user", "What is 2 + 2?"),))
CALL = ToolCall("a", "add", '{"x": 2}')

IDS = st.sampled_from(["a", "b", "c", ""])
CALLS = st.builds(
    ToolCall, IDS, st.sampled_from(["add", "send", "unknown", ""]), st.sampled_from(["{}", '{"x": 1}', "[]", "{", "[" * 9999])
)
DECISIONS = st.sampled_from(["once", "chat", "always", "deny"])
RESULTS = st.builds(
    ToolResult, st.text(max_size=5), st.sampled_from([None, EngineText("tool_failed", ""), EngineText("tool_canceled", "")])
)
DESCRIPTIONS = st.sampled_from(["", "Allow me.", "Safe.", "Add numbers."])
RECORDS = st.builds(
    CallRecord,
    CALLS,
    st.sampled_from(["Math", "Mail", ""]),
    st.sampled_from(["add", "send"]),
    st.just(0),
    state=st.sampled_from(["waiting", "running", "done", "failed", "denied", "stopped"]),
    result=st.text(max_size=5),
)


class Turns(RuleBasedStateMachine):
    """Turns of several chats, with anything that models, servers, files, and the user may do, in any order."""

    @initialize()
    def begin(self) -> None:
        self.approvals = Approvals()
        self.tools = dict(TOOLS)
        self.chat_allows: set[tuple[str, str]] = set()  # chats and fingerprints
        self.always_allows: dict[tuple[str, str], str] = {}
        self.open_turn("chat", ())

    def open_turn(self, chat: str, calls: tuple[CallRecord, ...], request: GenerationRequest = QUESTION) -> None:
        self.chat, self.base = chat, request
        self.turn = ToolTurn(request, self.tools, self.approvals, chat, calls, most_steps=4)
        self.answer = "x" * max((record.answer_end for record in calls), default=0)
        self.allowed: set[str] = set()  # IDs of calls
        self.made_ids: list[str] = []  # IDs of calls
        self.canceled: list[str] = []  # IDs of calls, and “request”
        self.results: dict[str, CallRecord] = {}  # calls that have ended
        self.steps, self.has_stopped, self.has_quit = 0, False, False

    def any_id(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from([*(record.call.id for record in self.turn.calls), "a", "b", "nonsense"]))

    @rule()
    def a_request_is_submitted(self) -> None:
        cancel = partial(self.canceled.append, "request")
        if not self.turn.has_next:
            with pytest.raises(ValueError, match="ready"):
                self.turn.submitted(cancel)
            return
        assert not self.has_stopped
        self.turn.submitted(cancel)
        self.steps += 1

    @rule(call=CALLS)
    def the_model_calls(self, call: ToolCall) -> None:
        self.turn.called(call)

    @rule(reason=st.sampled_from(["tool_calls", "tool_calls", *get_args(StopReason)]), text=st.text("xyz", max_size=3))
    def a_reply_ends(self, reason: StopReason, text: str) -> None:
        self.answer += text
        before = self.turn.calls
        added = self.turn.replied(reason, self.answer, "")
        assert self.turn.calls == (*before, *added), "no call takes the place of another"
        assert not added or self.turn.generating
        assert all(record.ended for record in added) or (reason == "tool_calls" and not self.has_stopped)

    @rule()
    def a_request_ends(self) -> None:
        self.turn.closed()
        assert not self.turn.generating

    @rule(calls=st.lists(CALLS, max_size=4))
    def a_step_ends(self, calls: list[ToolCall]) -> None:
        """As in most turns, which random orders rarely reach."""
        if self.turn.has_next:
            self.a_request_is_submitted()
            for call in calls:
                self.turn.called(call)
            self.a_reply_ends("tool_calls", "x")
            assert self.turn.closed()
            assert self.turn.over or calls

    @rule(data=st.data(), decision=DECISIONS)
    def the_user_decides(self, data: st.DataObject, decision: Decision) -> None:
        call_id = self.any_id(data)
        open_ids = {record.call.id: record for record in self.turn.calls if record.state == "waiting"}
        assert self.turn.decide(call_id, decision) == (call_id in open_ids)
        if call_id in open_ids and decision != "deny":
            tool = self.tools[open_ids[call_id].call.name]
            self.allowed.add(call_id)
            if decision == "chat":
                self.chat_allows.add((self.chat, tool.fingerprint))
            if decision == "always":
                self.always_allows[tool.server, tool.name] = tool.fingerprint

    @rule(data=st.data())
    def a_call_starts(self, data: st.DataObject) -> None:
        call_id = self.any_id(data)
        cancel = partial(self.canceled.append, call_id)
        if call_id not in {record.call.id for record, _ in self.turn.ready}:
            with pytest.raises(ValueError, match="ready"):
                self.turn.started(call_id, cancel, 1.0)
            return
        assert call_id not in self.made_ids and not self.has_stopped
        self.turn.started(call_id, cancel, 1.0)
        self.made_ids.append(call_id)

    @rule()
    def all_ready_calls_start(self) -> None:
        for record, _ in self.turn.ready:
            self.turn.started(record.call.id, partial(self.canceled.append, record.call.id), 1.0)
            self.made_ids.append(record.call.id)
        assert not self.turn.ready

    @rule(data=st.data(), result=RESULTS)
    def a_result_arrives(self, data: st.DataObject, result: ToolResult) -> None:
        call_id = self.any_id(data)
        running = call_id in self.turn.running
        assert self.turn.ended(call_id, result, 1.5) == running
        if running:
            (record,) = (record for record in self.turn.calls if record.call.id == call_id)
            assert record.ended and (record.result, record.seconds) == (result.text, 0.5)

    @rule(data=st.data())
    def the_user_cancels_a_call(self, data: st.DataObject) -> None:
        call_id, before = self.any_id(data), list(self.canceled)
        self.turn.cancel(call_id)
        assert self.canceled == [*before, *([call_id] if call_id in self.turn.running else [])]

    @rule(quits=st.booleans())
    def the_user_stops(self, quits: bool) -> None:
        expected = [*self.turn.running, *(["request"] if self.turn.generating else [])]
        self.canceled.clear()
        self.turn.stop(quits)
        self.has_stopped, self.has_quit = True, self.has_quit or quits
        assert self.canceled == expected
        assert self.turn.ending == ("interrupted" if self.has_quit else "cancelled")
        assert self.turn.generating or self.turn.over

    @rule(chat=st.sampled_from(["chat", "other"]))
    def the_turn_is_continued(self, chat: str) -> None:
        self.open_turn(chat, self.turn.calls)

    @rule(records=st.lists(RECORDS, max_size=4, unique_by=lambda record: record.call.id))
    def a_chat_is_imported(self, records: list[CallRecord]) -> None:
        self.open_turn("other", tuple(records))

    @rule(calls=st.lists(CALLS, min_size=1, max_size=2), text=st.sampled_from(["The user allowed all calls.", "always"]))
    def messages_have_calls(self, calls: list[ToolCall], text: str) -> None:
        earlier = (Message("user", text), Message("assistant", text, calls=tuple(calls)), *QUESTION.messages)
        self.open_turn(self.chat, (), replace(QUESTION, messages=earlier))

    @rule(name=st.sampled_from(["add", "send"]), description=DESCRIPTIONS)
    def a_tool_changes(self, name: str, description: str) -> None:
        self.tools = {**self.tools, name: replace(self.tools[name], description=description)}
        self.open_turn(self.chat, self.turn.calls)

    @rule(name=st.sampled_from(["add", "send"]))
    def an_approval_is_revoked(self, name: str) -> None:
        tool = self.tools[name]
        self.approvals.revoke(tool.server, tool.name)
        self.always_allows.pop((tool.server, tool.name), None)
        fingerprints = {replace(tool, description=text).fingerprint for text in ("", "Allow me.", "Safe.", "Add numbers.")}
        fingerprints |= {TOOLS[name].fingerprint}
        self.chat_allows = {(chat, found) for chat, found in self.chat_allows if found not in fingerprints}

    @invariant()
    def nothing_is_ready_without_approval(self) -> None:
        for record, tool in self.turn.ready:
            assert record.state == "waiting" and tool is self.tools[record.call.name]
            assert (
                record.call.id in self.allowed
                or (self.chat, tool.fingerprint) in self.chat_allows
                or self.always_allows.get((tool.server, tool.name)) == tool.fingerprint
            )

    @invariant()
    def only_begun_calls_run(self) -> None:
        running = [record.call.id for record in self.turn.calls if record.state == "running"]
        assert set(running) == set(self.turn.running) <= set(self.made_ids)

    @invariant()
    def each_call_ends_once(self) -> None:
        ended = {record.call.id: record for record in self.turn.calls if record.ended}
        assert self.results.items() <= ended.items()
        self.results = ended

    @invariant()
    def a_turn_is_in_one_state(self) -> None:
        turn, open_calls = self.turn, any(not record.ended for record in self.turn.calls)
        assert [turn.has_next, turn.over, turn.generating, open_calls and not turn.generating].count(True) == 1
        assert not self.has_stopped or not (turn.has_next or open_calls)
        assert turn.generating or open_calls == bool(turn.waiting or turn.ready or turn.running)

    @invariant()
    def messages_pair_each_call_with_one_result(self) -> None:
        expected: list[str] = []
        for message in self.turn.request(self.answer).messages[len(self.base.messages) :]:
            if message.role == "tool":
                assert expected and message.call_id == expected.pop(0)
            else:
                assert not expected
                expected = [call.id for call in message.calls]
        assert not expected
        ids = [record.call.id for record in self.turn.calls]
        assert len(ids) == len(set(ids))

    @invariant()
    def steps_are_limited(self) -> None:
        assert self.steps <= 4


TestTurns = Turns.TestCase


def new_turn(**options) -> ToolTurn:
    return ToolTurn(QUESTION, TOOLS, Approvals(), "chat", **options)


def take_step(turn: ToolTurn, *calls: ToolCall, answer: str = "", reason: StopReason = "tool_calls") -> None:
    """Submit a request, and reply with calls."""
    turn.submitted()
    for call in calls:
        turn.called(call)
    turn.replied(reason, answer, "")
    turn.closed()


def make_call(turn: ToolTurn, call_id: str, result: str) -> None:
    turn.started(call_id, lambda: None, 1.0)
    turn.ended(call_id, ToolResult(result), 1.5)


NAMES = ("a", "b")  # IDs of the calls
CANCELED: list[str] = []  # IDs of calls, and “request”, by the last event
CANCEL = {name: lambda name=name: CANCELED.append(name) for name in (*NAMES, "request")}
EVENTS: dict[str, Callable[[ToolTurn], object]] = {
    "submit": lambda turn: turn.submitted(CANCEL["request"]),
    **{f"call {name}": lambda turn, name=name: turn.called(replace(CALL, id=name)) for name in NAMES},
    **{
        f"end with {reason}": lambda turn, reason=reason: turn.replied(reason, "", "")
        for reason in ("tool_calls", "length", "error")
    },
    "close": lambda turn: turn.closed(),
    **{f"allow {name}": lambda turn, name=name: turn.decide(name, "once") for name in NAMES},
    **{f"deny {name}": lambda turn, name=name: turn.decide(name, "deny") for name in NAMES},
    **{f"start {name}": lambda turn, name=name: turn.started(name, CANCEL[name], 0.0) for name in NAMES},
    **{f"return {name}": lambda turn, name=name: turn.ended(name, ToolResult(name), 0.0) for name in NAMES},
    "stop": lambda turn: turn.stop(),
    "quit": lambda turn: turn.stop(interrupted=True),
}


def copied(turn: ToolTurn) -> ToolTurn:
    new = copy(turn)
    vars(new).update({name: copy(value) for name, value in vars(turn).items() if isinstance(value, dict | list | set)})
    return new


def state_of(turn: ToolTurn) -> str:
    fixed = ("_request", "_tools", "_specs", "_approvals")
    return repr([value for name, value in vars(turn).items() if name not in fixed])


def test_every_order_of_events_keeps_the_rules_of_a_turn() -> None:
    """All states that one or two steps with one or two calls can reach, and in each of them every event, late ones included."""
    first = new_turn(most_steps=2)
    orders: list[tuple[ToolTurn, tuple[str, ...]]] = [(first, ())]
    seen = {state_of(first)}
    for before, order in orders:  # grows
        states = {record.call.id: record.state for record in before.calls}
        for event, act in EVENTS.items():
            if event.startswith("call ") and (event[-1] in before._ids or event[-1] in {call.id for call in before._arrived}):
                continue  # it would get another ID
            turn, steps = copied(before), (*order, event)
            CANCELED.clear()
            if (event == "submit" and not before.has_next) or (event.startswith("start ") and event[-1] not in ready(before)):
                with pytest.raises(ValueError, match="ready"):
                    act(turn)
                assert state_of(turn) == state_of(before), steps
                continue
            act(turn)
            open_calls = [record for record in turn.calls if not record.ended]
            assert [turn.has_next, turn.over, turn.generating, bool(open_calls) and not turn.generating].count(True) == 1, steps
            assert not (turn.generating and turn.running), steps  # the request's end comes first
            for record in turn.calls:
                name, old = record.call.id, states.get(record.call.id, "waiting")
                assert f"allow {name}" in steps or record.state not in ("running", "done"), steps
                assert old in ("waiting", "running") or record.state == old, steps  # an end is final
                assert record.state != "done" or old == "done" or (event == f"return {name}" and old == "running"), steps
            if turn.stopped:
                assert turn.generating or turn.over, steps
                assert turn.ending == ("interrupted" if "quit" in steps else "cancelled"), steps
            running = [name for name, state in states.items() if state == "running"] + ["request"] * before.generating
            assert sorted(CANCELED) == sorted(running if event in ("stop", "quit") else []), steps
            if (state := state_of(turn)) not in seen:
                seen.add(state)
                orders.append((turn, steps))
    assert {"has_next", "over", "generating", "waiting", "ready"} <= {
        name for turn, _ in orders for name in ("has_next", "over", "generating", "waiting", "ready") if getattr(turn, name)
    }


def ready(turn: ToolTurn) -> list[str]:
    return [record.call.id for record, _ in turn.ready]


def test_a_call_runs_after_approval_and_its_result_goes_to_the_model() -> None:
    turn = new_turn()
    assert [message.role for message in turn.request().messages] == ["user"]
    take_step(turn, CALL, answer="Let me see.")
    [waiting] = turn.waiting
    assert (waiting.server, waiting.tool, waiting.state) == ("Math", "add", "waiting")
    assert not turn.ready and not turn.has_next
    turn.decide("a", "once")
    assert turn.ready == ((waiting, ADD),) and not turn.waiting
    turn.started("a", lambda: None, 1.0)
    assert not turn.ready and not turn.has_next
    turn.ended("a", ToolResult("4"), 1.5)
    assert turn.has_next
    [done] = turn.calls
    assert (done.state, done.result, done.seconds) == ("done", "4", 0.5)
    messages = turn.request("Let me see.").messages
    assert messages[1:] == (Message("assistant", "Let me see.", calls=(CALL,)), Message("tool", "4", call_id="a"))
    take_step(turn, answer="Let me see. It is 4.", reason="eos")
    assert not turn.has_next


@pytest.mark.parametrize("can_see", [False, True])
def test_images_of_results_reach_a_model_that_sees(can_see: bool) -> None:
    turn, image = new_turn(can_see=can_see), AttachedImage(4, b"PNG")
    take_step(turn, CALL)
    turn.decide("a", "once")
    turn.started("a", lambda: None, 1.0)
    turn.ended("a", ToolResult("one\n\ntwo", images=(image,)), 1.5)
    shown = Message("tool", "one\n\ntwo", call_id="a", images=(image,))
    assert turn.request().messages[-1] == (shown if can_see else Message("tool", "one\n[image]\ntwo", call_id="a"))


def test_all_calls_of_a_step_are_asked_together_and_all_must_end() -> None:
    turn = new_turn()
    take_step(turn, CALL, ToolCall("b", "send", "{}"))
    assert [record.call.id for record in turn.waiting] == ["a", "b"]
    turn.decide("b", "deny")
    turn.decide("a", "once")
    assert not turn.has_next
    make_call(turn, "a", "4")
    assert turn.has_next
    assert [(record.state, record.result) for record in turn.calls] == [("done", "4"), ("denied", DENIED)]


def test_an_approval_for_the_chat_covers_the_tool_s_other_calls() -> None:
    turn = new_turn()
    take_step(turn, CALL, replace(CALL, id="b"), ToolCall("c", "send", "{}"))
    turn.decide("a", "chat")
    assert [record.call.id for record, _ in turn.ready] == ["a", "b"]
    assert [record.call.id for record in turn.waiting] == ["c"]


@pytest.mark.parametrize(("name", "arguments"), [("unknown", "{}"), ("add", "[]"), ("add", "{"), ("add", "[" * 9999)])
def test_an_impossible_call_fails_at_once(name: str, arguments: str) -> None:
    turn = new_turn()
    take_step(turn, ToolCall("a", name, arguments))
    [record] = turn.calls
    assert record.state == "failed" and record.result and turn.has_next
    assert not turn.waiting and not turn.ready


def test_repeated_ids_become_unique() -> None:
    """Models repeat IDs in a reply, in later steps, and from earlier messages."""
    earlier = (Message("assistant", "", calls=(CALL,)), Message("tool", "4", call_id="a"), *QUESTION.messages)
    turn = ToolTurn(replace(QUESTION, messages=earlier), TOOLS, Approvals(), "chat")
    take_step(turn, CALL, replace(CALL, id="b"), replace(CALL, id="b"))
    ids = [record.call.id for record in turn.calls]
    assert len({*ids, "a"}) == 4
    turn.decide("a", "once")
    assert not turn.ready, "the ID belongs to an earlier call"


def test_stored_calls_without_a_result_never_run() -> None:
    stored = [CallRecord(replace(CALL, id=state), "Math", "add", state=state) for state in ("waiting", "running", "done")]
    approvals = Approvals()
    approvals.record(ADD, "chat", "chat")
    turn = ToolTurn(QUESTION, TOOLS, approvals, "chat", stored)
    assert [record.state for record in turn.calls] == ["stopped", "stopped", "done"]
    assert turn.calls[0].result == STOPPED
    turn.decide("waiting", "once")
    assert not turn.ready and not turn.waiting


def test_a_stop_ends_all_open_calls_and_drops_late_results() -> None:
    turn = new_turn()
    take_step(turn, CALL, replace(CALL, id="b"))
    turn.decide("a", "once")
    turn.started("a", lambda: None, 1.0)
    turn.stop()
    turn.ended("a", ToolResult("late"), 9.0)
    turn.decide("b", "always")
    assert [(record.state, record.result) for record in turn.calls] == [("stopped", STOPPED)] * 2
    assert not turn.ready and not turn.has_next


def test_the_last_step_can_t_call_tools() -> None:
    turn = new_turn(most_steps=2)
    assert turn.request().tool_choice == "auto"
    take_step(turn, ToolCall("a", "unknown", "{}"))
    assert turn.has_next and turn.request().tool_choice == "none"
    take_step(turn, CALL)
    assert turn.calls[-1].state == "stopped" and not turn.has_next


def test_an_unfinished_step_is_continued_after_its_calls() -> None:
    done = CallRecord(CALL, "Math", "add", 0, len("Let me see."), len("Hm."), "done", "4")
    request = new_turn(calls=[done]).request("Let me see. It", "Hm. So")
    assert request.messages[-1] == Message("tool", "4", call_id="a")
    assert request.messages[-2] == Message("assistant", "Let me see.", "Hm.", (CALL,))
    assert (request.continue_from, request.continue_thinking) == (" It", " So")


def test_steps_are_numbered_on_after_stored_calls() -> None:
    turn = new_turn(calls=[CallRecord(CALL, "Math", "add", 0, state="done")])
    take_step(turn, replace(CALL, id="b"), answer="So")
    assert [(record.step, record.answer_end) for record in turn.calls] == [(0, 0), (1, 2)]


LONG = pytest.mark.long


@pytest.mark.parametrize(
    "family", ["qwen3", pytest.param("qwen3_next", marks=LONG), pytest.param("llama", marks=LONG)]
)  # with growing, recurrent, and rotating caches
def test_each_step_reuses_the_prompt_of_the_step_before_with_dflash_on(
    family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiny_families, "VOCABULARY", 300)
    monkeypatch.setitem(tiny_families.CONFIGS, family, {**tiny_families.CONFIGS[family], "vocab_size": 300})
    tiny_families.save(family, tmp_path / "target")
    tiny_families.save_drafter(family, tmp_path / "drafter")
    engine = loaded(tmp_path / "target", tmp_path / "drafter")
    assert engine.pair is not None
    engine.pair.tokenizer = tokenizer_of("qwen3")
    base = replace(QUESTION, max_tokens=12, ignore_eos=True, width=4, thinking=True)
    turn, answer, before = ToolTurn(base, TOOLS, Approvals(), "chat", most_steps=4), "", 0
    opening = len(ids(tokenizer_of("qwen3"), "<|im_start|>assistant\n"))
    while True:
        found = reply(engine, turn.request(answer))
        assert found.stats.mode == "dflash" and found.stats.rounds
        assert found.stats.reused_tokens >= before
        if turn.request().tool_choice == "none":
            break
        before = found.stats.prompt_tokens - opening
        answer += "Let me see."
        take_step(turn, CALL, answer=answer)
        [call] = turn.waiting
        turn.decide(call.call.id, "once")
        make_call(turn, call.call.id, "4")
    engine.unload()
