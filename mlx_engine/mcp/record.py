"""The calls of a reply, as they are stored, and the messages that they become."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from mlx_engine.contract.requests import AttachedImage, Message, ToolCall

CallState = Literal["waiting", "running", "done", "failed", "denied", "stopped"]
DENIED = "The user denied this call."
STOPPED = "The call was stopped before it had a result."


@dataclass(frozen=True)
class CallRecord:
    """A tool call of a reply.

    A reply with calls has several steps: text, then calls with results, then text again. Its answer and its thinking are the
    texts of all steps, one after another.

    Attributes:
        server: the tool's server; empty if the model named an unknown tool.
        tool: the tool's name at its server.
        step: number of the step that the call ends, from 0. Calls of one step are made together.
        answer_end: length of the reply's answer at the call.
        thinking_end: length of the reply's thinking at the call.
        state: “waiting” for approval, “running”, or how the call ended.
        result: what the model gets, once the call has ended.
        seconds: duration of the call, without the wait for approval.
        changed: whether the tool had been allowed, but has changed since.
        images: images in the result. They aren't stored.
        made: when the model made the call, in seconds since 1970; 0 if unknown.
    """

    call: ToolCall
    server: str = ""
    tool: str = ""
    step: int = 0
    answer_end: int = 0
    thinking_end: int = 0
    state: CallState = "waiting"
    result: str = ""
    seconds: float | None = None
    changed: bool = False
    images: tuple[AttachedImage, ...] = ()
    made: float = 0.0

    @property
    def ended(self) -> bool:
        return self.state not in ("waiting", "running")


def messages_of(answer: str, thinking: str, calls: Sequence[CallRecord]) -> tuple[Message, ...]:
    """Return a reply's messages: one for each step, and one for each result.

    Calls without a result get one that says so, because templates expect a result for each call.
    """
    messages: list[Message] = []
    answered = thought = 0
    for _, group in groupby(calls, key=lambda record: record.step):
        made = list(group)
        end = made[-1]
        texts = answer[answered : end.answer_end], thinking[thought : end.thinking_end]
        messages.append(Message("assistant", *texts, calls=tuple(record.call for record in made)))
        for record in made:
            result = record.result if record.ended else STOPPED
            messages.append(Message("tool", result, call_id=record.call.id, images=record.images))
        answered, thought = end.answer_end, end.thinking_end
    if answer[answered:] or thinking[thought:] or not calls:
        messages.append(Message("assistant", answer[answered:], thinking[thought:]))
    return tuple(messages)
