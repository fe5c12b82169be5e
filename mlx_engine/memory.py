"""Memory limits, and recovery when memory runs out."""

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import mlx.core as mx

from mlx_engine.errors import EngineText, UserError

_CPU_SHARE = 3 / 4  # of physical memory, about what Metal recommends
_SPARE_SHARE = 1 / 16  # of the working set, for buffers that MLX reuses
_EXHAUSTED = ("insufficient memory", "out of memory", "[malloc", "metal::malloc", "unable to allocate")  # in MLX's messages


def working_set() -> int:
    """Return the bytes that models, caches, and buffers may use together."""
    return _recommended() or int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _CPU_SHARE)


def _recommended() -> int:
    return int(mx.device_info().get("max_recommended_working_set_size", 0))


def bound_spare_buffers() -> None:
    """Limit MLX's unused buffers to a share of the working set. Lower limits stay."""
    bound = int(working_set() * _SPARE_SHARE)
    before = mx.set_cache_limit(bound)
    if before < bound:
        mx.set_cache_limit(before)


@contextmanager
def wired() -> Iterator[None]:
    """Keep the working set resident on Metal, so that weights aren't paged out."""
    recommended = _recommended()
    if not recommended:
        yield
        return
    before = mx.set_wired_limit(recommended)
    try:
        yield
    finally:
        mx.synchronize()  # running work may use the memory
        mx.set_wired_limit(before)


def exhausted(error: Exception) -> bool:
    """Return whether an error means that memory ran out."""
    return isinstance(error, MemoryError) or any(words in str(error).lower() for words in _EXHAUSTED)


@contextmanager
def enough_for(failure: EngineText) -> Iterator[None]:
    """Free the block's arrays and raise `failure` if memory runs out in the block.

    Raises:
        UserError: memory ran out.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not exhausted(error):
            raise
        traceback.clear_frames(error.__traceback__)  # the frames hold the block's arrays
        mx.clear_cache()
        raise UserError.of(failure) from None


def held() -> int:
    """Return the bytes that MLX holds in arrays and unused buffers."""
    return mx.get_active_memory() + mx.get_cache_memory()
