"""A target's caches, all layers together."""

from collections.abc import Callable
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import ArraysCache, CacheList, KVCache, RotatingKVCache

from mlx_engine.device import DeviceSpan
from mlx_engine.kernels.verify_attention import ROWS
from mlx_engine.limits import MAX_BLOCK_ROWS
from mlx_engine.targets.adapter import CacheAdapter, UnknownCache, arrays
from mlx_engine.targets.compound import CompoundCache
from mlx_engine.targets.growing import GrowingCache
from mlx_engine.targets.recurrent import RecurrentCache
from mlx_engine.targets.rotating import RotatingCache

ADAPTERS: dict[type, Any] = {
    KVCache: GrowingCache,
    RotatingKVCache: RotatingCache,
    ArraysCache: RecurrentCache,
    CacheList: lambda cache: CompoundCache(cache, [adapter(part) for part in cache.caches]),
}


def adapter(cache: Any) -> CacheAdapter:
    """The adapter for one of mlx-lm's caches."""
    made: CacheAdapter = ADAPTERS.get(type(cache), UnknownCache)(cache)
    return made


class Caches:
    """A target's caches, one per layer.

    Args:
        layers: mlx-lm's caches.
        rewindable: whether passes can be rewound; False for a target that only decodes plainly.
        row_exact: returns the adapter of a layer's cache for row-exact passes. Blocks then have 1 to 16 rows.

    Attributes:
        adapters: one per layer.
        length: number of tokens held, not counting passes that are not settled.
    """

    def __init__(self, layers: list, rewindable: bool = True, row_exact: Callable[[Any], CacheAdapter] | None = None) -> None:
        self.layers = layers
        self.adapters = [(row_exact or adapter)(layer) for layer in layers]
        self.length = 0
        self._rewindable = rewindable
        self._blocks = range(1, ROWS + 1) if row_exact else range(2, MAX_BLOCK_ROWS + 1)
        self._rows = 0  # of the latest pass
        self._unsettled = 0  # placed passes
        self._settled: tuple[int, int] | None = None  # start and kept rows of a pass that the adapters don't know yet

    def begin(self, rows: int, span: DeviceSpan | None = None) -> list:
        """Prepare a pass, and return what each layer runs on.

        With a `span`, the pass is placed: it may begin behind another one that the host has not read, and it has to be settled.
        Until then, no other kind of pass may begin.
        """
        if span is not None:
            self._unsettled += 1
            return [each.place(span) for each in self.adapters]
        self._rows = rows
        self.length += rows
        block = self._rewindable and rows in self._blocks
        return [each.begin(block) for each in self.adapters]

    def rewind(self, rows: int) -> None:
        """Drop the last `rows` rows of the latest pass, as if they had never been seen.

        What was kept for rewinding is dropped too. Only a block can be rewound, unless all caches grow.

        Raises:
            ValueError: the pass cannot be rewound.
        """
        for each in self.adapters:
            each.rewind(rows, self._rows)
        self.length -= rows

    def settle(self, length: int) -> None:
        """Say that the first unsettled pass leaves `length` tokens.

        While another pass is placed behind it, the adapters are not told, because that pass goes on from what is on the device.
        """
        self._settled = self.length, length - self.length
        self._unsettled -= 1
        self.length = length
        if not self._unsettled:
            self.finish()

    def finish(self) -> None:
        """Bring every cache to the end of the last settled pass, and discard later passes."""
        settled, discarded, self._settled, self._unsettled = self._settled, self._unsettled, None, 0
        for each in self.adapters:
            if settled is None:
                each.release()
            else:
                each.settle(*settled, discarded)

    def check(self) -> None:
        """Refuse a kind of cache that cannot be rewound; see `CacheAdapter.check`."""
        for each in self.adapters:
            each.check()

    @property
    def can_cut(self) -> bool:
        """Whether every layer can drop the tokens after any earlier one."""
        return all(each.can_cut for each in self.adapters)

    def freeze(self) -> dict[int, Any]:
        """The present state of the layers that cannot be cut."""
        return {index: each.freeze() for index, each in enumerate(self.adapters) if not each.can_cut}

    def thaw(self, frozen: dict[int, Any]) -> None:
        """Restore what `freeze` returned."""
        for index, state in frozen.items():
            self.adapters[index].thaw(state)

    def cut(self, length: int) -> None:
        """Drop every token from `length` on, in the layers that can be cut."""
        for each in self.adapters:
            each.cut(length)
        self.length = length

    def fill(self, source: "Caches", length: int) -> None:
        """Copy the first `length` tokens into these empty caches, where layers can be cut."""
        for each, other in zip(self.adapters, source.adapters, strict=True):
            each.fill(other, length)
        self.length = length

    def grow(self, depth: int) -> None:
        """Fill every cache up to `depth` tokens, to measure passes at that depth."""
        for each in self.adapters:
            each.grow(depth)
        self.length = depth

    @property
    def state(self) -> list[mx.array]:
        """Every array held, to evaluate."""
        return arrays([layer.state for layer in self.layers])
