"""A comparison that has ended, as it is kept, saved and shown again."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any, cast, get_args

from app.conversations.chat_tree import new_id, standing_before
from app.conversations.plain_text import clean
from app.conversations.records import stats_from
from app.conversations.settings import sampling_from
from mlx_engine.events import CompareResult, ComparisonVerdict, CompletedReply, PairInfo, Stats, StopReason
from mlx_engine.requests import GenerationRequest, Mode, Sampling

FORMAT, VERSION = "slipstream-comparison", 1
Json = dict[str, Any]


@dataclass(frozen=True)
class Side:
    """One mode: the reply of the run with the median rate, and the figures of every run, in the order in which they were made."""

    text: str
    thinking: str
    reason: StopReason
    stats: Stats
    tok_s: tuple[float, ...] = ()
    ttft_s: tuple[float, ...] = ()

    @classmethod
    def of(cls, reply: CompletedReply, runs: Sequence[Stats]) -> "Side":
        return cls(
            reply.text,
            reply.thinking,
            reply.reason,
            reply.stats,
            tuple(one.decode_tok_s for one in runs if one.decode_tok_s is not None),
            tuple(one.ttft_s for one in runs if one.ttft_s is not None),
        )

    @property
    def rate(self) -> float | None:
        """Median decode rate over the runs, tokens a second."""
        return median(self.tok_s) if self.tok_s else None

    @property
    def first_token(self) -> float | None:
        """Median time to the first token, seconds."""
        return median(self.ttft_s) if self.ttft_s else None


@dataclass(frozen=True)
class ComparisonRecord:
    """`before` counts the messages of the chat that stood before the prompt. `first_difference` is a token's index, from 0."""

    pair: str
    target: str
    drafter: str
    prompt: str
    before: int
    sampling: Sampling
    seed: int
    max_tokens: int
    thinking: bool
    repeats: int
    plain: Side
    dflash: Side
    ratio: float | None
    first_difference: int | None
    margin: float | None
    verdict: ComparisonVerdict
    id: str = field(default_factory=new_id)
    created: float = field(default_factory=time.time)

    @classmethod
    def of(
        cls,
        result: CompareResult,
        runs: Mapping[Mode, Sequence[Stats]],
        pair: PairInfo,
        prompt: str,
        request: GenerationRequest,
    ) -> "ComparisonRecord":
        """What a comparison of this request gave."""
        return cls(
            pair=pair.name,
            target=pair.target,
            drafter=pair.drafter,
            prompt=prompt,
            before=standing_before(request),
            sampling=request.sampling,
            seed=result.plain.stats.seed,
            max_tokens=request.max_tokens,
            thinking=request.thinking,
            repeats=max(1, len(runs.get("plain", ()))),
            plain=Side.of(result.plain, runs.get("plain", ())),
            dflash=Side.of(result.dflash, runs.get("dflash", ())),
            ratio=result.ratio,
            first_difference=result.first_difference,
            margin=result.margin,
            verdict=result.verdict,
        )

    def side(self, mode: Mode) -> Side:
        return self.plain if mode == "plain" else self.dflash

    def to_json(self) -> Json:
        """Everything, so that `from_json` gives it back."""
        return {"format": FORMAT, "version": VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, data: object) -> "ComparisonRecord | None":
        """The record back; None when it is none, or one that this version cannot read."""
        if not isinstance(data, Mapping) or (data.get("format"), data.get("version")) != (FORMAT, VERSION):
            return None
        plain, dflash = _side(data.get("plain")), _side(data.get("dflash"))
        if plain is None or dflash is None or data.get("verdict") not in get_args(ComparisonVerdict):
            return None
        sampling = data.get("sampling")
        created = data.get("created")
        return cls(
            pair=_text(data.get("pair")),
            target=_text(data.get("target")),
            drafter=_text(data.get("drafter")),
            prompt=_text(data.get("prompt")),
            before=_count(data.get("before")) or 0,
            seed=_count(data.get("seed")) or 0,
            max_tokens=_count(data.get("max_tokens")) or 0,
            repeats=_count(data.get("repeats")) or 1,
            sampling=sampling_from(sampling) if isinstance(sampling, Mapping) else Sampling(),
            thinking=data.get("thinking") is True,
            plain=plain,
            dflash=dflash,
            ratio=_number(data.get("ratio")),
            first_difference=_count(data.get("first_difference")),
            margin=_number(data.get("margin")),
            verdict=cast(ComparisonVerdict, data["verdict"]),
            id=_text(data.get("id")) or new_id(),
            created=_number(created) or 0.0,
        )


def _side(data: object) -> Side | None:
    if not isinstance(data, Mapping) or (stats := stats_from(data.get("stats"))) is None:
        return None
    reason = data.get("reason")
    return Side(
        _text(data.get("text")),
        _text(data.get("thinking")),
        cast(StopReason, reason) if reason in get_args(StopReason) else "eos",
        stats,
        _numbers(data.get("tok_s")),
        _numbers(data.get("ttft_s")),
    )


def _text(value: object) -> str:
    return clean(value) if isinstance(value, str) else ""


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e300 else None


def _numbers(value: object) -> tuple[float, ...]:
    found = (_number(one) for one in value) if isinstance(value, list | tuple) else ()
    return tuple(one for one in found if one is not None)
