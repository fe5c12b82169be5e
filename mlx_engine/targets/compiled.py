"""One compiled function for all layers that differ only in their weights.

Building the graph of a small target one operation at a time takes the host about as long as the device needs to run it, and longer
with kernels, because MLX rebuilds a kernel's signature on every call. A compiled function is traced once per set of shapes; later
calls only copy its graph. Tracing one layer takes no longer than building it, whereas tracing a whole round would stall the next.

Everything that differs between layers is an input: weights, cache contents, and positions. During a trace, the layer holds
placeholders for its weights.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from functools import partial
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from mlx_engine.targets.growing import GrowingCache
from mlx_engine.targets.recurrent import RecurrentCache

_SMALL = 1024  # elements up to which a constant array is compared by value
_IGNORED = ("_no_grad", "_training")  # module attributes that don't affect the forward pass
Compilable = GrowingCache | RecurrentCache


class LayerFunction:
    """A compiled function shared by identical layers.

    Holds no reference to the layers, so that a target's weights are freed with the target.
    """

    def __init__(self) -> None:
        self._tracing: list[tuple[Any, Compilable]] = []  # the called layer and its cache
        self._trace_length = -1
        self._run: Callable[..., Any] | None = None

    def __call__(self, weights: list[mx.array], layer: Any, x: mx.array, mask: mx.array | None, cache: Compilable) -> mx.array:
        """Run the layer's `forward`, update `cache`, and return the output, [1, S, H]."""
        if self._run is None or cache.trace_length != self._trace_length:  # the buffer grew: old traces are useless
            # Bind the list, not `self`: a cycle would live until garbage collection
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
    """Return a layer's output and its cache's new arrays."""
    [(layer, adapter)] = tracing
    cache, slots = adapter.traced(inputs), list(_array_slots(layer))
    own = [holder[name] for holder, name, _ in slots]
    for holder, name, index in slots:
        holder[name] = weights[index]
    try:
        return [layer.forward(x, mask, cache), *cache.outputs()]
    finally:
        for (holder, name, _), array in zip(slots, own, strict=True):
            holder[name] = array


class LayerFunctions:
    """The compiled functions of a target's layers.

    The functions for the previous kernels are kept, so that switching back needs no new trace.
    """

    def __init__(self) -> None:
        self._now: dict[Hashable, LayerFunction] = {}
        self._before: dict[Hashable, LayerFunction] = {}

    def compile(self, layers: Sequence[nn.Module]) -> list[Callable[..., mx.array]]:
        """Return a function (layer, x [1, S, H], mask, cache) for each layer."""
        known, self._before, self._now = {**self._before, **self._now}, self._now, {}
        found: list[Callable[..., mx.array]] = []
        for layer in layers:
            key = layer_key(layer)
            function = self._now[key] = self._now.get(key) or known.get(key) or LayerFunction()
            found.append(partial(function, weights(layer)))
        return found


def weights(layer: nn.Module) -> list[mx.array]:
    """Return every distinct array of a layer."""
    return list({index: holder[name] for holder, name, index in _array_slots(layer)}.values())


def layer_key(layer: nn.Module) -> Hashable:
    """Return a key that two layers share if they differ only in their weights."""
    seen: dict[int, int] = {}

    def key(part: Any) -> Hashable:
        if isinstance(part, nn.Module):
            ignored = (*_IGNORED, *getattr(part, "ignored", ()))
            own = {**part, **vars(part)}
            return type(part), tuple(
                (name, _array_key(own[name], seen) or key(own[name])) for name in sorted(own) if name not in ignored
            )
        if isinstance(part, mx.array):  # not an attribute of a module, so a constant of the trace
            return str(part.tolist()) if part.size <= _SMALL else _Unique(part)
        if isinstance(part, list | tuple):
            return type(part), tuple(key(each) for each in part)
        if isinstance(part, dict):
            return tuple((name, key(part[name])) for name in sorted(part))
        return part if isinstance(part, Hashable) else _Unique(part)

    return key(layer)


class _Unique:
    """A key that equals only keys of the same object."""

    def __init__(self, what: Any) -> None:
        self._what = what

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unique) and other._what is self._what

    def __hash__(self) -> int:
        return id(self._what)


def _array_key(value: Any, seen: dict[int, int]) -> Hashable:
    """Return an array's shape, dtype, and index in `seen`; None for other values."""
    return (tuple(value.shape), str(value.dtype), seen.setdefault(id(value), len(seen))) if isinstance(value, mx.array) else None


def _array_slots(layer: nn.Module) -> Iterator[tuple[nn.Module, str, int]]:
    """Yield (module, name, number) for each array of a layer.

    Numbers follow first use; an array that occurs twice keeps its number.
    """
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
