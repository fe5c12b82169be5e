"""OpenAI's dialect for agents: `POST /v1/responses`. Responses aren't stored."""

import secrets
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from mlx_engine.api_server import openai, openai_content, openai_tools
from mlx_engine.api_server.body import Chunk, log_ignored
from mlx_engine.api_server.content_parts import FileReading, PartReader
from mlx_engine.api_server.exchanges import CountedReply, Dialect, Exchange
from mlx_engine.api_server.logprob_fields import of_chat
from mlx_engine.api_server.problems import ApiError
from mlx_engine.api_server.reply_figures import details, timings
from mlx_engine.api_server.responses_input import ItemReader, encrypted
from mlx_engine.api_server.sampling_fields import Effort, SamplingFields, TokenLimit, effort_of
from mlx_engine.api_server.served_models import ALIAS, model_id
from mlx_engine.contract.events import Channel, Commit, Event, Finished, PairInfo, Queued, Stats, StopReason
from mlx_engine.contract.limits import MAX_LOGPROBS
from mlx_engine.contract.requests import GenerationRequest, ToolCall


class TextOptions(BaseModel):
    model_config = ConfigDict(strict=True, hide_input_in_errors=True)
    format: Any = None


class ReasoningOptions(BaseModel):
    model_config = ConfigDict(strict=True, hide_input_in_errors=True)
    effort: Effort | None = None


class ResponseFields(SamplingFields):
    input: Any = Field(description="a string or items: text, `input_image`, and `input_file`, also in outputs of tools")
    instructions: str | None = Field(None, description="the first system message")
    max_output_tokens: TokenLimit | None = Field(None, description="token limit of the reply; -1 is none")
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
    truncation: Literal["auto", "disabled"] | None = Field(
        None, description="`auto` leaves out the oldest turns of an input that doesn't fit, and cuts off long outputs of tools"
    )
    metadata: dict[str, str] | None = Field(None, description="returned as it is")

    nested: ClassVar[dict[str, str]] = {
        **openai_tools.nested_fields("tools"),
        **openai_tools.nested_fields("tools.tools"),
        **openai_tools.nested_fields("input.tools"),
        **openai_tools.nested_fields("input.tools.tools"),
        **openai_tools.nested_choices("tool_choice"),
        "input": "type role content summary encrypted_content call_id name namespace arguments input output tools",
        **openai_content.nested_fields("input.content"),
        **openai_content.nested_fields("input.output"),
        "input.summary": "type text",
        "reasoning": "effort",
        "text": "format verbosity",
        "text.format": "type name strict schema json_schema",
        "text.format.json_schema": "type name strict schema",
    }
    schema_field = "text.format"
    refused: ClassVar[dict[str, tuple[Any, ...]]] = {
        "previous_response_id": (),
        "conversation": (),
        **SamplingFields.refused,
        "background": (False,),
        "n": (1,),
        "prompt": (),
        "text.verbosity": ("medium",),
    }
    explained: ClassVar[dict[str, tuple[str, str]]] = {
        name: (
            f"Responses aren't stored, so “{name}” isn't supported. Send the whole conversation in “input”.",
            "unsupported_parameter",
        )
        for name in ("previous_response_id", "conversation")
    }


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


class ResponseExchange(Exchange):
    """A request for a response, and the response."""

    fields: ResponseFields

    def __init__(self, body: Any) -> None:
        fields = self.fields = ResponseFields.parse(body)
        given = self._read(reader := PartReader())
        self.files = reader
        effort = fields.reasoning.effort if fields.reasoning else None
        form = fields.text.format if fields.text else None
        tools, kinds = [*(fields.tools or ()), *given.tools], ("function", "custom", "namespace")
        self.tools = openai_tools.OfferedTools(tools, kinds, fields.tool_choice)
        self.limiting = self.tools.limiting
        self._schema = openai_tools.schema_of(form, fields.schema_field)
        log_ignored("values of include", {*(fields.include or ())} - {_LOGPROBS, _ENCRYPTED})
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
            "model": fields.model or ALIAS,
            "output": [],
            "parallel_tool_calls": fields.parallel_tool_calls is not False,
            "previous_response_id": None,
            "reasoning": {"effort": effort, "summary": None},
            "store": False,
            "temperature": fields.temperature,
            "text": {"format": form or {"type": "text"}},
            "tool_choice": fields.tool_choice or "auto",
            "tools": fields.tools or [],
            "top_p": fields.top_p,
            "truncation": fields.truncation or "disabled",
            "usage": None,
            "metadata": fields.metadata or {},
        }

    def _read(self, reader: PartReader) -> ItemReader:
        """Read the input."""
        given = ItemReader(self.fields.input, self.fields.instructions, reader)
        self._messages = openai_content.with_a_user(given.messages)
        return given

    def begin(self, pair: PairInfo, reading: FileReading | None = None) -> Sequence[GenerationRequest]:
        if self.files.found:
            self._read(PartReader(pair, reading))
        fields, effort = self.fields, self.fields.reasoning.effort if self.fields.reasoning else None
        request = replace(
            fields.request(pair, fields.max_output_tokens),
            messages=self._messages,
            thinking=effort not in (None, "none"),
            effort=effort_of(effort),
            rolling=0 if fields.truncation == "auto" else None,
            shorten_results=fields.truncation == "auto",
            tools=self.tools.declared,
            one_call=fields.parallel_tool_calls is False,
            tool_choice=self.tools.choice,
            schema=self._schema,
            logprobs=(fields.top_logprobs or 0) if _LOGPROBS in (fields.include or ()) or fields.top_logprobs else None,
        )
        self._response["model"] = model_id(pair)
        for name in ("temperature", "top_p"):
            if self._response[name] is None:
                self._response[name] = getattr(request.sampling, name)
        return [request]

    def encode(self, index: int, event: Event) -> Iterable[Chunk]:
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
            yield from self._close(_status(event.reason))
            ended = self._ended(event.reason, event.stats, self._thinking_tokens)
            yield self._event(f"response.{ended['status']}", response=ended)

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
        for part in reply.parts:
            if isinstance(part, ToolCall):
                self._finish("completed")
                self._output.append(self._shown_call(part) | {"status": "completed"})
                continue
            logprobs = of_chat(part.logprobs)["content"] if part.channel == "answer" else []
            if part.text or logprobs:
                if part.channel != self._channel:
                    self._finish("completed")
                    self._start(part.channel)
                self._text += part.text
                self._logprobs += logprobs
        self._finish(_status(reply.reason))
        return self._ended(reply.reason, reply.stats, reply.thinking_tokens)

    def _ended(self, reason: StopReason, stats: Stats, thinking_tokens: int) -> Chunk:
        """Return the response at its end."""
        status, usage = _status(reason), openai.usage([stats], 1, thinking_tokens)
        return self._response | {
            "status": status,
            "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
            "output": self._output,
            "usage": {
                "input_tokens": usage["prompt_tokens"],
                "input_tokens_details": usage["prompt_tokens_details"],
                "output_tokens": usage["completion_tokens"],
                "output_tokens_details": usage["completion_tokens_details"],
                "total_tokens": usage["total_tokens"],
            },
            "timings": timings(stats),
            "slipstream": details(stats),
        }

    def _event(self, kind: str, **fields: Any) -> Chunk:
        self._events += 1
        return {"type": kind, "sequence_number": self._events - 1, **fields}

    def _item_event(self, kind: str, **fields: Any) -> Chunk:
        """Return an event of the last item."""
        return self._event(kind, item_id=self._output[-1]["id"], output_index=len(self._output) - 1, **fields)

    def _whole_item_event(self, kind: str) -> Chunk:
        return self._event(f"response.output_item.{kind}", output_index=len(self._output) - 1, item=self._output[-1])

    def _start(self, channel: Channel) -> None:
        """Add an item for a channel's text to the output."""
        form, self._channel, self._text, self._logprobs = _FORMATS[channel], channel, "", []
        self._output.append(_item({**form.item, form.parts: []}))

    def _finish(self, status: str) -> Chunk:
        """Complete the last item, if it is for text, and return its part."""
        if self._channel is None:
            return {}
        form = _FORMATS[self._channel]
        part = {**form.part, "text": self._text, **({"logprobs": self._logprobs} if self._channel == "answer" else {})}
        again = {"encrypted_content": encrypted(self._text)} if self._channel == "thinking" else {}
        self._output[-1] = {**self._output[-1], form.parts: [part], **again, "status": status}
        self._channel = None
        return part

    def _write(self, channel: Channel, text: str, logprobs: list[Chunk]) -> Iterator[Chunk]:
        """Yield the events of a text, after those that close an item of another channel."""
        form = _FORMATS[channel]
        at = {form.index: 0}
        if channel != self._channel:
            yield from self._close()
            self._start(channel)
            yield self._whole_item_event("added")
            yield self._item_event(f"{form.part_event}.added", **at, part={**form.part, "text": ""})
        self._text += text
        self._logprobs += logprobs
        more = {"logprobs": logprobs} if channel == "answer" else {}
        yield self._item_event(f"{form.text_event}.delta", **at, delta=text, **more)

    def _close(self, status: str = "completed") -> Iterator[Chunk]:
        """Yield the events that complete the last item."""
        if self._channel is None:
            return
        form = _FORMATS[self._channel]
        part = self._finish(status)
        more = {"logprobs": part["logprobs"]} if "logprobs" in part else {}
        yield self._item_event(f"{form.text_event}.done", **{form.index: 0}, text=part["text"], **more)
        yield self._item_event(f"{form.part_event}.done", **{form.index: 0}, part=part)
        yield self._whole_item_event("done")

    def _call(self, call: ToolCall) -> Iterator[Chunk]:
        item = self._shown_call(call)
        field, event = "arguments", "response.function_call_arguments"
        if item["type"] == "custom_tool_call":
            field, event = "input", "response.custom_tool_call_input"
        self._output.append({**item, field: ""})
        yield self._whole_item_event("added")
        yield self._item_event(f"{event}.delta", delta=item[field])
        yield self._item_event(f"{event}.done", **{"name": item["name"], field: item[field]})
        self._output[-1] = {**item, "status": "completed"}
        yield self._whole_item_event("done")

    def _shown_call(self, call: ToolCall) -> Chunk:
        tool = self.tools.of(call)
        kind, field = ("custom_tool_call", "input") if tool.custom else ("function_call", "arguments")
        namespace = {"namespace": tool.namespace} if tool.namespace else {}
        return _item({"type": kind, "call_id": call.id, "name": tool.name, field: tool.text(call), **namespace})


def _status(reason: StopReason) -> str:
    return "incomplete" if reason == "length" else "completed"


def _item(item: Chunk) -> Chunk:
    return {"id": _new_id(_IDS[item["type"]]), "status": "in_progress", **item}


def _new_id(prefix: str) -> str:
    return f"{prefix}_{secrets.token_hex(12)}"


DIALECT = Dialect("/v1/responses", ResponseFields, ResponseExchange, openai.error_body)
