"""Measurements of the machine and the loaded pair."""

from functools import partial
from typing import Literal

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.session.engine_adapter import Delivery, EngineAdapter
from app.session.help_pages import help_page
from app.system import power
from app.text.language import tr, translated
from mlx_engine.contract.client import Run
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import Failed, PairInfo, WorkProgress
from mlx_engine.contract.machine_events import Calibrated, KernelsSelected, Roofline
from mlx_engine.contract.requests import Calibrate, MeasureMachine, SelectKernels

IDLE_MS = 1500  # before calibration starts
SLICE_S = 20.0  # for which kernels are tested in one go
PAUSE_MS = 20_000  # before tests of kernels start or continue
RETRY_MS = 60_000  # between looks at the power source and the heat

Task = Calibrate | SelectKernels
WaitsFor = power.WaitsFor | Literal["quiet_mode"]


class BackgroundCalibration(QObject):
    """A background task that calibrates a new pair and selects its Metal kernels.

    Any other request interrupts it. It restarts when the engine is idle again. Kernels are tested for a short time in one go, with
    pauses, and not while the Mac runs on its battery, saves power, or is hot. Nothing runs in quiet mode.

    Attributes:
        kernels: the latest evidence.
        progress: of the task that runs or continues later, or None.
        waits_for: why the pair isn't measured now, or None.
    """

    changed = Signal()

    def __init__(self, engine: EngineAdapter, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._engine.idle.connect(self._wait)
        self._tasks: list[Task] = []
        self._is_paused = False  # after testing kernels for a while
        self.running = False
        self.kernels: KernelsSelected | None = None
        self.progress: WorkProgress | None = None
        self.waits_for: WaitsFor | None = None
        self._is_quiet = False
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._start)

    def calibrate(self, pair: PairInfo) -> None:
        """Calibrate a loaded pair and select its kernels, unless already done."""
        self.kernels, self.progress, self.waits_for, self._is_paused = pair.kernels, None, None, False
        kernels = SelectKernels(seconds=SLICE_S)
        self._tasks = [*([] if pair.calibrated else [Calibrate()]), *([] if pair.kernels_selected else [kernels])]
        self.changed.emit()
        self._wait()

    @Slot()
    def _start(self) -> None:
        if not self._tasks or self._engine.busy:
            return
        task = self._tasks[0]
        if self._is_quiet:
            self.waits_for = "quiet_mode"
        else:
            self.waits_for = power.waits_for() if isinstance(task, SelectKernels) else None
            if self.waits_for is None:
                self.running = True
                self._engine.submit(task, partial(self._receive, self._tasks))
            else:
                self._timer.start(RETRY_MS)
        self.changed.emit()

    def set_quiet(self, quiet: bool) -> None:
        """Measure nothing from now on, or continue.

        The request that turns quiet mode on ends what is running.
        """
        self._is_quiet = quiet
        self._wait()

    def _receive(self, tasks: list[Task], deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            event = delivery.event
            if isinstance(event, WorkProgress) and tasks is self._tasks:  # ignore events of a replaced pair
                self.progress = event
            elif isinstance(event, Calibrated | KernelsSelected | Failed):
                del tasks[:1]
                if isinstance(event, KernelsSelected) and tasks is self._tasks:
                    self.use(event)
            elif event is None:
                self.running = False
                self._is_paused = bool(self._tasks) and isinstance(self._tasks[0], SelectKernels)
                self.progress = self.progress if self._tasks else None
        self.changed.emit()

    @Slot(object)
    def use(self, found: KernelsSelected) -> None:
        """Store new kernel evidence, and recalibrate if kernels are or were in use."""
        before, self.kernels = self.kernels, found
        self._tasks[:] = [task for task in self._tasks if not (isinstance(task, SelectKernels) and found.complete)]
        if any(trial.used_at for evidence in (before, found) if evidence for trial in evidence.trials):
            self._tasks.append(Calibrate())
        if not self._tasks:
            self.waits_for = None
            self.changed.emit()

    @Slot()
    def _wait(self) -> None:
        if self._tasks and not self._engine.busy:
            self._timer.start(PAUSE_MS if self._is_paused else IDLE_MS)
        else:
            self._timer.stop()


class RooflineRunner(QObject):
    """Measures the machine, or tests kernels. `progress` is None when idle."""

    changed = Signal()
    kernels_selected = Signal(object)

    def __init__(self, engine: EngineAdapter, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._run: Run | None = None
        self.found: Roofline | None = None
        self.progress: WorkProgress | None = None
        self.error = self.error_page = ""  # a text, and the page of Help about it
        self.stopped = False

    @property
    def running(self) -> bool:
        return self._run is not None

    def start(self, again: bool = False) -> None:
        """Start unless already running. `again` also repeats the machine's measurement."""
        self._submit(MeasureMachine(again))

    @Slot()
    def test_kernels(self) -> None:
        """Test the kernels again, unless already running."""
        self._submit(SelectKernels(again=True))

    def _submit(self, request: MeasureMachine | SelectKernels) -> None:
        if self.running:
            return
        self.error = self.error_page = ""
        self.stopped = False
        self.progress = WorkProgress(0.0, EngineText("", tr("Waiting for the engine")))
        self._run = self._engine.submit(request, self._receive)
        self.changed.emit()

    @Slot()
    def stop(self) -> None:
        if self._run is not None:
            self._run.cancel()

    @Slot()
    def forget(self) -> None:
        """Drop the result after another pair has been loaded."""
        self.found = None
        self.changed.emit()

    def _receive(self, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            match delivery.event:
                case WorkProgress() as progress:
                    self.progress = progress
                case Roofline() as found:
                    self.found = found
                    self.progress = WorkProgress(1.0, EngineText("", tr("Finishing")))
                case KernelsSelected() as kernels:
                    self.kernels_selected.emit(kernels)
                    self.progress = WorkProgress(1.0, EngineText("", tr("Finishing")))
                case Failed() as failed:
                    self.error, self.error_page = translated(failed), help_page(failed.code)
                case None:
                    self.stopped = not self.error and self.progress is not None and self.progress.fraction < 1
                    self._run = self.progress = None
        self.changed.emit()
