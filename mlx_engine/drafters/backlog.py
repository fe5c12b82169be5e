"""Features of tokens that were decoded plainly, on their way into the drafter's context many at a time."""

import mlx.core as mx

from mlx_engine.drafters.context import DraftContext
from mlx_engine.drafters.drafter import Drafter

_ROWS = 64  # at which they are injected: one pass through the drafter's projections for so many of the target's passes


class Backlog:
    """Keeps a context going while nothing is drafted, at next to no cost, so that a later round or turn finds it whole.

    Args:
        drafter: whose context it is.
        context: which every position before the next pass's is in, or has been added here.
    """

    def __init__(self, drafter: Drafter, context: DraftContext) -> None:
        self._drafter, self._context = drafter, context
        self._waiting: list[mx.array] = []
        self._rows = 0

    def add(self, features: mx.array) -> None:
        """Take the features [S, taps * H] of the positions that follow."""
        self._waiting.append(features)
        self._rows += features.shape[0]
        if self._rows >= _ROWS:
            self.flush()
            mx.async_eval(self._context.state)

    def flush(self) -> int:
        """Inject what waits, and say how many rows that were."""
        rows = self._rows
        if self._waiting:
            self._drafter.inject(self._context, mx.concatenate(self._waiting))
            self._waiting, self._rows = [], 0
        return rows
