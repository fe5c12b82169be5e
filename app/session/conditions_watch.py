"""The computer's conditions, read while something needs them."""

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.session.background_work import Background
from mlx_engine.contract.conditions import UNKNOWN, Conditions
from mlx_engine.hardware import sensors

INTERVAL_MS = 3000


class ConditionsWatch(QObject):
    """A reader of the computer's conditions.

    It reads on another thread, because a driver may not answer.

    Args:
        read: returns the conditions; by default, from the sensors.

    Attributes:
        now: the latest conditions, or unknown ones if the latest reading doesn't end.
    """

    changed = Signal()
    looked = Signal()  # also if nothing has changed

    def __init__(self, parent: QObject | None = None, read: Callable[[], Conditions] | None = None) -> None:
        super().__init__(parent)
        self._read = read or (lambda: sensors.read())
        self._background = Background(self, threads=1)
        self._needed: set[str] = set()
        self._reading = False
        self._timer = QTimer(self, interval=INTERVAL_MS)
        self._timer.timeout.connect(self.look)
        self.now = UNKNOWN

    def set_needed(self, name: str, needed: bool) -> None:
        """Read every few seconds from now on, or no longer for this purpose."""
        is_new = needed and name not in self._needed
        (self._needed.add if needed else self._needed.discard)(name)
        if is_new:  # also if another purpose reads them: this one may last less than an interval
            self._timer.start()
            if not self._reading:
                self.look()
        elif not self._needed:
            self._timer.stop()

    @Slot()
    def look(self) -> None:
        """Read the conditions once. `looked` follows."""
        if self._reading:
            self._keep(UNKNOWN)
            return
        self._reading = True
        self._background.run(self._read, self._finish, lambda _: self._finish(UNKNOWN))

    def close(self) -> None:
        """End without waiting long for a driver that doesn't answer."""
        self._timer.stop()
        self._background.close()

    def _finish(self, found: Conditions) -> None:
        self._reading = False
        self._keep(found)
        self.looked.emit()

    def _keep(self, found: Conditions) -> None:
        if found != self.now:
            self.now = found
            self.changed.emit()
