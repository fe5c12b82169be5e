"""What the statistics of several replies add up to."""

from dataclasses import dataclass, fields

from mlx_engine.contract.events import Stats


@dataclass(frozen=True)
class Counts:
    """Counts and times of replies, which can be added; see `Stats`."""

    prompt_tokens: int = 0
    reused_tokens: int = 0
    disk_tokens: int = 0
    tokens: int = 0
    rounds: int = 0
    drafted: int = 0
    tested: int = 0
    accepted: int = 0
    plain_steps: int = 0
    lookup_rounds: int = 0
    lookup_tested: int = 0
    lookup_accepted: int = 0
    trials: int = 0
    waiting_s: float = 0.0
    prefill_s: float = 0.0
    decode_s: float = 0.0
    images: int = 0
    image_tokens: int = 0
    image_s: float = 0.0
    passes: float = 0.0
    own_passes: int = 0
    rows: int = 0
    rest_s: float = 0.0

    @classmethod
    def of(cls, *replies: Stats) -> "Counts":
        """Return the counts of all replies together."""
        each = (cls(*(getattr(stats, field.name) for field in fields(cls))) for stats in replies)
        return sum(each, NO_REPLIES)

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(self)))


NO_REPLIES = Counts()
