"""Qt adapter for the engine. Delivers events in batches on the window's thread."""

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal, Slot

from app.session.qt_inbox import QtInbox
from mlx_engine.contract.client import EngineClient, Run
from mlx_engine.contract.events import Event
from mlx_engine.contract.requests import Request

# How long the window waits for the GIL while the engine builds rounds in Python. Python's default is 5 ms.
SWITCH_INTERVAL_S = 0.001


@dataclass(frozen=True)
class Delivery:
    """An event and its time on the monotonic clock. A None event ends the run."""

    event: Event | None
    at_s: float


Receive = Callable[[list[Delivery]], None]


class EngineAdapter(QObject):
    """An adapter that submits requests and delivers each run's events to its callback."""

    idle = Signal()  # the last run has ended
    stopped = Signal()  # the engine's thread has ended

    _closed = Signal()

    def __init__(self, client: EngineClient, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.client = client
        self._inbox = QtInbox(self._receive, self)
        self._running = 0
        self._closing = False
        self._closed.connect(self._stop)
        sys.setswitchinterval(SWITCH_INTERVAL_S)

    def submit(self, request: Request, receive: Receive) -> Run:
        """Queue a request. `receive` gets batches of its events on the window's thread."""

        def deliver(event: Event | None) -> None:
            self._inbox.put((receive, Delivery(event, time.monotonic())))

        self._running += 1
        return self.client.submit(request, deliver)

    @property
    def busy(self) -> bool:
        """Whether any run has yet to deliver its last event."""
        return self._running > 0

    def close(self) -> None:
        """Cancel all runs without blocking, free the models, then emit `stopped`."""
        if not self._closing:
            self._closing = True
            self.client.close(self._closed.emit)

    def drain(self) -> None:
        """Deliver all queued events."""
        self._inbox.drain()

    def _receive(self, items: list[tuple[Receive, Delivery]]) -> None:
        ended = sum(delivery.event is None for _, delivery in items)
        self._running -= ended
        batches: dict[Receive, list[Delivery]] = {}  # one each: replies that run at the same time take turns
        for receive, delivery in items:
            batches.setdefault(receive, []).append(delivery)
        for receive, batch in batches.items():
            try:
                receive(batch)
            except Exception:  # a bug in one receiver must not lose the events of others
                sys.excepthook(*sys.exc_info())
        if ended and not self.busy:
            self.idle.emit()

    @Slot()
    def _stop(self) -> None:
        self.drain()
        self.stopped.emit()
