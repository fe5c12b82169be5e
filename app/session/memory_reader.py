"""What holds the computer's memory, read while a view shows it."""

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.session.qt_inbox import QtInbox
from mlx_engine.contract.client import EngineClient
from mlx_engine.contract.events import Event
from mlx_engine.contract.machine_events import MemoryUse
from mlx_engine.contract.requests import ReadMemory

INTERVAL_MS = 2000


class MemoryReader(QObject):
    """A reader of the engine's ledger of memory.

    Its requests don't go through `EngineAdapter`, which would count the engine as busy.

    Args:
        client: the engine.
        tuning: returns the ID of the process that tunes a drafter, or None.

    Attributes:
        found: the latest reading; None before the first.
    """

    changed = Signal()

    def __init__(self, client: EngineClient, tuning: Callable[[], int | None], parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._client, self._tuning = client, tuning
        self._inbox = QtInbox(self._receive, self)
        self._is_reading = False
        self._timer = QTimer(self, interval=INTERVAL_MS)
        self._timer.timeout.connect(self.read)
        self.found: MemoryUse | None = None

    def set_needed(self, needed: bool) -> None:
        """Read now and every few seconds from now on, or no longer."""
        if not needed:
            self._timer.stop()
            return
        self._timer.start()
        self.read()

    @Slot()
    def read(self) -> None:
        """Ask the engine, unless it hasn't answered yet."""
        if not self._is_reading:
            self._is_reading = True
            self._client.submit(ReadMemory(self._tuning()), self._inbox.put)

    def _receive(self, events: list[Event | None]) -> None:
        for event in events:
            if event is None:
                self._is_reading = False
            elif isinstance(event, MemoryUse):
                self.found = event
        self.changed.emit()
