"""A reply, during and after generation: text, token sources, and statistics."""

import re
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, pairwise
from typing import Any, Literal, get_args

from app.storage.slowness import SlowCause
from app.text.language import translated
from app.text.plain_text import fenced
from mlx_engine.contract.conditions import Conditions
from mlx_engine.contract.counts import Counts
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import (
    Commit,
    Event,
    Failed,
    Finished,
    MeasuredBy,
    PrefillProgress,
    Round,
    Source,
    Stats,
    StopReason,
    acceptance,
)
from mlx_engine.contract.requests import GenerationRequest, Message, Mode
from mlx_engine.contract.token_logprobs import PositionLogprobs
from mlx_engine.mcp.record import CallRecord, messages_of

Supplier = Source | Literal["unknown"]
_LETTERS: dict[Supplier, str] = {"prefill": "p", "drafter": "d", "lookup": "l", "target": "t", "unknown": "u"}
_SUPPLIERS = {letter: supplier for supplier, letter in _LETTERS.items()}
_RUN = re.compile(r"([pdltu])([1-9][0-9]{0,8})")

RATE_WINDOW_S = 1.0
MOST_PROBABILITIES = 4_000  # tokens of a reply whose probabilities are kept

# "interrupted": the app quit before the reply ended. "unanswered": an imported chat has no reply here.
Ending = StopReason | Literal["interrupted", "unanswered"]


class Suppliers:
    """A run-length list of the supplier of each character, with constant-time append."""

    def __init__(self) -> None:
        self._suppliers: list[Supplier] = []
        self._ends: list[int] = []

    def __len__(self) -> int:
        """Return the number of characters."""
        return self._ends[-1] if self._ends else 0

    def add(self, length: int, runs: Sequence[tuple[Supplier, int]] = ()) -> None:
        """Append characters, with an unknown supplier unless `runs` add up to `length`."""
        for supplier, size in runs if sum(size for _, size in runs) == length else (("unknown", length),):
            if size <= 0:
                continue
            if self._suppliers and self._suppliers[-1] == supplier:
                self._ends[-1] += size
            else:
                self._suppliers.append(supplier)
                self._ends.append(len(self) + size)

    def between(self, start: int, end: int) -> Iterator[tuple[int, int, Supplier]]:
        """Yield the runs (first character, end, supplier) from `start` to `end`."""
        for index in range(bisect_right(self._ends, start), len(self._ends)):
            first = max(start, self._ends[index - 1] if index else 0)
            if first >= end:
                return
            yield first, min(end, self._ends[index]), self._suppliers[index]

    def encode(self) -> str:
        """Return the stored form, with a letter and a length per run: "d15t1"."""
        sizes = (end - start for start, end in pairwise((0, *self._ends)))
        return "".join(f"{_LETTERS[supplier]}{size}" for supplier, size in zip(self._suppliers, sizes, strict=True))

    @classmethod
    def decode(cls, text: str) -> "Suppliers":
        """Parse the stored form. Invalid text gives no runs."""
        found = cls()
        for letter, size in _RUN.findall(text) if re.fullmatch(f"(?:{_RUN.pattern})*", text) else ():
            found.add(int(size), ((_SUPPLIERS[letter], int(size)),))
        return found


class LiveRate:
    """Decode speed over the last second, shown during generation."""

    def __init__(self) -> None:
        self._arrivals: deque[tuple[float, int]] = deque()

    def add(self, at_s: float, tokens: int) -> None:
        """Add tokens that arrived at `at_s` on the monotonic clock."""
        self._arrivals.append((at_s, tokens))
        while self._arrivals[0][0] < at_s - RATE_WINDOW_S:
            self._arrivals.popleft()

    @property
    def tok_s(self) -> float | None:
        """Tokens per second, or None before the second arrival."""
        if len(self._arrivals) < 2:
            return None
        elapsed = self._arrivals[-1][0] - self._arrivals[0][0]
        # The first arrival starts the interval; its tokens were generated before.
        tokens = sum(count for _, count in self._arrivals) - self._arrivals[0][1]
        return tokens / elapsed if elapsed > 0.05 else None


@dataclass(frozen=True)
class ReplyStep:
    """A part of a reply that ends with calls, or with the reply.

    Attributes:
        answer_start: offset of `answer` in the reply's answer.
        thinking_start: offset of `thinking` in the reply's thinking.
        unreadable: whether `answer` is the text of a call that can't be parsed; only in `Reply.shown_steps`.
    """

    answer: str
    thinking: str
    answer_start: int
    thinking_start: int
    calls: tuple[CallRecord, ...] = ()
    unreadable: bool = False

    @property
    def markdown(self) -> str:
        """The answer as Markdown. A call that can't be parsed is a code block."""
        return fenced(self.answer) if self.unreadable else self.answer


@dataclass
class Reply:
    """A reply to one request, built from the engine's events."""

    mode: Mode
    max_tokens: int
    answer: str = ""
    thinking: str = ""
    error: str = ""
    error_code: str = ""  # of the text
    reason: Ending | None = None
    stats: Stats | None = None
    origin: str = ""  # model that wrote an imported reply; empty for Slipstream's own
    sent_to: str = ""  # hosts of other computers that got the request
    prefill: PrefillProgress | None = None
    tokens: int = 0
    tokens_before: int = 0  # `tokens` when the reply was last continued
    rounds: int = 0
    drafted: int = 0
    accepted: int = 0
    left_out: int = 0  # number of oldest messages that were not sent
    prompt_letters: int = 0  # size of the prompt whose tokens the statistics report, see `letters_of`
    result_length: int = 0  # characters of each result that were sent, at most; 0 for all
    rate: LiveRate = field(default_factory=LiveRate)
    thinking_s: float | None = None  # seconds from the first to the last thinking text
    answer_by: Suppliers = field(default_factory=Suppliers)
    thinking_by: Suppliers = field(default_factory=Suppliers)
    calls: tuple[CallRecord, ...] = ()
    unreadable_calls: tuple[tuple[int, int], ...] = ()  # start and end in the answer of each call that can't be parsed
    step_stats: tuple[Stats, ...] = ()  # one per request, if the reply has calls
    conditions: Conditions | None = None  # the worst of this computer during the reply
    slow_cause: SlowCause | None = None
    usual_tok_s: float | None = None  # of the pair, if there is a `slow_cause` and the reply was slower
    progress: dict[str, str] = field(default_factory=dict)  # what running calls report, by ID; not stored
    drafter_kind: str = ""  # of the loaded drafter while the reply runs; not stored
    probabilities: list[PositionLogprobs] = field(default_factory=list)  # of the first tokens in the text; not stored
    _thinking_since: float | None = None
    _end_before: tuple[Mode, Ending | None, str, str, int] | None = None  # until text arrives after `resume`

    @classmethod
    def to(cls, request: GenerationRequest) -> "Reply":
        """Return an empty reply to a request."""
        return cls(request.mode, request.max_tokens)

    def accept(self, event: Event, at_s: float) -> None:
        """Apply the next event, which arrived at `at_s` on the monotonic clock."""
        match event:
            case Commit(channel="thinking"):
                self._record_probabilities(event)
                self.thinking += event.text
                self.thinking_by.add(len(event.text), event.runs)
                if self._thinking_since is None:
                    self._thinking_since = at_s - (self.thinking_s or 0.0)  # a continued reply may have thought before
                self.thinking_s = at_s - self._thinking_since
                self._count(event, at_s)
            case Commit():
                self._record_probabilities(event)
                if event.unreadable_call:
                    self._mark_unreadable(len(self.answer), len(self.answer) + len(event.text))
                self.answer += event.text
                self.answer_by.add(len(event.text), event.runs)
                self._count(event, at_s)
            case Round():
                self.rounds += 1
                self.drafted += event.width - 1
                self.accepted += event.accepted
            case PrefillProgress():
                self.prefill, self.left_out, self.result_length = event, event.left_out, event.result_length
            case Finished():
                self.reason = event.reason
                stats = joined(self.stats, event.stats) if self.stats else event.stats
                # An earlier part that was interrupted or failed has only a token count.
                self.stats = replace(stats, tokens=max(stats.tokens, self.tokens_before + event.stats.tokens))
                if self.calls or event.reason == "tool_calls":
                    step = replace(event.stats, accepted_per_round=(), widths=(), plain_because=())
                    self.step_stats = (*self.step_stats, step)
            case Failed():
                self.reason, self.error, self.error_code = "error", translated(event), event.code

    def _record_probabilities(self, event: Commit) -> None:
        recorded = [one for one in event.logprobs if not one.hidden]
        self.probabilities += recorded[: MOST_PROBABILITIES - len(self.probabilities)]

    def _mark_unreadable(self, start: int, end: int) -> None:
        ranges = self.unreadable_calls
        if ranges and ranges[-1][1] == start:  # more of the same text
            start, ranges = ranges[-1][0], ranges[:-1]
        self.unreadable_calls = (*ranges, (start, end))

    def _count(self, event: Commit, at_s: float) -> None:
        self._end_before = None
        if event.tokens:
            self.tokens += len(event.tokens)
            self.rate.add(at_s if event.at_s is None else event.at_s, len(event.tokens))

    def resume(self, mode: Mode) -> None:
        """Prepare for another part. Final statistics will cover all of them."""
        before = self.mode, self.reason, self.error, self.error_code, self.tokens_before
        self.mode = mode
        self.next_step()
        self._end_before = before

    def revert(self) -> bool:
        """Return to the end before `resume`; false if text has arrived since."""
        if self._end_before is None:
            return False
        self.mode, self.reason, self.error, self.error_code, self.tokens_before = self._end_before
        return True

    def end(self, reason: Ending) -> None:
        """End the reply, with a reason unless it has one."""
        self.reason = self.reason or reason
        self.progress.clear()

    def next_step(self) -> None:
        """Prepare for another step. Final statistics will cover all of them."""
        self._end_before = None
        self.reason, self.prefill = None, None
        self.error = self.error_code = ""
        self.rate = LiveRate()
        self.tokens_before = self.tokens
        self._thinking_since = None

    @property
    def context_full(self) -> bool:
        """Whether the context ended the reply before its token limit."""
        return self.reason == "length" and self.stats is not None and self.stats.tokens - self.tokens_before < self.max_tokens

    @property
    def can_continue(self) -> bool:
        """Whether the reply was cut off, has text, and did not fill the context."""
        cut_off = self.reason in ("length", "cancelled", "interrupted", "error", "tool_calls")
        return cut_off and not self.empty and not self.origin and not self.context_full

    @property
    def running(self) -> bool:
        return self.reason is None

    @property
    def empty(self) -> bool:
        return not self.answer and not self.thinking and not self.calls

    @property
    def steps(self) -> list[ReplyStep]:
        """All steps. The last one has no calls, and may be empty."""
        found: list[ReplyStep] = []
        answered = thought = 0
        for _, group in groupby(self.calls, key=lambda record: record.step):
            calls = tuple(group)
            texts = self.answer[answered : calls[-1].answer_end], self.thinking[thought : calls[-1].thinking_end]
            found.append(ReplyStep(*texts, answered, thought, calls))
            answered, thought = calls[-1].answer_end, calls[-1].thinking_end
        return [*found, ReplyStep(self.answer[answered:], self.thinking[thought:], answered, thought)]

    @property
    def shown_steps(self) -> list[ReplyStep]:
        """The steps as shown: an unreadable call is a step of its own.

        While the reply runs, only the last one grows, and others are added.
        """
        found: list[ReplyStep] = []
        for step in self.steps:
            start, end = step.answer_start, step.answer_start + len(step.answer)
            marked = ((max(first, start), min(last, end)) for first, last in self.unreadable_calls)
            cuts = [start, *(cut for first, last in marked if first < last for cut in (first, last)), end]
            parts = [
                ReplyStep(self.answer[first:last], "", first, step.thinking_start, unreadable=number % 2 == 1)
                for number, (first, last) in enumerate(pairwise(cuts))
            ]
            if len(parts) > 1 and not parts[-1].answer:
                parts.pop()
            parts[0] = replace(parts[0], thinking=step.thinking)
            parts[-1] = replace(parts[-1], calls=step.calls)
            found += parts
        return found

    @property
    def text(self) -> str:
        """The answer as Markdown, with empty lines between the steps."""
        return "\n\n".join(text for step in self.shown_steps if (text := step.markdown.strip()))

    @property
    def messages(self) -> tuple[Message, ...]:
        """The reply's messages in later prompts; empty if it is never sent."""
        last = self.steps[-1]
        too_long = self.reason == "error" and not last.answer and not last.thinking  # a result that didn't fit, perhaps
        if (not self.answer.strip() and not self.calls) or (self.calls and too_long):
            return ()
        found = messages_of(self.answer, self.thinking, self.calls)
        # Templates reject a question after a result.
        return found if found[-1].role == "assistant" else (*found, Message("assistant", ""))

    @property
    def tokens_per_round(self) -> float | None:
        """Mean tokens per round, over the rounds so far while the reply runs."""
        if self.stats and not self.running:
            return self.stats.tokens_per_round
        return (self.accepted + self.rounds) / self.rounds if self.rounds else None

    @property
    def acceptance(self) -> float | None:
        """The share of drafted tokens that were accepted, from 0 to 1."""
        if self.stats and not self.running:
            return self.stats.acceptance
        return acceptance(self.accepted, self.drafted)


def joined(first: Stats, second: Stats) -> Stats:
    """Combine two parts' statistics. Speed excludes the pause and the second prefill."""
    measured_by = max(first.measured_by, second.measured_by, key=get_args(MeasuredBy).index)
    timed = [(part.tokens - 1, part.decode_tok_s) for part in (first, second) if part.decode_tok_s]
    seconds = sum(steps / rate for steps, rate in timed)
    because: Counter[EngineText] = Counter(dict(first.plain_because))
    because.update(dict(second.plain_because))
    # That prompt contains the first part
    continued = replace(second, prompt_tokens=0, reused_tokens=0, disk_tokens=0, images=0, image_tokens=0)
    sums: dict[str, Any] = dict(vars(Counts.of(first, continued)))
    sums |= {name: getattr(first, name) + getattr(second, name) for name in ("accepted_per_round", "widths")}
    if first.measured_by != second.measured_by and first.tokens and second.tokens:  # servers don't report these
        sums |= {"tested": 0, "accepted_per_round": (), "widths": ()}
    return replace(
        first,
        **sums,
        mode="dflash" if "dflash" in (first.mode, second.mode) else "plain",
        decode_tok_s=sum(steps for steps, _ in timed) / seconds if seconds else None,
        why_plain=second.why_plain or first.why_plain if first.mode == second.mode else None,
        peak_memory_bytes=max(first.peak_memory_bytes, second.peak_memory_bytes),
        exact=first.exact and (second.exact or not second.tokens),
        measured_by=measured_by,
        plain_because=tuple(because.most_common()),
        few_accepted=second.few_accepted or first.few_accepted,
        gpu_error=second.gpu_error or first.gpu_error,
        drafter=second.drafter or first.drafter,
        drafter_kind=second.drafter_kind or first.drafter_kind,
        tuned=second.tuned or first.tuned,
    )
