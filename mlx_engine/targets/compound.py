"""Adapter of mlx-lm's `CacheList`, a cache made of several caches."""

from collections.abc import Sequence
from typing import Any

import mlx.core as mx

from mlx_engine.hardware.device import DeviceSpan
from mlx_engine.targets.cache_adapter import CacheAdapter, fill_in_order


class CompoundCache(CacheAdapter):
    """Adapter of a `CacheList`, which sparse attention uses.

    Forwards calls to all parts.

    Args:
        cache: mlx-lm's cache.
        parts: the adapters of the parts.
    """

    def __init__(self, cache: Any, parts: Sequence[CacheAdapter]) -> None:
        super().__init__(cache)
        self.parts = parts
        self.can_cut = all(part.can_cut for part in parts)
        self.row_arrays = sum(part.row_arrays for part in parts)

    def __getitem__(self, index: int) -> CacheAdapter:
        return self.parts[index]

    def check(self) -> None:
        for part in self.parts:
            part.check()

    def begin(self, block: bool) -> Any:
        for part in self.parts:
            part.begin(block)
        return self.cache

    def rewind(self, rows: int, passed: int) -> None:
        for part in self.parts:
            part.rewind(rows, passed)

    def place(self, span: DeviceSpan) -> "CompoundCache":
        for part in self.parts:
            part.place(span)
        return self

    def settle(self, start: int, kept: int, discarded: int) -> None:
        for part in self.parts:
            part.settle(start, kept, discarded)

    def release(self) -> None:
        for part in self.parts:
            part.release()

    def freeze(self) -> list:
        return [part.freeze() for part in self.parts]

    def thaw(self, frozen: list) -> None:
        for part, state in zip(self.parts, frozen, strict=True):
            part.thaw(state)

    def cut(self, length: int) -> None:
        for part in self.parts:
            part.cut(length)

    def rows(self, start: int, end: int) -> list[mx.array]:
        return [array for part in self.parts for array in part.rows(start, end)]

    def fill(self, pieces: Sequence[Sequence[mx.array]], length: int) -> None:
        fill_in_order(self.parts, pieces, length)

    def grow(self, depth: int) -> None:
        for part in self.parts:
            part.grow(depth)
