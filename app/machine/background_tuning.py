"""Measuring what a new pair's passes cost here, and where there is Metal which kernels it shall run; once, while nobody waits."""

from functools import partial

from PySide6.QtCore import QObject, QTimer, Slot

from app.engine_adapter import Delivery, EngineAdapter
from mlx_engine.events import Calibrated, Failed, KernelsSelected, PairInfo
from mlx_engine.requests import Calibrate, SelectKernels

IDLE_MS = 1500  # without a request, before it begins


class Calibrating(QObject):
    """Any request ends it, and it begins anew when the engine has nothing to do again."""

    def __init__(self, engine: EngineAdapter, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._engine.idle.connect(self._wait)
        self._wanted: list[Calibrate | SelectKernels] = []  # in this order
        self._idle = QTimer(self)
        self._idle.setSingleShot(True)
        self._idle.setInterval(IDLE_MS)
        self._idle.timeout.connect(self._begin)

    def of(self, pair: PairInfo) -> None:
        """Another pair has been loaded."""
        self._wanted = [*([] if pair.calibrated else [Calibrate()]), *([] if pair.kernels_selected else [SelectKernels()])]
        self._wait()

    @Slot()
    def _begin(self) -> None:
        if self._wanted and not self._engine.busy:
            self._engine.submit(self._wanted[0], partial(self._receive, self._wanted))

    def _receive(self, wanted: list[Calibrate | SelectKernels], deliveries: list[Delivery]) -> None:
        for item in deliveries:
            if isinstance(item.event, Calibrated | KernelsSelected | Failed):
                del wanted[:1]
                if isinstance(item.event, KernelsSelected) and any(trial.used for trial in item.event.trials):
                    wanted.append(Calibrate())  # what passes cost with those kernels

    @Slot()
    def _wait(self) -> None:
        if self._wanted and not self._engine.busy:
            self._idle.start()
        else:
            self._idle.stop()
