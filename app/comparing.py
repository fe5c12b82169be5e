"""A comparison while it runs: the same request answered plainly and with DFlash, one after the other."""

from PySide6.QtCore import QObject, Signal, Slot

from app.conversations.chat import Turn, same_again
from app.conversations.reply import Reply
from app.engine_thread import EngineThread, News
from mlx_engine.events import CompareRequest, CompareResult, CompareRun, Failed, Mode


class Comparison(QObject):
    """One growing reply a mode, and in the end the engine's result."""

    changed = Signal()
    ended = Signal()

    def __init__(self, turn: Turn) -> None:
        super().__init__()
        self.turn = turn
        self.replies: dict[Mode, Reply] = {}
        self.now: Mode | None = None
        self.result: CompareResult | None = None
        self.error = ""
        self.cancelled = False
        self.running = True

    def accept(self, news: News) -> None:
        """Take the next event."""
        match news.event:
            case None:
                self.running = False
                self.cancelled = self.result is None and not self.error
            case CompareRun(mode=mode):
                self.now = mode
                self.replies[mode] = Reply(mode, self.turn.request.max_tokens)
            case CompareResult() as result:
                self.result = result
            case Failed(error=error):
                self.error = error
            case event if self.now is not None:
                self.replies[self.now].accept(event, news.at_s)


class Comparing(QObject):
    """Runs comparisons, one at a time; `comparison` is the one that runs."""

    started = Signal(object)  # Comparison
    ended = Signal()

    def __init__(self, engine: EngineThread, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._engine.happened.connect(self._hear)
        self._job = 0
        self.comparison: Comparison | None = None

    @property
    def running(self) -> bool:
        return self._job != 0

    def start(self, turn: Turn) -> None:
        """Answer a turn's question again, plainly and with DFlash."""
        self.comparison = Comparison(turn)
        self._job = self._engine.submit(CompareRequest(same_again(turn)))
        self.started.emit(self.comparison)

    def stop(self) -> None:
        """End the comparison within a round."""
        self._engine.cancel(self._job)

    @Slot(list)
    def _hear(self, news: list[News]) -> None:
        comparison = self.comparison
        mine = [item for item in news if item.job == self._job]
        if comparison is None or not mine:
            return
        for item in mine:
            comparison.accept(item)
        if not comparison.running:
            self._job, self.comparison = 0, None
        comparison.changed.emit()
        if not comparison.running:
            comparison.ended.emit()
            self.ended.emit()
