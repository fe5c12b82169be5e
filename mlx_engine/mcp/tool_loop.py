"""The state machine of a turn with tool calls, from a reply to the next one."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from mlx_engine.contract.requests import GenerationRequest, ToolCall
from mlx_engine.formats.calls import new_id
from mlx_engine.mcp.approvals import Approvals, Decision
from mlx_engine.mcp.record import DENIED, STOPPED, CallRecord, CallState, messages_of
from mlx_engine.mcp.tool import Tool, ToolResult

MOST_STEPS = 25


class ToolLoop:
    """The calls of one turn.

    A call is ready only after `decide` allowed this exact call, or while `approvals` allows its tool in this chat. Stored calls
    without a result are stopped, and never run.

    Args:
        request: the request for the turn's first step.
        tools: the tools that the model may call, keyed by the names that it sees.
        approvals: what the user allowed before.
        chat: ID of the chat, to which approvals for a chat belong.
        calls: calls of the unfinished reply to continue.
        most_steps: number of steps after which the turn ends. In the last step, the model can't call tools.
    """

    def __init__(
        self,
        request: GenerationRequest,
        tools: Mapping[str, Tool],
        approvals: Approvals,
        chat: str,
        calls: Sequence[CallRecord] = (),
        most_steps: int = MOST_STEPS,
    ) -> None:
        self._request, self._tools, self._approvals, self._chat = request, dict(tools), approvals, chat
        self._specs = tuple(tool.spec(name) for name, tool in self._tools.items())
        self._calls = {record.call.id: record if record.ended else _stopped(record) for record in calls}
        self._ids = {call.id for message in request.messages for call in message.calls} | set(self._calls)
        self._step = max((record.step + 1 for record in calls), default=0)
        self._steps_left = most_steps
        self._called = False  # whether the last reply ended with calls
        self._stopped = False
        self._allowed = set[str]()  # IDs of calls that the user allowed

    @property
    def calls(self) -> tuple[CallRecord, ...]:
        return tuple(self._calls.values())

    def request(self, answer: str = "", thinking: str = "") -> GenerationRequest:
        """Return the request for the next step.

        Its messages begin with those of the step before. Text after the last call is an unfinished step, which is continued.

        Args:
            answer: the answers of all steps.
            thinking: the thinking of all steps.
        """
        calls = self.calls
        answered, thought = (calls[-1].answer_end, calls[-1].thinking_end) if calls else (0, 0)
        made = messages_of(answer[:answered], thinking[:thought], calls) if calls else ()
        return replace(
            self._request,
            messages=(*self._request.messages, *made),
            continue_from=answer[answered:],
            continue_thinking=thinking[thought:],
            tools=self._specs,
            shorten_results=True,
            tool_choice="auto" if self._steps_left > 1 else "none",
        )

    def replied(self, calls: Sequence[ToolCall], answer: str, thinking: str) -> None:
        """Add the calls with which a step ended.

        Args:
            calls: the calls. A call whose ID is already used gets a new ID.
            answer: the answers of all steps so far.
            thinking: the thinking of all steps so far.
        """
        self._steps_left -= 1
        self._called = bool(calls)
        for call in calls:
            while not call.id or call.id in self._ids:
                call = replace(call, id=new_id())
            self._ids.add(call.id)
            tool = self._tools.get(call.name)
            record = CallRecord(
                call, tool.server if tool else "", tool.name if tool else "", self._step, len(answer), len(thinking)
            )
            if problem := self._problem(call):
                record = replace(record, state="failed", result=problem)
            elif self._stopped or self._steps_left <= 0:
                record = _stopped(record)
            self._calls[call.id] = record
        self._step += self._called

    @property
    def waiting(self) -> tuple[CallRecord, ...]:
        """Calls that need a decision."""
        return tuple(record for record in self._calls.values() if record.state == "waiting" and not self._is_allowed(record))

    @property
    def ready(self) -> tuple[tuple[CallRecord, Tool], ...]:
        """Calls that may start now, with their tools."""
        found = (record for record in self._calls.values() if record.state == "waiting" and self._is_allowed(record))
        return tuple((record, self._tools[record.call.name]) for record in found)

    @property
    def next(self) -> bool:
        """Whether all calls of the last step have ended and the model can continue."""
        ended = all(record.ended for record in self._calls.values())
        return self._called and ended and not self._stopped and self._steps_left > 0

    def decide(self, call_id: str, decision: Decision) -> None:
        """Allow or deny a waiting call. Other calls aren't changed."""
        record = self._calls.get(call_id)
        if record is None or record.state != "waiting":
            return
        if decision == "deny":
            self._end(record, "denied", DENIED)
            return
        self._allowed.add(call_id)
        self._approvals.record(self._tools[record.call.name], self._chat, decision)

    def started(self, call_id: str) -> None:
        """Mark a ready call as running.

        Raises:
            ValueError: the call isn't ready.
        """
        record = self._calls.get(call_id)
        if record is None or record.state != "waiting" or not self._is_allowed(record):
            raise ValueError(f"call {call_id!r} isn't ready")
        self._calls[call_id] = replace(record, state="running")

    def ended(self, call_id: str, result: ToolResult, seconds: float) -> None:
        """Add the result of a running call. Late results of stopped calls are dropped."""
        record = self._calls.get(call_id)
        if record is None or record.state != "running":
            return
        canceled = result.error is not None and result.error.code == "tool_canceled"
        state: CallState = "stopped" if canceled else "failed" if result.failed or result.error else "done"
        self._end(record, state, result.text, seconds)

    def stop(self) -> None:
        """Stop all open calls, and end the turn."""
        self._stopped = True
        self._calls = {call_id: record if record.ended else _stopped(record) for call_id, record in self._calls.items()}

    def _is_allowed(self, record: CallRecord) -> bool:
        return record.call.id in self._allowed or self._approvals.allows(self._tools[record.call.name], self._chat)

    def _problem(self, call: ToolCall) -> str:
        """Return why a call can't be made, in words for the model; empty if it can."""
        if call.name not in self._tools:
            return f"There is no tool with the name {call.name!r}."
        try:
            valid = isinstance(json.loads(call.arguments), dict)
        except (ValueError, RecursionError):
            valid = False
        return "" if valid else "The arguments aren't a JSON object."

    def _end(self, record: CallRecord, state: CallState, result: str, seconds: float | None = None) -> None:
        self._calls[record.call.id] = replace(record, state=state, result=result, seconds=seconds)


def _stopped(record: CallRecord) -> CallRecord:
    return replace(record, state="stopped", result=STOPPED)
