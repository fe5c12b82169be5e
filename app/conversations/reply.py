"""One reply while it grows and after: its text, its figures, and how it ended."""

from collections import Counter, deque
from dataclasses import dataclass, field, replace
from typing import Literal

from app.conversations.token_sources import Suppliers
from app.language import translated
from mlx_engine.events import Commit, Event, Failed, Finished, PrefillProgress, Round, Stats, StopReason
from mlx_engine.requests import GenerationRequest, Mode

RATE_WINDOW_S = 1.0

# How a reply ended: as the engine says; or the app ended before it; or, in an imported chat, it was never begun.
Ending = StopReason | Literal["interrupted", "unanswered"]


class LiveRate:
    """Tokens per second over the last second: what the reader sees now, not the figure that is reported in the end."""

    def __init__(self) -> None:
        self._arrivals: deque[tuple[float, int]] = deque()

    def add(self, at_s: float, tokens: int) -> None:
        """`tokens` arrived at this time of a monotonic clock."""
        self._arrivals.append((at_s, tokens))
        while self._arrivals[0][0] < at_s - RATE_WINDOW_S:
            self._arrivals.popleft()

    @property
    def tok_s(self) -> float | None:
        """None until there are two arrivals to measure between."""
        if len(self._arrivals) < 2:
            return None
        elapsed = self._arrivals[-1][0] - self._arrivals[0][0]
        # The first arrival opens the window: its tokens were made before it.
        tokens = sum(count for _, count in self._arrivals) - self._arrivals[0][1]
        return tokens / elapsed if elapsed > 0.05 else None


@dataclass
class Reply:
    """What the model answers to one request. Fed with the engine's events and the time each one arrived.

    `origin` names whoever wrote an imported reply; it is empty for our own.
    """

    mode: Mode
    max_tokens: int
    answer: str = ""
    thinking: str = ""
    error: str = ""
    reason: Ending | None = None
    stats: Stats | None = None
    origin: str = ""
    prefill: PrefillProgress | None = None
    tokens: int = 0
    tokens_before: int = 0  # of those, what stood there when it was last continued
    rounds: int = 0
    tested: int = 0
    accepted: int = 0
    rate: LiveRate = field(default_factory=LiveRate)
    thinking_s: float | None = None  # how long it thought, from the first word to the last
    answer_by: Suppliers = field(default_factory=Suppliers)
    thinking_by: Suppliers = field(default_factory=Suppliers)
    _thinking_since: float | None = None

    @classmethod
    def to(cls, request: GenerationRequest) -> "Reply":
        """The reply to this request, still empty."""
        return cls(request.mode, request.max_tokens)

    def accept(self, event: Event, at_s: float) -> None:
        """Take the next event of this reply."""
        match event:
            case Commit():
                if event.channel == "thinking":
                    self.thinking += event.text
                    self.thinking_by.add(len(event.text), event.runs)
                    if self._thinking_since is None:
                        self._thinking_since = at_s - (self.thinking_s or 0.0)  # a part of it may be older than a pause
                    self.thinking_s = at_s - self._thinking_since
                else:
                    self.answer += event.text
                    self.answer_by.add(len(event.text), event.runs)
                if event.tokens:
                    self.tokens += len(event.tokens)
                    self.rate.add(at_s, len(event.tokens))
            case Round():
                self.rounds += 1
                self.tested += event.tested
                self.accepted += event.accepted
            case PrefillProgress():
                self.prefill = event
            case Finished():
                self.reason = event.reason
                stats = joined(self.stats, event.stats) if self.stats else event.stats
                # a part that was interrupted or failed has left no figures but its tokens
                self.stats = replace(stats, tokens=max(stats.tokens, self.tokens_before + event.stats.tokens))
            case Failed():
                self.reason, self.error = "error", translated(event)

    def resume(self, mode: Mode) -> None:
        """It goes on where it ended; the figures in the end are those of all its parts."""
        self.mode = mode
        self.reason, self.error, self.prefill = None, "", None
        self.rate = LiveRate()
        self.tokens_before = self.tokens
        self._thinking_since = None

    @property
    def room_ended(self) -> bool:
        """It stopped before it had as many tokens as were asked for: the context is full. Each part may have that many."""
        return self.reason == "length" and self.stats is not None and self.stats.tokens - self.tokens_before < self.max_tokens

    @property
    def can_continue(self) -> bool:
        """Whether more may follow: it was cut off, and something is there to go on from."""
        return self.reason in ("length", "cancelled", "interrupted", "error") and not self.empty and not self.origin

    @property
    def running(self) -> bool:
        """True until the engine has said how it ended."""
        return self.reason is None

    @property
    def empty(self) -> bool:
        """Nothing to read yet."""
        return not self.answer and not self.thinking

    @property
    def tokens_per_round(self) -> float | None:
        """Of the finished reply if it has finished, else so far."""
        if self.stats and not self.running:
            return self.stats.tokens_per_round
        return (self.accepted + self.rounds) / self.rounds if self.rounds else None

    @property
    def acceptance(self) -> float | None:
        """Accepted of tested proposals, 0 to 1."""
        if self.stats and not self.running:
            return self.stats.acceptance
        return self.accepted / self.tested if self.tested else None


def joined(first: Stats, second: Stats) -> Stats:
    """The figures of a reply that was written in two parts. The decode rate is that of both: their steps over their time, without
    the pause and the second prefill."""
    steps, seconds = 0, 0.0
    for part in (first, second):
        if part.decode_tok_s:
            steps += part.tokens - 1
            seconds += (part.tokens - 1) / part.decode_tok_s
    because: Counter[str] = Counter()
    for part in (first, second):
        because.update(dict(part.plain_because))
    mode: Mode = "dflash" if "dflash" in (first.mode, second.mode) else "plain"
    return Stats(
        mode=mode,
        prompt_tokens=first.prompt_tokens,
        reused_tokens=first.reused_tokens,
        tokens=first.tokens + second.tokens,
        ttft_s=first.ttft_s,
        prompt_tok_s=first.prompt_tok_s,
        decode_tok_s=steps / seconds if seconds else None,
        rounds=first.rounds + second.rounds,
        drafted=first.drafted + second.drafted,
        tested=first.tested + second.tested,
        accepted=first.accepted + second.accepted,
        accepted_per_round=first.accepted_per_round + second.accepted_per_round,
        widths=first.widths + second.widths,
        plain_steps=first.plain_steps + second.plain_steps,
        why_plain=second.why_plain or first.why_plain if first.mode == second.mode else "",
        peak_memory_bytes=max(first.peak_memory_bytes, second.peak_memory_bytes),
        seed=first.seed,
        lookup_rounds=first.lookup_rounds + second.lookup_rounds,
        trials=first.trials + second.trials,
        plain_because=tuple(because.most_common()),
    )
