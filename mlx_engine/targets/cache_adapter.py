"""Rewinding, queued passes, and snapshots for mlx-lm's caches.

Each kind of cache has one adapter class. A *queued* pass is built before the host has read the previous pass, so only the device
knows where the queued pass starts. It is placed first and settled once its kept rows are known.
"""

import copy
from collections.abc import Sequence
from typing import Any

import mlx.core as mx

from mlx_engine.contract.errors import UserError
from mlx_engine.hardware.device import DeviceSpan


class CacheAdapter:
    """Base class of the adapters for one layer's cache.

    Args:
        cache: mlx-lm's cache. Between passes, its `state` is complete.
    """

    can_cut = False  # whether all tokens after an earlier position can be dropped
    row_arrays = 0  # number of arrays that `rows` returns
    shift = 0  # see `Caches.shift`
    shifts = False  # whether passes follow it
    packs_blocks = False  # whether passes of several streams must be rewindable

    def __init__(self, cache: Any) -> None:
        self.cache = cache

    def check(self) -> None:
        """Check that the cache can be rewound.

        Raises:
            UserError: this kind of cache can't be rewound.
        """

    def begin(self, block: bool) -> Any:
        """Prepare a pass and return the cache object to pass to the layer.

        Args:
            block: whether the pass must be rewindable.
        """
        return self.cache

    def rewind(self, rows: int, passed: int) -> None:
        """Drop the last `rows` rows of the latest pass, which had `passed` rows.

        Also discards the saved rollback state.
        """

    def place(self, span: DeviceSpan) -> Any:
        """Prepare a queued pass over `span` and return the cache object for the layer.

        Earlier queued passes may still be unsettled. The cache must not be empty. Apart from its spare rows, its contents stay
        unchanged until `settle`.
        """

    def settle(self, start: int, kept: int, discarded: int) -> None:
        """Move the cache to the end of a queued pass.

        Args:
            start: position of the pass's first row.
            kept: number of the pass's leading rows to keep, at least 1.
            discarded: number of later queued passes to discard.
        """

    def release(self) -> None:
        """Discard all queued passes and all saved rollback state."""

    def freeze(self) -> Any:
        """Return a copy-on-write snapshot of the state."""
        return _copy_handles(self.cache.state)

    def thaw(self, frozen: Any) -> None:
        """Restore a snapshot from `freeze`. The snapshot stays valid."""
        self.cache.state = _copy_handles(frozen)

    def cut(self, length: int) -> None:
        """Drop every token from position `length` on, if `can_cut`."""

    def rows(self, start: int, end: int) -> list[mx.array]:
        """Return the cached keys and values of these positions; empty unless `can_cut`."""
        return []

    def fill(self, pieces: Sequence[Sequence[mx.array]], length: int) -> None:
        """Fill this empty cache with `length` tokens.

        Each piece has the `rows` of consecutive positions. The cache then has spare rows, so the next write copies nothing. Does
        nothing unless `can_cut`.
        """

    def grow(self, depth: int) -> None:
        """Repeat the cached rows up to `depth` tokens, to measure passes at that depth."""


class UnknownCache(CacheAdapter):
    """Adapter of a cache that supports only plain decoding."""

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


def fill_in_order(adapters: Sequence[CacheAdapter], pieces: Sequence[Sequence[mx.array]], length: int) -> None:
    """Fill empty caches with `length` tokens.

    Each piece has the `rows` of all caches, in order.
    """
    at = 0
    for each in adapters:
        each.fill([piece[at : at + each.row_arrays] for piece in pieces], length)
        at += each.row_arrays


def arrays(state: Any) -> list[mx.array]:
    """Return every array in a nested state."""
    if isinstance(state, mx.array):
        return [state]
    return [array for part in state for array in arrays(part)] if isinstance(state, list | tuple) else []


def repeated(array: mx.array, rows: int) -> mx.array:
    """Repeat an array [1, H, n, D] along its rows, up to [1, H, rows, D]."""
    return mx.contiguous(mx.tile(array, (1, 1, -(-rows // array.shape[2]), 1))[:, :, :rows])


def _copy_handles(state: Any) -> Any:
    """Copy containers and array handles, but no buffers.

    MLX copies a shared buffer on write, so a write through one handle doesn't affect the others.
    """
    if isinstance(state, mx.array):
        return copy.copy(state)
    return type(state)(_copy_handles(part) for part in state) if isinstance(state, list | tuple) else state
