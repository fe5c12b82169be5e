"""OpenAI's dialect for chats: `POST /v1/chat/completions`."""

import secrets
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from mlx_engine.api_server import openai, openai_content, openai_tools
from mlx_engine.api_server.body import Chunk
from mlx_engine.api_server.content_parts import FileReading, PartReader
from mlx_engine.api_server.exchanges import CountedReply, Dialect, Exchange
from mlx_engine.api_server.logprob_fields import of_chat
from mlx_engine.api_server.problems import ApiError
from mlx_engine.api_server.reply_figures import details, timings
from mlx_engine.api_server.sampling_fields import Effort, TokenLimit, effort_of
from mlx_engine.api_server.served_models import model_id
from mlx_engine.contract.events import Commit, Event, Finished, PairInfo, PrefillProgress, Stats
from mlx_engine.contract.limits import MAX_LOGPROBS
from mlx_engine.contract.requests import GenerationRequest, Message, ToolCall


class ChatMessage(BaseModel):
    """A message. Unknown roles and malformed calls are accepted."""

    model_config = ConfigDict(strict=True, hide_input_in_errors=True)
    role: str
    content: Any = None
    reasoning_content: str | None = None
    tool_calls: list[Any] | None = None
    tool_call_id: str | None = None

    def message(self, where: str, is_new: bool, reader: PartReader) -> Message:
        """Return the engine's message.

        Args:
            where: name of this field.
            is_new: whether the model should answer this message now.
            reader: reads images and documents.

        Raises:
            ApiError: a part of the content is refused.
        """
        role = openai_content.role_of(self.role)
        text, images = openai_content.content_of(self.content, f"{where}.content", role, is_new, reader)
        if role == "assistant":
            calls = tuple(_past_call(call) for call in self.tool_calls or () if isinstance(call, dict))
            return Message(role, text, self.reasoning_content or "", calls)
        return Message(role, text, call_id=(self.tool_call_id or "") if role == "tool" else "", images=images)


class TemplateOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)
    enable_thinking: bool = False


class ChatFields(openai.GenerationFields):
    messages: list[ChatMessage] = Field(
        min_length=1, description="any roles; text, `image_url`, and `file`; `reasoning_content`, `tool_calls`, and `tool_call_id`"
    )
    max_completion_tokens: TokenLimit | None = Field(None, description="takes precedence over `max_tokens`")
    reasoning_effort: Effort | None = Field(
        None, description="turns thinking on, except for `none`; the level is used if the chat template supports it"
    )
    reasoning_budget: Literal[-1, 0] | None = Field(None, description="0 turns thinking off")
    tools: list[Any] | None = Field(None, description="types `function` and `custom`; others are ignored and logged")
    tool_choice: Any = Field(None, description="`auto`, `none`, `required`, a tool, or `allowed_tools`")
    parallel_tool_calls: bool | None = Field(None, description="if false, the first call ends the reply")
    response_format: Any = Field(None, description="`text`, `json_object`, or `json_schema`")
    chat_template_kwargs: TemplateOptions | None = Field(None, description="`enable_thinking`")
    logprobs: bool | None = Field(None, description="log-probabilities of the tokens, before bias, penalties, and temperature")
    top_logprobs: int | None = Field(None, ge=0, le=MAX_LOGPROBS, description="number of most likely tokens; needs `logprobs`")
    continue_final_message: bool | None = Field(None, description="continues the last message, which must be the assistant's")
    return_progress: bool | None = Field(None, description="`prompt_progress` chunks while the prompt is read")

    nested: ClassVar[dict[str, str]] = {
        **openai.GenerationFields.nested,
        **openai_tools.nested_fields("tools"),
        **openai_tools.nested_choices("tool_choice", "tool_choice.allowed_tools"),
        "messages": "role content reasoning_content tool_calls tool_call_id",
        **openai_content.nested_fields("messages.content"),
        "messages.tool_calls": "id type function custom",
        "messages.tool_calls.function": "name arguments",
        "messages.tool_calls.custom": "name input",
        "response_format": "type json_schema name strict schema",
        "response_format.json_schema": "type name strict schema",
    }
    schema_field = "response_format"
    refused: ClassVar[dict[str, tuple[Any, ...]]] = openai.GenerationFields.refused | {
        "functions": ([],),
        "function_call": ("none",),
        "modalities": (["text"],),
        "audio": (),
        "verbosity": ("medium",),
        "web_search_options": (),
        "documents": ([],),
        "chat_template": (),
        "add_generation_prompt": (True,),
        "thinking_budget": (),
    }


class ChatExchange(Exchange):
    """A request for chat completions, and its replies."""

    fields: ChatFields

    def __init__(self, body: Any) -> None:
        fields = self.fields = ChatFields.parse(body)
        self.tools = openai_tools.OfferedTools(fields.tools or (), ("function", "custom"), fields.tool_choice)
        self.limiting = self.tools.limiting
        self._read(reader := PartReader())
        self.files = reader
        if fields.top_logprobs and not fields.logprobs:
            raise ApiError(400, "“top_logprobs” needs “logprobs”. Set “logprobs” to true.", "top_logprobs", "invalid_value")
        self._schema = openai_tools.schema_of(fields.response_format, fields.schema_field)
        self._with_usage = bool(fields.stream_options and fields.stream_options.include_usage)
        self._opened: set[int] = set()  # replies whose role was sent
        self._called = Counter[int]()  # calls by reply
        self._stats: dict[int, Stats] = {}  # by reply
        self._thinking_tokens = 0
        self._began = time.monotonic()
        self._head: Chunk = {"id": f"chatcmpl-{secrets.token_hex(12)}", "created": int(time.time())}

    def _read(self, reader: PartReader) -> None:
        """Read the messages."""
        given = self.fields.messages
        first = openai_content.first_new([openai_content.role_of(message.role) for message in given])
        messages = [message.message(f"messages.{at}", at >= first, reader) for at, message in enumerate(given)]
        started = messages.pop() if self.fields.continue_final_message else Message("assistant", "")
        if started.role != "assistant" or started.calls:
            raise ApiError(400, "The last message isn't a reply that can be continued.", "continue_final_message", "invalid_value")
        self._messages, self._started = openai_content.with_a_user(messages), started

    def begin(self, pair: PairInfo, reading: FileReading | None = None) -> Sequence[GenerationRequest]:
        if self.files.found:
            self._read(PartReader(pair, reading))
        self._head |= {"model": model_id(pair), "system_fingerprint": openai.fingerprint()}
        fields, effort = self.fields, self.fields.reasoning_effort
        asked = fields.chat_template_kwargs.enable_thinking if fields.chat_template_kwargs else effort is not None
        request = replace(
            fields.request(pair, fields.max_completion_tokens or fields.max_tokens),
            messages=self._messages,
            continue_from=self._started.content,
            continue_thinking=self._started.thinking,
            thinking=asked and effort != "none" and fields.reasoning_budget != 0,
            effort=effort_of(effort),
            tools=self.tools.declared,
            one_call=fields.parallel_tool_calls is False,
            tool_choice=self.tools.choice,
            schema=self._schema,
            logprobs=(fields.top_logprobs or 0) if fields.logprobs else None,
        )
        return openai.repeated(request, fields.n or 1)

    def encode(self, index: int, event: Event) -> Iterable[Chunk]:
        if isinstance(event, PrefillProgress) and self.fields.return_progress:
            progress = {"total": event.total, "cache": event.reused, "processed": event.done}
            yield self._chunk(index, {}) | {"prompt_progress": progress | {"time_ms": self._elapsed_ms()}}
        elif isinstance(event, Commit):
            self._thinking_tokens += len(event.tokens) if event.channel == "thinking" else 0
            is_answer = event.channel == "answer"
            found = of_chat(event.logprobs) if event.logprobs and is_answer else None
            if event.text or found:
                mark = {"unreadable_call": True} if event.unreadable_call else {}
                yield self._chunk(index, {"content" if is_answer else "reasoning_content": event.text, **mark}, logprobs=found)
        elif isinstance(event, ToolCall):
            yield self._chunk(index, {"tool_calls": [{"index": self._called[index], **self._shown_call(event)}]})
            self._called[index] += 1
        elif isinstance(event, Finished):
            self._stats[index] = event.stats
            chunk = self._chunk(index, {}, openai.ending(event.reason, event.stop_string))
            yield chunk | {"timings": timings(event.stats), "slipstream": details(event.stats)}

    def sign_of_life(self, index: int) -> Iterable[Chunk]:
        yield self._chunk(index, {})

    def end(self) -> Iterable[str | Chunk]:
        if self._with_usage:
            stats = [self._stats[index] for index in sorted(self._stats)]
            yield self._streamed([]) | {"usage": openai.usage(stats, 1, self._thinking_tokens)}
        yield "[DONE]"

    def failed(self, error: ApiError) -> Iterable[Chunk]:
        yield openai.error_body(error)

    def whole(self, replies: Sequence[CountedReply]) -> Chunk:
        stats = [reply.stats for reply in replies]
        choices = [
            {
                "index": index,
                "message": self._shown_message(reply),
                "logprobs": of_chat(reply.logprobs("answer")) if self.fields.logprobs else None,
                **openai.ending(reply.reason, reply.stop_string),
            }
            for index, reply in enumerate(replies)
        ]
        return self._head | {
            "object": "chat.completion",
            "choices": choices,
            "usage": openai.usage(stats, 1, sum(reply.thinking_tokens for reply in replies)),
            "timings": timings(stats[0]),
            "slipstream": details(stats[0]),
        }

    def _shown_message(self, reply: CountedReply) -> Chunk:
        calls = [self._shown_call(call) for call in reply.calls]
        return {
            "role": "assistant",
            "content": None if calls and not reply.text else reply.text,
            **({"reasoning_content": reply.thinking} if reply.thinking else {}),
            **({"tool_calls": calls} if calls else {}),
            "refusal": None,
        }

    def _shown_call(self, call: ToolCall) -> Chunk:
        tool = self.tools.of(call)
        kind, field = ("custom", "input") if tool.custom else ("function", "arguments")
        return {"id": call.id, "type": kind, kind: {"name": tool.name, field: tool.text(call)}}

    def _chunk(self, index: int, delta: Chunk, end: Chunk = openai.OPEN, logprobs: Chunk | None = None) -> Chunk:
        if index not in self._opened:
            self._opened.add(index)
            delta = {"role": "assistant", "content": "", **delta}
        return self._streamed([{"index": index, "delta": delta, "logprobs": logprobs, **end}])

    def _streamed(self, choices: list[Chunk]) -> Chunk:
        return {
            **self._head,
            "object": "chat.completion.chunk",
            "choices": choices,
            **({"usage": None} if self._with_usage else {}),
        }

    def _elapsed_ms(self) -> int:
        return round(1000 * (time.monotonic() - self._began))


def _past_call(call: dict[str, Any]) -> ToolCall:
    custom = call.get("type") == "custom"
    inner = call.get("custom" if custom else "function")
    inner = inner if isinstance(inner, dict) else {}
    tool = openai_tools.ClientTool(str(inner.get("name", "")), custom=custom)
    return openai_tools.past_call(call.get("id"), tool, inner.get("input" if custom else "arguments"))


DIALECT = Dialect("/v1/chat/completions", ChatFields, ChatExchange, openai.error_body)
