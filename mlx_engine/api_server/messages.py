"""Anthropic's dialect: `POST /v1/messages` and `POST /v1/messages/count_tokens`."""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from mlx_engine.api_server import anthropic, openai_content, openai_tools
from mlx_engine.api_server.body import Chunk, log_ignored
from mlx_engine.api_server.content_parts import FileReading, PartReader
from mlx_engine.api_server.exchanges import CountedReply, Dialect, Exchange, is_progress
from mlx_engine.api_server.messages_history import (
    BLOCK,
    SOURCE,
    AnthropicMessage,
    AnthropicTool,
    Blocks,
    functions,
    system_text,
    unknown_types,
)
from mlx_engine.api_server.problems import ApiError
from mlx_engine.api_server.sampling_fields import Effort, SamplingFields, Stops, TokenLimit, effort_of
from mlx_engine.api_server.served_models import ALIAS, model_id
from mlx_engine.contract.events import Commit, Event, Finished, PairInfo, PrefillProgress, StopReason
from mlx_engine.contract.requests import GenerationRequest, Message, ToolCall

_SIGNATURE = "slipstream"  # clients drop thinking that has no signature
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
_STOP_REASONS: dict[StopReason, str] = {
    "eos": "end_turn",
    "length": "max_tokens",
    "stop_string": "stop_sequence",
    "tool_calls": "tool_use",
}


class Thinking(BaseModel):
    model_config = ConfigDict(strict=True, hide_input_in_errors=True)
    type: str


class ToolChoice(BaseModel):
    model_config = ConfigDict(strict=True, hide_input_in_errors=True)
    type: Literal["auto", "any", "tool", "none"]
    name: str | None = None
    disable_parallel_tool_use: bool | None = None


class OutputConfig(BaseModel):
    model_config = ConfigDict(strict=True, hide_input_in_errors=True)
    effort: Effort | None = None
    format: Any = None


class MessagesFields(SamplingFields):
    messages: list[AnthropicMessage] = Field(
        min_length=1, description="messages: content blocks, with `image` and `document`; `system` anywhere"
    )
    max_tokens: TokenLimit | None = Field(None, description="token limit of the reply; -1 is none")
    system: Blocks = Field([], description="text, or text blocks")
    tools: list[AnthropicTool] | None = Field(None, description="messages: only `custom`; with `defer_loading`")
    tool_choice: ToolChoice | None = Field(None, description="messages: an object, with `disable_parallel_tool_use`")
    thinking: Thinking | None = Field(None, description="turns thinking on, except for `disabled`; the budget is ignored")
    output_config: OutputConfig | None = Field(
        None, description="`effort`, if the chat template supports it; `format`, as `response_format`"
    )
    stop_sequences: Stops | None = Field(None, description="takes precedence over `stop`")

    nested: ClassVar[dict[str, str]] = {
        "messages": "role content",
        "messages.content": BLOCK,
        "messages.content.content": BLOCK,
        "messages.content.content.content": BLOCK,
        "messages.content.source": SOURCE,
        "messages.content.content.source": SOURCE,
        "messages.content.citations": "enabled",
        "messages.content.content.citations": "enabled",
        "messages.content.source.content": "type text source",
        "messages.content.content.source.content": "type text source",
        "system": "type text",
        "tools": "type name description input_schema strict defer_loading",
        "tool_choice": "type name disable_parallel_tool_use",
        "thinking": "type",
        "output_config": "effort format",
        "output_config.format": "type name strict schema json_schema",
        "output_config.format.json_schema": "type name strict schema",
    }
    schema_field = "output_config.format"
    refused: ClassVar[dict[str, tuple[Any, ...]]] = {
        "thread": (),
        **SamplingFields.refused,
        "mcp_servers": ([],),
        "n": (1,),
        "logprobs": (False,),
        "top_logprobs": (0,),
        "container": (),
    }

    explained: ClassVar[dict[str, tuple[str, str]]] = {
        "thread": ("“thread” isn't supported. Send the whole chat without it.", "thread_unsupported_request")  # clients then do so
    }


class MessagesExchange(Exchange):
    """A request for a message, and the reply."""

    fields: MessagesFields

    def __init__(self, body: Any) -> None:
        fields = self.fields = MessagesFields.parse(body)
        choice = fields.tool_choice or ToolChoice(type="auto")
        wanted = _CHOICES.get(choice.type, {"type": "function", "name": choice.name})
        known, self._deferred = functions(fields.tools or (), fields.messages)
        self._tools = openai_tools.OfferedTools(known, ("function",), wanted)
        self.limiting = self._tools.limiting
        self._read(reader := PartReader())
        self.files = reader
        self._thinking = fields.thinking is not None and fields.thinking.type != "disabled"
        self._schema = openai_tools.schema_of(fields.output_config and fields.output_config.format, fields.schema_field)
        self._block, self._index = "", 0  # type of the open block, or "", and its index or the next one
        self._began = False  # whether the stream's first event was sent
        self._thinking_tokens = 0
        self._head = anthropic.message(fields.model or ALIAS)
        blocks = chain(fields.system, *(message.content for message in fields.messages))
        log_ignored("content blocks of type", unknown_types(blocks))

    def _read(self, reader: PartReader) -> None:
        """Read the messages."""
        text = system_text(self.fields.system, reader)
        found, given = [Message("system", text)] if text else [], self.fields.messages
        last = max((at for at, message in enumerate(given) if message.role == "assistant"), default=-1)
        for at, message in enumerate(given):
            found += message.messages(f"messages.{at}.content", at > last, reader, self._deferred)
        self._messages = openai_content.with_a_user(found)

    def begin(self, pair: PairInfo, reading: FileReading | None = None) -> Sequence[GenerationRequest]:
        if self.files.found:
            self._read(PartReader(pair, reading))
        self._head["model"] = model_id(pair)
        fields, messages = self.fields, self._messages
        choice, output = fields.tool_choice or ToolChoice(type="auto"), fields.output_config or OutputConfig()
        last = messages[-1] if messages and fields.messages[-1].role == "assistant" else None
        prefill = last.content if last and last.role == "assistant" and not last.calls else ""
        request = replace(
            fields.request(pair, fields.max_tokens),
            messages=messages[:-1] if prefill else messages,
            continue_from=prefill,
            continue_thinking=last.thinking if last and prefill else "",
            thinking=self._thinking,
            effort=effort_of(output.effort),
            stop=tuple(fields.stop_sequences or fields.stop or ()),
            tools=self._tools.declared,
            one_call=bool(choice.disable_parallel_tool_use),
            tool_choice=self._tools.choice,
            schema=self._schema,
        )
        return [request]

    def encode(self, index: int, event: Event) -> Iterable[Chunk]:
        if not self._began and is_progress(event):
            self._began = True
            prompt = (event.total, event.reused) if isinstance(event, PrefillProgress) else ()
            yield anthropic.message_start(self._head, *prompt)
        if isinstance(event, Commit):
            kind = _kind(event)
            self._thinking_tokens += len(event.tokens) if kind == "thinking" else 0
            if event.text:
                if kind != self._block:
                    yield from self._open({"type": kind, kind: ""} | ({"signature": ""} if kind == "thinking" else {}))
                yield self._delta({"type": f"{kind}_delta", kind: event.text})
        elif isinstance(event, ToolCall):
            yield from self._open(_call_block(event))
            yield self._delta({"type": "input_json_delta", "partial_json": _arguments(event)})
        elif isinstance(event, Finished):
            yield from self._close()
            delta = _ending(event.reason, event.stop_string)
            yield {"type": "message_delta", "delta": delta, **anthropic.figures(event.stats, self._thinking_tokens)}

    def waiting(self) -> Iterable[Chunk]:
        return self.sign_of_life(0)  # some clients ignore comments

    def sign_of_life(self, index: int) -> Iterable[Chunk]:
        yield anthropic.PING if self._began else anthropic.message_start(self._head)
        self._began = True

    def end(self) -> Iterable[str | Chunk]:
        yield {"type": "message_stop"}

    def failed(self, error: ApiError) -> Iterable[Chunk]:
        yield anthropic.error_body(error)

    def whole(self, replies: Sequence[CountedReply]) -> Chunk:
        [reply] = replies
        blocks = list[Chunk]()
        for part in reply.parts:
            if isinstance(part, ToolCall):
                blocks.append(_call_block(part) | {"input": json.loads(_arguments(part))})
            elif part.text:
                kind = _kind(part)
                if not blocks or blocks[-1]["type"] != kind:
                    blocks.append({"type": kind, kind: ""} | ({"signature": _SIGNATURE} if kind == "thinking" else {}))
                blocks[-1][kind] += part.text
        end = _ending(reply.reason, reply.stop_string) | anthropic.figures(reply.stats, reply.thinking_tokens)
        return self._head | {"content": blocks} | end

    def _open(self, block: Chunk) -> Iterable[Chunk]:
        yield from self._close()
        self._block = block["type"]
        yield {"type": "content_block_start", "index": self._index, "content_block": block}

    def _delta(self, delta: Chunk) -> Chunk:
        return {"type": "content_block_delta", "index": self._index, "delta": delta}

    def _close(self) -> Iterable[Chunk]:
        if self._block == "thinking":
            yield self._delta({"type": "signature_delta", "signature": _SIGNATURE})
        if self._block:
            yield {"type": "content_block_stop", "index": self._index}
            self._block = ""
            self._index += 1


def _kind(part: Commit) -> str:
    return "text" if part.channel == "answer" else "thinking"


def _call_block(call: ToolCall) -> Chunk:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}


def _arguments(call: ToolCall) -> str:
    """Return a call's arguments as a JSON object, however a server wrote them."""
    with suppress(ValueError, RecursionError):
        if isinstance(json.loads(call.arguments), dict):
            return call.arguments
    return json.dumps({"arguments": call.arguments})


def _ending(reason: StopReason, sequence: str) -> Chunk:
    return {"stop_reason": _STOP_REASONS.get(reason), "stop_sequence": sequence or None}


DIALECT = Dialect("/v1/messages", MessagesFields, MessagesExchange, anthropic.error_body)
