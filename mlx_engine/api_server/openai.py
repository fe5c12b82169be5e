"""Request fields and response parts that OpenAI's endpoints share."""

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from mlx_engine.api_server.body import Fields
from mlx_engine.api_server.exchanges import Chunk
from mlx_engine.api_server.logprob_fields import LogitBias, bias_of
from mlx_engine.api_server.problems import ApiError
from mlx_engine.contract.events import PairInfo, Stats, StopReason
from mlx_engine.contract.requests import GenerationRequest
from mlx_engine.models.library.installed import InstalledPair

ALIAS = "default"
MAX_REPLIES = 32  # per request
STARTED = int(time.time())


def as_list(value: Any) -> Any:
    """Return a single text as a list."""
    return [value] if isinstance(value, str) else value


def _limits(value: int) -> int:
    if value == 0:
        raise ValueError("use 1 or more, or -1 for no limit")
    return value


TokenLimit = Annotated[int, Field(ge=-1), AfterValidator(_limits)]  # -1 is no limit, as in LM Studio and llama.cpp
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Stops = Annotated[list[Annotated[str, Field(min_length=1)]], Field(max_length=16), BeforeValidator(as_list)]


class StreamOptions(BaseModel):
    model_config = ConfigDict(strict=True, hide_input_in_errors=True)
    include_usage: bool = False


class Extension(BaseModel):
    """The field `slipstream`."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)
    dflash: Literal["auto", "off"] = "auto"
    width: int | None = Field(default=None, ge=1, le=64)


class SamplingFields(Fields):
    """Fields of all endpoints that generate text."""

    model: str | None = Field(None, description=f"ID of a pair, or `{ALIAS}`")
    temperature: float | None = Field(None, ge=0, le=100, description="0 is greedy")
    top_p: float | None = Field(None, ge=0, le=1, description="0 is greedy")
    top_k: int | None = Field(None, ge=0, description="0 is off")
    min_p: float | None = Field(None, ge=0, le=1, description="0 is off")
    presence_penalty: float | None = Field(None, ge=-100, le=100)
    frequency_penalty: float | None = Field(None, ge=-100, le=100)
    repetition_penalty: float | None = Field(None, ge=0.01, le=100, description="1 is off")
    logit_bias: LogitBias | None = Field(None, description="a number from -100 to 100 for each token ID")
    seed: int | None = Field(
        None,
        ge=-(1 << 63),
        lt=1 << 64,
        description="64 bits: a seed from 2⁶³ is the same as the seed minus 2⁶⁴; reply `i` of `n` uses `seed + i`",
    )
    stop: Stops | None = Field(None, description="one string or a list")
    ignore_eos: bool | None = Field(None, description="continue to the token limit")
    stream: bool | None = Field(None, description="server-sent events")
    slipstream: Extension | None = Field(None, description="`dflash`: `auto` or `off`; `width`: tokens per verify")

    refused: ClassVar[dict[str, tuple[Any, ...]]] = {
        "min_tokens": (0,),
        "stop_token_ids": ([],),
        "bad_words": ([],),
        "include_stop_str_in_output": (False,),
        "skip_special_tokens": (True,),
        "best_of": (1,),
        "use_beam_search": (False,),
        "grammar": ("",),
        "json_schema": ({},),
        "structured_outputs": ({},),
        "guided_json": (),
        "guided_regex": (),
        "guided_choice": (),
        "guided_grammar": (),
        "logits_processors": ([],),
        "lora": ([],),
        "n_predict": (),
        "repeat_penalty": (1, 1.0),
        "mirostat": (0,),
        "typical_p": (1, 1.0),
        "dynatemp_range": (0, 0.0),
        "xtc_probability": (0, 0.0),
        "dry_multiplier": (0, 0.0),
        "truncate_prompt_tokens": (),
        "logits_all": (False,),
    }

    def request(self, pair: PairInfo, max_tokens: int | None) -> GenerationRequest:
        """Return the engine's request, without a prompt.

        Args:
            pair: the loaded pair, whose recommended sampling is the default.
            max_tokens: token limit; None or -1 is the length of the context.

        Raises:
            ApiError: `width` exceeds the drafter's block size.
        """
        names = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "presence_penalty", "frequency_penalty")
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        if self.top_p == 0:  # only the most likely token is left
            given |= {"top_p": 1.0, "temperature": 0.0}
        extension = self.slipstream or Extension()
        if extension.width is not None and extension.width > pair.block_size:
            message = f"“slipstream.width” is {extension.width}, but the drafter's blocks have {pair.block_size} tokens."
            raise ApiError(400, message, "slipstream.width", "invalid_value")
        return GenerationRequest(
            mode="plain" if extension.dflash == "off" else "dflash",
            width=extension.width,
            sampling=replace(pair.sampling, **given) if given else pair.sampling,
            logit_bias=bias_of(self.logit_bias),
            seed=None if self.seed is None else self.seed % (1 << 64),
            max_tokens=pair.context_limit if max_tokens is None or max_tokens < 0 else min(max_tokens, pair.context_limit),
            ignore_eos=bool(self.ignore_eos),
            stop=tuple(self.stop or ()),
        )


class GenerationFields(SamplingFields):
    """Fields of OpenAI's endpoints that generate choices."""

    max_tokens: TokenLimit | None = Field(None, description="token limit of the reply; -1 is none")
    n: int | None = Field(None, ge=1, le=MAX_REPLIES, description="replies, generated one after the other")
    stream_options: StreamOptions | None = Field(None, description="`include_usage`")

    nested: ClassVar[dict[str, str]] = {"stream_options": "include_usage"}


def effort_of(effort: Effort | None) -> str | None:
    """Return one of the three efforts that chat templates support."""
    return {None: None, "none": None, "minimal": "low", "xhigh": "high", "max": "high"}.get(effort, effort)


def repeated(request: GenerationRequest, count: int) -> list[GenerationRequest]:
    """Return `count` requests with different seeds."""
    if request.seed is None:
        return [request] * count
    return [replace(request, seed=(request.seed + index) % (1 << 64)) for index in range(count)]


def finish_reason(reason: StopReason) -> str:
    return reason if reason in ("length", "tool_calls") else "stop"


def usage(stats: Sequence[Stats], prompts: int, thinking_tokens: int = 0) -> Chunk:
    """Return the usage of all replies. Each prompt counts once.

    Args:
        stats: statistics of the replies, grouped by prompt.
        prompts: number of prompts.
        thinking_tokens: number of thinking tokens in all replies.
    """
    firsts = stats[:: len(stats) // prompts]
    read, written = sum(each.prompt_tokens for each in firsts), sum(each.tokens for each in stats)
    # Without drafts past the end of a reply: each round and plain step also yields one token of the target
    accepted = sum(min(each.accepted, each.tokens - each.plain_steps - each.rounds) for each in stats)
    return {
        "prompt_tokens": read,
        "completion_tokens": written,
        "total_tokens": read + written,
        "prompt_tokens_details": {"cached_tokens": sum(each.reused_tokens for each in firsts)},
        "completion_tokens_details": {
            "reasoning_tokens": thinking_tokens,
            "accepted_prediction_tokens": accepted,
            "rejected_prediction_tokens": sum(each.drafted for each in stats) - accepted,
        },
    }


def timings(stats: Stats) -> Chunk:
    """Return a reply's timings in llama.cpp's format.

    Adds the rounds, the tokens per round, and the mean width.
    """
    read = stats.prompt_tokens - stats.reused_tokens
    rate, prompt_rate = stats.decode_tok_s, stats.prompt_tok_s
    return {
        "prompt_n": read,
        "cache_n": stats.reused_tokens,
        "prompt_ms": 1000 * read / prompt_rate if prompt_rate else None,
        "prompt_per_second": prompt_rate,
        "predicted_n": stats.tokens,
        "predicted_ms": 1000 * (stats.tokens - 1) / rate if rate else None,
        "predicted_per_token_ms": 1000 / rate if rate else None,
        "predicted_per_second": rate,
        "draft_n": stats.drafted,
        "draft_n_accepted": stats.accepted,
        "rounds": stats.rounds,
        "tokens_per_round": stats.tokens_per_round,
        "width": sum(stats.widths) / len(stats.widths) if stats.widths else None,
    }


def details(stats: Stats) -> Chunk:
    """Return a reply's `slipstream` object."""
    why = str(stats.why_plain) if stats.why_plain else None
    drafter = {"drafter": stats.drafter, "drafter_kind": stats.drafter_kind} if stats.drafter else {}
    seed = stats.seed - (1 << 64) if stats.seed >> 63 else stats.seed  # fits in the integers of other languages
    return {"mode": stats.mode, "why_plain": why, "seed": seed, **drafter}


def fingerprint() -> str:
    return f"slipstream-{version('slipstream')}"


def error_body(error: ApiError) -> Chunk:
    kinds = {401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error"}
    kind = kinds.get(error.status, "server_error" if error.status >= 500 else "invalid_request_error")
    return {"error": {"message": error.message, "type": kind, "param": error.param, "code": error.code}}


def model_id(pair: PairInfo | InstalledPair) -> str:
    """Return a pair's model ID, such as “demo-pair”."""
    return re.sub(r"[^\w.]+", "-", pair.name.lower()).strip("-") or ALIAS


def models(pair: PairInfo | None, others: Iterable[InstalledPair]) -> Chunk:
    """Return the list of models, with the loaded pair first.

    The loaded pair is listed under its ID and its alias. The list has the fields of OpenAI's and Anthropic's dialects.
    """
    loaded = (model_id(pair), ALIAS) if pair else ()
    context = {"context_length": pair.context_limit, "max_input_tokens": pair.context_limit} if pair else {}
    if pair:
        context |= {"dflash": pair.why_plain is None, "block_size": pair.block_size}
        context |= {"tools": pair.can_call_tools, "thinking": pair.can_think, "reasoning_effort": pair.takes_effort}
    found = {name: context for name in loaded} | {name: {} for other in others if (name := model_id(other)) not in loaded}
    entry = {"object": "model", "created": STARTED, "owned_by": "slipstream"}
    entry |= {"type": "model", "created_at": datetime.fromtimestamp(STARTED, UTC).isoformat()}
    data = [{"id": name, "display_name": name, **entry, **more} for name, more in found.items()]
    return {"object": "list", "data": data, "has_more": False, "first_id": data[0]["id"], "last_id": data[-1]["id"]}
