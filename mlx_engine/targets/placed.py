"""A pass of several rows that begins at a place which only the device knows.

Every layer's cache gets a stand-in, each kind its own. `Caches.settle` tells the caches themselves once the host knows. Until then
they stay as they were before the pass, so that whoever stops in between finds them so.
"""

from typing import Any

from mlx_lm.models.cache import ArraysCache, CacheList, KVCache, RotatingKVCache

from mlx_engine.positions import Span
from mlx_engine.targets import compound, growing, recurrent, rotating

_KINDS: dict[type, Any] = {KVCache: growing.Placed, RotatingKVCache: rotating.Placed, ArraysCache: recurrent.Placed}


def placed(cache: Any, span: Span, before: Any = None) -> Any:
    """What stands for a layer's cache in a pass over `span`; `before` does in the pass before, if nobody has read that one."""
    if type(cache) is CacheList:
        others = before.parts if before is not None else [None] * len(cache.caches)
        return compound.Placed([placed(part, span, other) for part, other in zip(cache.caches, others, strict=True)])
    return _KINDS[type(cache)](cache, span, before)


class PlacedCaches:
    """What a pass over `span` runs on. `length` is how many tokens they hold at most before it."""

    def __init__(self, caches: list, span: Span, before: "PlacedCaches | None") -> None:
        others = before.layers if before is not None else [None] * len(caches)
        self.layers: list = [placed(cache, span, other) for cache, other in zip(caches, others, strict=True)]
        self.length = span.place.most

    def begin(self, rows: int) -> dict:
        """A pass follows; nothing is kept to take it back by `Caches.rewind`."""
        return {}

    def settle(self, start: int, kept: int) -> None:
        """The pass began at `start`, and its first `kept` rows, at least one, count: the caches hold those now."""
        for layer in self.layers:
            layer.settle(start, kept)
