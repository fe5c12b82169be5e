"""Growing K/V caches: mlx-lm's `KVCache`.

A rewind forgets the last rows, which the next pass overwrites.

In a placed pass, rows are written where the device says. Attention sees the buffer up to the last row that can be filled; a mask
hides the rows beyond those that are.
"""

import copy
import weakref
from types import SimpleNamespace
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import KVCache

from mlx_engine.device import DeviceSpan, write_rows
from mlx_engine.targets.adapter import CacheAdapter, repeated


class GrowingCache(CacheAdapter):
    """A `KVCache`: every token's keys and values in order. Replaces it in placed passes."""

    can_cut = True
    compilable = True  # layers that run on the adapter may be compiled

    def rewind(self, rows: int, passed: int) -> None:
        dropped = self.cache.trim(rows)
        if dropped != rows:
            raise ValueError(f"asked to drop {rows} rows of a cache that held {dropped}")

    def place(self, span: DeviceSpan) -> "GrowingCache":
        cache = self.cache
        self.offset = span.start.value  # of the first row, [1] int32
        self.length = span.end  # rows that are filled after the pass, [1] int32
        self._positions = span.positions
        self.trace_length = -(-span.maximum // cache.step) * cache.step  # rows that the pass may see; in steps, so that traces last
        short = self.trace_length - cache.keys.shape[2]
        if short > 0:
            cache.keys, cache.values = (mx.pad(held, [(0, 0), (0, 0), (0, short), (0, 0)]) for held in (cache.keys, cache.values))
        return self

    @property
    def keys(self) -> mx.array:
        """The whole buffer, [1, H, capacity, D]."""
        keys: mx.array = self.cache.keys
        return keys

    @keys.setter
    def keys(self, keys: mx.array) -> None:  # some models replace what is held
        self.cache.keys = keys

    @property
    def values(self) -> mx.array:
        """The whole buffer, [1, H, capacity, D]."""
        values: mx.array = self.cache.values
        return values

    @values.setter
    def values(self, values: mx.array) -> None:
        self.cache.values = values

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Write rows [1, H, S, D]; return all that attention may see, [1, H, trace_length, D]."""
        cache = self.cache
        cache.keys = write_rows(cache.keys, keys, self._positions)
        cache.values = write_rows(cache.values, values, self._positions)
        return cache.keys[..., : self.trace_length, :], cache.values[..., : self.trace_length, :]

    def make_mask(self, rows: int, return_array: bool = False, window_size: int | None = None) -> mx.array:
        """Which fetched rows each row sees, [rows, trace_length] bool."""
        query, key = self._positions[:, None], mx.arange(self.trace_length)
        seen = key <= query
        return seen if window_size is None else seen & (query - key < window_size)

    def settle(self, start: int, kept: int, discarded: int) -> None:
        self.cache.offset = start + kept

    def inputs(self, layer: Any, dtype: mx.Dtype) -> list[mx.array]:
        """What a compiled layer reads: the buffers, and where it writes the pass's rows."""
        return [self.cache.keys, self.cache.values, self._positions, self.offset, self.length]

    def traced(self, inputs: list[mx.array]) -> "GrowingCache":
        """An adapter that holds `inputs`, for a layer while it is traced."""
        other = copy.copy(self)
        keys, values, other._positions, other.offset, other.length = inputs
        other.cache = SimpleNamespace(keys=keys, values=values)
        return other

    def outputs(self) -> list[mx.array]:
        """What a layer leaves here: the buffers."""
        return [self.cache.keys, self.cache.values]

    def accept(self, layer: Any, outputs: list[mx.array]) -> None:
        """Hold what a compiled layer left."""
        self.cache.keys, self.cache.values = outputs

    def cut(self, length: int) -> None:
        self.cache.trim(self.cache.offset - length)

    def fill(self, source: CacheAdapter, length: int) -> None:
        spare = KVCache.step - length % KVCache.step

        def rows(array: mx.array) -> mx.array:
            room = mx.zeros((*array.shape[:2], spare, array.shape[3]), array.dtype)
            return mx.concatenate([array[..., :length, :], room], axis=2)

        self.cache.state = (rows(source.cache.keys), rows(source.cache.values), length)

    def grow(self, depth: int) -> None:
        room = -(-(depth + 1) // KVCache.step) * KVCache.step
        self.cache.state = (*(repeated(held, room) for held in self.cache.keys_and_values()), depth)


def share_mask(cache: KVCache) -> None:
    """Make a model's first cache return the causal mask as an array instead of by name.

    On a CPU, MLX builds a named mask again in every layer. Metal's kernels need no array. The sums are the same bit for bit.
    """
    by_name = type(cache).make_mask
    own = weakref.proxy(cache)  # a cycle would keep the arrays until Python's garbage collector runs

    def make_mask(rows: int, return_array: bool = False, window_size: int | None = None) -> Any:
        if rows == 1 or return_array or window_size is not None:
            return by_name(own, rows, return_array=return_array, window_size=window_size)
        query = mx.arange(own.offset, own.offset + rows)[:, None]
        return mx.where(query >= mx.arange(own.offset + rows), 0.0, -mx.inf)

    cache.make_mask = make_mask  # type: ignore[method-assign]  # of this instance alone
