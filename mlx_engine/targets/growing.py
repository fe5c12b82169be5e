"""Adapter of mlx-lm's `KVCache`, a growing K/V cache.

A rewind only moves the end; the next pass overwrites the dropped rows.

A queued pass writes its rows at positions on the device. Attention reads the buffer up to the largest possible end, and a mask
hides rows past the actual end.
"""

import copy
import weakref
from collections.abc import Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import KVCache

from mlx_engine.hardware.device import DeviceSpan, write_rows
from mlx_engine.targets.cache_adapter import CacheAdapter, repeated


def _buffer(name: str) -> property:
    """Return a property for a buffer of the cache, [1, H, capacity, D].

    The property is writable because some models assign to the buffer.
    """

    def get(adapter: CacheAdapter) -> mx.array:
        return getattr(adapter.cache, name)

    return property(get, lambda adapter, array: setattr(adapter.cache, name, array))


class GrowingCache(CacheAdapter):
    """Adapter of a `KVCache`, which it replaces in queued passes."""

    can_cut = True
    row_arrays = 2
    keys, values = _buffer("keys"), _buffer("values")
    compilable = True  # whether layers can be compiled in this pass
    shifts = True

    def begin(self, block: bool) -> Any:
        return ShiftedCache(self.cache, self.shift) if self.shift else self.cache

    def rewind(self, rows: int, passed: int) -> None:
        dropped = self.cache.trim(rows)
        if dropped != rows:
            raise ValueError(f"can't drop {rows} rows of a cache with {dropped} rows")

    def place(self, span: DeviceSpan) -> "GrowingCache":
        cache = self.cache
        self.offset = span.turned  # of the first row, as RoPE takes it, [1] int32
        self.length = span.end  # filled rows after the pass, [1] int32
        self._positions = span.positions
        self.trace_length = -(-span.maximum // cache.step) * cache.step  # visible rows; rounded up, so that traces stay valid
        short = self.trace_length - cache.keys.shape[2]
        if short > 0:
            cache.keys, cache.values = (mx.pad(held, [(0, 0), (0, 0), (0, short), (0, 0)]) for held in (cache.keys, cache.values))
        return self

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Write rows [1, H, S, D] and return the visible rows, [1, H, trace_length, D]."""
        cache = self.cache
        cache.keys = write_rows(cache.keys, keys, self._positions)
        cache.values = write_rows(cache.values, values, self._positions)
        return cache.keys[..., : self.trace_length, :], cache.values[..., : self.trace_length, :]

    def make_mask(self, rows: int, return_array: bool = False, window_size: int | None = None) -> mx.array:
        """Return the attention mask of the pass, [rows, trace_length] bool."""
        query, key = self._positions[:, None], mx.arange(self.trace_length)
        seen = key <= query
        return seen if window_size is None else seen & (query - key < window_size)

    def settle(self, start: int, kept: int, discarded: int) -> None:
        self.cache.offset = start + kept

    def inputs(self, layer: Any, dtype: mx.Dtype) -> list[mx.array]:
        """Return the inputs of a compiled layer: buffers and positions."""
        return [self.cache.keys, self.cache.values, self._positions, self.offset, self.length]

    def traced(self, inputs: list[mx.array]) -> "GrowingCache":
        """Return a copy of the adapter over placeholder `inputs`, to trace a layer."""
        other = copy.copy(self)
        keys, values, other._positions, other.offset, other.length = inputs
        other.cache = SimpleNamespace(keys=keys, values=values)
        return other

    def outputs(self) -> list[mx.array]:
        """Return the outputs of a compiled layer: the written buffers."""
        return [self.cache.keys, self.cache.values]

    def accept(self, layer: Any, outputs: list[mx.array]) -> None:
        """Store the outputs of a compiled layer."""
        self.cache.keys, self.cache.values = outputs

    def cut(self, length: int) -> None:
        self.cache.trim(self.cache.offset - length)

    def rows(self, start: int, end: int) -> list[mx.array]:
        return [self.cache.keys[..., start:end, :], self.cache.values[..., start:end, :]]

    def fill(self, pieces: Sequence[Sequence[mx.array]], length: int) -> None:
        spare = KVCache.step - length % KVCache.step

        def joined(arrays: Iterable[mx.array]) -> mx.array:
            found = list(arrays)
            room = mx.zeros((*found[0].shape[:2], spare, found[0].shape[3]), found[0].dtype)
            return mx.concatenate([*found, room], axis=2)

        keys, values = zip(*pieces, strict=True)
        self.cache.state = (joined(keys), joined(values), length)

    def grow(self, depth: int) -> None:
        room = -(-(depth + 1) // KVCache.step) * KVCache.step
        self.cache.state = (*(repeated(held, room) for held in self.cache.keys_and_values()), depth)


class ShiftedCache:
    """A cache during one pass, whose rows RoPE rotates by index plus `shift`."""

    def __init__(self, cache: Any, shift: int) -> None:
        self._cache, self._shift = cache, shift

    keys = property(lambda self: self._cache.keys)
    values = property(lambda self: self._cache.values)

    @property
    def offset(self) -> int:
        """Position of the next row."""
        return self._cache.offset + self._shift

    @property
    def length(self) -> mx.array:
        """Filled rows, [1] int32."""
        held = self._cache
        return held.length if isinstance(held, ShiftedCache) else mx.array([held.offset], mx.int32)

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Store rows [1, H, S, D] and return the visible rows."""
        return self._cache.update_and_fetch(keys, values)

    def make_mask(self, rows: int, return_array: bool = False, window_size: int | None = None) -> Any:
        """Return the attention mask of the pass."""
        return self._cache.make_mask(rows, return_array=return_array, window_size=window_size)


def share_mask(cache: KVCache) -> None:
    """Make a model's first cache return the causal mask as an array, not by name.

    On a CPU, MLX rebuilds a named mask in every layer. Metal kernels need no array. The results are bit-identical.
    """
    by_name = type(cache).make_mask
    own = weakref.proxy(cache)  # a cycle would keep the arrays until garbage collection

    def make_mask(rows: int, return_array: bool = False, window_size: int | None = None) -> Any:
        if rows == 1 or return_array or window_size is not None:
            return by_name(own, rows, return_array=return_array, window_size=window_size)
        query = mx.arange(own.offset, own.offset + rows)[:, None]
        return mx.where(query >= mx.arange(own.offset + rows), 0.0, -mx.inf)

    cache.make_mask = make_mask  # type: ignore[method-assign]  # for this instance only
