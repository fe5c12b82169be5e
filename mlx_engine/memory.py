"""Memory limits: the working set, the budget for snapshots, wired memory, and what to do when memory runs out."""

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import mlx.core as mx

from mlx_engine.errors import EngineText, UserError

_CPU_SHARE = 3 / 4  # of physical memory, about as much as Metal recommends
_SNAPSHOT_SHARE = 1 / 2  # of the working set without the weights; the other half is for the running reply
_SPARE_SHARE = 1 / 16  # of the working set, for buffers that MLX keeps for its next arrays
_EXHAUSTED = ("insufficient memory", "out of memory", "[malloc", "metal::malloc", "unable to allocate")  # in MLX's messages


def working_set() -> int:
    """Bytes that models, caches, and buffers may take together on this machine; Metal recommends a number."""
    return _recommended() or int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _CPU_SHARE)


def _recommended() -> int:
    return int(mx.device_info().get("max_recommended_working_set_size", 0))


def snapshot_budget(weights: int) -> int:
    """Bytes for snapshots next to `weights` bytes of weights."""
    return max(int((working_set() - weights) * _SNAPSHOT_SHARE), 0)


def bound_spare_buffers() -> None:
    """Let MLX keep at most a sixteenth of the working set in unused buffers. A lower limit stays."""
    bound = int(working_set() * _SPARE_SHARE)
    before = mx.set_cache_limit(bound)
    if before < bound:
        mx.set_cache_limit(before)


@contextmanager
def wired() -> Iterator[None]:
    """Keep the working set resident on Metal inside the block, so that weights are not paged out between passes."""
    recommended = _recommended()
    if not recommended:
        yield
        return
    before = mx.set_wired_limit(recommended)
    try:
        yield
    finally:
        mx.synchronize()  # running work may use memory that would be released
        mx.set_wired_limit(before)


def exhausted(error: Exception) -> bool:
    """Whether an error means that memory ran out."""
    return isinstance(error, MemoryError) or any(words in str(error).lower() for words in _EXHAUSTED)


@contextmanager
def enough_for(failure: EngineText) -> Iterator[None]:
    """Raise `failure` if memory runs out inside the block, and free what the block has made.

    Raises:
        UserError: memory ran out.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not exhausted(error):
            raise
        traceback.clear_frames(error.__traceback__)  # they hold what the block has made
        mx.clear_cache()
        raise UserError.of(failure) from None


def held() -> int:
    """Bytes that MLX holds in arrays and unused buffers."""
    return mx.get_active_memory() + mx.get_cache_memory()
