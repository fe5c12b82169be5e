"""The pair that answers: loading it, and what is known of it then."""

from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.engine_adapter import Delivery, EngineAdapter
from app.language import tr, translated
from app.machine.background_tuning import BackgroundTuning
from app.notice import Notice
from mlx_engine.errors import EngineText
from mlx_engine.events import Failed, LoadProgress, PairInfo
from mlx_engine.host import Job
from mlx_engine.requests import LoadPair

_KEEPS_THE_OLD = 0.0  # while a loading has come no further, the files are only looked at and the pair before is still there


class PairLoading(QObject):
    """Loads pairs. `pair` and `loaded_from` are None while none is loaded, `progress` and `loading_from` while none is loading."""

    changed = Signal()  # the progress
    loaded = Signal()  # another pair, or none any more
    notified = Signal(object)  # Notice

    def __init__(self, engine: EngineAdapter, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._tuning = BackgroundTuning(engine, self)
        self._job: Job | None = None
        self._cancelled = False
        self._had_one = False
        self.pair: PairInfo | None = None
        self.loaded_from: LoadPair | None = None
        self.loading_from: LoadPair | None = None
        self.progress: LoadProgress | None = None

    @property
    def running(self) -> bool:
        return self._job is not None

    def load(self, pair: LoadPair) -> None:
        """Load a pair, unless one is being loaded."""
        if self._job:
            return
        self.progress, self.loading_from, self._cancelled = LoadProgress(0.0, EngineText("", tr("Starting"))), pair, False
        self._had_one = self.pair is not None
        self._job = self._engine.submit(pair, self._receive)
        self.changed.emit()

    def moved(self, before: Path, now: Path) -> None:
        """The model folder lies elsewhere: what was loaded from it counts as loaded from there."""
        if self.loaded_from is not None and self.loaded_from.target is not None:
            self.loaded_from = LoadPair(_moved(self.loaded_from.target, before, now), _moved(self.loaded_from.drafter, before, now))
            self.changed.emit()

    def cancel(self) -> None:
        """Load no further, as soon as the part that is being read is read."""
        if self._job:
            self._cancelled = True
            self._job.cancel()

    def _receive(self, deliveries: list[Delivery]) -> None:
        for item in deliveries:
            self._take(item)

    def _take(self, item: Delivery) -> None:
        match item.event:
            case LoadProgress() as progress:
                self.progress = progress
                if progress.fraction > _KEEPS_THE_OLD and self.pair is not None:
                    self._become(None)
                self.changed.emit()
            case PairInfo() as pair:
                self.loaded_from = self.loading_from
                self._become(pair)
                self._tuning.tune(pair)
                if pair.why_plain:
                    self.notified.emit(Notice(tr("DFlash is off: {why_plain}", why_plain=translated(pair.why_plain))))
            case Failed() as failed:
                self.notified.emit(
                    Notice(f"{translated(failed)} {self._what_is_left()}".rstrip(), "error", "" if self.pair else "load")
                )
            case None:
                if self._cancelled and self.loaded_from is not self.loading_from:
                    words = tr("Loading was cancelled. {what_is_left}", what_is_left=self._what_is_left()).rstrip()
                    self.notified.emit(Notice(words, offer="" if self.pair else "load"))
                self._job = None
                self.progress = self.loading_from = None
                self.changed.emit()

    def _become(self, pair: PairInfo | None) -> None:
        self.pair = pair
        if pair is None:
            self.loaded_from = None
        self.loaded.emit()

    def _what_is_left(self) -> str:
        if not self._had_one:
            return ""
        return tr("{name} is still loaded.", name=self.pair.name) if self.pair else tr("No models are loaded now.")


def _moved(place: Path | None, before: Path, now: Path) -> Path | None:
    return now / place.relative_to(before) if place is not None and place.is_relative_to(before) else place
