"""Acceptance of copies, in rounds of copies only and behind a drafter's block."""

from mlx_engine.decoding.acceptance import Acceptance, tokens_by_width
from mlx_engine.decoding.costs import COPY_WIDTHS

_ASSUMED = {3: 0.5, 6: 0.75, 12: 0.9, 24: 0.95}  # match length -> acceptance assumed for a copied token
_FOLLOWED = 0.5  # chance assumed that copies follow a block, and that such a block is accepted
_MEMORY = 50  # rounds
_MAX_CREDIT = 1.0


class CopyRates:
    """Acceptance of copies in replies at similar temperatures.

    Attributes:
        credit: for trials of copies that aren't expected to pay, in plain steps.
        failures: number of trials in which no copy was accepted, after which other copies are tried.
    """

    def __init__(self) -> None:
        longest = COPY_WIDTHS[-1] - 1
        self.credit, self.failures = 0.0, 0
        self._copies = {length: Acceptance(longest, _MEMORY, weight=1.0, start=chance) for length, chance in _ASSUMED.items()}
        self._blocks = Acceptance(2, _MEMORY, weight=1.0, start=_FOLLOWED)
        self._tokens: dict[int, list[float]] = {}  # `tokens` by class, until a round is recorded

    def tokens(self, match: int) -> list[float]:
        """Return the tokens of copies of 1, 2, … rows; none if the match is too short."""
        if match < min(_ASSUMED):
            return []
        length = _class(match)
        if length not in self._tokens:
            self._tokens[length] = tokens_by_width(self._copies[length].chances())
        return self._tokens[length]

    def blocks(self) -> tuple[float, float]:
        """Return the chances that copies follow a block, and that its drafts are right."""
        followed, accepted = self._blocks.chances()
        return followed, accepted

    def record(self, match: int, tested: int, accepted: int) -> None:
        """Record a round's copies, which continue a match."""
        if tested:
            self._copies[_class(match)].record(tested, accepted)
            self._tokens.pop(_class(match), None)

    def record_block(self, followed: bool, accepted: bool) -> None:
        """Record whether copies followed a block, and whether its drafts were right."""
        self._blocks.record(1 + followed, followed + (followed and accepted))

    def earn(self, credit: float) -> None:
        """Add credit, up to a limit."""
        self.credit = min(self.credit + credit, _MAX_CREDIT)

    def spend(self, credit: float, failed: bool) -> None:
        """Charge a trial."""
        self.credit, self.failures = self.credit - credit, self.failures + failed


def _class(match: int) -> int:
    return max(length for length in _ASSUMED if length <= match)
