"""Garbage collection on the window's thread."""

import gc

from PySide6.QtCore import QObject, QTimer, Slot

INTERVAL_MS = 1000


class GarbageCollector(QObject):
    """A replacement for Python's automatic collections, which run on any thread.

    A collection on another thread could delete Qt objects that the window is using, and crash. Objects that exist when the event
    loop starts are never collected, which keeps collections short.
    """

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        QTimer.singleShot(0, gc.freeze)
        self._timer = QTimer(self, interval=INTERVAL_MS)
        self._timer.timeout.connect(self._collect)
        self._timer.start()

    @Slot()
    def _collect(self) -> None:
        """Collect the oldest generation that is due."""
        due = [at for at, (count, limit) in enumerate(zip(gc.get_count(), gc.get_threshold(), strict=True)) if count > limit]
        if due:
            gc.collect(due[-1])
