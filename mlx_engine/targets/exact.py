"""Row-exact passes: a row has the same bits alone and among any others.

In passes of up to 16 rows of each reply, and 64 of all, including plain steps, these parts replace everything whose summation order
depends on the number of rows. DFlash then generates exactly the same text as plain decoding, whichever replies share its passes.

- Linear layers and the head: `verify_matmul`, for single rows too (`products`).
- Attention: `verify_attention` with parts of fixed size that begin at the same positions for every row. A sliding window is kept in
  temporal order, because mlx-lm's ring buffer reorders the keys.
- Attention that the kernel doesn't support: MLX's single-row attention, called once per row with the keys visible to that row.
- Experts: mlx-lm's, on so few rows at a time that mlx-lm doesn't sort them by expert.
- Gated delta nets: plain steps run as blocks of one row (`delta_net`).

docs/exactness.md lists all other operations of a pass and why they need no replacement.
"""

from collections.abc import Callable
from typing import Any, cast
from weakref import WeakValueDictionary

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.models.cache import ArraysCache, KVCache, RotatingKVCache
from mlx_lm.models.switch_layers import SwitchGLU, SwitchMLP

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.kernels import verify_attention, verify_matmul
from mlx_engine.targets.cache_adapter import CacheAdapter
from mlx_engine.targets.growing import GrowingCache
from mlx_engine.targets.recurrent import RecurrentCache
from mlx_engine.targets.rotating import RotatingCache

ROWS = verify_attention.ROWS
_PART = verify_attention.PART
_STEP = 256  # spare rows of a new buffer
_UNSORTED = 63  # largest rows * experts that mlx-lm leaves unsorted
Operation = Callable[..., mx.array]


class RowAttention:
    """Attention that computes each row independently of the others.

    Attributes:
        calls: number of calls so far.
    """

    def __init__(self, operation: Operation | None) -> None:
        self._operation = operation  # `verify_attention` with parts of fixed size; None without kernels
        self.calls = 0

    def __call__(self, queries: mx.array, held: Any, window: int, scale: float, sinks: mx.array | None) -> mx.array:
        """Return the attention output [1, Hq, S, D] for the last S cached rows."""
        self.calls += 1
        length, rows = held.offset - getattr(held, "first", 0), queries.shape[2]
        given = (queries, held.keys, held.values, mx.array([length], mx.int32), scale, True, window, sinks)
        if self._operation is not None and verify_attention.supports(*given):
            return self._operation(*given)
        results = []
        for row in range(rows):
            end = length - rows + row + 1
            keys, values = (each[..., max(0, end - window) if window else 0 : end, :] for each in (held.keys, held.values))
            one = queries[:, :, row : row + 1]
            results.append(mx.fast.scaled_dot_product_attention(one, keys, values, scale=scale, mask=None, sinks=sinks))
        return mx.concatenate(results, axis=2)


class RowExactPass:
    """A layer's cache during one row-exact pass."""

    def __init__(self, held: "KVCache | _Window", attend: RowAttention, window: int = 0) -> None:
        self._held, self._attend, self._window = held, attend, window
        self.view: mx.array | None = None  # keys that the layer passes to `attention`

    @property
    def offset(self) -> int:
        """Position of the next row."""
        return cast(int, self._held.offset)

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Store rows [1, H, S, D] and return all cached rows.

        `attention` recognizes the pass by the returned keys.
        """
        self.view, values = self._held.update_and_fetch(keys, values)
        _PASSES[id(self.view)] = self
        return self.view, values

    def make_mask(self, rows: int, return_array: bool = False, window_size: int | None = None) -> None:
        """Return None, because `attend` masks each row itself."""

    def attend(self, queries: mx.array, scale: float, sinks: mx.array | None) -> mx.array:
        """Return the attention output of the rows just stored, [1, Hq, S, D]."""
        return self._attend(queries, self._held, self._window, scale, sinks)


# By the id of `view`: a layer that shares another layer's keys (Gemma 4) has no cache of its own
_PASSES = WeakValueDictionary[int, RowExactPass]()


def pass_of(keys: mx.array) -> RowExactPass | None:
    """Return the row-exact pass that returned these keys, or None."""
    found = _PASSES.get(id(keys))
    return found if found is not None and found.view is keys else None


class _Window:
    """Keys and values of a sliding window, [1, H, capacity, D], in temporal order.

    Row 0 is at position `first`, a multiple of `_PART`.
    """

    def __init__(self, cache: Any) -> None:
        self.offset, self._size = cache.offset, cache.max_size
        self.first, self.keys, self.values = 0, cache.keys, cache.values
        if self.keys is not None:
            begin = cache.offset - cache.keys.shape[2]
            self.first = begin // _PART * _PART
            self.keys, self.values = (_padded(each, begin - self.first, _STEP) for each in (cache.keys, cache.values))

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        """Store rows [1, H, S, D] and return all cached rows."""
        start = self.offset - self.first
        if self.keys is None:
            self.keys, self.values = (_padded(each[..., :0, :], 0, _STEP) for each in (keys, values))
        elif start + keys.shape[2] > self.keys.shape[2]:
            oldest = max(0, self.offset - ROWS - self._size) // _PART * _PART  # oldest position visible after a rewind
            begin, self.first = max(oldest - self.first, 0), max(oldest, self.first)
            self.keys, self.values = (_padded(each[..., begin:start, :], 0, _STEP) for each in (self.keys, self.values))
            start -= begin
        self.offset += keys.shape[2]
        end = self.offset - self.first
        self.keys[..., start:end, :] = keys
        self.values[..., start:end, :] = values
        return self.keys[..., :end, :], self.values[..., :end, :]

    def last(self, rows: int) -> tuple[mx.array, mx.array]:
        """Return the last `rows` rows of keys and values."""
        end = self.offset - self.first
        return self.keys[..., end - rows : end, :], self.values[..., end - rows : end, :]


def _padded(array: mx.array, before: int, after: int) -> mx.array:
    return mx.pad(array, [(0, 0), (0, 0), (before, after), (0, 0)])


class _GrowingExact(GrowingCache):
    """Adapter of a `KVCache` for row-exact passes."""

    shifts = False  # images are refused

    def __init__(self, cache: Any, attend: RowAttention) -> None:
        super().__init__(cache)
        self._attend = attend

    def begin(self, block: bool) -> Any:
        return RowExactPass(self.cache, self._attend) if block else super().begin(block)


class _RotatingExact(RotatingCache):
    """Adapter of a `RotatingKVCache` for row-exact passes.

    Blocks use a `_Window`; longer passes use mlx-lm's cache.
    """

    def __init__(self, cache: Any, attend: RowAttention) -> None:
        super().__init__(cache)
        self._attend = attend
        self._rows: _Window | None = None  # contents, if newer than mlx-lm's buffer

    def begin(self, block: bool) -> Any:
        if not block:
            self.release()
            return self.cache
        self._rows = self._rows or _Window(self.cache)
        return RowExactPass(self._rows, self._attend, self.cache.max_size)

    def rewind(self, rows: int, passed: int) -> None:
        if self._rows is None:
            super().rewind(rows, passed)
        else:
            self._rows.offset -= rows

    def release(self) -> None:
        cache, rows, self._rows = self.cache, self._rows, None
        if rows is not None:
            cache._idx = min(rows.offset, cache.max_size)
            cache.keys, cache.values = rows.last(cache._idx)
            cache.offset = rows.offset

    def freeze(self) -> Any:
        self.release()
        return super().freeze()

    def thaw(self, frozen: Any) -> None:
        self._rows = None
        super().thaw(frozen)

    def grow(self, depth: int) -> None:
        self.release()
        super().grow(depth)


def adapter(cache: Any, attend: RowAttention) -> CacheAdapter:
    """Return the adapter of one of mlx-lm's caches for row-exact passes.

    Raises:
        UserError: row-exact passes don't support this kind of cache.
    """
    if type(cache) is KVCache:
        return _GrowingExact(cache, attend)
    if type(cache) is RotatingKVCache and not cache.keep:
        return _RotatingExact(cache, attend)
    if type(cache) is ArraysCache:
        return RecurrentCache(cache)
    raise refusal(EngineText.of("exact_cache", "it uses a {kind}", kind=type(cache).__name__))


class UnsortedExperts(nn.Module):
    """Replacement for experts: x [.., S, H], indices [.., S, k] -> [.., S, k, H]."""

    def __init__(self, own: nn.Module) -> None:
        super().__init__()
        dict.update(self, own)
        self._own = own

    def __call__(self, x: mx.array, indices: mx.array) -> mx.array:
        own: Any = self._own
        rows, step = x.size // x.shape[-1], max(1, _UNSORTED // indices.shape[-1])
        if not step < rows <= verify_matmul.ROWS:
            out: mx.array = own(x, indices)
            return out
        parts = [own(x[..., at : at + step, :], indices[..., at : at + step, :]) for at in range(0, rows, step)]
        return mx.concatenate(parts, axis=-3)


def experts(own: nn.Module) -> nn.Module | None:
    """Return the replacement for an experts module, or None for other modules."""
    return UnsortedExperts(own) if type(own) in (SwitchGLU, SwitchMLP) else None


def refusal(reason: EngineText) -> UserError:
    """Return the error for a target that can't be row-exact; `reason` is a clause."""
    template = "Exact mode isn't available for this model: {reason}. Turn exact mode off."
    return UserError("not_row_exact", template, reason=reason)


def weights_text(bits: int, group_size: int, mode: str = "affine") -> EngineText:
    """Return the clause about an unsupported weight format."""
    template = "it has {bits}-bit weights ({mode}, groups of {group_size}); supported: 16, 8, and 4 bits (affine)"
    return EngineText.of("exact_weights", template, bits=bits, mode=mode, group_size=group_size)


def checked(multiply: Operation) -> Operation:
    """Wrap `verify_matmul` to raise UserError for unsupported arguments."""

    def run(*given: Any) -> mx.array:
        if verify_matmul.supports(*given):
            return multiply(*given)
        x, weight, scales, _, group_size, bits, *_ = given
        if scales is not None:
            raise refusal(weights_text(bits, group_size))
        names = [str(each.dtype).removeprefix("mlx.core.") for each in (x, weight)]
        raise refusal(EngineText.of("exact_dtypes", "it multiplies {left} by {right}", left=names[0], right=names[1]))

    return run
