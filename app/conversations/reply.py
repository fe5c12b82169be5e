"""One reply while it grows and after: its text, its figures, and how it ended."""

from collections import deque
from dataclasses import dataclass, field

from mlx_engine.events import (
    Commit,
    Event,
    Failed,
    Finished,
    GenerationRequest,
    Mode,
    PrefillProgress,
    Round,
    Stats,
    StopReason,
)

RATE_WINDOW_S = 1.0


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
    """What the model answers to one request. Fed with the engine's events and the time each one arrived."""

    mode: Mode
    max_tokens: int
    answer: str = ""
    thinking: str = ""
    error: str = ""
    reason: StopReason | None = None
    stats: Stats | None = None
    prefill: PrefillProgress | None = None
    tokens: int = 0
    rounds: int = 0
    tested: int = 0
    accepted: int = 0
    rate: LiveRate = field(default_factory=LiveRate)

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
                else:
                    self.answer += event.text
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
                self.reason, self.stats = event.reason, event.stats
            case Failed():
                self.reason, self.error = "error", event.error

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
        if self.stats:
            return self.stats.tokens_per_round
        return (self.accepted + self.rounds) / self.rounds if self.rounds else None

    @property
    def acceptance(self) -> float | None:
        """Accepted of tested proposals, 0 to 1."""
        if self.stats:
            return self.stats.acceptance
        return self.accepted / self.tested if self.tested else None
