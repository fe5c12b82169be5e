"""Layers that differ only in their weights, as one compiled function.

Building a pass one operation at a time keeps the host busy about as long as a device needs to run the pass of a small target, and
longer with kernels, whose signatures MLX writes again on every call. A compiled function is traced once for every set of shapes;
after that, its graph is only copied. A trace of a whole round would take longer than the round behind it can wait; a trace of one
layer takes as long as building that layer.

Whatever two such layers differ in is an input: weights, what their caches hold, and positions. During a trace, the layer holds
placeholders for its weights.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from mlx_engine.targets.growing import GrowingCache
from mlx_engine.targets.recurrent import RecurrentCache

_SMALL = 1024  # elements up to which an array other than a weight is compared by its values
_IGNORED = ("_no_grad", "_training")  # attributes of every module that take no part in its forward
Compilable = GrowingCache | RecurrentCache


class LayerFunction:
    """The compiled function of layers that are all alike.

    It holds none of them, so a target's weights are freed with the target.
    """

    def __init__(self) -> None:
        self._tracing: list[tuple[Any, Compilable]] = []  # the layer that is called, and its cache
        self._trace_length = -1
        self._run: Callable[..., Any] | None = None

    def __call__(self, weights: list[mx.array], layer: Any, x: mx.array, mask: mx.array | None, cache: Compilable) -> mx.array:
        """Run the layer's `forward`: return its output, [1, S, H], and update `cache`."""
        if self._run is None or cache.trace_length != self._trace_length:  # the buffer has grown: drop traces for shorter ones
            # the list instead of `self`: a cycle would last until Python's garbage collector runs
            self._run, self._trace_length = mx.compile(partial(_trace, self._tracing)), cache.trace_length
        self._tracing.append((layer, cache))
        try:
            out, *left = self._run(x, cache.inputs(layer, x.dtype), mask, weights)
        finally:
            self._tracing.clear()
        cache.accept(layer, left)
        return out


def _trace(
    tracing: list[tuple[Any, Compilable]], x: mx.array, inputs: list[mx.array], mask: mx.array | None, weights: list[mx.array]
) -> list[mx.array]:
    """Return a layer's output and its cache's new arrays, from placeholders."""
    [(layer, adapter)] = tracing
    cache, places = adapter.traced(inputs), list(_places(layer))
    own = [holder[name] for holder, name, _ in places]
    for holder, name, index in places:
        holder[name] = weights[index]
    try:
        return [layer.forward(x, mask, cache), *cache.outputs()]
    finally:
        for (holder, name, _), array in zip(places, own, strict=True):
            holder[name] = array


class LayerFunctions:
    """The functions of a target's layers, now and before the last change of kernels."""

    def __init__(self) -> None:
        self._now: dict[Hashable, LayerFunction] = {}
        self._before: dict[Hashable, LayerFunction] = {}

    def compile(self, layers: Sequence[nn.Module]) -> list[Callable[..., mx.array]]:
        """Return a function for each layer: of the layer, x [1, S, H], mask, and cache."""
        known, self._before, self._now = {**self._before, **self._now}, self._now, {}
        found: list[Callable[..., mx.array]] = []
        for layer in layers:
            key = likeness(layer)
            function = self._now[key] = self._now.get(key) or known.get(key) or LayerFunction()
            found.append(partial(function, weights(layer)))
        return found


def weights(layer: nn.Module) -> list[mx.array]:
    """Every array of a layer, once."""
    return list({index: holder[name] for holder, name, index in _places(layer)}.values())


def likeness(layer: nn.Module) -> Hashable:
    """A key that two layers share if they compute the same with the same weights."""
    seen: dict[int, int] = {}

    def key(part: Any) -> Hashable:
        if isinstance(part, nn.Module):
            ignored = (*_IGNORED, *getattr(part, "ignored", ()))
            own = {**part, **vars(part)}
            return type(part), tuple(
                (name, _array_key(own[name], seen) or key(own[name])) for name in sorted(own) if name not in ignored
            )
        if isinstance(part, mx.array):  # inside a tuple, for example: becomes a constant of the trace
            return str(part.tolist()) if part.size <= _SMALL else _Unique(part)
        if isinstance(part, list | tuple):
            return type(part), tuple(key(each) for each in part)
        if isinstance(part, dict):
            return tuple((name, key(part[name])) for name in sorted(part))
        return part if isinstance(part, Hashable) else _Unique(part)

    return key(layer)


class _Unique:
    """A key that equals only a key of the same object."""

    def __init__(self, what: Any) -> None:
        self._what = what

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unique) and other._what is self._what

    def __hash__(self) -> int:
        return id(self._what)


def _array_key(value: Any, seen: dict[int, int]) -> Hashable:
    """Shape, dtype, and number of an array; None for anything else."""
    return (tuple(value.shape), str(value.dtype), seen.setdefault(id(value), len(seen))) if isinstance(value, mx.array) else None


def _places(layer: nn.Module) -> Iterator[tuple[nn.Module, str, int]]:
    """Module, name, and number of each of a layer's arrays; the same array has one number."""
    seen: dict[int, int] = {}

    def walk(part: Any) -> Iterator[tuple[nn.Module, str, int]]:
        if isinstance(part, nn.Module):
            for name in sorted(part):
                if isinstance(part[name], mx.array):
                    yield part, name, seen.setdefault(id(part[name]), len(seen))
                else:
                    yield from walk(part[name])
        elif isinstance(part, list | tuple):
            for each in part:
                yield from walk(each)
        elif isinstance(part, dict):
            for name in sorted(part):
                yield from walk(part[name])

    return walk(layer)
