"""Growing K/V caches (mlx-lm's `KVCache`): rewinding is forgetting the last rows, which the next ones overwrite.

In a pass that begins at a place which only the device knows, the rows are written where the device says, and attention gets a view
as long as they can possibly reach, of which a mask hides what lies behind them.
"""

import copy
import weakref
from types import SimpleNamespace
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import KVCache

from mlx_engine.positions import Span, written


class Undo:
    """How to take a pass back out of one cache. Nothing has to be kept for it."""

    def __init__(self, cache: KVCache) -> None:
        self._cache = cache

    def rewind(self, rows: int, passed: int) -> None:
        """Drop the last `rows` of the `passed` tokens of the latest pass."""
        dropped = self._cache.trim(rows)
        if dropped != rows:
            raise ValueError(f"asked to drop {rows} rows of a cache that held {dropped}")


class Placed:
    """Stands for a cache, which holds something already, in a pass over `span`."""

    def __init__(self, cache: KVCache, span: Span, before: Any = None) -> None:
        own: Any = cache  # whose arrays mlx-lm types as if there might be none
        self._cache = own
        self._positions = span.positions
        self.offset = span.place.at  # of the first row, [1] int32
        self.length = span.end  # of what is filled after the pass, [1] int32
        self.view = -(-span.reach // cache.step) * cache.step  # rows that the pass may see; in steps, so that shapes last
        short = self.view - own.keys.shape[2]
        if short > 0:
            own.keys, own.values = (mx.pad(held, [(0, 0), (0, 0), (0, short), (0, 0)]) for held in (own.keys, own.values))

    @property
    def keys(self) -> mx.array:
        """The whole buffer, [1, H, capacity, D]."""
        keys: mx.array = self._cache.keys
        return keys

    @keys.setter
    def keys(self, keys: mx.array) -> None:  # some models have other work done before they are read
        self._cache.keys = keys

    @property
    def values(self) -> mx.array:
        """The whole buffer, [1, H, capacity, D]."""
        values: mx.array = self._cache.values
        return values

    @values.setter
    def values(self, values: mx.array) -> None:
        self._cache.values = values

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Write the pass's rows, [1, H, rows, D] each; all that its attention may see, [1, H, as many as can be filled, D]."""
        cache = self._cache
        cache.keys = written(cache.keys, keys, self._positions)
        cache.values = written(cache.values, values, self._positions)
        return cache.keys[..., : self.view, :], cache.values[..., : self.view, :]

    def make_mask(self, rows: int, return_array: bool = False, window_size: int | None = None) -> mx.array:
        """Which of what `update_and_fetch` hands out each row sees, [rows, that many] bool."""
        query, key = self._positions[:, None], mx.arange(self.view)
        seen = key <= query
        return seen if window_size is None else seen & (query - key < window_size)

    def settle(self, start: int, kept: int) -> None:
        """The pass began at `start`, and its first `kept` rows count; what lies behind is overwritten by the next."""
        self._cache.offset = start + kept

    def given(self, layer: Any, dtype: mx.Dtype) -> list[mx.array]:
        """`compiled.Held`: the buffers, and where the pass's rows stand."""
        return [self.keys, self.values, self._positions, self.offset, self.length]

    def stand_in(self, given: list[mx.array]) -> "Placed":
        """`compiled.Held`: one that holds these."""
        other = copy.copy(self)
        keys, values, other._positions, other.offset, other.length = given
        other._cache = SimpleNamespace(keys=keys, values=values)
        return other

    def left(self) -> list[mx.array]:
        """`compiled.Held`: the buffers."""
        return [self.keys, self.values]

    def take(self, layer: Any, left: list[mx.array]) -> None:
        """`compiled.Held`."""
        self.keys, self.values = left


def share_mask(cache: KVCache) -> None:
    """Make this cache, the first of its model, hand out the causal mask as one array instead of asking for it by name.

    On a CPU, MLX spells a named mask out anew in every layer; Metal's kernels need none. The sums are the same bit for bit.
    """
    by_name = type(cache).make_mask
    own = weakref.proxy(cache)  # a cycle would keep the arrays until Python looks for cycles

    def make_mask(rows: int, return_array: bool = False, window_size: int | None = None) -> Any:
        if rows == 1 or return_array or window_size is not None:
            return by_name(own, rows, return_array=return_array, window_size=window_size)
        query = mx.arange(own.offset, own.offset + rows)[:, None]
        return mx.where(query >= mx.arange(own.offset + rows), 0.0, -mx.inf)

    cache.make_mask = make_mask  # type: ignore[method-assign]  # of this instance alone
