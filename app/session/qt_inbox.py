"""From other threads to the window's thread, in batches."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from mlx_engine.engine.bridge import Inbox

BATCH_MS = 50
SLOWEST_BATCH_MS = 250


class QtInbox(QObject):
    """Items from other threads.

    A sender's thread emits one signal per batch, and a timer empties the inbox, so the number of signals doesn't grow with the
    number of items.

    Args:
        receive: gets each batch, on the window's thread.
    """

    _rang = Signal()

    def __init__(self, receive: Callable[[list[Any]], object], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._receive = receive
        self._inbox = Inbox[Any](self._ring)
        self.put = self._inbox.put  # can be called from any thread
        self._drained_at = 0.0
        self._batch_ms = BATCH_MS
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self.drain)
        self._rang.connect(self._schedule)

    @Slot()
    def drain(self) -> None:
        """Deliver all items."""
        began = time.monotonic()
        if items := self._inbox.take():
            self._receive(items)
        self._drained_at = time.monotonic()
        # Receivers may take at most a quarter of the time: on a slow machine the batches grow instead of the delay.
        self._batch_ms = min(max(BATCH_MS, int(3000 * (self._drained_at - began))), SLOWEST_BATCH_MS)

    def _ring(self) -> None:
        with suppress(RuntimeError):  # the window has been deleted
            self._rang.emit()

    @Slot()
    def _schedule(self) -> None:
        if not self._timer.isActive():
            since_ms = (time.monotonic() - self._drained_at) * 1000
            self._timer.start(max(0, int(self._batch_ms - since_ms)))
