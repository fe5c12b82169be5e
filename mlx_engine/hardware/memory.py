"""Memory limits, and recovery when memory runs out."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import mlx.core as mx

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.hardware import machine

_SPARE_SHARE = 1 / 16  # of the working set, for buffers that MLX reuses
# Share of Metal's recommended working set that is never wired. Unused buffers needn't be in memory, and the window, other apps, and
# the system need memory of the GPU, too. Wired memory can't be compressed or paged out for them
WIRED_MARGIN = _SPARE_SHARE
_EXHAUSTED = ("insufficient memory", "out of memory", "[malloc", "metal::malloc", "unable to allocate")  # in MLX's messages


def working_set() -> int:
    """Return the bytes that models, caches, and buffers may use together."""
    return _recommended() or machine.working_set(None) or 0


def _recommended() -> int:
    return int(mx.device_info().get("max_recommended_working_set_size", 0))


def bound_spare_buffers() -> None:
    """Limit MLX's unused buffers to a share of the working set.

    A lower limit that is already set is kept.
    """
    bound = int(working_set() * _SPARE_SHARE)
    before = mx.set_cache_limit(bound)
    if before < bound:
        mx.set_cache_limit(before)


_wired_before: list[int] = []  # limits to restore, one per block of `wired`


@contextmanager
def wired() -> Iterator[None]:
    """Keep Metal's working set, less a margin, wired in memory while the block runs.

    Otherwise the system may page out weights. Blocks may overlap.
    """
    recommended = _recommended()
    if not recommended:
        yield
        return
    _wired_before.append(mx.set_wired_limit(int(recommended * (1 - WIRED_MARGIN))))
    try:
        yield
    finally:
        settle()  # running work may use the memory
        mx.set_wired_limit(_wired_before.pop())  # the first block's limit last, in whichever order the blocks end


def settle() -> None:
    """Wait for the device. If its work fails, forget the error.

    MLX keeps the error of failed work, and raises it at the next call, whatever that is.
    """
    with suppress(RuntimeError):
        mx.synchronize()


def exhausted(error: Exception) -> bool:
    """Return whether an error means that memory ran out."""
    return isinstance(error, MemoryError) or any(words in str(error).lower() for words in _EXHAUSTED)


class OutOfMemory(UserError):
    """Memory ran out, perhaps in the middle of a pass."""


@contextmanager
def enough_for(failure: EngineText) -> Iterator[None]:
    """Free the block's arrays and raise `failure` if memory runs out in the block.

    Raises:
        OutOfMemory: memory ran out.
    """
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        if not exhausted(error):
            raise
        traceback.clear_frames(error.__traceback__)  # the frames hold the block's arrays
        mx.clear_cache()
        raise OutOfMemory.of(failure) from None


def held() -> int:
    """Return the bytes that MLX holds in arrays and unused buffers."""
    return mx.get_active_memory() + mx.get_cache_memory()
