"""Request fields of all endpoints that generate text."""

from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

from mlx_engine.api_server.body import RequestFields
from mlx_engine.api_server.logprob_fields import LogitBias, bias_of
from mlx_engine.api_server.problems import ApiError
from mlx_engine.api_server.served_models import ALIAS
from mlx_engine.contract.events import PairInfo
from mlx_engine.contract.requests import GenerationRequest


def as_list(value: Any) -> Any:
    """Return a single text as a list."""
    return [value] if isinstance(value, str) else value


def _limits(value: int) -> int:
    if value == 0:
        raise ValueError("use 1 or more, or -1 for no limit")
    return value


TokenLimit = Annotated[int, Field(ge=-1), AfterValidator(_limits)]  # -1 means unlimited, as in LM Studio and llama.cpp
Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Stops = Annotated[list[Annotated[str, Field(min_length=1)]], Field(max_length=16), BeforeValidator(as_list)]


class Extension(BaseModel):
    """The field `slipstream`."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)
    dflash: Literal["auto", "off"] = "auto"
    width: int | None = Field(default=None, ge=1, le=64)


class SamplingFields(RequestFields):
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
    ignore_eos: bool | None = Field(None, description="continue to the token limit; a schema still ends the reply")
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


def effort_of(effort: Effort | None) -> str | None:
    """Return one of the three efforts that chat templates support."""
    return {None: None, "none": None, "minimal": "low", "xhigh": "high", "max": "high"}.get(effort, effort)
