"""Width control for comparisons of copies alone."""

from mlx_engine.decoding.costs import PLAIN_STEP, PassKind
from mlx_engine.decoding.width import NOTHING_TO_COPY, WIDTH_1_REQUESTED, PassOutcome, WidthChoice, WidthController
from mlx_engine.drafters.lookup import Offer


class FixedCopies(WidthController):
    """A controller of copies with one width; plain steps if there is none."""

    def __init__(self, width: int) -> None:
        self._width = width

    def choose(self, depth: int, offer: Offer | None = None) -> WidthChoice:
        width = min(self._width, offer.tokens + 1) if offer else 1
        if width == 1:
            return WidthChoice(PLAIN_STEP, WIDTH_1_REQUESTED if self._width == 1 else NOTHING_TO_COPY)
        return WidthChoice(PassKind("lookup", width))

    def offers(self) -> list[tuple[PassKind, float]]:
        return [(PLAIN_STEP, 1.0)]

    def record(self, outcome: PassOutcome) -> None: ...
