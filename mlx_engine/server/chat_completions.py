"""OpenAI's dialect for chats: `POST /v1/chat/completions`."""

import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from mlx_engine.events import Commit, Event, Finished, PairInfo, PrefillProgress, Stats
from mlx_engine.requests import GenerationRequest, Message
from mlx_engine.server import openai
from mlx_engine.server.problems import ApiError
from mlx_engine.server.replies import Chunk, CountedReply


def _as_parts(value: Any) -> Any:
    """Return a text as a list of one part."""
    return [{"type": "text", "text": value}] if isinstance(value, str) else value


def _no_calls(value: list[Any] | None) -> None:
    if value:
        raise ValueError("tool calls aren't supported")


class TextPart(BaseModel):
    model_config = ConfigDict(strict=True, hide_input_in_errors=True)
    type: Literal["text"]
    text: str


class ChatMessage(BaseModel):
    model_config = ConfigDict(strict=True, hide_input_in_errors=True)
    role: Literal["system", "developer", "user", "assistant"]
    content: Annotated[list[TextPart] | None, BeforeValidator(_as_parts)] = None
    reasoning_content: str | None = None
    tool_calls: Annotated[list[Any] | None, AfterValidator(_no_calls)] = None

    def message(self) -> Message:
        text = "".join(part.text for part in self.content or ())
        thinking = (self.reasoning_content or "") if self.role == "assistant" else ""
        return Message("system" if self.role == "developer" else self.role, text, thinking)


class TemplateOptions(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)
    enable_thinking: bool = False


class ChatFields(openai.GenerationFields):
    messages: list[ChatMessage] = Field(
        min_length=1, description="roles `system`, `developer`, `user`, and `assistant`; text only; `reasoning_content`"
    )
    max_completion_tokens: int | None = Field(None, ge=1, description="precedes `max_tokens`")
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh"] | None = Field(
        None, description="turns thinking on, except for `none`; the level counts if the chat template takes one"
    )
    chat_template_kwargs: TemplateOptions | None = Field(None, description="`enable_thinking`")
    return_progress: bool | None = Field(None, description="`prompt_progress` chunks while the prompt is read")

    refused: ClassVar[dict[str, tuple[Any, ...]]] = openai.GenerationFields.refused | {
        "tools": ([],),
        "tool_choice": ("none",),
        "functions": ([],),
        "function_call": ("none",),
        "response_format": ({"type": "text"},),
        "logprobs": (False,),
        "top_logprobs": (0,),
        "modalities": (["text"],),
        "audio": (),
        "verbosity": ("medium",),
        "web_search_options": (),
        "documents": ([],),
        "chat_template": (),
        "add_generation_prompt": (True,),
        "continue_final_message": (False,),
        "thinking_budget": (),
        "reasoning_budget": (-1,),
    }


class ChatExchange:
    """A request for chat completions, and its replies."""

    def __init__(self, pair: PairInfo, body: Any) -> None:
        fields = ChatFields.parse(body)
        effort = fields.reasoning_effort
        asked = fields.chat_template_kwargs.enable_thinking if fields.chat_template_kwargs else effort is not None
        request = replace(
            fields.request(pair, max_tokens=pair.context_limit),
            messages=tuple(message.message() for message in fields.messages),
            thinking=asked and effort != "none",
            effort={"none": None, "minimal": "low", "xhigh": "high"}.get(effort, effort) if effort else None,
        )
        if fields.max_completion_tokens is not None:
            request = replace(request, max_tokens=min(fields.max_completion_tokens, pair.context_limit))
        self.requests: Sequence[GenerationRequest] = openai.repeated(request, fields.n or 1)
        self.streams = bool(fields.stream)
        self._with_usage = bool(fields.stream_options and fields.stream_options.include_usage)
        self._with_progress = bool(fields.return_progress)
        self._opened: set[int] = set()  # replies whose role was sent
        self._stats: list[Stats] = []
        self._thinking_tokens = 0
        self._began = time.monotonic()
        self._head = {
            "id": f"chatcmpl-{secrets.token_hex(12)}",
            "created": int(time.time()),
            "model": openai.model_id(pair),
            "system_fingerprint": openai.fingerprint(),
        }

    def chunks(self, index: int, event: Event) -> Iterable[Chunk]:
        if isinstance(event, PrefillProgress) and self._with_progress:
            progress = {"total": event.total, "cache": event.reused, "processed": event.done}
            yield self._chunk(index, {}) | {"prompt_progress": progress | {"time_ms": self._elapsed_ms()}}
        elif isinstance(event, Commit):
            self._thinking_tokens += len(event.tokens) if event.channel == "thinking" else 0
            if event.text:
                yield self._chunk(index, {"content" if event.channel == "answer" else "reasoning_content": event.text})
        elif isinstance(event, Finished):
            self._stats.append(event.stats)
            chunk = self._chunk(index, {}, openai.finish_reason(event.reason))
            yield chunk | {"timings": openai.timings(event.stats), "slipstream": openai.details(event.stats)}

    def sign_of_life(self, index: int) -> Iterable[Chunk]:
        yield self._chunk(index, {})

    def end(self) -> Iterable[str | Chunk]:
        if self._with_usage:
            yield self._streamed([]) | {"usage": openai.usage(self._stats, 1, self._thinking_tokens)}
        yield "[DONE]"

    def failed(self, error: ApiError) -> Iterable[Chunk]:
        yield openai.error_body(error)

    def whole(self, replies: Sequence[CountedReply]) -> Chunk:
        stats = [reply.stats for reply in replies]
        choices = [
            {
                "index": index,
                "message": {
                    "role": "assistant",
                    "content": reply.text,
                    **({"reasoning_content": reply.thinking} if reply.thinking else {}),
                    "refusal": None,
                },
                "logprobs": None,
                "finish_reason": openai.finish_reason(reply.reason),
            }
            for index, reply in enumerate(replies)
        ]
        return self._head | {
            "object": "chat.completion",
            "choices": choices,
            "usage": openai.usage(stats, 1, sum(reply.thinking_tokens for reply in replies)),
            "timings": openai.timings(stats[0]),
            "slipstream": openai.details(stats[0]),
        }

    def _chunk(self, index: int, delta: Chunk, reason: str | None = None) -> Chunk:
        if index not in self._opened:
            self._opened.add(index)
            delta = {"role": "assistant", "content": "", **delta}
        return self._streamed([{"index": index, "delta": delta, "logprobs": None, "finish_reason": reason}])

    def _streamed(self, choices: list[Chunk]) -> Chunk:
        return {
            **self._head,
            "object": "chat.completion.chunk",
            "choices": choices,
            **({"usage": None} if self._with_usage else {}),
        }

    def _elapsed_ms(self) -> int:
        return round(1000 * (time.monotonic() - self._began))
