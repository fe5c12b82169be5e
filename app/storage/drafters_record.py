"""Stored comparisons of drafters, and what they show."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from app.storage.chat_tree import messages_before_prompt, new_id
from app.storage.comparison_record import ComparedMode, ComparisonRecord, how_speed_is_measured, ratio_of_shown
from app.storage.json_values import as_text, read_as
from app.storage.wording import mode_names
from app.text.language import number, sentences, tr, translated
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import ComparisonVerdict, DrafterResult, DraftersCompared, PairInfo, Proposer
from mlx_engine.contract.requests import GenerationRequest, Mode, Sampling

_HEADER = {"format": "slipstream-drafters", "version": 1}


@dataclass(frozen=True)
class DrafterRow:
    """The figures of a drafter, lookup, or plain decoding; see `DrafterResult`.

    Attributes:
        replies: number of prompts.
    """

    proposer: Proposer
    kind: str = ""
    drafter: str = ""
    bytes: int = 0
    tok_s: float | None = None
    tokens_per_round: float | None = None
    replies: int = 0
    identical: int = 0
    different_in: int | None = None
    first_difference: int | None = None
    verdict: ComparisonVerdict = "identical"
    problem: EngineText | None = None

    @classmethod
    def of(cls, result: DrafterResult) -> "DrafterRow":
        figures = {name: getattr(result, name) for name in (one.name for one in fields(cls)) if name != "replies"}
        return cls(**figures, replies=len(result.replies))

    @property
    def text(self) -> str:
        """Whether the texts are the plain ones."""
        if self.problem is not None:
            return tr("Failed")
        if self.proposer == "plain" or not self.replies:
            return "–"
        if self.replies > 1:
            return tr("{identical} of {count} identical", identical=number(self.identical), count=number(self.replies))
        if self.first_difference is None:
            return tr("identical")
        at = number(self.first_difference + 1)
        return tr("tie at token {token}", token=at) if self.verdict == "tie" else tr("differs at token {token}", token=at)


@dataclass(frozen=True)
class DraftersRecord:
    """A stored comparison of drafters.

    Attributes:
        prompt: the one whose replies are `plain` and `drafted`.
        prompts: number of prompts.
        before: number of the chat's messages before the prompt.
        seed: seed of that prompt's replies.
        rows: plain decoding, lookup, and the drafters.
        shown: index of the row that `drafted` is from.
        left_out: number of prompts that couldn't be answered.
        why_left_out: why the first of them couldn't.
    """

    pair: str
    target: str
    prompt: str
    prompts: int
    before: int
    sampling: Sampling
    seed: int
    max_tokens: int
    thinking: bool
    repeats: int
    rows: tuple[DrafterRow, ...]
    plain: ComparedMode
    drafted: ComparedMode
    shown: int
    left_out: int = 0
    why_left_out: EngineText | None = None
    id: str = field(default_factory=new_id)
    created: float = field(default_factory=time.time)

    @classmethod
    def of(
        cls, outcome: DraftersCompared, pair: PairInfo, prompts: Sequence[str], requests: Sequence[GenerationRequest], repeats: int
    ) -> "DraftersRecord":
        """Record a comparison of drafters, with the replies that differ most."""
        results = outcome.results
        different = sorted((one for one in results if one.different_in is not None), key=lambda one: one.verdict == "tie")
        drafted = [one for one in results[1:] if one.replies]
        shown = next(iter((*different, *[one for one in drafted if one is outcome.fastest], *drafted)), results[0])
        at = len(results[0].replies) - 1 if shown.different_in is None else shown.different_in
        plain, reply = results[0].replies[at], shown.replies[at]
        skipped = dict(outcome.left_out)
        asked = [index for index in range(len(requests)) if index not in skipped][at]
        request = requests[asked]
        return cls(
            pair=pair.name,
            target=pair.target,
            prompt=prompts[asked],
            prompts=len(results[0].replies),
            before=messages_before_prompt(request),
            sampling=request.sampling,
            seed=plain.stats.seed,
            max_tokens=request.max_tokens,
            thinking=request.thinking,
            repeats=repeats,
            rows=tuple(map(DrafterRow.of, results)),
            plain=ComparedMode.of(plain, ()),
            drafted=ComparedMode.of(reply, ()),
            shown=results.index(shown),
            left_out=len(skipped),
            why_left_out=next(iter(skipped.values()), None),
        )

    @property
    def fastest(self) -> DrafterRow | None:
        """The fastest row, or None if no reply was long enough to measure its speed."""
        return max((row for row in self.rows if row.tok_s), key=lambda row: row.tok_s or 0.0, default=None)

    @property
    def ratio(self) -> float | None:
        """The fastest row's speed / the plain speed, as both are shown."""
        best, plain = self.fastest, self.rows[0].tok_s if self.rows else None
        return ratio_of_shown(best.tok_s, plain) if best and best.tok_s and plain else None

    @property
    def verdict(self) -> ComparisonVerdict:
        """The worst verdict of all rows."""
        found = {row.verdict for row in self.rows}
        return "different" if "different" in found else "tie" if "tie" in found else "identical"

    @property
    def side_names(self) -> dict[Mode, str]:
        """The names of the two replies."""
        shown = self.rows[self.shown] if self.shown < len(self.rows) else None
        return mode_names() | ({"dflash": row_name(shown, self.rows)} if shown else {})

    def side(self, mode: Mode) -> ComparedMode:
        return self.plain if mode == "plain" else self.drafted

    def to_json(self) -> dict[str, Any]:
        return _HEADER | asdict(self)

    @classmethod
    def from_json(cls, data: object) -> "DraftersRecord | None":
        """Return the record, or None if this version can't read it."""
        if not isinstance(data, Mapping) or any(data.get(key) != value for key, value in _HEADER.items()):
            return None
        record: DraftersRecord | None = read_as(cls, {**data, "prompt": as_text(data.get("prompt"))}, None)
        return record if record is not None and record.rows else None


def read_comparison(data: object) -> ComparisonRecord | DraftersRecord | None:
    """Return a stored comparison, or None if this version can't read it."""
    return ComparisonRecord.from_json(data) or DraftersRecord.from_json(data)


def row_name(row: DrafterRow, rows: Sequence[DrafterRow]) -> str:
    """Return a row's kind, or its repo if several drafters of this kind were compared."""
    if row.proposer != "drafter":
        return tr("Lookup") if row.proposer == "lookup" else mode_names()["plain"]
    return row.kind if [other.kind for other in rows].count(row.kind) == 1 else row.drafter


def verdict_on_drafters(record: DraftersRecord) -> tuple[str, str]:
    """Return the headline of a comparison of drafters, and the sentences below it."""
    best, ratio = record.fastest, record.ratio
    found = [how_speed_is_measured()] if best else []
    if best is None or ratio is None:
        headline = tr("The reply is too short to measure speed")
    elif best.proposer == "plain":
        headline = tr("Plain decoding is the fastest here")
    else:
        name = row_name(best, record.rows)
        headline = tr("{name} is the fastest here: {ratio}× the plain speed", name=name, ratio=number(ratio, 1))
    if sum(row.replies > 0 for row in record.rows) > 1:
        texts = {
            "identical": tr("All texts are identical, token for token."),
            "different": tr("Some texts differ by more than rounding error."),
            "tie": tr("Some texts differ where two tokens are tied within rounding error."),
        }
        found.insert(0, texts[record.verdict])
    if record.why_left_out is not None:
        count, reason = number(record.left_out), translated(record.why_left_out)
        found.append(tr("Prompts left out: {count}. {reason}", count=count, reason=reason))
    failed = [row for row in record.rows if row.problem is not None]
    found += [f"{row.drafter or row_name(row, record.rows)}: {translated(row.problem)}" for row in failed if row.problem]
    return headline, sentences(*found)
