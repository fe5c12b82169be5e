"""Calibrates a new pair and selects its Metal kernels while the engine is idle."""

from functools import partial

from PySide6.QtCore import QObject, QTimer, Slot

from app.engine_adapter import Delivery, EngineAdapter
from mlx_engine.events import Calibrated, Failed, KernelsSelected, PairInfo
from mlx_engine.requests import Calibrate, SelectKernels

IDLE_MS = 1500  # before tuning starts

Task = Calibrate | SelectKernels


class BackgroundTuning(QObject):
    """Any request interrupts tuning. It starts again when the engine is idle."""

    def __init__(self, engine: EngineAdapter, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._engine.idle.connect(self._wait)
        self._tasks: list[Task] = []
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(IDLE_MS)
        self._timer.timeout.connect(self._start)

    def tune(self, pair: PairInfo) -> None:
        """Do what is missing for a pair that has been loaded."""
        self._tasks = [*([] if pair.calibrated else [Calibrate()]), *([] if pair.kernels_selected else [SelectKernels()])]
        self._wait()

    @Slot()
    def _start(self) -> None:
        if self._tasks and not self._engine.busy:
            self._engine.submit(self._tasks[0], partial(self._receive, self._tasks))

    def _receive(self, tasks: list[Task], deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            event = delivery.event
            if isinstance(event, Calibrated | KernelsSelected | Failed):
                del tasks[:1]
                if isinstance(event, KernelsSelected) and any(trial.used for trial in event.trials):
                    tasks.append(Calibrate())  # with the selected kernels

    @Slot()
    def _wait(self) -> None:
        if self._tasks and not self._engine.busy:
            self._timer.start()
        else:
            self._timer.stop()
