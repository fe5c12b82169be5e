"""Growing K/V caches (mlx-lm's `KVCache`): rewinding is forgetting the last rows, which the next ones overwrite."""

import weakref
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import KVCache


class Undo:
    """How to take a pass back out of one cache. Nothing has to be kept for it."""

    def __init__(self, cache: KVCache) -> None:
        self._cache = cache

    def rewind(self, rows: int, passed: int) -> None:
        """Drop the last `rows` of the `passed` tokens of the latest pass."""
        dropped = self._cache.trim(rows)
        if dropped != rows:
            raise ValueError(f"asked to drop {rows} rows of a cache that held {dropped}")


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
