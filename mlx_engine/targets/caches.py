"""The caches of all layers of a target."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import mlx.core as mx
from mlx_lm.models.cache import ArraysCache, CacheList, KVCache, RotatingKVCache

from mlx_engine.contract.limits import MAX_BLOCK_ROWS
from mlx_engine.hardware.device import DeviceSpan
from mlx_engine.kernels.verify_attention import ROWS
from mlx_engine.targets.cache_adapter import CacheAdapter, UnknownCache, arrays, fill_in_order
from mlx_engine.targets.compound import CompoundCache
from mlx_engine.targets.growing import GrowingCache
from mlx_engine.targets.image_rows import ImageRows
from mlx_engine.targets.recurrent import RecurrentCache
from mlx_engine.targets.rotating import RotatingCache

ADAPTERS: dict[type, Any] = {
    KVCache: GrowingCache,
    RotatingKVCache: RotatingCache,
    ArraysCache: RecurrentCache,
    CacheList: lambda cache: CompoundCache(cache, [adapter(part) for part in cache.caches]),
}


def adapter(cache: Any) -> CacheAdapter:
    """Return the adapter for one of mlx-lm's caches."""
    made: CacheAdapter = ADAPTERS.get(type(cache), UnknownCache)(cache)
    return made


class Caches:
    """The caches of a target, one per layer.

    Args:
        layers: mlx-lm's caches.
        rewindable: whether passes can be rewound; False for a target that supports only plain decoding.
        row_exact: creates the adapters for row-exact passes, whose blocks have 1 to 16 rows.

    Attributes:
        adapters: one adapter per layer.
        length: number of cached tokens, without unsettled passes.
    """

    def __init__(self, layers: list, rewindable: bool = True, row_exact: Callable[[Any], CacheAdapter] | None = None) -> None:
        self.layers = layers
        self.adapters = [(row_exact or adapter)(layer) for layer in layers]
        self.length = self._shift = 0
        self._rewindable = rewindable
        self._blocks = range(1, ROWS + 1) if row_exact else range(2, MAX_BLOCK_ROWS + 1)
        self._rows = 0  # in the latest pass
        self._unsettled = 0  # queued passes
        self._settled: tuple[int, int] | None = None  # start and kept rows of a settled pass not applied yet

    @property
    def shift(self) -> int:
        """What RoPE's position of the next row is above `length`.

        Images whose positions have three rows make it negative.
        """
        return self._shift

    @shift.setter
    def shift(self, shift: int) -> None:
        assert not shift or all(each.shifts for each in self.adapters), "a cache's rows can't be shifted"
        self._shift = shift
        for each in self.adapters:
            each.shift = shift

    @property
    def position(self) -> int:
        """RoPE's position of the next row."""
        return self.length + self._shift

    def begin(self, rows: int, span: DeviceSpan | None = None, images: ImageRows | None = None, packed: bool = False) -> list:
        """Prepare a pass and return the cache object for each layer.

        Args:
            rows: number of rows in the pass.
            span: rows of a queued pass, which must be settled before any other kind of pass begins; None for a normal pass.
            images: images among the rows, which then can't be rewound.
            packed: whether the pass has rows of other streams.
        """
        if span is not None:
            self._unsettled += 1
            if self._shift:
                span = replace(span, turned=span.turned + self._shift)
            return [each.place(span) for each in self.adapters]
        self._rows = rows
        self.length += rows
        if images is not None:
            return [images.cache(each.begin(False)) for each in self.adapters]
        block = self._rewindable and rows in self._blocks
        return [each.begin(block or (packed and each.packs_blocks)) for each in self.adapters]

    def rewind(self, rows: int) -> None:
        """Drop the last `rows` rows of the latest pass and its rollback state.

        If any cache isn't a growing one, only a block can be rewound.

        Raises:
            ValueError: the pass can't be rewound.
        """
        for each in self.adapters:
            each.rewind(rows, self._rows)
        self.length -= rows

    def settle(self, length: int) -> None:
        """Record that the oldest queued pass leaves `length` tokens.

        The adapters are updated only after the last queued pass: until then, each pass starts from the state on the device.
        """
        self._settled = self.length, length - self.length
        self._unsettled -= 1
        self.length = length
        if not self._unsettled:
            self.finish()

    def finish(self) -> None:
        """Move every cache to the end of the last settled pass and discard later ones."""
        settled, discarded, self._settled, self._unsettled = self._settled, self._unsettled, None, 0
        for each in self.adapters:
            if settled is None:
                each.release()
            else:
                each.settle(*settled, discarded)

    def check(self) -> None:
        """Check that every cache can be rewound. See `CacheAdapter.check`."""
        for each in self.adapters:
            each.check()

    @property
    def can_cut(self) -> bool:
        """Whether every layer can drop all tokens after an earlier position."""
        return all(each.can_cut for each in self.adapters)

    def freeze(self) -> dict[int, Any]:
        """Return snapshots of the layers that can't be cut, by layer index."""
        return {index: each.freeze() for index, each in enumerate(self.adapters) if not each.can_cut}

    def thaw(self, frozen: dict[int, Any]) -> None:
        """Restore snapshots from `freeze`."""
        for index, state in frozen.items():
            self.adapters[index].thaw(state)

    def cut(self, length: int) -> None:
        """Drop every token from position `length` on, in layers that can be cut."""
        for each in self.adapters:
            each.cut(length)
        self.length = length

    def rows(self, start: int, end: int) -> list[mx.array]:
        """Return the cached rows of these positions, in layers that can be cut."""
        return [array for each in self.adapters for array in each.rows(start, end)]

    def fill(self, pieces: Sequence[Sequence[mx.array]], length: int) -> None:
        """Fill empty caches with `length` tokens, in layers that can be cut.

        Args:
            pieces: the `rows` of consecutive positions.
            length: number of tokens.
        """
        fill_in_order(self.adapters, pieces, length)
        self.length = length

    def copy(self, other: "Caches", length: int) -> None:
        """Fill empty caches with the first tokens of others, in layers that can be cut."""
        self.fill([other.rows(0, length)], length)

    def grow(self, depth: int) -> None:
        """Fill every cache up to `depth` tokens, to measure passes at that depth."""
        for each in self.adapters:
            each.grow(depth)
        self.length = depth

    @property
    def state(self) -> list[mx.array]:
        """All cached arrays, to evaluate."""
        return arrays([layer.state for layer in self.layers])
