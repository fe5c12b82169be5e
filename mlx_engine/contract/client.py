"""The interface to an engine, wherever it runs."""

import logging
import threading
from collections.abc import Callable
from typing import Protocol

from mlx_engine.contract.events import Event
from mlx_engine.contract.requests import Request

log = logging.getLogger(__name__)

Deliver = Callable[[Event | None], None]


class Run:
    """A submitted request. Its events go to `deliver` in order, followed by None."""

    def __init__(self, request: Request, deliver: Deliver) -> None:
        self.request = request
        self._deliver = deliver
        self.cancelled = threading.Event()

    def cancel(self) -> None:
        """End the run within one round. Can be called from any thread.

        Events still arrive until the run has ended.
        """
        self.cancelled.set()

    def deliver(self, event: Event | None) -> None:
        """Deliver an event, and log any exception that the front end raises."""
        try:
            self._deliver(event)
        except BaseException:
            log.exception("The front end failed on %s", type(event).__name__)


class EngineClient(Protocol):
    """An engine here or elsewhere, or the switch, to which requests are submitted."""

    def submit(self, request: Request, deliver: Deliver) -> Run:
        """Queue a request.

        Replies run at the same time, other requests one after the other.
        """
        ...

    def close(self, closed: Callable[[], None] | None = None) -> None:
        """Cancel all runs, free the models, then call `closed`, without blocking."""
        ...

    def wait(self, seconds: float) -> bool:
        """Close the engine, and return whether it ended within `seconds`."""
        ...
