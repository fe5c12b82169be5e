"""A second line of tokens from one layer's cache: cutting it back, copying its beginning, keeping its state for later.

A growing cache can be cut at any earlier token. Every other kind only goes on from where it stands, so its state is frozen at the
tokens that a later turn will come back to. Between two rounds mlx-lm's `state` of a cache is all there is to it.
"""

import copy
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import CacheList, KVCache


def cuts(layer: Any) -> bool:
    """Whether this cache can be cut at any earlier token."""
    if isinstance(layer, CacheList):
        return all(cuts(part) for part in layer.caches)
    return isinstance(layer, KVCache)


def cut(layer: Any, length: int) -> None:
    """Forget every token from `length` on, in place; of a cache that `cuts`."""
    for part in _parts(layer):
        part.trim(part.offset - length)


def fill(into: Any, layer: Any, length: int) -> None:
    """Fill an empty cache with the first `length` tokens of one of its kind, which `cuts`.

    The rows are copied here, once, into arrays with room to go on, so that neither line's next write finds its array shared and
    copies all of it.
    """
    for part, fresh in zip(_parts(layer), _parts(into), strict=True):
        fresh.state = (_rows(part.keys, length), _rows(part.values, length), length)


def freeze(layer: Any) -> Any:
    """The present state. Its buffers are shared until the cache writes to one, which MLX then copies."""
    return _hold(layer.state)


def thaw(layer: Any, frozen: Any) -> None:
    """Put a frozen state into a cache of its kind; it may be put into others later."""
    layer.state = _hold(frozen)


def arrays(state: Any) -> list[mx.array]:
    """Every array in a state, however nested."""
    if isinstance(state, mx.array):
        return [state]
    return [array for part in state for array in arrays(part)] if isinstance(state, list | tuple) else []


def _hold(state: Any) -> Any:
    """New containers, and new handles on the same buffers: assigning to a slice changes the handle that it goes through."""
    if isinstance(state, mx.array):
        return copy.copy(state)
    return type(state)(_hold(part) for part in state) if isinstance(state, list | tuple) else state


def _parts(layer: Any) -> Any:
    return layer.caches if isinstance(layer, CacheList) else (layer,)


def _rows(array: mx.array, length: int) -> mx.array:
    spare = KVCache.step - length % KVCache.step
    room = mx.zeros((*array.shape[:2], spare, array.shape[3]), array.dtype)
    return mx.concatenate([array[..., :length, :], room], axis=2)
