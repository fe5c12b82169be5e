"""OpenAI's dialect for agents: `POST /v1/responses`. Responses aren't stored."""

import secrets
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field

from mlx_engine.api_server import openai, openai_tools
from mlx_engine.api_server.body import log_ignored
from mlx_engine.api_server.exchanges import Chunk, CountedReply
from mlx_engine.api_server.logprob_fields import of_chat
from mlx_engine.api_server.problems import ApiError
from mlx_engine.api_server.responses_input import ItemReader, encrypted
from mlx_engine.contract.events import Channel, Commit, Event, Finished, PairInfo, Queued
from mlx_engine.contract.limits import MAX_LOGPROBS
from mlx_engine.contract.requests import GenerationRequest, ToolCall


class TextOptions(BaseModel):
    model_config = ConfigDict(strict=True, hide_input_in_errors=True)
    format: Any = None


class ReasoningOptions(BaseModel):
    model_config = ConfigDict(strict=True, hide_input_in_errors=True)
    effort: openai.Effort | None = None


class ResponseFields(openai.SamplingFields):
    input: Any = Field(description="a string or items; text only")
    instructions: str | None = Field(None, description="the first system message")
    max_output_tokens: openai.TokenLimit | None = Field(None, description="token limit of the reply; -1 is none")
    reasoning: ReasoningOptions | None = Field(None, description="`effort`, as `reasoning_effort`")
    tools: list[Any] | None = Field(None, description="responses: also `namespace`")
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    text: TextOptions | None = Field(None, description="`format`: `text`, `json_object`, or `json_schema`")
    store: bool | None = Field(None, description="responses are never stored")
    include: list[str] | None = Field(
        None, description="`message.output_text.logprobs`; reasoning items always have `encrypted_content`"
    )
    top_logprobs: int | None = Field(None, ge=0, le=MAX_LOGPROBS)
    metadata: dict[str, str] | None = Field(None, description="returned as it is")

    nested: ClassVar[dict[str, str]] = {
        **openai_tools.nested_fields("tools"),
        **openai_tools.nested_fields("tools.tools"),
        **openai_tools.nested_fields("input.tools"),
        **openai_tools.nested_fields("input.tools.tools"),
        **openai_tools.nested_choices("tool_choice"),
        "input": "type role content summary encrypted_content call_id name namespace arguments input output tools",
        "input.content": "type text refusal",
        "input.summary": "type text",
        "input.output": "type text",
        "reasoning": "effort",
        "text": "format verbosity",
        "text.format": "type name strict schema json_schema",
        "text.format.json_schema": "type name strict schema",
    }
    schema_field = "text.format"
    refused: ClassVar[dict[str, tuple[Any, ...]]] = openai.SamplingFields.refused | {
        "previous_response_id": (),
        "conversation": (),
        "background": (False,),
        "n": (1,),
        "prompt": (),
        "truncation": ("disabled",),
        "text.verbosity": ("medium",),
    }

    @classmethod
    def parse(cls, body: Any) -> Self:
        for name in ("previous_response_id", "conversation"):
            if isinstance(body, dict) and body.get(name) is not None:
                message = f"Responses aren't stored, so “{name}” isn't supported. Send the whole conversation in “input”."
                raise ApiError(400, message, name, "unsupported_parameter")
        return super().parse(body)


@dataclass(frozen=True)
class _Format:
    """How a channel's text is streamed.

    Attributes:
        item: the fixed fields of the item.
        parts: name of the item's field with its parts.
        part: the fixed fields of a part.
        part_event: prefix of the names of a part's events.
        text_event: prefix of the names of a text's events.
        index: name of an event's field with the part's position.
    """

    item: Chunk
    parts: str
    part: Chunk
    part_event: str
    text_event: str
    index: str


_FORMATS: dict[Channel, _Format] = {
    "answer": _Format(
        {"type": "message", "role": "assistant"},
        "content",
        {"type": "output_text", "annotations": []},
        "response.content_part",
        "response.output_text",
        "content_index",
    ),
    "thinking": _Format(
        {"type": "reasoning"},
        "summary",
        {"type": "summary_text"},
        "response.reasoning_summary_part",
        "response.reasoning_summary_text",
        "summary_index",
    ),
}
_LOGPROBS, _ENCRYPTED = "message.output_text.logprobs", "reasoning.encrypted_content"
_IDS = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}


class ResponseExchange:
    """A request for a response, and the response."""

    fields = ResponseFields

    def __init__(self, pair: PairInfo, body: Any) -> None:
        fields = ResponseFields.parse(body)
        given = ItemReader(fields.input, fields.instructions)
        effort = fields.reasoning.effort if fields.reasoning else None
        form = fields.text.format if fields.text else None
        tools, kinds = [*(fields.tools or ()), *given.tools], ("function", "custom", "namespace")
        self.tools = openai_tools.OfferedTools(tools, kinds, fields.tool_choice)
        request = replace(
            fields.request(pair, fields.max_output_tokens),
            messages=openai_tools.with_a_user(given.messages),
            thinking=effort not in (None, "none"),
            effort=openai.effort_of(effort),
            tools=self.tools.declared,
            one_call=fields.parallel_tool_calls is False,
            tool_choice=self.tools.choice,
            schema=openai_tools.schema_of(form, fields.schema_field),
            logprobs=(fields.top_logprobs or 0) if _LOGPROBS in (fields.include or ()) or fields.top_logprobs else None,
        )
        log_ignored("values of include", {*(fields.include or ())} - {_LOGPROBS, _ENCRYPTED})
        self.requests: Sequence[GenerationRequest] = [request]
        self.streams = bool(fields.stream)
        self._started = False
        self._events = 0
        self._thinking_tokens = 0
        self._channel: Channel | None = None  # of the last item, if it isn't complete
        self._text, self._logprobs = "", list[Chunk]()  # of that item
        self._output: list[Chunk] = []
        self._response: Chunk = {
            "id": _new_id("resp"),
            "object": "response",
            "created_at": int(time.time()),
            "status": "in_progress",
            "error": None,
            "incomplete_details": None,
            "instructions": fields.instructions,
            "max_output_tokens": None if fields.max_output_tokens == -1 else fields.max_output_tokens,
            "model": openai.model_id(pair),
            "output": [],
            "parallel_tool_calls": not request.one_call,
            "previous_response_id": None,
            "reasoning": {"effort": effort, "summary": None},
            "store": False,
            "temperature": request.sampling.temperature if fields.temperature is None else fields.temperature,
            "text": {"format": form or {"type": "text"}},
            "tool_choice": fields.tool_choice or "auto",
            "tools": fields.tools or [],
            "top_p": request.sampling.top_p if fields.top_p is None else fields.top_p,
            "truncation": "disabled",
            "usage": None,
            "metadata": fields.metadata or {},
        }

    def chunks(self, index: int, event: Event) -> Iterable[Chunk]:
        if isinstance(event, Queued):
            return
        if not self._started:
            yield from self.sign_of_life(index)
        if isinstance(event, Commit):
            self._thinking_tokens += len(event.tokens) if event.channel == "thinking" else 0
            logprobs = of_chat(event.logprobs)["content"] if event.channel == "answer" else []
            if event.text or logprobs:
                yield from self._write(event.channel, event.text, logprobs)
        elif isinstance(event, ToolCall):
            yield from self._close()
            yield from self._call(event)
        elif isinstance(event, Finished):
            ended = "incomplete" if event.reason == "length" else "completed"
            yield from self._close(ended)
            usage = openai.usage([event.stats], 1, self._thinking_tokens)
            self._response = self._response | {
                "status": ended,
                "incomplete_details": {"reason": "max_output_tokens"} if ended == "incomplete" else None,
                "output": self._output,
                "usage": {
                    "input_tokens": usage["prompt_tokens"],
                    "input_tokens_details": usage["prompt_tokens_details"],
                    "output_tokens": usage["completion_tokens"],
                    "output_tokens_details": usage["completion_tokens_details"],
                    "total_tokens": usage["total_tokens"],
                },
                "timings": openai.timings(event.stats),
                "slipstream": openai.details(event.stats),
            }
            yield self._event(f"response.{ended}", response=self._response)

    def sign_of_life(self, index: int) -> Iterable[Chunk]:
        if not self._started:
            self._started = True
            yield self._event("response.created", response=self._response)
        yield self._event("response.in_progress", response=self._response)

    def end(self) -> Iterable[str | Chunk]:
        return ()

    def failed(self, error: ApiError) -> Iterable[Chunk]:
        code = "server_error" if error.status >= 500 else "rate_limit_exceeded" if error.status == 429 else error.code
        failure = {"status": "failed", "error": {"code": code, "message": error.message}, "output": self._output}
        yield self._event("response.failed", response=self._response | failure)

    def whole(self, replies: Sequence[CountedReply]) -> Chunk:
        [reply] = replies
        for event in (*reply.parts, Finished(reply.reason, reply.stats)):
            deque(self.chunks(0, event), maxlen=0)
        return self._response

    def _event(self, kind: str, **fields: Any) -> Chunk:
        self._events += 1
        return {"type": kind, "sequence_number": self._events - 1, **fields}

    def _item_event(self, kind: str, **fields: Any) -> Chunk:
        """Return an event of the last item."""
        return self._event(kind, item_id=self._output[-1]["id"], output_index=len(self._output) - 1, **fields)

    def _added(self, item: Chunk) -> Chunk:
        self._output.append({"id": _new_id(_IDS[item["type"]]), "status": "in_progress", **item})
        return self._event("response.output_item.added", output_index=len(self._output) - 1, item=self._output[-1])

    def _done(self, status: str, **fields: Any) -> Chunk:
        self._output[-1] = {**self._output[-1], **fields, "status": status}
        return self._event("response.output_item.done", output_index=len(self._output) - 1, item=self._output[-1])

    def _write(self, channel: Channel, text: str, logprobs: list[Chunk]) -> Iterator[Chunk]:
        """Yield the events of a text, after those that close an item of another channel."""
        form = _FORMATS[channel]
        at = {form.index: 0}
        if channel != self._channel:
            yield from self._close()
            self._channel = channel
            yield self._added({**form.item, form.parts: []})
            yield self._item_event(f"{form.part_event}.added", **at, part={**form.part, "text": ""})
        self._text += text
        self._logprobs += logprobs
        more = {"logprobs": logprobs} if channel == "answer" else {}
        yield self._item_event(f"{form.text_event}.delta", **at, delta=text, **more)

    def _close(self, status: str = "completed") -> Iterator[Chunk]:
        """Yield the events that complete the last item."""
        if self._channel is None:
            return
        form, text = _FORMATS[self._channel], self._text
        at, more = {form.index: 0}, {"logprobs": self._logprobs} if self._channel == "answer" else {}
        part = {**form.part, "text": text, **more}
        yield self._item_event(f"{form.text_event}.done", **at, text=text, **more)
        yield self._item_event(f"{form.part_event}.done", **at, part=part)
        again = {"encrypted_content": encrypted(text)} if self._channel == "thinking" else {}
        yield self._done(status, **{form.parts: [part]}, **again)
        self._channel, self._text, self._logprobs = None, "", []

    def _call(self, call: ToolCall) -> Iterator[Chunk]:
        tool = self.tools.of(call)
        kind, field, event = "function_call", "arguments", "response.function_call_arguments"
        if tool.custom:
            kind, field, event = "custom_tool_call", "input", "response.custom_tool_call_input"
        text = tool.text(call)
        namespace = {"namespace": tool.namespace} if tool.namespace else {}
        yield self._added({"type": kind, "call_id": call.id, "name": tool.name, field: "", **namespace})
        yield self._item_event(f"{event}.delta", delta=text)
        yield self._item_event(f"{event}.done", **{"name": tool.name, field: text})
        yield self._done("completed", **{field: text})


def _new_id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(12)}"
