"""Caches that hold several caches (mlx-lm's `CacheList`, for sparse attention with an indexer): each part rewinds its own way."""

from collections.abc import Sequence
from typing import Any, Protocol


class Part(Protocol):
    """How to take a pass back out of one part."""

    def rewind(self, rows: int, passed: int) -> None:
        """Drop the last `rows` of the `passed` tokens of the latest pass."""
        ...


class Undo:
    """How to take a pass back out of all parts."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts

    def rewind(self, rows: int, passed: int) -> None:
        """Drop the last `rows` of the `passed` tokens of the latest pass."""
        for part in self._parts:
            part.rewind(rows, passed)


class Placed:
    """Stands for all parts in a pass that begins at a place which only the device knows; see `placed.py`."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self.parts = parts

    def __getitem__(self, index: int) -> Any:
        return self.parts[index]

    def settle(self, start: int, kept: int) -> None:
        """The pass began at `start`, and its first `kept` rows count."""
        for part in self.parts:
            part.settle(start, kept)
