"""The state machine of a turn with tool calls, from question to last reply."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Literal

from mlx_engine.contract.attached_images import without_images
from mlx_engine.contract.events import StopReason
from mlx_engine.contract.requests import GenerationRequest, Message, ToolCall
from mlx_engine.formats.calls import new_id
from mlx_engine.mcp.approvals import Approvals, Decision
from mlx_engine.mcp.record import DENIED, STOPPED, CallRecord, CallState, messages_of
from mlx_engine.mcp.tool import Tool, ToolResult

MOST_STEPS = 25

Cancel = Callable[[], object]


class ToolTurn:
    """The steps and calls of one turn.

    A step is a request, and the calls with which its reply ends. The turn runs nothing: its driver submits the
    `request` while `has_next` is true, makes the calls that are `ready`, and reports what happens. A turn is always in one of four
    states: `has_next`, `generating`, with open calls, or `over`.

    A call is ready only after `decide` allowed this exact call, or while `approvals` allows its tool in this chat. Stored calls
    without a result are stopped, and never run.

    Args:
        request: the request for the turn's first step.
        tools: the tools that the model may call, keyed by the names that it sees.
        approvals: what the user allowed before.
        chat: ID of the chat, to which approvals for a chat belong.
        calls: calls of the unfinished reply to continue.
        most_steps: number of steps after which the turn ends. In the last step, the model can't call tools.
        can_see: whether the model sees the images of results. If not, it reads “[image]”.

    Attributes:
        ending: how a turn ends between two steps.
        requests: number of submitted requests.
    """

    def __init__(
        self,
        request: GenerationRequest,
        tools: Mapping[str, Tool],
        approvals: Approvals,
        chat: str,
        calls: Sequence[CallRecord] = (),
        most_steps: int = MOST_STEPS,
        can_see: bool = False,
    ) -> None:
        self._request, self._tools, self._approvals, self._chat = request, dict(tools), approvals, chat
        self._specs = tuple(tool.spec(name) for name, tool in self._tools.items())
        self._calls = {record.call.id: record if record.ended else _stopped(record) for record in calls}
        self._ids = {call.id for message in request.messages for call in message.calls} | set(self._calls)
        self._step = max((record.step + 1 for record in calls), default=0)
        self._steps_left, self._can_see = most_steps, can_see
        self._continues = True  # whether the last step asks for another one
        self._arrived: list[ToolCall] = []  # in the current step
        self._allowed = set[str]()  # IDs of calls that the user allowed
        self._running = dict[str, tuple[Cancel, float]]()  # how to cancel each running call, and when it started
        self._cancel_step: Cancel | None = None  # while a request runs
        self._has_replied = False  # whether the current step's text has ended
        self.ending: Literal["tool_calls", "cancelled", "interrupted"] = "tool_calls"
        self.requests = 0

    @property
    def calls(self) -> tuple[CallRecord, ...]:
        return tuple(self._calls.values())

    @property
    def stopped(self) -> bool:
        return self.ending != "tool_calls"

    @property
    def generating(self) -> bool:
        return self._cancel_step is not None

    @property
    def has_next(self) -> bool:
        """Whether the next step's request can be submitted."""
        idle = not self.generating and all(record.ended for record in self._calls.values())
        return idle and self._continues and not self.stopped and self._steps_left > 0

    @property
    def over(self) -> bool:
        return not self.generating and not self.has_next and all(record.ended for record in self._calls.values())

    @property
    def waiting(self) -> tuple[CallRecord, ...]:
        """Calls that need a decision."""
        return tuple(record for record in self._undecided if not self._is_allowed(record))

    @property
    def ready(self) -> tuple[tuple[CallRecord, Tool], ...]:
        """Calls that may start now, with their tools."""
        return tuple((record, self._tools[record.call.name]) for record in self._undecided if self._is_allowed(record))

    @property
    def running(self) -> tuple[str, ...]:
        """IDs of the running calls."""
        return tuple(self._running)

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

    def submitted(self, cancel: Cancel = lambda: None) -> None:
        """Begin the next step.

        Args:
            cancel: cancels the request.

        Raises:
            ValueError: another request or a call is running, or the turn is over.
        """
        if not self.has_next:
            raise ValueError("the turn isn't ready for a request")
        self._cancel_step, self._arrived, self._has_replied = cancel, [], False
        self.requests += 1

    def called(self, call: ToolCall) -> None:
        """Add a call of the current step. It is recorded when the step ends."""
        self._arrived.append(call)

    def replied(self, reason: StopReason, answer: str, thinking: str, made: float = 0.0) -> tuple[CallRecord, ...]:
        """End the current step's text, and return its calls.

        Calls of a step that was cut off are stopped. A call whose ID is already used gets a new ID.

        Args:
            reason: why the step ended.
            answer: the answers of all steps so far.
            thinking: the thinking of all steps so far.
            made: the time, in seconds since 1970, for the records.
        """
        if not self.generating or self._has_replied:
            return ()
        self._has_replied = True
        self._steps_left -= 1
        self._continues = reason == "tool_calls" and bool(self._arrived)
        added: list[CallRecord] = []
        for call in self._arrived:
            while not call.id or call.id in self._ids:
                call = replace(call, id=new_id())
            self._ids.add(call.id)
            tool = self._tools.get(call.name)
            record = CallRecord(
                call, tool.server if tool else "", tool.name if tool else "", self._step, len(answer), len(thinking)
            )
            has_changed = tool is not None and self._approvals.has_changed(tool, self._chat)
            record = replace(record, changed=has_changed, made=made)
            if problem := self._problem(call):
                record = replace(record, state="failed", result=problem)
            elif not self._continues or self.stopped or self._steps_left <= 0:
                record = _stopped(record)
            self._calls[call.id] = record
            added.append(record)
        self._step += bool(added)
        return tuple(added)

    def closed(self) -> bool:
        """End the current request, so that its calls can start.

        Return whether its text has ended. If not, the turn is over.
        """
        if not self.generating:
            return True
        self._cancel_step = None
        self._continues = self._continues and self._has_replied
        return self._has_replied

    def decide(self, call_id: str, decision: Decision) -> bool:
        """Allow or deny a waiting call. Return whether it was waiting."""
        record = self._calls.get(call_id)
        if record is None or record.state != "waiting":
            return False
        if decision == "deny":
            self._end(record, "denied", DENIED)
        else:
            self._allowed.add(call_id)
            self._approvals.record(self._tools[record.call.name], self._chat, decision)
        return True

    def started(self, call_id: str, cancel: Cancel, at_s: float) -> None:
        """Mark a ready call as running.

        Args:
            call_id: ID of the call.
            cancel: cancels the call, which then ends.
            at_s: the time, on any clock.

        Raises:
            ValueError: the call isn't ready.
        """
        record = self._calls.get(call_id)
        if record is None or record not in self._undecided or not self._is_allowed(record):
            raise ValueError(f"call {call_id!r} isn't ready")
        self._running[call_id] = cancel, at_s
        self._calls[call_id] = replace(record, state="running")

    def cancel(self, call_id: str) -> None:
        """Cancel a running call. The turn goes on with its result."""
        if call_id in self._running:
            self._running[call_id][0]()

    def ended(self, call_id: str, result: ToolResult, at_s: float) -> bool:
        """Add the result of a running call; false if it isn't running.

        Late results of stopped calls are dropped.
        """
        if call_id not in self._running:
            return False
        canceled = result.error is not None and result.error.code == "tool_canceled"
        state: CallState = "stopped" if canceled else "failed" if result.failed or result.error else "done"
        _, since_s = self._running.pop(call_id)
        shown = Message("tool", result.text, images=result.images)
        if not self._can_see:
            (shown,) = without_images((shown,))
        self._end(replace(self._calls[call_id], images=shown.images), state, shown.content, at_s - since_s)
        return True

    def stop(self, interrupted: bool = False) -> None:
        """Cancel everything that runs, stop all open calls, and end the turn.

        Args:
            interrupted: whether the app quits.
        """
        self.ending = "interrupted" if interrupted or self.ending == "interrupted" else "cancelled"
        self._calls = {call_id: record if record.ended else _stopped(record) for call_id, record in self._calls.items()}
        cancels = [cancel for cancel, _ in self._running.values()]
        self._running.clear()
        for cancel in [*cancels, self._cancel_step]:
            if cancel is not None:
                cancel()

    @property
    def _undecided(self) -> list[CallRecord]:
        return [record for record in self._calls.values() if record.state == "waiting" and not self.generating]

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
