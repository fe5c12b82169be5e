"""Turns of replies that are generated at the same time."""

import time
from typing import Any

from mlx_engine.decoding.scheduler import Scheduler


class ReplyTurns:
    """The replies in progress, which take turns of one step each.

    Attributes:
        replies: the generators of these replies.
        prompts: their prompts, as far as others may copy them; see `engine.shared_prompts`.
        count: number of turns that have ended.
        faults: number of device errors. Each makes the unread passes of all replies worthless.
        scheduler: makes the passes of the replies that are decoding.
    """

    def __init__(self) -> None:
        self.replies: list[Any] = []
        self.prompts: list[Any] = []
        self.count = 0
        self.faults = 0
        self.scheduler = Scheduler()


class ReplyClock:
    """Seconds since a reply was requested, without waiting time.

    Args:
        turns: the replies in progress.
        submitted: time of the request on `time.perf_counter`; None for now.

    Attributes:
        turns: as given.
        waited: seconds spent in the queue or during the turns of other replies, unless these made passes for this one, too.
    """

    def __init__(self, turns: ReplyTurns, submitted: float | None = None) -> None:
        self.turns = turns
        self._paused = time.perf_counter()
        self._count = turns.count
        self._submitted = self._paused if submitted is None else submitted
        self.waited = self._paused - self._submitted
        self._credited = 0.0  # seconds since the latest turn

    def __call__(self) -> float:
        return time.perf_counter() - self._submitted - self.waited

    def alone(self) -> bool:
        """Return whether no other reply is in progress.

        Passes whose time is measured may then be queued beyond the end of a turn.
        """
        return len(self.turns.replies) < 2

    def pause(self) -> None:
        """End a turn."""
        self.turns.count += 1
        self._count, self._paused = self.turns.count, time.perf_counter()

    def resume(self) -> None:
        """Begin the next turn."""
        if self.turns.count != self._count:
            self.waited += time.perf_counter() - self._paused - self._credited
        self._credited = 0.0

    def credit(self, seconds: float) -> None:
        """Count a turn of another reply that made a pass for this one, too."""
        self._credited += seconds
