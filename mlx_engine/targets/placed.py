"""A pass of several rows over growing caches that begins at a place which only the device knows.

Every layer's cache gets a stand-in: it writes the rows where the device says, and hands out a view as long as they can possibly
reach, of which a mask hides what lies behind them. `Caches.settle` tells the caches themselves once the host knows. Until then they
keep their length, so that whoever stops in between finds them as they were before the pass.
"""

from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import KVCache

from mlx_engine.place import Place


class PlacedCache:
    """Stands for one layer's cache, which holds something already, in a pass of `rows` rows at `place`."""

    def __init__(self, cache: KVCache, place: Place, rows: int) -> None:
        own: Any = cache  # whose arrays mlx-lm types as if there might be none
        self._cache = own
        self._reach = place.most + rows
        self.offset = place.at  # of the first row, [1] int32
        self.length = place.at + rows  # of what is filled after the pass, [1] int32
        short = self._reach - own.keys.shape[2]
        if short > 0:
            more = -(-short // cache.step) * cache.step
            own.keys, own.values = (mx.pad(held, [(0, 0), (0, 0), (0, more), (0, 0)]) for held in (own.keys, own.values))

    @property
    def keys(self) -> mx.array:
        """The whole buffer, [1, H, capacity, D]."""
        keys: mx.array = self._cache.keys
        return keys

    @property
    def values(self) -> mx.array:
        """The whole buffer, [1, H, capacity, D]."""
        values: mx.array = self._cache.values
        return values

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Write the pass's rows, [1, H, rows, D] each; all that its attention may see, [1, H, as many as can be filled, D]."""
        cache = self._cache
        cache.keys = mx.slice_update(cache.keys, keys, self.offset, (2,))
        cache.values = mx.slice_update(cache.values, values, self.offset, (2,))
        return cache.keys[..., : self._reach, :], cache.values[..., : self._reach, :]

    def make_mask(self, rows: int, return_array: bool = False, window_size: int | None = None) -> mx.array:
        """Which of what `update_and_fetch` hands out each row sees, [rows, that many] bool."""
        query = self.offset + mx.arange(rows)[:, None]
        key = mx.arange(self._reach)
        seen = key <= query
        return seen if window_size is None else seen & (query - key < window_size)
