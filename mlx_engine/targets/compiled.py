"""Layers that differ in their weights alone, as one compiled function that is given the weights.

Building a pass one operation after the other keeps the host about as long as a device runs the pass of a small target, and longer
where kernels are in use, whose signatures MLX writes anew at every call. A compiled function is traced once for every set of
shapes, and its graph is copied from then on. Traced as a whole, a round would hold up the rounds behind it for longer than it runs;
one layer that stands for all of its kind is traced in the time that it takes to build it.

Whatever two layers of a kind differ in is an input: weights, what their caches hold, and the place. While the function is traced,
its layer holds stand-ins for its weights.
"""

import weakref
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from mlx_engine.targets.growing import GrowingCache
from mlx_engine.targets.recurrent import RecurrentCache

_SMALL = 1024  # numbers of an array that is no weight, up to which layers are alike if theirs are the same
_ASIDE = ("_no_grad", "_training")  # of every module, and no part of its forward


Compilable = GrowingCache | RecurrentCache


class Kind:
    """The compiled function of layers that are all alike.

    It holds none of them, so that a target's weights go when it does, whatever else is held.
    """

    def __init__(self) -> None:
        self._now: tuple[Any, Any] | None = None  # what is traced, if it is: a layer, and what stands for its cache
        self._view = -1
        self._run: Any = None

    def __call__(self, layer: Any, weights: list[mx.array], x: mx.array, mask: mx.array | None, cache: Compilable) -> mx.array:
        """A layer's output, [1, S, H], as its `forward` computes it; `cache` holds afterwards what it leaves."""
        if cache.trace_length != self._view:  # then its buffer has grown, and traces for shorter ones will hardly be of use again
            kind = weakref.ref(self)  # a cycle would last until Python looks for cycles
            self._run, self._view = mx.compile(lambda *given: _traced(kind(), *given)), cache.trace_length
        self._now = layer, cache  # whose numbers, unlike its arrays, are those of every layer of the kind in this pass
        try:
            out, *left = self._run(x, cache.inputs(layer, x.dtype), mask, weights)
        finally:
            self._now = None
        cache.accept(layer, left)
        return out

    def trace(self, x: mx.array, given: list[mx.array], mask: mx.array | None, weights: list[mx.array]) -> list[mx.array]:
        """The layer's output and what it leaves, from stand-ins for all arrays that take part."""
        assert self._now is not None
        layer, held = self._now
        cache, places = held.traced(given), list(_places(layer))
        own = [holder[name] for holder, name, _ in places]
        for holder, name, index in places:
            holder[name] = weights[index]
        try:
            return [layer.forward(x, mask, cache), *cache.outputs()]
        finally:
            for (holder, name, _), array in zip(places, own, strict=True):
                holder[name] = array


def _traced(kind: Kind | None, *given: Any) -> list[mx.array]:
    assert kind is not None  # it is being called
    return kind.trace(*given)


class Compiled:
    """What a layer of a kind is called through: with the layer, x [1, S, H], mask and cache."""

    def __init__(self, layer: nn.Module, kind: Kind) -> None:
        self._kind = kind
        self._weights = weights(layer)

    def __call__(self, layer: Any, x: mx.array, mask: mx.array | None, cache: Compilable) -> mx.array:
        """As the layer's own forward."""
        return self._kind(layer, self._weights, x, mask, cache)


class Kinds:
    """The kinds of a target's layers, as they are now and as they were before, for what runs may change to and fro."""

    def __init__(self) -> None:
        self._now: dict[Hashable, Kind] = {}
        self._before: dict[Hashable, Kind] = {}

    def of(self, layers: Sequence[nn.Module]) -> list[Compiled]:
        """These layers as they are now, one function for all that are alike."""
        known, self._before, self._now = {**self._before, **self._now}, self._now, {}
        found = []
        for layer in layers:
            key = likeness(layer)
            kind = self._now[key] = self._now.get(key) or known.get(key) or Kind()
            found.append(Compiled(layer, kind))
        return found


def weights(layer: nn.Module) -> list[mx.array]:
    """Every array of a layer, once."""
    return list({index: holder[name] for holder, name, index in _places(layer)}.values())


def likeness(layer: nn.Module) -> Hashable:
    """What two layers have in common if, and only if, they compute the same with the same weights."""
    seen: dict[int, int] = {}

    def of(part: Any) -> Hashable:
        if isinstance(part, nn.Module):
            aside = (*_ASIDE, *getattr(part, "aside", ()))
            own = {**part, **vars(part)}
            return type(part), tuple((name, _array(own[name], seen) or of(own[name])) for name in sorted(own) if name not in aside)
        if isinstance(part, mx.array):  # in a tuple, say: traced as it is
            return str(part.tolist()) if part.size <= _SMALL else _Itself(part)
        if isinstance(part, list | tuple):
            return type(part), tuple(of(each) for each in part)
        if isinstance(part, dict):
            return tuple((name, of(part[name])) for name in sorted(part))
        return part if isinstance(part, Hashable) else _Itself(part)

    return of(layer)


class _Itself:
    """Something that is like nothing but itself."""

    def __init__(self, what: Any) -> None:
        self._what = what

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and other._what is self._what

    def __hash__(self) -> int:
        return id(self._what)


def _array(value: Any, seen: dict[int, int]) -> Hashable:
    """Shape, dtype, and which of the arrays that were met it is; None for what is no array."""
    return (tuple(value.shape), str(value.dtype), seen.setdefault(id(value), len(seen))) if isinstance(value, mx.array) else None


def _places(layer: nn.Module) -> Iterator[tuple[nn.Module, str, int]]:
    """Where a layer's arrays are: module, name, and which of them it is, as one may be in several places."""
    seen: dict[int, int] = {}

    def of(part: Any) -> Iterator[tuple[nn.Module, str, int]]:
        if isinstance(part, nn.Module):
            for name in sorted(part):
                if isinstance(part[name], mx.array):
                    yield part, name, seen.setdefault(id(part[name]), len(seen))
                else:
                    yield from of(part[name])
        elif isinstance(part, list | tuple):
            for each in part:
                yield from of(each)
        elif isinstance(part, dict):
            for name in sorted(part):
                yield from of(part[name])

    return of(layer)
