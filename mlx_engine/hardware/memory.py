"""Memory limits, and recovery when memory runs out."""

import traceback
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import mlx.core as mx

from mlx_engine.contract.errors import EngineText, UserError
from mlx_engine.contract.urgency import Urgency, enter, place
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


@dataclass(eq=False)
class _Waiting:
    """A reply that waits for memory."""

    reply: Hashable
    urgency: Urgency
    passed: int = 0


class ReplyMemory:
    """Memory reserved for replies in progress, so that they don't exhaust it.

    Args:
        needs: returns the bytes of a reply's caches, and of its largest pass, for a number of tokens.
        weights: returns the bytes that the pair holds for all replies.
        limit: bytes that can be allocated, or None if unknown.
        shared: bytes of the largest pass that replies share.
    """

    def __init__(
        self, needs: Callable[[int], tuple[int, int]], weights: Callable[[], int], limit: int | None, shared: int = 0
    ) -> None:
        self._needs, self._weights, self._limit, self._shared = needs, weights, limit, shared
        self._taken: dict[Hashable, tuple[int, int]] = {}
        self._waiting: list[_Waiting] = []

    def is_awaited(self, urgency: Urgency) -> bool:
        """Return whether a reply waits for memory that goes before this urgency."""
        return place(self._waiting, _Waiting(None, urgency)) > 0

    def fits(self, tokens: int, images: int = 0) -> bool:
        """Return whether a reply can have this many tokens if it runs alone.

        Args:
            tokens: the tokens.
            images: bytes that the images of its prompt need.
        """
        return self._limit is None or self._weights() + images + sum(self._needs(tokens)) <= self._limit

    def take(self, reply: Hashable, tokens: int, snapshots: int, images: int = 0, urgency: Urgency = Urgency.NORMAL) -> bool:
        """Reserve memory for a reply, and return whether the reply can begin.

        Replies wait by urgency, then in order. The first one can always begin if no other reply holds memory.

        Args:
            reply: any key. Pass the same one to `release`.
            tokens: maximum length of prompt and reply together.
            snapshots: bytes of all snapshots.
            images: bytes that the images of its prompt need.
            urgency: who waits for the reply.
        """
        if all(each.reply != reply for each in self._waiting):
            enter(self._waiting, _Waiting(reply, urgency))
        if self._waiting[0].reply != reply:
            return False
        caches, largest = self._needs(tokens)
        needed = [*self._taken.values(), (caches + images, largest)]
        pass_bytes = max(self._shared, *(each for _, each in needed))
        together = self._weights() + snapshots + sum(each for each, _ in needed) + pass_bytes
        if self._taken and together > working_set():
            return False
        del self._waiting[0]
        self._taken[reply] = needed[-1]
        return True

    def release(self, reply: Hashable) -> None:
        """Free the memory of a reply that has ended."""
        self._taken.pop(reply, None)
        self._waiting = [each for each in self._waiting if each.reply != reply]
