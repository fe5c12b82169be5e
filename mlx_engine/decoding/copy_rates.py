"""Acceptance of copies, in rounds of copies only and behind a drafter's block."""

from mlx_engine.decoding.acceptance import Acceptance, tokens_by_width
from mlx_engine.decoding.costs import COPY_WIDTHS

_ASSUMED = {3: 0.5, 6: 0.75, 12: 0.9, 24: 0.95}  # match length -> acceptance assumed for a copied token
_FOLLOWED = 0.5  # chance assumed that copies follow a block, and that such a block is accepted


class CopyRates:
    """Acceptance of copies in replies at similar temperatures."""

    def __init__(self) -> None:
        longest = COPY_WIDTHS[-1] - 1
        self._copies = {length: Acceptance(longest, memory=50, weight=1.0, start=chance) for length, chance in _ASSUMED.items()}
        self._blocks = Acceptance(2, memory=50, weight=1.0, start=_FOLLOWED)

    def tokens(self, match: int) -> list[float]:
        """Return the tokens of copies of 1, 2, … rows; none if the match is too short."""
        return tokens_by_width(self._class(match).chances()) if match >= min(_ASSUMED) else []

    def blocks(self) -> tuple[float, float]:
        """Return the chances that copies follow a block, and that its drafts are right."""
        followed, accepted = self._blocks.chances()
        return followed, accepted

    def record(self, match: int, tested: int, accepted: int) -> None:
        """Record a round's copies, which continue a match."""
        if tested:
            self._class(match).record(tested, accepted)

    def record_block(self, followed: bool, accepted: bool) -> None:
        """Record whether copies followed a block, and whether its drafts were right."""
        self._blocks.record(1 + followed, followed + (followed and accepted))

    def _class(self, match: int) -> Acceptance:
        return self._copies[max(length for length in _ASSUMED if length <= match)]
