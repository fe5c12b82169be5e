"""Stored comparisons, their verdicts, and where two replies first differ."""

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any

from app.storage.chat_tree import messages_before_prompt, new_id
from app.storage.json_values import as_text, read_as
from app.storage.wording import mode_names, rounded_rate, tokens
from app.text.language import figures, number, sentences, tr
from mlx_engine.contract.events import Channel, CompareResult, ComparisonVerdict, CompletedReply, PairInfo, Stats, StopReason
from mlx_engine.contract.requests import GenerationRequest, Mode, Sampling

MAX_MARKED = 40  # characters
_WORD = re.compile(r"\s*\S*")
_SPACE = re.compile(r"\s*")
_WORD_START = re.compile(r"\S*\Z")
_HEADER = {"format": "slipstream-comparison", "version": 1}


@dataclass(frozen=True)
class ComparedMode:
    """A compared mode: the reply with the median speed, and all runs' figures."""

    text: str
    thinking: str
    reason: StopReason
    stats: Stats
    tok_s: tuple[float, ...] = ()
    ttft_s: tuple[float, ...] = ()

    @classmethod
    def of(cls, reply: CompletedReply, runs: Sequence[Stats]) -> "ComparedMode":
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
        """Median decode speed in tokens per second."""
        return median(self.tok_s) if self.tok_s else None

    @property
    def first_token(self) -> float | None:
        """Median time to the first token in seconds."""
        return median(self.ttft_s) if self.ttft_s else None


@dataclass(frozen=True)
class ComparisonRecord:
    """A stored comparison. `before` counts the chat's messages before the prompt."""

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
    plain: ComparedMode
    dflash: ComparedMode
    ratio: float | None
    first_difference: int | None
    margin: float | None
    verdict: ComparisonVerdict
    id: str = field(default_factory=new_id)
    created: float = field(default_factory=time.time)
    in_characters: bool = False  # whether `first_difference` counts characters
    engines: tuple[str, ...] = ()  # names in place of “plain” and “dflash”, if a server was compared with this computer

    @classmethod
    def of(
        cls,
        result: CompareResult,
        runs: Mapping[Mode, Sequence[Stats]],
        pair: PairInfo,
        prompt: str,
        request: GenerationRequest,
        engines: tuple[str, ...] = (),
    ) -> "ComparisonRecord":
        """Record the result of comparing `request`."""
        return cls(
            pair=pair.name,
            target=pair.target,
            drafter=pair.drafter,
            prompt=prompt,
            before=messages_before_prompt(request),
            sampling=request.sampling,
            seed=result.plain.stats.seed,
            max_tokens=request.max_tokens,
            thinking=request.thinking,
            repeats=max(1, len(runs.get("plain", ()))),
            plain=ComparedMode.of(result.plain, runs.get("plain", ())),
            dflash=ComparedMode.of(result.dflash, runs.get("dflash", ())),
            ratio=result.ratio,
            first_difference=result.first_difference,
            margin=result.margin,
            verdict=result.verdict,
            in_characters=result.in_characters,
            engines=engines,
        )

    @property
    def shown_ratio(self) -> float | None:
        """The ratio of the two speeds as they are shown."""
        if self.ratio is None or not self.plain.rate or not self.dflash.rate:
            return self.ratio
        return ratio_of_shown(self.dflash.rate, self.plain.rate)

    def side(self, mode: Mode) -> ComparedMode:
        return self.plain if mode == "plain" else self.dflash

    def to_json(self) -> dict[str, Any]:
        return _HEADER | asdict(self)

    @classmethod
    def from_json(cls, data: object) -> "ComparisonRecord | None":
        """Return the record, or None if this version can't read it."""
        if not isinstance(data, Mapping) or any(data.get(key) != value for key, value in _HEADER.items()):
            return None
        plain, dflash = data.get("plain"), data.get("dflash")
        if not isinstance(plain, Mapping) or not isinstance(dflash, Mapping):
            return None
        found = _with_texts(data, "pair", "target", "drafter", "prompt")
        found |= {"plain": _with_texts(plain, "text", "thinking"), "dflash": _with_texts(dflash, "text", "thinking")}
        record: ComparisonRecord | None = read_as(cls, found, None)
        return record


def _with_texts(data: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {**data, **{name: as_text(data.get(name)) for name in names}}


def ratio_of_shown(fast: float, slow: float) -> float:
    """Return the ratio of two speeds as shown, unless one is shown as zero."""
    shown = rounded_rate(fast), rounded_rate(slow)
    return shown[0] / shown[1] if all(shown) else fast / slow


def verdict_on(record: ComparisonRecord) -> tuple[str, str]:
    """Return a comparison's headline and the sentences below it."""
    shown = record.shown_ratio
    if shown is None:
        headline = tr("The reply is too short to measure speed")
    elif record.engines and not 0.95 < shown < 1.05:
        name, ratio = (record.engines[1], shown) if shown > 1 else (record.engines[0], 1 / shown)
        headline = tr("{name} is {ratio}× as fast", name=name, ratio=number(ratio, 1))
    elif shown >= 1.05:
        headline = tr("DFlash is {ratio}× as fast", ratio=number(shown, 1))
    elif shown > 0.95:
        headline = tr("Both are equally fast")
    else:
        headline = tr("DFlash is slower here: {ratio}× the plain speed", ratio=number(shown, 2))
    if shown is None:
        return headline, _on_texts(record)
    return headline, sentences(_on_texts(record), how_speed_is_measured())


def how_speed_is_measured() -> str:
    """Return what the numbers before “×” compare."""
    return tr("Speed is tokens per second after the first token.")


def _on_texts(record: ComparisonRecord) -> str:
    if record.verdict == "identical":
        count = tokens(record.plain.stats.tokens)
        if record.in_characters:
            return tr("Both replies have the same text ({tokens}).", tokens=count)
        if record.plain.stats.exact:
            return tr("Both replies are identical, token for token ({tokens}, exact mode).", tokens=count)
        return tr("Both replies are identical, token for token ({tokens}).", tokens=count)
    token = number((record.first_difference or 0) + 1)
    if record.in_characters:
        verdict = tr("The replies differ starting at character {character}.", character=token)
    elif record.plain.stats.measured_by != "engine":  # a server's rounding error is unknown
        verdict = tr("The replies differ starting at token {token}.", token=token)
    elif record.verdict == "tie":
        verdict = tr("The replies differ starting at token {token}, where two tokens are tied within rounding error.", token=token)
    else:
        verdict = tr("The replies differ starting at token {token}, by more than rounding error.", token=token)
    if record.margin is None:
        return verdict
    return sentences(verdict, tr("The scores of the two tokens differ by {margin}.", margin=figures(record.margin)))


def side_names(engines: tuple[str, ...]) -> dict[Mode, str]:
    """Return the names of a comparison's sides: its engines, if any, or the modes."""
    return {"plain": engines[0], "dflash": engines[1]} if len(engines) == 2 else mode_names()


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


def difference_between(plain: ComparedMode, dflash: ComparedMode) -> Difference | None:
    """Return the first visible difference, or None if the texts are the same."""
    if plain.thinking != dflash.thinking:
        return _difference("thinking", plain.thinking, dflash.thinking)
    return _difference("answer", plain.text, dflash.text) if plain.text != dflash.text else None


def _difference(channel: Channel, one: str, other: str) -> Difference:
    pairs = zip(one, other, strict=False)
    at = next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
    return Difference(channel, at, _words(one, at) == _words(other, at))


def _words(text: str, at: int) -> str:
    """Return the word at `at`, and the next one if `at` is at a word's end."""
    start, space, word = _WORD_START.search(text, max(0, at - MAX_MARKED), at), _SPACE.match(text, at), _WORD.match(text, at)
    assert start is not None and space is not None and word is not None
    return " ".join((start.group() + text[at : min(word.end(), space.end() + MAX_MARKED)]).split())
