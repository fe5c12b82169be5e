"""Warnings when memory runs low, before the system swaps."""

import logging
from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.storage.wording import size
from app.text.language import sentences, tr
from mlx_engine.contract.conditions import Pressure
from mlx_engine.hardware import machine, sensors

log = logging.getLogger(__name__)

INTERVAL_MS = 5000
CALM_READINGS = 12  # consecutive normal readings that end an episode
_NEARLY_ALL = 0.9  # share of the memory for models


class MemoryWatch(QObject):
    """A monitor that warns once per low-memory episode, and again if it is critical.

    Args:
        read: returns the memory pressure; by default, the system's.
        budget: bytes available for models; by default, the machine's.
    """

    short = Signal(str)  # the warning
    critical = Signal()

    def __init__(
        self, parent: QObject | None = None, read: Callable[[], Pressure] | None = None, budget: int | None = None
    ) -> None:
        super().__init__(parent)
        self._read = read or (lambda: sensors.memory_pressure() or "normal")
        self._budget = budget if budget is not None else machine.working_set(machine.load_facts())
        self._warned: Pressure = "normal"
        self._warned_of_peak = False
        self._calm = 0
        self._timer = QTimer(self, interval=INTERVAL_MS)
        self._timer.timeout.connect(self.check)

    def start(self) -> None:
        self._timer.start()

    @Slot()
    def check(self) -> None:
        """Check the memory pressure once, and warn if it has risen."""
        level = self._read()
        self._calm = self._calm + 1 if level == "normal" else 0
        if self._calm >= CALM_READINGS:
            self._warned = "normal"
        levels = ("normal", "warning", "critical")
        if levels.index(level) > levels.index(self._warned):
            self._warned = level
            log.warning("Memory pressure: %s", level)
            self._warn(tr("Memory is running low.") if level == "warning" else tr("Memory is almost full."))
        if level == "critical":
            self.critical.emit()

    def note_peak(self, peak: int) -> None:
        """Warn once if a reply used nearly all memory for models. `peak` is in bytes."""
        if self._budget and peak > _NEARLY_ALL * self._budget and not self._warned_of_peak:
            self._warned_of_peak = True
            sizes = {"peak": size(peak), "budget": size(self._budget)}
            self._warn(tr("The last reply used {peak} of the {budget} available to models.", **sizes))

    def _warn(self, reason: str) -> None:
        self.short.emit(sentences(reason, tr("Quit other apps or shorten the chat to keep replies fast.")))
