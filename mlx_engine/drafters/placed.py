"""The context as a round finds it that begins at a place which only the device knows.

Keys and values are read as far as they can reach at most, and a mask hides what lies behind them; rows are written where the device
says. `DraftContext.settle` tells the context itself once the host knows.
"""

import mlx.core as mx

from mlx_engine.drafters.context import DraftContext, LayerContext
from mlx_engine.place import Place


class PlacedLayers:
    """Stands for the context of the layers that share one window, in a round of at most `count` rows at `place`."""

    def __init__(self, held: LayerContext, place: Place, count: int) -> None:
        held.reserve(place, count)
        self._held, self._place = held, place
        self.first = held.first
        self.rows = place.most - held.first  # at most

    def layer(self, index: int) -> tuple[mx.array, mx.array] | None:
        """Keys and values of one layer, [1, H, rows, D] each."""
        return self._held.layer(index, self.rows)

    def append(self, rows: mx.array) -> None:
        """Write keys and values, [2, L, H, S, D], of the S positions from the place on."""
        self._held.write(rows, self._place.at - self.first)


class PlacedContext:
    """Stands for a context in a round of at most `count` rows whose anchor stands at `place`."""

    def __init__(self, context: DraftContext, place: Place, count: int) -> None:
        self.position = place.at  # [1] int32
        self.kinds = {window: PlacedLayers(held, place, count) for window, held in context.kinds.items()}
