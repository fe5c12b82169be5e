"""The context as a round finds it that begins at a place which only the device knows.

Keys and values are read as far as they can reach at most, and a mask hides what lies behind them; rows are written where the device
says. `DraftContext.settle` tells the context itself once the host knows.
"""

import mlx.core as mx

from mlx_engine.drafters.context import DraftContext, LayerContext
from mlx_engine.positions import Span


class PlacedLayers:
    """Stands for the context of the layers that share one window, in a round over `span`."""

    def __init__(self, held: LayerContext, span: Span) -> None:
        held.reserve(span)
        self._held, self._span = held, span
        self.first = held.first
        self.rows = span.place.most - held.first  # at most

    def layer(self, index: int) -> tuple[mx.array, mx.array] | None:
        """Keys and values of one layer, [1, H, rows, D] each."""
        return self._held.layer(index, self.rows)

    def append(self, rows: mx.array) -> None:
        """Write keys and values, [2, L, H, S, D], of all S positions of the span."""
        self._held.write(rows, self._span.positions)


class PlacedContext:
    """Stands for a context in a round over `span`, the anchor's row being the first."""

    def __init__(self, context: DraftContext, span: Span) -> None:
        self.position = span.place.at  # [1] int32
        self.kinds = {window: PlacedLayers(held, span) for window, held in context.kinds.items()}
