"""Stored comparisons, their verdicts, and where two replies first differ."""

import re
import time
from collections.abc import Iterable, Mapping, Sequence, Sized
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from app.storage.chat_tree import messages_before_prompt, new_id
from app.storage.json_values import as_dict, as_list, as_text, read_as
from app.storage.wording import mode_names, rounded_rate, tokens
from app.text.language import figures, number, sentences, tr, translated
from mlx_engine.contract.counts import Counts
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import (
    Channel,
    CompareResult,
    ComparisonVerdict,
    CompletedReply,
    ContestantResult,
    PairInfo,
    Stats,
    StopReason,
    TextDifference,
    verdict_of,
)
from mlx_engine.contract.requests import BOTH_MODES, Compare, GenerationRequest, Proposer, Sampling

MAX_MARKED = 40  # characters
_WORD = re.compile(r"\s*\S*")
_SPACE = re.compile(r"\s*")
_WORD_START = re.compile(r"\S*\Z")
_FORMAT, _VERSION = "slipstream-comparison", 2
_EARLIER_DRAFTERS = "slipstream-drafters"  # their own format in version 1


@dataclass(frozen=True)
class ComparedReply:
    """A reply whose text is shown."""

    text: str
    thinking: str
    reason: StopReason
    stats: Stats

    @classmethod
    def of(cls, reply: CompletedReply) -> "ComparedReply":
        return cls(reply.text, reply.thinking, reply.reason, reply.stats)


@dataclass(frozen=True)
class ComparisonRow:
    """The figures of a contestant; see `ContestantResult`.

    Attributes:
        name: of the engine, if engines were compared.
        first_token_s: median time to the first token in seconds.
        rates: decode rates of all runs.
        replies: number of prompts.
    """

    proposer: Proposer
    name: str = ""
    kind: str = ""
    drafter: str = ""
    bytes: int = 0
    tok_s: float | None = None
    first_token_s: float | None = None
    rounds: int = 0
    tokens_per_round: float | None = None
    tokens: int = 0
    rates: tuple[float, ...] = ()
    replies: int = 0
    identical: int = 0
    difference: TextDifference | None = None
    problem: EngineText | None = None

    @classmethod
    def of(cls, result: ContestantResult, name: str = "") -> "ComparisonRow":
        counts = Counts.of(*(reply.stats for reply in result.replies))
        return cls(
            proposer=result.proposer,
            name=name,
            kind=result.kind,
            drafter=result.drafter,
            bytes=result.bytes,
            tok_s=result.tok_s,
            first_token_s=_median(one.ttft_s for one in result.runs),
            rounds=counts.rounds,
            tokens_per_round=result.tokens_per_round,
            tokens=counts.tokens,
            rates=tuple(one.decode_tok_s for one in result.runs if one.decode_tok_s is not None),
            replies=len(result.replies),
            identical=result.identical,
            difference=result.difference,
            problem=result.problem,
        )

    @property
    def text(self) -> str:
        """Whether the texts are the plain ones."""
        if self.problem is not None:
            return tr("Failed")
        if self.proposer == "plain" or not self.replies:
            return "–"
        if self.replies > 1:
            return tr("{identical} of {count} identical", identical=number(self.identical), count=number(self.replies))
        if self.difference is None:
            return tr("identical")
        at = number(self.difference.at + 1)
        return tr("tie at token {token}", token=at) if self.difference.tie else tr("differs at token {token}", token=at)


@dataclass(frozen=True)
class ComparisonRecord:
    """A stored comparison.

    Attributes:
        prompt: the one whose replies are stored.
        before: number of the chat's messages before the prompt.
        rows: the contestants; the first one is the baseline.
        replies: the baseline's, and that of another row.
        shown: index of this row.
        prompts: number of prompts that were answered.
        left_out: number of prompts that couldn't be answered.
        why_left_out: why the first of them couldn't.
        in_characters: whether differences count characters.
        had_files: whether the prompt had files, which aren't stored.
        together: whether the contestants replied at the same time, so that their speeds can't be compared.
    """

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
    rows: tuple[ComparisonRow, ...]
    replies: tuple[ComparedReply, ComparedReply]
    shown: int = 1
    prompts: int = 1
    left_out: int = 0
    why_left_out: EngineText | None = None
    in_characters: bool = False
    had_files: bool = False
    together: bool = False
    id: str = field(default_factory=new_id)
    created: float = field(default_factory=time.time)

    @classmethod
    def of(
        cls, outcome: CompareResult, asked: Compare, pair: PairInfo, prompts: Sequence[str], names: Sequence[str] = ()
    ) -> "ComparisonRecord":
        """Record a comparison, with the replies that differ most."""
        results = outcome.results
        different = sorted((one for one in results if one.difference is not None), key=lambda one: one.verdict == "tie")
        others = [one for one in results[1:] if one.replies]
        shown = next(iter((*different, *[one for one in others if one is outcome.fastest], *others)), results[0])
        at = len(results[0].replies) - 1 if shown.difference is None else shown.difference.prompt
        skipped = dict(outcome.left_out)
        index = [index for index in range(len(prompts)) if index not in skipped][at]
        request = asked.requests[index]
        return cls(
            pair=pair.name,
            target=pair.target,
            drafter=pair.drafter,
            prompt=prompts[index],
            before=messages_before_prompt(request),
            sampling=request.sampling,
            seed=results[0].replies[at].stats.seed,
            max_tokens=request.max_tokens,
            thinking=request.thinking,
            repeats=asked.repeats,
            rows=tuple(ComparisonRow.of(one, names[at] if names else "") for at, one in enumerate(results)),
            replies=(ComparedReply.of(results[0].replies[at]), ComparedReply.of(shown.replies[at])),
            shown=results.index(shown),
            prompts=len(results[0].replies),
            left_out=len(skipped),
            why_left_out=next(iter(skipped.values()), None),
            in_characters=outcome.in_characters,
            had_files=_has_files(request, prompts[index]),
            together=outcome.together,
        )

    @property
    def of_drafters(self) -> bool:
        """Whether drafters were compared, not two modes or engines."""
        return are_drafters(self.rows)

    @property
    def shares_passes(self) -> bool:
        """Whether replies were computed together at least partly."""
        return any(reply.stats.has_shared_passes for reply in self.replies)

    @property
    def fastest(self) -> ComparisonRow | None:
        """The fastest row, or None if no reply was long enough to measure its speed."""
        if self.together:
            return None
        return max((row for row in self.rows if row.tok_s), key=lambda row: row.tok_s or 0.0, default=None)

    @property
    def ratio(self) -> float | None:
        """The speed of DFlash or the fastest / the baseline's, as both are shown."""
        if self.together:
            return None
        best, baseline = self.fastest if self.of_drafters else self.rows[-1], self.rows[0].tok_s
        return ratio_of_shown(best.tok_s, baseline) if best and best.tok_s and baseline else None

    @property
    def verdict(self) -> ComparisonVerdict:
        """The worst verdict of all rows."""
        found = {verdict_of(row.difference) for row in self.rows}
        return "different" if "different" in found else "tie" if "tie" in found else "identical"

    def to_json(self) -> dict[str, Any]:
        return {"format": _FORMAT, "version": _VERSION} | asdict(self)

    @classmethod
    def from_json(cls, data: object) -> "ComparisonRecord | None":
        """Return the record of any known version, or None if it can't be read."""
        found = as_dict(data)
        match found.get("format"), found.get("version"):
            case (str(name), 1) if name in (_FORMAT, _EARLIER_DRAFTERS):
                found = _from_version_1(found, name == _EARLIER_DRAFTERS)
            case (str(name), int(version)) if (name, version) == (_FORMAT, _VERSION):
                pass
            case _:
                return None
        replies = tuple(_with_texts(as_dict(one), "text", "thinking") for one in as_list(found.get("replies")))
        found = _with_texts(found, "pair", "target", "drafter", "prompt") | {"replies": replies}
        record: ComparisonRecord | None = read_as(cls, found, None)
        return record if record is not None and record.rows and record.shown < len(record.rows) else None


def _has_files(request: GenerationRequest, prompt: str) -> bool:
    """Return whether a request's last question has more than its prompt."""
    asked = next((one for one in reversed(request.messages) if one.role == "user"), None)
    return asked is not None and (bool(asked.images) or asked.content.strip() != prompt.strip())


def _from_version_1(data: Mapping[str, Any], of_drafters: bool) -> dict[str, Any]:
    """Convert a record of version 1, with formats for modes and for drafters."""
    replies = [as_dict(data.get("plain")), as_dict(data.get("drafted" if of_drafters else "dflash"))]
    if of_drafters:
        rows = [{**row, "difference": _difference_of_version_1(row)} for row in map(as_dict, as_list(data.get("rows")))]
        return {**data, "replies": replies, "rows": rows}
    rows, names = [], as_list(data.get("engines")) or ["", ""]
    for name, reply, differs in zip(names, replies, (False, True), strict=False):
        stats = read_as(Stats, reply.get("stats"), None)
        rates: tuple[float, ...] = read_as(tuple[float, ...], reply.get("tok_s"), ())
        rows.append(
            {
                "proposer": "drafter" if differs or name else "plain",
                "name": name,
                "tok_s": _median(rates),
                "first_token_s": _median(read_as(tuple[float, ...], reply.get("ttft_s"), ())),
                "rounds": stats.rounds if stats else 0,
                "tokens_per_round": stats.tokens_per_round if stats else None,
                "tokens": stats.tokens if stats else 0,
                "rates": rates,
                "replies": 1,
                "identical": int(data.get("first_difference") is None),
                "difference": _difference_of_version_1(data) if differs else None,
            }
        )
    return {**data, "replies": replies, "rows": rows, "shown": 1, "prompts": 1}


def _difference_of_version_1(data: Mapping[str, Any]) -> dict[str, Any] | None:
    at = data.get("first_difference")
    found = {"at": at, "margin": data.get("margin"), "tie": data.get("verdict") == "tie", "prompt": data.get("different_in") or 0}
    return None if at is None else found


def _median(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None


def _with_texts(data: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {**data, **{name: as_text(data.get(name)) for name in names}}


def ratio_of_shown(fast: float, slow: float) -> float:
    """Return the ratio of two speeds as shown, unless one is shown as zero."""
    shown = rounded_rate(fast), rounded_rate(slow)
    return shown[0] / shown[1] if all(shown) else fast / slow


def are_drafters(contestants: Sized) -> bool:
    """Return whether contestants are drafters, not two modes or engines."""
    return len(contestants) > len(BOTH_MODES)


def row_names(rows: Sequence[ComparisonRow]) -> list[str]:
    """Return the names of rows: engines, modes, kinds, or repos of one kind."""
    kinds = [row.kind for row in rows]

    def name(row: ComparisonRow) -> str:
        if row.proposer == "drafter" and are_drafters(rows):
            return row.kind if kinds.count(row.kind) == 1 else row.drafter
        return row.name or proposer_names()[row.proposer]

    return [name(row) for row in rows]


def proposer_names() -> dict[Proposer, str]:
    modes = mode_names()
    return {"plain": modes["plain"], "lookup": tr("Lookup"), "drafter": modes["dflash"]}


def verdict_on(record: ComparisonRecord) -> tuple[str, str]:
    """Return a comparison's headline and the sentences below it."""
    ratio, names, best = record.ratio, row_names(record.rows), record.fastest
    if record.together:
        headline = tr("Both replied at the same time") if record.shares_passes else tr("Both replied in turns")
    elif ratio is None:
        headline = tr("The reply is too short to measure speed")
    elif record.of_drafters and best is record.rows[0]:
        headline = tr("Plain decoding is the fastest here")
    elif record.of_drafters and best is not None:
        name = names[record.rows.index(best)]
        headline = tr("{name} is the fastest here: {ratio}× the plain speed", name=name, ratio=number(ratio, 1))
    elif 0.95 < ratio < 1.05:
        headline = tr("Both are equally fast")
    elif record.rows[0].name:
        headline = tr("{name} is {ratio}× as fast", name=names[ratio > 1], ratio=number(max(ratio, 1 / ratio), 1))
    elif ratio > 1:
        headline = tr("DFlash is {ratio}× as fast", ratio=number(ratio, 1))
    else:
        headline = tr("DFlash is slower here: {ratio}× the plain speed", ratio=number(ratio, 2))
    found = [_on_texts(record), how_speed_is_measured() if ratio is not None else _why_no_speed(record)]
    if record.why_left_out is not None:
        count, reason = number(record.left_out), translated(record.why_left_out)
        found.append(tr("Prompts left out: {count}. {reason}", count=count, reason=reason))
    for row, name in zip(record.rows, names, strict=True):
        if row.problem is not None:
            found.append(f"{row.drafter or name}: {translated(row.problem)}")
    return headline, sentences(*filter(None, found))


def how_speed_is_measured() -> str:
    """Return what the numbers before “×” compare."""
    return tr("Speed is tokens per second after the first token.")


def _why_no_speed(record: ComparisonRecord) -> str:
    """Return why the speeds of replies that ran at the same time can't be compared."""
    if not record.together:
        return ""
    if record.shares_passes:
        return tr("The replies were computed together, so their speeds can't be compared.")
    return tr("The replies took turns instead of being computed together. Their speeds can't be compared.")


def _on_texts(record: ComparisonRecord) -> str:
    """Return whether the texts of a record are the same."""
    if not record.of_drafters:
        return _on_two_texts(record)
    if sum(row.replies > 0 for row in record.rows) < 2:
        return ""
    texts = {
        "identical": tr("All texts are identical, token for token."),
        "different": tr("Some texts differ by more than rounding error."),
        "tie": tr("Some texts differ where two tokens are tied within rounding error."),
    }
    return texts[record.verdict]


def _on_two_texts(record: ComparisonRecord) -> str:
    stats, difference = record.replies[0].stats, record.rows[-1].difference
    if difference is None:
        count = tokens(stats.tokens)
        if record.in_characters:
            return tr("Both replies have the same text ({tokens}).", tokens=count)
        if stats.exact:
            return tr("Both replies are identical, token for token ({tokens}, exact mode).", tokens=count)
        return tr("Both replies are identical, token for token ({tokens}).", tokens=count)
    token = number(difference.at + 1)
    if record.in_characters:
        verdict = tr("The replies differ starting at character {character}.", character=token)
    elif stats.measured_by != "engine":  # a server's rounding error is unknown
        verdict = tr("The replies differ starting at token {token}.", token=token)
    elif difference.tie:
        verdict = tr("The replies differ starting at token {token}, where two tokens are tied within rounding error.", token=token)
    else:
        verdict = tr("The replies differ starting at token {token}, by more than rounding error.", token=token)
    if difference.margin is None:
        return verdict
    return sentences(verdict, tr("The scores of the two tokens differ by {margin}.", margin=figures(difference.margin)))


def short_verdict(verdict: ComparisonVerdict) -> str:
    return {"identical": tr("identical"), "tie": tr("tie"), "different": tr("different")}[verdict]


def spread(values: Sequence[float]) -> str:
    """Return the range of several speeds, or an empty string for fewer than two."""
    if len(values) < 2:
        return ""
    digits = 0 if min(values) >= 20 else 1
    return f"{number(min(values), digits)}–{number(max(values), digits)}"


@dataclass(frozen=True)
class Difference:
    """The first visible difference: `at` is a position in both replies' `channel`."""

    channel: Channel
    at: int
    spaces: bool = False  # whether only the whitespace before the next word differs

    def span(self, text: str) -> tuple[int, int]:
        """Return the range to mark, up to the end of the differing word."""
        word = _WORD.match(text, self.at)
        assert word is not None
        return self.at, min(word.end(), self.at + MAX_MARKED, len(text))

    def words(self, text: str) -> str:
        """Return the whole differing word, or an empty string at the end of the text."""
        return _words(text, self.at) if self.at < len(text) else ""


def difference_between(baseline: ComparedReply, other: ComparedReply) -> Difference | None:
    """Return the first visible difference, or None if the texts are the same."""
    if baseline.thinking != other.thinking:
        return _difference("thinking", baseline.thinking, other.thinking)
    return _difference("answer", baseline.text, other.text) if baseline.text != other.text else None


def _difference(channel: Channel, one: str, other: str) -> Difference:
    pairs = zip(one, other, strict=False)
    at = next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
    return Difference(channel, at, _words(one, at) == _words(other, at))


def _words(text: str, at: int) -> str:
    """Return the word at `at`, and the next one if `at` is at a word's end."""
    start, space, word = _WORD_START.search(text, max(0, at - MAX_MARKED), at), _SPACE.match(text, at), _WORD.match(text, at)
    assert start is not None and space is not None and word is not None
    return " ".join((start.group() + text[at : min(word.end(), space.end() + MAX_MARKED)]).split())
