"""What Slipstream adds to mlx-lm's caches: rewinding, queued passes, and snapshots.

Each kind of cache has one adapter class.
"""

import copy
from typing import Any

import mlx.core as mx

from mlx_engine.device import DeviceSpan
from mlx_engine.errors import UserError


class CacheAdapter:
    """One layer's cache; the base class of all adapters.

    Args:
        cache: mlx-lm's cache. Between two passes, its `state` is everything that it holds.
    """

    can_cut = False  # whether the tokens after any earlier one can be dropped

    def __init__(self, cache: Any) -> None:
        self.cache = cache

    def check(self) -> None:
        """Refuse a kind of cache that cannot be rewound.

        Raises:
            UserError: names the kind.
        """

    def begin(self, block: bool) -> Any:
        """Prepare a pass, and return what the layer runs on. A `block` can be rewound."""
        return self.cache

    def rewind(self, rows: int, passed: int) -> None:
        """Drop the last `rows` of the latest pass's `passed` rows, and what was kept for it."""

    def place(self, span: DeviceSpan) -> Any:
        """Prepare a pass over `span`, and return what the layer runs on.

        The pass may follow passes that are not settled. The cache is not empty, and keeps its contents until `settle`, except for
        its spare rows.
        """

    def settle(self, start: int, kept: int, discarded: int) -> None:
        """Bring the cache to the end of a placed pass.

        Args:
            start: where the pass began.
            kept: how many of its first rows count, at least one.
            discarded: how many passes were placed after it and are discarded.
        """

    def release(self) -> None:
        """Discard placed passes, and what was kept of earlier ones."""

    def freeze(self) -> Any:
        """Return the state. MLX copies a shared buffer when the cache writes to it."""
        return _copy_handles(self.cache.state)

    def thaw(self, frozen: Any) -> None:
        """Restore a state from `freeze`, which stays valid."""
        self.cache.state = _copy_handles(frozen)

    def cut(self, length: int) -> None:
        """Drop every token from `length` on; does nothing unless `can_cut`."""

    def fill(self, source: "CacheAdapter", length: int) -> None:
        """Copy the first `length` tokens of another cache into this empty one.

        Does nothing unless `can_cut`. The rows go into arrays with spare rows, so that the next write to either cache copies
        nothing.
        """

    def grow(self, depth: int) -> None:
        """Repeat what the cache holds up to `depth` tokens, to measure passes at that depth."""


class UnknownCache(CacheAdapter):
    """A kind of cache that only plain decoding can use."""

    def check(self) -> None:
        raise UserError(
            "cache_cannot_rewind",
            "This target uses a {kind}, which Slipstream can't rewind after rejected tokens. Load it without a drafter, or choose "
            "another target.",
            kind=type(self.cache).__name__,
        )

    def rewind(self, rows: int, passed: int) -> None:
        if rows:
            self.check()


def arrays(state: Any) -> list[mx.array]:
    """Every array in a nested state."""
    if isinstance(state, mx.array):
        return [state]
    return [array for part in state for array in arrays(part)] if isinstance(state, list | tuple) else []


def repeated(array: mx.array, rows: int) -> mx.array:
    """Repeat an array [1, H, n, D] along its rows, up to [1, H, rows, D]."""
    return mx.contiguous(mx.tile(array, (1, 1, -(-rows // array.shape[2]), 1))[:, :, :rows])


def _copy_handles(state: Any) -> Any:
    """Copy containers and array handles, but no buffers.

    Assigning to a slice changes only the handle that it goes through.
    """
    if isinstance(state, mx.array):
        return copy.copy(state)
    return type(state)(_copy_handles(part) for part in state) if isinstance(state, list | tuple) else state
