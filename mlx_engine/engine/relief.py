"""What is given back while memory is short, and in which order.

While the pressure lasts, one more step is taken at each reading of the pressure. "warning" comes before heavy paging, so it only
takes steps after which every reply goes on. The last steps need "critical". Once the pressure has been lower for a few readings,
the steps above it end, and what had paused continues.
"""

import time
from collections.abc import Callable

from mlx_engine.contract.conditions import Pressure
from mlx_engine.contract.machine_events import ReliefStep
from mlx_engine.hardware import sensors

# A reading takes a fraction of a millisecond, and 1 s of prompt or text fills a few percent of the memory at most. On a Mac, the
# level is polled, because its events need a queue of Grand Central Dispatch, and would wait for the end of a step, too
INTERVAL_S = 1.0
CALM_READINGS = 3  # so that freed memory stays free for a moment
GRACE_READINGS = 10  # before a reply ends, which can't be undone
_HIGHEST: dict[Pressure | None, ReliefStep] = {"warning": ReliefStep.CACHES, "critical": ReliefStep.ENDING}


class Relief:
    """The current step.

    Args:
        read: returns the memory pressure.
        clock: returns seconds.
        interval: seconds between two readings; by default, `INTERVAL_S`.

    Attributes:
        step: the current step. Other threads may read it. `ENDING` lasts for one reading, and ends one reply.
        pressure: the latest reading.
    """

    def __init__(
        self,
        read: Callable[[], Pressure | None] = lambda: sensors.memory_pressure(),
        clock: Callable[[], float] = time.monotonic,
        interval: float | None = None,
    ) -> None:
        self._read, self._clock, self._interval = read, clock, INTERVAL_S if interval is None else interval
        self._next = clock()
        self._calm = self._grace = 0
        self.step = ReliefStep.NONE
        self.pressure: Pressure | None = None

    def look(self) -> bool:
        """Read the pressure if it is time, and return whether that was done."""
        now = self._clock()
        if now < self._next:
            return False
        self._next = now + self._interval
        self.pressure = self._read()
        highest = _HIGHEST.get(self.pressure, ReliefStep.NONE)
        step = min(self.step, ReliefStep.REFUSAL)
        self._calm = self._calm + 1 if step > highest else 0
        self._grace = self._grace + 1 if highest > ReliefStep.REFUSAL <= step else 0
        if self._grace > GRACE_READINGS:
            step, self._grace = ReliefStep.ENDING, 0
        elif step < min(highest, ReliefStep.REFUSAL):
            step = ReliefStep(step + 1)
        elif self._calm >= CALM_READINGS:
            step, self._calm = highest, 0
        self.step = step
        return True
