"""The pair that answers: loading it, and what is known of it then."""

from PySide6.QtCore import QObject, Signal, Slot

from app.calibrating import Calibrating
from app.engine_thread import EngineThread, LoadPair, News
from app.notice import Notice
from mlx_engine.events import Failed, LoadProgress, PairInfo


class PairLoading(QObject):
    """`pair` is the one that is loaded, `progress` how far a loading has come."""

    changed = Signal()  # the progress
    loaded = Signal()
    noticed = Signal(object)  # Notice

    def __init__(self, engine: EngineThread, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._engine.happened.connect(self._hear)
        self._calibrating = Calibrating(engine, self)
        self._job = 0
        self.pair: PairInfo | None = None
        self.progress: LoadProgress | None = None

    @property
    def running(self) -> bool:
        return self._job != 0

    def load(self, pair: LoadPair) -> None:
        """Load a pair, unless one is being loaded."""
        if self._job:
            return
        self.progress = LoadProgress(0.0, "Starting")
        self._job = self._engine.submit(pair)
        self.changed.emit()

    @Slot(list)
    def _hear(self, news: list[News]) -> None:
        for item in news:
            if item.job == self._job:
                self._take(item)

    def _take(self, item: News) -> None:
        match item.event:
            case LoadProgress() as progress:
                self.progress = progress
                self.changed.emit()
            case PairInfo() as pair:
                self.pair = pair
                self.loaded.emit()
                self._calibrating.of(pair)
                if pair.why_plain:
                    self.noticed.emit(Notice(f"DFlash is off: {pair.why_plain}"))
            case Failed(error=error):
                self.noticed.emit(Notice(error, "error", "load"))
            case None:
                self._job = 0
                self.progress = None
                self.changed.emit()
