"""Qt adapter for the engine. Delivers events in batches on the window's thread."""

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from mlx_engine.contract.client import EngineClient, Run
from mlx_engine.contract.events import Event
from mlx_engine.contract.requests import Request

BATCH_MS = 50
SLOWEST_BATCH_MS = 250
# How long the window waits for the GIL while the engine builds rounds in Python. Python's default is 5 ms.
SWITCH_INTERVAL_S = 0.001


@dataclass(frozen=True)
class Delivery:
    """An event and its time on the monotonic clock. A None event ends the run."""

    event: Event | None
    at_s: float


Receive = Callable[[list[Delivery]], None]


class EngineAdapter(QObject):
    """An adapter that submits requests and delivers each run's events to its callback.

    The engine's thread emits one signal per batch, and a timer empties the inbox, so the number of signals doesn't grow with the
    number of tokens.
    """

    idle = Signal()  # the last run has ended
    stopped = Signal()  # the engine's thread has ended

    _rang = Signal()
    _closed = Signal()

    def __init__(self, client: EngineClient, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.client = client
        self._lock = threading.Lock()
        self._inbox: list[tuple[Receive, Delivery]] = []
        self._running = 0
        self._closing = False
        self._drained_at = 0.0
        self._batch_ms = BATCH_MS
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.timeout.connect(self.drain)
        self._rang.connect(self._schedule)
        self._closed.connect(self._stop)
        sys.setswitchinterval(SWITCH_INTERVAL_S)

    def submit(self, request: Request, receive: Receive) -> Run:
        """Queue a request. `receive` gets batches of its events on the window's thread."""

        def deliver(event: Event | None) -> None:
            with self._lock:
                self._inbox.append((receive, Delivery(event, time.monotonic())))
                first = len(self._inbox) == 1
            if first:
                self._rang.emit()

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

    @Slot()
    def drain(self) -> None:
        """Deliver all queued events."""
        began = time.monotonic()
        with self._lock:
            inbox, self._inbox = self._inbox, []
        ended = sum(delivery.event is None for _, delivery in inbox)
        self._running -= ended
        for receive, items in groupby(inbox, key=lambda item: item[0]):
            try:
                receive([delivery for _, delivery in items])
            except Exception:  # a bug in one receiver must not lose the events of others
                sys.excepthook(*sys.exc_info())
        if ended and not self.busy:
            self.idle.emit()
        self._drained_at = time.monotonic()
        # Drawing may take at most a quarter of the time: on a slow machine the batches grow instead of the delay.
        self._batch_ms = min(max(BATCH_MS, int(3000 * (self._drained_at - began))), SLOWEST_BATCH_MS)

    @Slot()
    def _schedule(self) -> None:
        if not self._timer.isActive():
            since_ms = (time.monotonic() - self._drained_at) * 1000
            self._timer.start(max(0, int(self._batch_ms - since_ms)))

    @Slot()
    def _stop(self) -> None:
        self.drain()
        self.stopped.emit()
