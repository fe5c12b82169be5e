"""Says when memory runs short, before the system pages and replies become many times slower."""

import logging
import sys
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app import macos
from app.conversations.wording import size
from app.language import tr
from app.macos import Pressure
from mlx_engine.pairs import machine, room

log = logging.getLogger(__name__)

BEAT_MS = 5000
CALM_BEATS = 12  # so many calm readings in a row end an episode
_SHARES: tuple[tuple[float, Pressure], ...] = ((0.04, "critical"), (0.08, "warning"))  # of memory that is available, on Linux
_NEARLY = 0.9  # of what models may take


def _advice() -> str:
    return tr("Close other apps or shorten the chat; when the system begins to page, replies become many times slower.")


class MemoryWatch(QObject):
    """Looks every few seconds. One sentence an episode, and another if it becomes critical."""

    short = Signal(str)  # a sentence

    def __init__(
        self, parent: QObject | None = None, read: Callable[[], Pressure] | None = None, budget: int | None = None
    ) -> None:
        """`budget`: bytes that models may take together on this machine, asked of it if not given."""
        super().__init__(parent)
        self._read = read or pressure
        self._budget = budget if budget is not None else room.working_set(machine.known())
        self._told: Pressure = "normal"
        self._told_peak = False
        self._calm = 0
        self._timer = QTimer(self)
        self._timer.setInterval(BEAT_MS)
        self._timer.timeout.connect(self.look)

    def start(self) -> None:
        self._timer.start()

    @Slot()
    def look(self) -> None:
        """Read once, and say so if it has become worse."""
        now = self._read()
        self._calm = self._calm + 1 if now == "normal" else 0
        if self._calm >= CALM_BEATS:
            self._told = "normal"
        ranks = ("normal", "warning", "critical")
        if ranks.index(now) > ranks.index(self._told):
            self._told = now
            log.warning("Memory pressure: %s", now)
            words = tr("Memory is running short") if now == "warning" else tr("Memory has all but run out")
            self.short.emit(tr("{words} on this computer. {advice}", words=words, advice=_advice()))

    def note_peak(self, peak: int) -> None:
        """What models, caches and buffers took at most during a reply, in bytes."""
        if self._budget and peak > _NEARLY * self._budget and not self._told_peak:
            self._told_peak = True
            self.short.emit(
                tr(
                    "The last reply took {peak} of the {budget} that models may use on this computer. {advice}",
                    peak=size(peak),
                    budget=size(self._budget),
                    advice=_advice(),
                )
            )


def pressure() -> Pressure:
    """What the system says; "normal" where it says nothing."""
    if (told := macos.memory_pressure()) is not None:
        return told
    return from_meminfo(Path("/proc/meminfo")) if sys.platform.startswith("linux") else "normal"


def from_meminfo(file: Path) -> Pressure:
    """From the share of memory that is available."""
    try:
        lines = dict(line.split(":", 1) for line in file.read_text().splitlines() if ":" in line)
        share = int(lines["MemAvailable"].split()[0]) / int(lines["MemTotal"].split()[0])
    except (OSError, KeyError, ValueError, IndexError, ZeroDivisionError):
        return "normal"
    return next((level for limit, level in _SHARES if share < limit), "normal")
