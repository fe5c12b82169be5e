"""Measuring this machine and what the loaded pair makes of it: for the page that shows it."""

from PySide6.QtCore import QObject, Signal, Slot

from app.engine_thread import EngineThread, News
from app.language import tr, translated
from mlx_engine.events import CalibrationProgress, Failed, Roofline
from mlx_engine.requests import MeasureMachine


class Measuring(QObject):
    """`found` is what was measured last, `progress` how far a measurement has come; None when none runs."""

    changed = Signal()

    def __init__(self, engine: EngineThread, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._engine.happened.connect(self._hear)
        self._job = 0
        self.found: Roofline | None = None
        self.progress: CalibrationProgress | None = None
        self.error = ""
        self.stopped = False

    @property
    def running(self) -> bool:
        return self._job != 0

    def start(self, again: bool = False) -> None:
        """Measure, unless it is being done; `again`: the machine's own figures too, though they are known."""
        if self._job:
            return
        self.error, self.stopped = "", False
        self.progress = CalibrationProgress(0.0, tr("Waiting for the engine"))
        self._job = self._engine.submit(MeasureMachine(again))
        self.changed.emit()

    @Slot()
    def stop(self) -> None:
        """End it soon: a reply is worth more, and both at once would only measure each other."""
        self._engine.cancel(self._job)

    @Slot()
    def forget(self) -> None:
        """Another pair is loaded: what was measured of the one before says nothing of it."""
        self.found = None
        self.changed.emit()

    @Slot(list)
    def _hear(self, news: list[News]) -> None:
        mine = [item for item in news if item.job == self._job]
        for item in mine:
            match item.event:
                case CalibrationProgress() as progress:
                    self.progress = progress
                case Roofline() as found:
                    self.found = found
                    self.progress = CalibrationProgress(1.0, tr("Measured"))
                case Failed() as failed:
                    self.error = translated(failed)
                case None:
                    self.stopped = not self.error and self.progress is not None and self.progress.fraction < 1
                    self._job, self.progress = 0, None
        if mine:
            self.changed.emit()
