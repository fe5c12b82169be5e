"""A reply run with an engine, tools, and a store that answer in any order."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from threading import Event as Flag
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from PySide6.QtCore import QCoreApplication

from app.session.engine_adapter import Delivery
from app.session.reply_runner import ReplyRunner
from app.storage.chat_tree import Chat, Node, Turn
from app.storage.wording import details
from mlx_engine.contract.client import Run
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import Event, Failed, Finished
from mlx_engine.contract.machine_events import KernelsSelected, KernelTrial
from mlx_engine.contract.requests import GenerationRequest, ToolCall
from mlx_engine.mcp.approvals import Approvals, Decision
from mlx_engine.mcp.tool import Tool, ToolResult
from tests.app.conftest import Session
from tests.app.scripted_engine import PAIR, ScriptedEngine, commit, done, reason, stats
from tests.app.tools_in_chat import CALCULATOR, READ
from tests.examples import sampled

OFF = EngineText("kernels_turned_off", "Continued without Metal kernels after a GPU error: it hung.")
TOOLS = {"calculator": CALCULATOR, "read_file": READ}
CALLS = st.builds(ToolCall, st.sampled_from(["a", "b", ""]), st.sampled_from([*TOOLS, "unknown"]), st.sampled_from(["{}", "["]))
EVENTS = st.one_of(
    CALLS,
    st.just(commit("Hi")),
    st.just(Failed("error", "No memory.")),
    *(st.just(done(reason=reason)) for reason in ("tool_calls", "tool_calls", "eos", "length", "cancelled")),  # type: ignore[arg-type]
)


class Replies(RuleBasedStateMachine):
    """Replies of two chats, where each part answers whenever and whatever it likes."""

    @initialize()
    def begin(self) -> None:
        self.application = QCoreApplication.instance() or QCoreApplication([])
        self.saves: list[Callable[[], None]] = []
        self.requests: list[tuple[Turn, Flag, Callable[[list[Delivery]], None]]] = []  # that haven't ended
        self.old: list[Callable[[list[Delivery]], None]] = []  # receivers of requests that have ended
        self.calls: list[tuple[Turn, ToolCall, Callable[[ToolResult], object]]] = []
        self.approved: set[tuple[Turn, str]] = set()
        self.always: set[str] = set()
        self.stopped: set[Turn] = set()
        self.ended: list[Turn] = []
        self.turns: list[Turn] = []
        tools = SimpleNamespace(approvals=Approvals(), call=self.call)
        engine, library = SimpleNamespace(submit=self.submit), SimpleNamespace(save=self.save, save_growth=lambda *_: None)
        self.run = ReplyRunner(engine, library, tools)  # type: ignore[arg-type]
        self.run.ended.connect(lambda run: self.ended.append(run.turn))
        self.chats = Chat(), Chat()

    @property
    def running(self) -> list[Turn]:
        return [run.turn for run in self.run.runs]

    def is_free(self, chat: Chat) -> bool:
        """Whether a chat's next reply can start: the engine has ended the last one, too."""
        return self.run.of(chat.id) is None and not any(turn in chat.turns for turn, _, _ in self.requests)

    def save(self, chat: Chat, nodes: Iterable[Node], then: Callable[[object], None] | None = None) -> None:
        if then is not None:
            self.saves.append(partial(then, None))

    def submit(self, request: GenerationRequest, receive: Callable[[list[Delivery]], None]) -> Run:
        turn = next(turn for turn in self.running if turn.asked is not None and turn.prompt == request.messages[0].content)
        assert turn not in [other for other, _, _ in self.requests], "two requests of a reply at the same time"
        assert turn not in self.stopped and all(record.ended for record in turn.reply.calls)
        flag = Flag()
        self.requests.append((turn, flag, receive))
        return SimpleNamespace(cancel=flag.set)  # type: ignore[return-value]

    def call(self, tool: Tool, arguments: str, ended: Any, progress: Any) -> Callable[[], None]:
        turn, record = next(
            (turn, one)
            for turn in self.running
            for one in turn.reply.calls
            if one.state == "waiting"
            and (one.tool, one.call.arguments) == (tool.name, arguments)
            and ((turn, one.call.id) in self.approved or tool.name in self.always)
            and not any(made is one.call for _, made, _ in self.calls)
        )
        assert turn not in self.stopped and turn not in [other for other, _, _ in self.requests]
        self.calls.append((turn, record.call, ended))
        return lambda: None

    def told(self) -> list[object]:
        """What has arrived in each reply."""
        return [(turn.reply.answer, turn.reply.reason, turn.reply.error, turn.reply.calls) for turn in self.turns]

    @rule(which=st.integers(0, 1))
    def the_user_sends(self, which: int = 0) -> None:
        chat = self.chats[which]
        if self.is_free(chat):
            turn = chat.ask(f"Hello {len(self.turns)}", "dflash")
            self.turns.append(turn)
            self.run.start(turn, chat, GenerationRequest((turn.request.messages[-1],)), TOOLS)

    @rule(which=st.integers(0, 1))
    def the_user_continues(self, which: int = 0) -> None:
        chat = self.chats[which]
        turn = chat.turns[-1] if chat.turns else None
        if turn is not None and self.is_free(chat) and turn.reply.can_continue:
            self.stopped.discard(turn)
            self.ended.remove(turn)
            self.run.resume(turn, chat, GenerationRequest((turn.request.messages[-1],)), TOOLS)

    @rule()
    def a_question_is_saved(self) -> None:
        if self.saves:
            self.saves.pop(0)()

    @rule(event=EVENTS, which=st.integers(0, 1))
    def an_event_arrives(self, event: Event, which: int = 0) -> None:
        for _, _, receive in self.requests[which : which + 1]:
            others = [told for turn, told in zip(self.turns, self.told(), strict=True) if turn is not self.requests[which][0]]
            mine = self.requests[which][0]
            receive([Delivery(event, 0.0)])
            assert others == [told for turn, told in zip(self.turns, self.told(), strict=True) if turn is not mine]

    @rule(which=st.integers(0, 1))
    def a_request_ends(self, which: int = 0) -> None:
        if len(self.requests) > which:
            _, _, receive = self.requests.pop(which)
            self.old.append(receive)
            receive([Delivery(None, 0.0)])

    @rule(calls=st.lists(CALLS, min_size=1, max_size=3), which=st.integers(0, 1))
    def a_step_ends_with_calls(self, calls: list[ToolCall], which: int = 0) -> None:
        self.a_question_is_saved()
        for event in (*calls, done(reason="tool_calls")):
            self.an_event_arrives(event, which)
        self.a_request_ends(which)

    @rule(data=st.data(), event=st.one_of(st.none(), EVENTS))
    def an_old_event_arrives(self, data: st.DataObject, event: Event | None) -> None:
        if self.old:
            before = len(self.requests), self.told()
            data.draw(st.sampled_from(self.old))([Delivery(event, 0.0)])
            assert (len(self.requests), self.told()) == before

    @rule(data=st.data(), decision=st.sampled_from(["once", "always", "deny"]))
    def the_user_decides(self, data: st.DataObject, decision: Decision) -> None:
        records = [(turn, record) for turn in self.turns for record in turn.reply.calls]
        if records:
            turn, record = data.draw(st.sampled_from(records))
            if record.state == "waiting" and decision != "deny":
                self.approved.add((turn, record.call.id))
                self.always |= {record.tool} if decision == "always" else set()
            self.run.decide(turn, record.call.id, decision)

    @rule(data=st.data(), error=st.sampled_from([None, EngineText("tool_failed", ""), EngineText("tool_canceled", "")]))
    def a_result_arrives(self, data: st.DataObject, error: EngineText | None) -> None:
        if self.calls:
            data.draw(st.sampled_from(self.calls))[2](ToolResult("4", error))

    @rule(which=st.integers(0, 1))
    def the_user_stops(self, which: int = 0) -> None:
        chat = self.chats[which]
        self.stopped |= {run.turn for run in self.run.runs if run.chat is chat}
        self.run.stop(chat.id)
        self.stopped_replies_end()

    @rule()
    def the_app_quits(self) -> None:
        self.stopped |= set(self.running)
        self.run.interrupt_all()
        self.stopped_replies_end()

    def stopped_replies_end(self) -> None:
        assert all(flag.is_set() for turn, flag, _ in self.requests if turn in self.stopped)
        generating = [turn for turn, _, _ in self.requests]
        assert all(turn in generating for turn in self.running if turn in self.stopped)

    @invariant()
    def each_turn_ends_once(self) -> None:
        assert len(self.ended) == len(set(self.ended)) == len(self.turns) - len(self.running)
        for turn in self.turns:
            if turn in self.running:
                assert turn.reply.running or turn in [other for other, _, _ in self.requests]  # its text ends before its request
            else:
                assert not turn.reply.running and all(record.ended for record in turn.reply.calls)

    @invariant()
    def each_call_is_made_once(self) -> None:
        made = [(turn, call.id) for turn, call, _ in self.calls]
        assert len(made) == len(set(made))

    @invariant()
    def a_reply_waits_for_something(self) -> None:
        """A reply that runs waits for the store, the engine, a tool, or the user, and never for nothing."""
        generating = [turn for turn, _, _ in self.requests]
        for run in self.run.runs:
            calls = run.turn.reply.calls
            assert self.saves or run.turn in generating or any(not record.ended for record in calls)
            asks = run.turn not in generating and any(record.state == "waiting" for record in calls)
            assert run.waiting == asks == (run in self.run.asking)


TestReplies = Replies.TestCase
TestReplies.settings = sampled(20)


@pytest.mark.parametrize("quits", [False, True])
def test_reply_that_is_stopped_before_its_first_event_has_no_error(quits: bool) -> None:
    one = Replies()
    one.begin()
    one.the_user_sends()
    one.a_question_is_saved()
    one.the_app_quits() if quits else one.the_user_stops()
    one.a_request_ends()
    reply = one.turns[0].reply
    assert (reply.reason, reply.error) == ("interrupted" if quits else "cancelled", "")


def test_continued_reply_keeps_its_error_after_text_of_unknown_tokens() -> None:
    one = Replies()
    one.begin()
    one.the_user_sends()
    one.a_question_is_saved()
    one.an_event_arrives(event=commit("Half"))
    one.an_event_arrives(event=done(reason="cancelled"))
    one.a_request_ends()
    one.the_user_continues()
    one.a_question_is_saved()
    one.an_event_arrives(event=commit(" of it", tokens=0))  # as SGLang sends it
    one.an_event_arrives(event=Failed("remote_cut", "The server ended the reply early."))
    one.a_request_ends()
    reply = one.turns[0].reply
    assert (reply.answer, reply.reason, reply.error) == ("Half of it", "error", "The server ended the reply early.")


def test_details_name_an_error_of_the_gpu_and_this_mac_shows_which_kernels_are_off(begin: Callable[..., Session]) -> None:
    used = KernelTrial("kv_injection", reason("faster"), (256,))
    off = KernelsSelected((replace(used, used_at=(), why=reason("failed")),), (256,), saved=True)
    end = Finished("eos", replace(stats(), gpu_error=OFF))
    pair = replace(PAIR, kernels=KernelsSelected((used,), (256,), saved=True))
    session = begin(ScriptedEngine([[commit("One, two,"), off, commit(" three."), end]], pair=pair))
    session.ask("Count")
    assert session.texts == [("Count", "One, two, three.")]
    assert session.reply.stats is not None and f"GPU error: {OFF}" in details(session.reply.stats).splitlines()
    assert session.loader.calibration.kernels == off


def test_what_arrives_late_of_an_earlier_request_changes_nothing() -> None:
    one = Replies()
    one.begin()
    one.the_user_sends()
    one.a_step_ends_with_calls(calls=[ToolCall("a", "unknown", "{}")])  # refused, so the next step begins
    assert one.run.runs and len(one.requests) == 1 and len(one.old) == 1
    before = one.told()
    for late in (commit("Late"), done(), Failed("error", "Late"), None):
        one.old[0]([Delivery(late, 0.0)])
        assert one.told() == before and one.run.runs
    one.an_event_arrives(event=commit("Hi"))
    assert one.turns[0].reply.answer == "Hi"
