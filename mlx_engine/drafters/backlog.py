"""Features of plainly decoded tokens, injected into the drafter's context in batches."""

import mlx.core as mx

from mlx_engine.drafters.context import DraftContext
from mlx_engine.drafters.drafter import Drafter

_ROWS = 64  # per injection


class Backlog:
    """Keeps the drafter's context complete during plain decoding, at little cost.

    Args:
        drafter: the context's drafter.
        context: holds every earlier position that was not added here.
    """

    def __init__(self, drafter: Drafter, context: DraftContext) -> None:
        self._drafter, self._context = drafter, context
        self._waiting: list[mx.array] = []
        self._rows = 0

    def add(self, features: mx.array) -> None:
        """Add the features [S, taps * H] of the next positions."""
        self._waiting.append(features)
        self._rows += features.shape[0]
        if self._rows >= _ROWS:
            self.flush()
            mx.async_eval(self._context.state)

    def flush(self) -> int:
        """Inject the waiting features, and return how many rows they are."""
        rows = self._rows
        if self._waiting:
            self._drafter.inject(self._context, mx.concatenate(self._waiting))
            self._waiting, self._rows = [], 0
        return rows
