"""The ledger of memory: what replies have reserved, and which of them pause."""

import threading
from collections.abc import Callable, Collection, Hashable, Iterator
from dataclasses import dataclass
from typing import Any

from mlx_engine.contract.urgency import Urgency, enter, place
from mlx_engine.hardware import memory

POLL_S = 0.02  # between looks while nothing runs, after which a new request is noticed


class MemoryShort(Exception):
    """A reply must give up its memory for now."""


@dataclass(eq=False)
class _Waiting:
    """A reply that waits for memory."""

    reply: Hashable
    urgency: Urgency
    passed: int = 0


@dataclass(frozen=True)
class _Reservation:
    """Bytes of a reply's caches, and of its largest pass."""

    caches: int
    largest: int
    urgency: Urgency


class MemoryLedger:
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
        self._taken: dict[Hashable, _Reservation] = {}  # in the order in which they were made
        self._paused: set[Hashable] = set()
        self._ended: set[Hashable] = set()
        self._waiting: list[_Waiting] = []
        self._one_at_a_time = self._front_only = False

    @property
    def reserved(self) -> int:
        """Bytes reserved for the replies in progress: their caches, and the largest pass."""
        return 0 if self.is_free else sum(each.caches for each in self._taken.values()) + self._largest(self._taken.values())

    @property
    def is_free(self) -> bool:
        """Whether no reply holds memory."""
        return not self._taken

    @property
    def is_at_rest(self) -> bool:
        """Whether all replies that hold memory are to pause."""
        return self._paused >= self._taken.keys()

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

        Replies wait by urgency, then in order. The first one can always begin if no other reply holds memory, except in the
        background while that pauses.

        Args:
            reply: any key. Pass the same one to `release`.
            tokens: maximum length of prompt and reply together.
            snapshots: bytes of all snapshots.
            images: bytes that the images of its prompt need.
            urgency: who waits for the reply.
        """
        if self._front_only and urgency != Urgency.FRONT:
            self._leave(reply)  # so that no other one waits behind it
            return False
        if all(each.reply != reply for each in self._waiting):
            enter(self._waiting, _Waiting(reply, urgency))
        if self._waiting[0].reply != reply:
            return False
        caches, largest = self._needs(tokens)
        own = _Reservation(caches + images, largest, urgency)
        if self._taken and (self._one_at_a_time or self._together([*self._taken.values(), own], snapshots) > memory.working_set()):
            return False
        del self._waiting[0]
        self._taken[reply] = own
        return True

    def release(self, reply: Hashable) -> None:
        """Free the memory of a reply that has ended or paused."""
        self._taken.pop(reply, None)
        self._paused.discard(reply)
        self._ended.discard(reply)
        self._leave(reply)

    def narrow(self, one_at_a_time: bool, front_only: bool) -> None:
        """Let fewer replies hold memory from now on, or again as many as fit.

        The others are to pause: all but the most urgent one, which is the oldest of several, and that one, too, if a more urgent
        one waits.

        Args:
            one_at_a_time: whether at most one reply holds memory.
            front_only: whether replies in the background hold none.
        """
        self._one_at_a_time, self._front_only = one_at_a_time, front_only
        urgencies = {reply: own.urgency for reply, own in self._taken.items()}
        self._paused = set()
        if one_at_a_time and urgencies:
            first = min(urgencies, key=urgencies.__getitem__)
            is_passed = any(each.urgency < urgencies[first] for each in self._waiting)
            self._paused = set(urgencies) if is_passed else set(urgencies) - {first}
        if front_only:
            self._paused |= {reply for reply, urgency in urgencies.items() if urgency != Urgency.FRONT}
        else:
            self._ended.clear()

    def is_paused(self, reply: Hashable) -> bool:
        """Return whether a reply is to give up its memory, and to reserve it again."""
        return reply in self._paused

    def end_youngest(self) -> None:
        """End the background reply that got its memory last, if any has memory."""
        held = [reply for reply, own in self._taken.items() if own.urgency != Urgency.FRONT and reply not in self._ended]
        self._ended.update(held[-1:])

    def is_ended(self, reply: Hashable) -> bool:
        """Return whether a reply is to end, because it holds memory that is needed."""
        return reply in self._ended

    def _largest(self, reservations: Collection[_Reservation]) -> int:
        return max([self._shared, *(each.largest for each in reservations)])

    def _together(self, reservations: Collection[_Reservation], snapshots: int) -> int:
        return self._weights() + snapshots + sum(each.caches for each in reservations) + self._largest(reservations)

    def _leave(self, reply: Hashable) -> None:
        self._waiting = [each for each in self._waiting if each.reply != reply]


class MemoryPlace:
    """A reply's place in the ledger.

    Args:
        ledger: the ledger.
        reply: any key. Pass the same one to `MemoryLedger.release`.
        tokens: maximum length of prompt and reply together.
        snapshots: returns the bytes of all snapshots.
        images: bytes that the images of its prompt need.
        urgency: who waits for the reply.

    Attributes:
        is_taken: whether the reply has its memory.
    """

    def __init__(
        self, ledger: MemoryLedger, reply: Hashable, tokens: int, snapshots: Callable[[], int], images: int, urgency: Urgency
    ) -> None:
        self._ledger, self._reply, self._tokens, self._snapshots = ledger, reply, tokens, snapshots
        self._images, self._urgency = images, urgency
        self.is_taken = False

    @property
    def is_paused(self) -> bool:
        """Whether the reply must give up its memory for now."""
        return self._ledger.is_paused(self._reply)

    @property
    def is_ended(self) -> bool:
        """Whether the reply must end, because its memory is needed now."""
        return self._ledger.is_ended(self._reply)

    def rest(self, seconds: float, cancel: threading.Event) -> None:
        """Wait, unless a reply that holds memory goes on."""
        if self._ledger.is_at_rest:
            cancel.wait(seconds)

    def wait(self, cancel: threading.Event) -> Iterator[list[Any]]:
        """Give up the memory, if any, and reserve it again.

        Yields empty steps until that is done or `cancel` is set.
        """
        self._ledger.release(self._reply)
        self.is_taken = False
        while not self._ledger.take(self._reply, self._tokens, self._snapshots(), self._images, self._urgency):
            if cancel.is_set():
                return
            if self._ledger.is_free:
                cancel.wait(POLL_S)
            yield []
        self.is_taken = True
