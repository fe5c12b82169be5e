"""Memory: how much the past may take, what stays wired while a reply is written, and what goes when memory runs out."""

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import mlx.core as mx

from mlx_engine.errors import EngineText, UserError

_CPU_SHARE = 3 / 4  # of physical memory; about what Metal recommends of it
_PAST_SHARE = 1 / 2  # of the working set that the weights leave: the other half is the running reply's
_SPARE_SHARE = 1 / 16  # of the working set, for buffers that MLX keeps for its next arrays
_EXHAUSTED = ("insufficient memory", "out of memory", "[malloc", "metal::malloc", "unable to allocate")  # what MLX says


def working_set() -> int:
    """Bytes that this machine's models, caches and buffers may take together: on Metal what it recommends."""
    return _recommended() or int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _CPU_SHARE)


def _recommended() -> int:
    return int(mx.device_info().get("max_recommended_working_set_size", 0))


def snapshot_budget(weights: int) -> int:
    """Bytes for what later turns may reuse, beside `weights` bytes of weights."""
    return max(int((working_set() - weights) * _PAST_SHARE), 0)


def bound_spare_buffers() -> None:
    """Let MLX keep at most a sixteenth of the working set in buffers that hold nothing; a lower limit stays."""
    bound = int(working_set() * _SPARE_SHARE)
    before = mx.set_cache_limit(bound)
    if before < bound:
        mx.set_cache_limit(before)


@contextmanager
def wired() -> Iterator[None]:
    """Keep the working set resident on Metal meanwhile, so that weights are not paged out between passes; elsewhere nothing."""
    recommended = _recommended()
    if not recommended:
        yield
        return
    before = mx.set_wired_limit(recommended)
    try:
        yield
    finally:
        mx.synchronize()  # what is still running may use what would be let go
        mx.set_wired_limit(before)


def exhausted(error: Exception) -> bool:
    """Whether this error says that memory ran out."""
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
        traceback.clear_frames(error.__traceback__)  # they hold what was made so far
        mx.clear_cache()
        raise UserError.of(failure) from None


def held() -> int:
    """Bytes that MLX holds: arrays, and buffers that hold nothing at present."""
    return mx.get_active_memory() + mx.get_cache_memory()
