"""Request fields and response parts that OpenAI's endpoints share."""

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from mlx_engine.api_server.body import Chunk
from mlx_engine.api_server.problems import ApiError
from mlx_engine.api_server.sampling_fields import SamplingFields, TokenLimit
from mlx_engine.contract.counts import Counts
from mlx_engine.contract.events import Stats, StopReason
from mlx_engine.contract.requests import GenerationRequest

OPEN: Chunk = {"finish_reason": None}  # of a choice, until its reply ends
MAX_REPLIES = 32  # per request


class StreamOptions(BaseModel):
    model_config = ConfigDict(strict=True, hide_input_in_errors=True)
    include_usage: bool = False


class GenerationFields(SamplingFields):
    """Fields of OpenAI's endpoints that generate choices."""

    max_tokens: TokenLimit | None = Field(None, description="token limit of the reply; -1 is none")
    n: int | None = Field(None, ge=1, le=MAX_REPLIES, description="replies, generated at the same time")
    stream_options: StreamOptions | None = Field(None, description="`include_usage`")

    nested: ClassVar[dict[str, str]] = {"stream_options": "include_usage"}


def repeated(request: GenerationRequest, count: int) -> list[GenerationRequest]:
    """Return `count` requests with different seeds."""
    if request.seed is None:
        return [request] * count
    return [replace(request, seed=(request.seed + index) % (1 << 64)) for index in range(count)]


def ending(reason: StopReason, stop_string: str) -> Chunk:
    """Return a choice's fields that say how the reply ended."""
    finished = reason if reason in ("length", "tool_calls") else "stop"
    return {"finish_reason": finished, **({"stop_reason": stop_string} if stop_string else {})}


def usage(stats: Sequence[Stats], prompts: int, thinking_tokens: int = 0) -> Chunk:
    """Return the usage of all replies. Each prompt counts once.

    Args:
        stats: statistics of the replies, grouped by prompt.
        prompts: number of prompts.
        thinking_tokens: number of thinking tokens in all replies.
    """
    firsts = stats[:: len(stats) // prompts]
    prompt, total = Counts.of(*firsts), Counts.of(*stats)
    # Without drafts past the end of a reply: each round and plain step also yields one token of the target
    accepted = sum(min(each.accepted, each.tokens - each.plain_steps - each.rounds) for each in stats)
    return {
        "prompt_tokens": prompt.prompt_tokens,
        "completion_tokens": total.tokens,
        "total_tokens": prompt.prompt_tokens + total.tokens,
        "prompt_tokens_details": {"cached_tokens": prompt.reused_tokens},
        "completion_tokens_details": {
            "reasoning_tokens": thinking_tokens,
            "accepted_prediction_tokens": accepted,
            "rejected_prediction_tokens": total.drafted - accepted,
        },
    }


def fingerprint() -> str:
    return f"slipstream-{version('slipstream')}"


def error_body(error: ApiError) -> Chunk:
    kinds = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
    kind = kinds.get(error.status, "server_error" if error.status >= 500 else "invalid_request_error")
    return {"error": {"message": error.message, "type": kind, "param": error.param, "code": error.code}}
