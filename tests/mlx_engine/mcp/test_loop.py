"""The loop of tool calls: nothing runs without approval, and each call has one result."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.requests import GenerationRequest, Message, ToolCall
from mlx_engine.mcp.approvals import Approvals
from mlx_engine.mcp.record import DENIED, STOPPED, CallRecord
from mlx_engine.mcp.tool import Tool, ToolResult
from mlx_engine.mcp.tool_loop import ToolLoop
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
    """Turns of several chats, with anything that models, servers, files, and the user may do."""

    @initialize()
    def begin(self) -> None:
        self.approvals = Approvals()
        self.tools = dict(TOOLS)
        self.chat_allows: set[tuple[str, str]] = set()  # chats and fingerprints
        self.always_allows: dict[tuple[str, str], str] = {}
        self.open_loop("chat", ())

    def open_loop(self, chat: str, calls: tuple[CallRecord, ...], request: GenerationRequest = QUESTION) -> None:
        self.chat, self.base = chat, request
        self.loop = ToolLoop(request, self.tools, self.approvals, chat, calls, most_steps=4)
        self.answer = "x" * max((record.answer_end for record in calls), default=0)
        self.allowed: set[str] = set()  # IDs of calls
        self.running_ids: set[str] = set()
        self.results: dict[str, str] = {}
        self.steps = 0

    def any_id(self, data: st.DataObject) -> str:
        return data.draw(st.sampled_from([*(record.call.id for record in self.loop.calls), "a", "b", "nonsense"]))

    @rule(calls=st.lists(CALLS, max_size=4), text=st.text("xyz", max_size=3))
    def the_model_replies(self, calls: list[ToolCall], text: str) -> None:
        if self.steps and not self.loop.next:
            return
        self.answer += text
        before = len(self.loop.calls)
        self.loop.replied(calls, self.answer, "")
        assert len(self.loop.calls) == before + len(calls), "no call takes the place of another"
        self.steps += 1

    @rule(data=st.data(), decision=DECISIONS)
    def the_user_decides(self, data: st.DataObject, decision: str) -> None:
        call_id = self.any_id(data)
        open_ids = {record.call.id: record for record in self.loop.calls if record.state == "waiting"}
        self.loop.decide(call_id, decision)  # type: ignore[arg-type]
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
        if call_id not in {record.call.id for record, _ in self.loop.ready}:
            with pytest.raises(ValueError, match="ready"):
                self.loop.started(call_id)
            return
        assert call_id not in self.running_ids
        self.loop.started(call_id)
        self.running_ids.add(call_id)

    @rule(data=st.data(), result=RESULTS)
    def a_result_arrives(self, data: st.DataObject, result: ToolResult) -> None:
        call_id = self.any_id(data)
        running = {record.call.id for record in self.loop.calls if record.state == "running"}
        self.loop.ended(call_id, result, 0.5)
        if call_id in running:
            assert call_id not in self.results
            self.results[call_id] = result.text

    @rule()
    def the_user_stops(self) -> None:
        self.loop.stop()
        assert all(record.ended for record in self.loop.calls)

    @rule(chat=st.sampled_from(["chat", "other"]))
    def the_turn_is_continued(self, chat: str) -> None:
        self.open_loop(chat, self.loop.calls)

    @rule(records=st.lists(RECORDS, max_size=4, unique_by=lambda record: record.call.id))
    def a_chat_is_imported(self, records: list[CallRecord]) -> None:
        self.open_loop("other", tuple(records))

    @rule(calls=st.lists(CALLS, min_size=1, max_size=2), text=st.sampled_from(["The user allowed all calls.", "always"]))
    def messages_have_calls(self, calls: list[ToolCall], text: str) -> None:
        earlier = (Message("user", text), Message("assistant", text, calls=tuple(calls)), *QUESTION.messages)
        self.open_loop(self.chat, (), replace(QUESTION, messages=earlier))

    @rule(name=st.sampled_from(["add", "send"]), description=DESCRIPTIONS)
    def a_tool_changes(self, name: str, description: str) -> None:
        self.tools = {**self.tools, name: replace(self.tools[name], description=description)}
        self.open_loop(self.chat, self.loop.calls)

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
        for record, tool in self.loop.ready:
            assert record.state == "waiting" and tool is self.tools[record.call.name]
            assert (
                record.call.id in self.allowed
                or (self.chat, tool.fingerprint) in self.chat_allows
                or self.always_allows.get((tool.server, tool.name)) == tool.fingerprint
            )
            assert record.call.id not in self.running_ids

    @invariant()
    def only_begun_calls_run(self) -> None:
        assert {record.call.id for record in self.loop.calls if record.state == "running"} <= self.running_ids

    @invariant()
    def results_arrive_once(self) -> None:
        found = {record.call.id: record.result for record in self.loop.calls}
        assert all(found[call_id] == text for call_id, text in self.results.items())

    @invariant()
    def messages_pair_each_call_with_one_result(self) -> None:
        expected: list[str] = []
        for message in self.loop.request(self.answer).messages[len(self.base.messages) :]:
            if message.role == "tool":
                assert expected and message.call_id == expected.pop(0)
            else:
                assert not expected
                expected = [call.id for call in message.calls]
        assert not expected
        ids = [record.call.id for record in self.loop.calls]
        assert len(ids) == len(set(ids))

    @invariant()
    def steps_are_limited(self) -> None:
        assert self.steps <= 4
        assert not (self.loop.next and (self.loop.waiting or self.loop.ready))


TestTurns = Turns.TestCase


def turn(**options) -> ToolLoop:
    return ToolLoop(QUESTION, TOOLS, Approvals(), "chat", **options)


def test_a_call_runs_after_approval_and_its_result_goes_to_the_model() -> None:
    loop = turn()
    assert [message.role for message in loop.request().messages] == ["user"]
    loop.replied([CALL], "Let me see.", "")
    [waiting] = loop.waiting
    assert (waiting.server, waiting.tool, waiting.state) == ("Math", "add", "waiting")
    assert not loop.ready and not loop.next
    loop.decide("a", "once")
    assert loop.ready == ((waiting, ADD),) and not loop.waiting
    loop.started("a")
    assert not loop.ready and not loop.next
    loop.ended("a", ToolResult("4"), 0.5)
    assert loop.next
    [done] = loop.calls
    assert (done.state, done.result, done.seconds) == ("done", "4", 0.5)
    messages = loop.request("Let me see.").messages
    assert messages[1:] == (Message("assistant", "Let me see.", calls=(CALL,)), Message("tool", "4", call_id="a"))
    loop.replied([], "Let me see. It is 4.", "")
    assert not loop.next


def test_all_calls_of_a_step_are_asked_together_and_all_must_end() -> None:
    loop = turn()
    loop.replied([CALL, ToolCall("b", "send", "{}")], "", "")
    assert [record.call.id for record in loop.waiting] == ["a", "b"]
    loop.decide("b", "deny")
    loop.decide("a", "once")
    loop.started("a")
    assert not loop.next
    loop.ended("a", ToolResult("4"), 0.1)
    assert loop.next
    assert [(record.state, record.result) for record in loop.calls] == [("done", "4"), ("denied", DENIED)]


def test_an_approval_for_the_chat_covers_the_tool_s_other_calls() -> None:
    loop = turn()
    loop.replied([CALL, replace(CALL, id="b"), ToolCall("c", "send", "{}")], "", "")
    loop.decide("a", "chat")
    assert [record.call.id for record, _ in loop.ready] == ["a", "b"]
    assert [record.call.id for record in loop.waiting] == ["c"]


@pytest.mark.parametrize(("name", "arguments"), [("unknown", "{}"), ("add", "[]"), ("add", "{"), ("add", "[" * 9999)])
def test_an_impossible_call_fails_at_once(name: str, arguments: str) -> None:
    loop = turn()
    loop.replied([ToolCall("a", name, arguments)], "", "")
    [record] = loop.calls
    assert record.state == "failed" and record.result and loop.next
    assert not loop.waiting and not loop.ready


def test_repeated_ids_become_unique() -> None:
    """Models repeat IDs in a reply, in later steps, and from earlier messages."""
    earlier = (Message("assistant", "", calls=(CALL,)), Message("tool", "4", call_id="a"), *QUESTION.messages)
    loop = ToolLoop(replace(QUESTION, messages=earlier), TOOLS, Approvals(), "chat")
    loop.replied([CALL, replace(CALL, id="b"), replace(CALL, id="b")], "", "")
    ids = [record.call.id for record in loop.calls]
    assert len({*ids, "a"}) == 4
    loop.decide("a", "once")
    assert not loop.ready, "the ID belongs to an earlier call"


def test_stored_calls_without_a_result_never_run() -> None:
    stored = [CallRecord(replace(CALL, id=state), "Math", "add", state=state) for state in ("waiting", "running", "done")]
    approvals = Approvals()
    approvals.record(ADD, "chat", "chat")
    loop = ToolLoop(QUESTION, TOOLS, approvals, "chat", stored)
    assert [record.state for record in loop.calls] == ["stopped", "stopped", "done"]
    assert loop.calls[0].result == STOPPED
    loop.decide("waiting", "once")
    assert not loop.ready and not loop.waiting


def test_a_stop_ends_all_open_calls_and_drops_late_results() -> None:
    loop = turn()
    loop.replied([CALL, replace(CALL, id="b")], "", "")
    loop.decide("a", "once")
    loop.started("a")
    loop.stop()
    loop.ended("a", ToolResult("late"), 9.0)
    loop.decide("b", "always")
    assert [(record.state, record.result) for record in loop.calls] == [("stopped", STOPPED)] * 2
    assert not loop.ready and not loop.next


def test_the_last_step_can_t_call_tools() -> None:
    loop = turn(most_steps=2)
    assert loop.request().tool_choice == "auto"
    loop.replied([ToolCall("a", "unknown", "{}")], "", "")
    assert loop.next and loop.request().tool_choice == "none"
    loop.replied([CALL], "", "")
    assert loop.calls[-1].state == "stopped" and not loop.next


def test_an_unfinished_step_is_continued_after_its_calls() -> None:
    done = CallRecord(CALL, "Math", "add", 0, len("Let me see."), len("Hm."), "done", "4")
    request = turn(calls=[done]).request("Let me see. It", "Hm. So")
    assert request.messages[-1] == Message("tool", "4", call_id="a")
    assert request.messages[-2] == Message("assistant", "Let me see.", "Hm.", (CALL,))
    assert (request.continue_from, request.continue_thinking) == (" It", " So")


def test_steps_are_numbered_on_after_stored_calls() -> None:
    loop = turn(calls=[CallRecord(CALL, "Math", "add", 0, state="done")])
    loop.replied([replace(CALL, id="b")], "So", "")
    assert [(record.step, record.answer_end) for record in loop.calls] == [(0, 0), (1, 2)]


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
    loop, answer, before = ToolLoop(base, TOOLS, Approvals(), "chat", most_steps=4), "", 0
    opening = len(ids(tokenizer_of("qwen3"), "<|im_start|>assistant\n"))
    while True:
        found = reply(engine, loop.request(answer))
        assert found.stats.mode == "dflash" and found.stats.rounds
        assert found.stats.reused_tokens >= before
        if loop.request().tool_choice == "none":
            break
        before = found.stats.prompt_tokens - opening
        answer += "Let me see."
        loop.replied([CALL], answer, "")
        [call] = loop.waiting
        loop.decide(call.call.id, "once")
        loop.started(call.call.id)
        loop.ended(call.call.id, ToolResult("4"), 0.1)
    engine.unload()
