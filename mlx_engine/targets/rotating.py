"""Sliding-window K/V caches (mlx-lm's `RotatingKVCache`).

A pass of one row overwrites the oldest row in place, so the buffer is a ring. A pass of several rows builds a new buffer in
temporal order: the window's last rows, then its own. mlx-lm's `trim` moves only the offsets and leaves the rejected rows in that
buffer, where they are taken for a ring's older part. Here they are cut off: what is left is the buffer that a pass of the kept rows
alone would have built. If none is kept, the state before the pass is put back.
"""

from typing import Any

from mlx_lm.models.cache import RotatingKVCache


class Undo:
    """How to take a pass of several rows back out of one cache; made before the pass.

    It holds the buffers from before the pass, which that pass only reads, until it is dropped.
    """

    def __init__(self, cache: RotatingKVCache) -> None:
        self._cache: Any = cache
        self._before = cache.state

    def rewind(self, rows: int, passed: int) -> None:
        """Drop the last `rows` of the `passed` tokens of the latest pass."""
        cache = self._cache
        if rows == passed:
            cache.state = self._before
            return
        held = cache.keys.shape[2]
        if cache._idx != held or rows > passed:
            raise ValueError(f"asked to drop {rows} of {passed} rows of a cache that is not in temporal order")
        cache.keys = cache.keys[..., : held - rows, :]
        cache.values = cache.values[..., : held - rows, :]
        cache.offset -= rows
        cache._idx -= rows
