"""Turns of replies that are generated at the same time."""

import threading
import time
from typing import Any

from mlx_engine.decoding.scheduler import Scheduler

LEAST_REST_S = 0.2  # rests of short passes are added up, because threads of OpenBLAS spin for a while before they sleep
_LONGEST_REST_S = 0.5  # a chunk of a prompt may take longer, and a new request waits for the end of a rest


class ReplyTurns:
    """The replies in progress, which take turns of one step each.

    Attributes:
        replies: the generators of these replies.
        branches: their caches.
        prompts: their prompts, as far as others may copy them; see `engine.shared_prompts`.
        count: number of turns that have ended.
        faults: number of device errors. Each makes the unread passes of all replies worthless.
        scheduler: makes the passes of the replies that are decoding.
        rest: share of the time in which the computer rests.
    """

    def __init__(self) -> None:
        self.replies: list[Any] = []
        self.branches: list[Any] = []
        self.prompts: list[Any] = []
        self.count = 0
        self.faults = 0
        self.rest_share = 0.0
        self.scheduler = self.new_scheduler()

    def let_rest(self, share: float) -> None:
        """Let the computer rest between steps; see `Rest`."""
        self.rest_share, self.scheduler.queues_ahead = share, not share

    def forget_speeds(self) -> None:
        """Begin with a new scheduler, because speeds of another pair say nothing."""
        self.scheduler = self.new_scheduler()
        self.let_rest(self.rest_share)

    def new_scheduler(self) -> Scheduler:
        """Return a scheduler that knows no speeds."""
        return Scheduler()


class ReplyClock:
    """Seconds since a reply was requested, without waiting time.

    Args:
        turns: the replies in progress.
        submitted: time of the request on `time.perf_counter`; None for now.

    Attributes:
        turns: as given.
        waited: seconds spent in the queue or during the turns of other replies, unless these made passes for this one, too.
        rested: seconds in which the computer rested.
    """

    def __init__(self, turns: ReplyTurns, submitted: float | None = None) -> None:
        self.turns = turns
        self._paused = time.perf_counter()
        self._count = turns.count
        self._submitted = self._paused if submitted is None else submitted
        self.waited = self._paused - self._submitted
        self._credited = 0.0  # seconds since the latest turn
        self.rested = 0.0
        self._began = self._paused  # the turn
        self._worked = 0.0  # seconds of turns since the latest rest

    def __call__(self) -> float:
        return time.perf_counter() - self._submitted - self.waited

    def working(self) -> float:
        """Return the seconds without those in which the computer rested."""
        return self() - self.rested

    def alone(self) -> bool:
        """Return whether no other reply is in progress, and the computer doesn't rest.

        Passes whose time is measured may then be queued beyond the end of a turn.
        """
        return len(self.turns.replies) < 2 and not self.turns.rest_share

    def pause(self) -> None:
        """End a turn."""
        self.turns.count += 1
        self._count, self._paused = self.turns.count, time.perf_counter()
        self._worked += self._paused - self._began

    def resume(self) -> None:
        """Begin the next turn."""
        if self.turns.count != self._count:
            self.waited += time.perf_counter() - self._paused - self._credited
        self._credited = 0.0
        self._began = time.perf_counter()

    def rest(self, cancel: threading.Event) -> None:
        """Let the computer rest before a turn, by the time since the last rest.

        It rests for half a second at most. No pass is in progress then, because none is queued beyond the end of a turn.
        """
        if not self.turns.rest_share:
            self._worked = 0.0
            return
        seconds = self._worked * self.turns.rest_share / (1 - self.turns.rest_share)
        if seconds < LEAST_REST_S:
            return
        before, self._worked = self._began, 0.0
        cancel.wait(min(seconds, _LONGEST_REST_S))
        self._began = time.perf_counter()
        self.rested += self._began - before

    def credit(self, seconds: float) -> None:
        """Count a turn of another reply that made a pass for this one, too."""
        self._credited += seconds
