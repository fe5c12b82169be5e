"""Layers that differ in their weights alone, as one compiled function that is given the weights.

Building a pass one operation after the other keeps the host about as long as a device runs the pass of a small target, and longer
where kernels are in use, whose signatures MLX writes anew at every call. A compiled function is traced once for every set of
shapes, and its graph is copied from then on. Traced as a whole, a round would hold up the rounds behind it for longer than it runs;
one layer that stands for all of its kind is traced in the time that it takes to build it.

Whatever two layers of a kind differ in is an input: weights, what their caches hold, and the place. While the function is traced,
its layer holds stand-ins for its weights.
"""

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Protocol

import mlx.core as mx
import mlx.nn as nn

_SMALL = 1024  # numbers of an array that is no weight, up to which layers are alike if theirs are the same
_ASIDE = ("_no_grad", "_training")  # of every module, and no part of its forward


def pays() -> bool:
    """Whether a device runs one pass while the host builds the next.

    A CPU does one after the other, and MLX would first have a C++ compiler fuse its small operations.
    """
    return mx.default_device().type == mx.gpu


class Held(Protocol):
    """What stands for a layer's cache in a pass (`targets/placed.py`), for a layer that is compiled."""

    view: int  # what is fixed in a trace and may change from pass to pass

    def given(self, layer: Any, dtype: mx.Dtype) -> list[mx.array]:
        """The arrays that the layer begins with; x is of `dtype`."""
        ...

    def stand_in(self, given: list[mx.array]) -> Any:
        """What the layer is traced with instead."""
        ...

    def left(self) -> list[mx.array]:
        """The arrays that the layer left here."""
        ...

    def take(self, layer: Any, left: list[mx.array]) -> None:
        """Hold those."""
        ...


class Kind:
    """The compiled function of all layers that are like `layer`, whose `forward` computes them operation by operation."""

    def __init__(self, layer: Any) -> None:
        self._layer: Any = layer
        self._places = list(_places(layer))
        self._now: Any = None  # whose numbers, unlike its arrays, are those of every layer of the kind in this pass
        self._view = -1
        self._run: Any = None

    def __call__(self, layer: Any, weights: list[mx.array], x: mx.array, mask: mx.array | None, cache: Held) -> mx.array:
        """A layer's output, [1, S, H]; `cache` holds afterwards what it leaves."""
        if cache.view != self._view:  # then its buffer has grown, and traces for shorter ones will hardly be of use again
            self._run, self._view = mx.compile(self._traced), cache.view
        self._now = cache
        try:
            out, *left = self._run(x, cache.given(layer, x.dtype), mask, weights)
        finally:
            self._now = None
        cache.take(layer, left)
        return out

    def _traced(self, x: mx.array, given: list[mx.array], mask: mx.array | None, weights: list[mx.array]) -> list[mx.array]:
        cache = self._now.stand_in(given)
        own = [holder[name] for holder, name, _ in self._places]
        for holder, name, index in self._places:
            holder[name] = weights[index]
        try:
            return [self._layer.forward(x, mask, cache), *cache.left()]
        finally:
            for (holder, name, _), array in zip(self._places, own, strict=True):
                holder[name] = array


class Compiled:
    """One layer of a kind: called as x [1, S, H], mask and cache."""

    def __init__(self, layer: Any, kind: Kind) -> None:
        self._layer, self._kind = layer, kind
        self._weights = weights(layer)

    def __call__(self, x: mx.array, mask: mx.array | None, cache: Held) -> mx.array:
        """As the layer's own forward."""
        return self._kind(self._layer, self._weights, x, mask, cache)


def compiled(layers: Sequence[Any]) -> list[Compiled]:
    """These layers as they are now, one function for all that are alike."""
    kinds: dict[Hashable, Kind] = {}
    return [Compiled(layer, kinds.setdefault(likeness(layer), Kind(layer))) for layer in layers]


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
            return str(part.tolist()) if part.size <= _SMALL else id(part)
        if isinstance(part, list | tuple):
            return type(part), tuple(of(each) for each in part)
        if isinstance(part, dict):
            return tuple((name, of(part[name])) for name in sorted(part))
        return part if isinstance(part, Hashable) else id(part)

    return of(layer)


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
