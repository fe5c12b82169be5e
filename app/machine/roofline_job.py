"""Measuring the machine and the loaded pair for the page that shows both."""

from PySide6.QtCore import QObject, Signal, Slot

from app.engine_adapter import Delivery, EngineAdapter
from app.language import tr, translated
from mlx_engine.errors import EngineText
from mlx_engine.events import Failed, Roofline, TuningProgress
from mlx_engine.host import Job
from mlx_engine.requests import MeasureMachine


class RooflineJob(QObject):
    """`found` is the last measurement. `progress` is None while no measurement runs."""

    changed = Signal()

    def __init__(self, engine: EngineAdapter, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._job: Job | None = None
        self.found: Roofline | None = None
        self.progress: TuningProgress | None = None
        self.error = ""
        self.stopped = False

    @property
    def running(self) -> bool:
        return self._job is not None

    def start(self, again: bool = False) -> None:
        """Measure, unless that is running. `again` repeats the machine's part too."""
        if self.running:
            return
        self.error, self.stopped = "", False
        self.progress = TuningProgress(0.0, EngineText("", tr("Waiting for the engine")))
        self._job = self._engine.submit(MeasureMachine(again), self._receive)
        self.changed.emit()

    @Slot()
    def stop(self) -> None:
        if self._job is not None:
            self._job.cancel()

    @Slot()
    def forget(self) -> None:
        """Drop the result: another pair has been loaded."""
        self.found = None
        self.changed.emit()

    def _receive(self, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            match delivery.event:
                case TuningProgress() as progress:
                    self.progress = progress
                case Roofline() as found:
                    self.found = found
                    self.progress = TuningProgress(1.0, EngineText("", tr("Measured")))
                case Failed() as failed:
                    self.error = translated(failed)
                case None:
                    self.stopped = not self.error and self.progress is not None and self.progress.fraction < 1
                    self._job = self.progress = None
        self.changed.emit()
