"""OpenAI's dialect for raw prompts: `POST /v1/completions`."""

import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from mlx_engine.api_server import openai
from mlx_engine.api_server.body import Chunk
from mlx_engine.api_server.content_parts import FileReading
from mlx_engine.api_server.exchanges import CountedReply, Dialect, Exchange
from mlx_engine.api_server.logprob_fields import CompletionLogprobs
from mlx_engine.api_server.openai_tools import OfferedTools
from mlx_engine.api_server.problems import ApiError
from mlx_engine.api_server.reply_figures import details, timings
from mlx_engine.api_server.sampling_fields import TokenLimit
from mlx_engine.api_server.served_models import model_id
from mlx_engine.contract.events import Commit, Event, Finished, PairInfo, Stats
from mlx_engine.contract.limits import MAX_LOGPROBS
from mlx_engine.contract.requests import GenerationRequest
from mlx_engine.contract.token_logprobs import PositionLogprobs

_MAX_TOKENS = 16  # OpenAI's default


def _is_prompt(value: Any) -> Any:
    """Check for a string or token IDs, or a list of either."""
    for prompt in value if isinstance(value, list) and value and not isinstance(value[0], int) else [value]:
        if isinstance(prompt, str):
            prompt.encode()  # raises ValueError
        elif not isinstance(prompt, list) or not all(type(token) is int for token in prompt):
            raise ValueError("use a string or a list of token IDs, or a list of either")
    return value


class CompletionFields(openai.GenerationFields):
    prompt: Annotated[Any, AfterValidator(_is_prompt)] = Field(description="a string or token IDs, or a list of either")
    max_tokens: TokenLimit | None = Field(None, description=f"completions: {_MAX_TOKENS} if missing")
    logprobs: int | None = Field(None, ge=0, le=MAX_LOGPROBS, description="completions: number of most likely tokens")

    refused: ClassVar[dict[str, tuple[Any, ...]]] = openai.GenerationFields.refused | {
        "suffix": ("",),
        "tools": ([],),
        "echo": (False,),
        "response_format": ({"type": "text"},),
    }


class CompletionExchange(Exchange):
    """A request for completions of prompts, and its replies."""

    fields: CompletionFields
    limiting = staticmethod(OfferedTools((), ()).limiting)

    def __init__(self, body: Any) -> None:
        fields = self.fields = CompletionFields.parse(body)
        given = fields.prompt
        self._prompts = given if isinstance(given, list) and given and not isinstance(given[0], int) else [given]
        replies = len(self._prompts) * (fields.n or 1)
        if replies > openai.MAX_REPLIES:
            raise ApiError(400, f"At most {openai.MAX_REPLIES} replies can be requested together.", "prompt", "invalid_value")
        self._with_usage = bool(fields.stream_options and fields.stream_options.include_usage)
        self._stats: dict[int, Stats] = {}  # by reply
        self._logprobs = [CompletionLogprobs() for _ in range(replies)]
        self._head: Chunk = {"id": f"cmpl-{secrets.token_hex(12)}", "object": "text_completion", "created": int(time.time())}

    def begin(self, pair: PairInfo, reading: FileReading | None = None) -> Sequence[GenerationRequest]:
        self._head |= {"model": model_id(pair), "system_fingerprint": openai.fingerprint()}
        fields = self.fields
        options = replace(fields.request(pair, fields.max_tokens or _MAX_TOKENS), logprobs=fields.logprobs)
        return [
            request
            for prompt in self._prompts
            for request in openai.repeated(
                replace(options, prompt_text=prompt) if isinstance(prompt, str) else replace(options, prompt_tokens=tuple(prompt)),
                fields.n or 1,
            )
        ]

    def encode(self, index: int, event: Event) -> Iterable[Chunk]:
        if isinstance(event, Commit) and (event.text or event.logprobs):
            yield self._chunk(index, event.text, logprobs=event.logprobs)
        elif isinstance(event, Finished):
            self._stats[index] = event.stats
            chunk = self._chunk(index, "", openai.ending(event.reason, event.stop_string))
            yield chunk | {"timings": timings(event.stats), "slipstream": details(event.stats)}

    def sign_of_life(self, index: int) -> Iterable[Chunk]:
        yield self._chunk(index, "")

    def end(self) -> Iterable[str | Chunk]:
        if self._with_usage:
            stats = [self._stats[index] for index in sorted(self._stats)]
            yield self._head | {"choices": [], "usage": openai.usage(stats, len(self._prompts))}
        yield "[DONE]"

    def failed(self, error: ApiError) -> Iterable[Chunk]:
        yield openai.error_body(error)

    def whole(self, replies: Sequence[CountedReply]) -> Chunk:
        stats = [reply.stats for reply in replies]
        choices = [
            self._choice(
                index,
                "".join(part.text for part in reply.commits),
                openai.ending(reply.reason, reply.stop_string),
                [each for part in reply.commits for each in part.logprobs],
            )
            for index, reply in enumerate(replies)
        ]
        return self._head | {
            "choices": choices,
            "usage": openai.usage(stats, len(self._prompts)),
            "timings": timings(stats[0]),
            "slipstream": details(stats[0]),
        }

    def _chunk(self, index: int, text: str, end: Chunk = openai.OPEN, logprobs: Sequence[PositionLogprobs] = ()) -> Chunk:
        return {
            **self._head,
            "choices": [self._choice(index, text, end, logprobs)],
            **({"usage": None} if self._with_usage else {}),
        }

    def _choice(self, index: int, text: str, end: Chunk, logprobs: Sequence[PositionLogprobs]) -> Chunk:
        found = self._logprobs[index].of(logprobs) if logprobs else None
        return {"index": index, "text": text, "logprobs": found, **end}


DIALECT = Dialect("/v1/completions", CompletionFields, CompletionExchange, openai.error_body)
