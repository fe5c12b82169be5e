"""A comparison while it runs: the same request answered plainly and with DFlash, one after the other."""

from dataclasses import replace

from PySide6.QtCore import QObject, Signal

from app.conversations.chat_tree import Turn
from app.conversations.comparison_record import ComparisonRecord
from app.conversations.reply import Reply
from app.engine_adapter import Delivery, EngineAdapter
from app.language import translated
from mlx_engine.events import CompareResult, CompareRun, Failed, Finished, PairInfo, Stats
from mlx_engine.host import Job
from mlx_engine.requests import CompareRequest, GenerationRequest, Mode

PAUSE_S = 0.5  # between two runs, so that the second does not pay for the heat of the first


class Comparison(QObject):
    """One growing reply a mode, the figures of the runs that have ended, and in the end the record of it all.

    `turn` is the one whose question is answered again, None for a prompt that stands for itself.
    """

    changed = Signal()

    def __init__(self, request: GenerationRequest, prompt: str, repeats: int, pair: PairInfo, turn: Turn | None) -> None:
        super().__init__()
        self.turn = turn
        self.request = request
        self.prompt = prompt
        self.repeats = repeats
        self.pair = pair
        self.replies: dict[Mode, Reply] = {}
        self.runs: dict[Mode, list[Stats]] = {"plain": [], "dflash": []}
        self.now: CompareRun | None = None
        self.record: ComparisonRecord | None = None
        self.error = ""
        self.cancelled = False
        self.running = True

    def accept(self, news: Delivery) -> None:
        """Take the next event."""
        match news.event:
            case None:
                self.running = False
                self.cancelled = self.record is None and not self.error
            case CompareRun() as run:
                self.now = run
                self.replies[run.mode] = Reply(run.mode, self.request.max_tokens)
            case CompareResult() as result:
                self.record = ComparisonRecord.of(result, self.runs, self.pair, self.prompt, self.request)
            case Failed() as failed:
                self.error = translated(failed)
            case event if self.now is not None:
                self.replies[self.now.mode].accept(event, news.at_s)
                if isinstance(event, Finished) and event.reason != "cancelled":
                    self.runs[self.now.mode].append(event.stats)


class Comparing(QObject):
    """Runs comparisons, one at a time; `comparison` is the one that runs."""

    started = Signal(object)  # Comparison
    recorded = Signal(object)  # ComparisonRecord
    ended = Signal()

    def __init__(self, engine: EngineAdapter, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._job: Job | None = None
        self.comparison: Comparison | None = None

    @property
    def running(self) -> bool:
        return self._job is not None

    def start(self, request: GenerationRequest, prompt: str, repeats: int, pair: PairInfo, turn: Turn | None = None) -> None:
        """Answer a request plainly and with DFlash, `repeats` times each; `prompt` is what of it is shown."""
        request = replace(request, mode="dflash")
        self.comparison = Comparison(request, prompt, repeats, pair, turn)
        self._job = self._engine.submit(CompareRequest(request, repeats, PAUSE_S), self._receive)
        self.started.emit(self.comparison)

    def stop(self) -> None:
        """End the comparison within a round."""
        if self._job is not None:
            self._job.cancel()

    def _receive(self, deliveries: list[Delivery]) -> None:
        comparison = self.comparison
        assert comparison is not None
        for item in deliveries:
            comparison.accept(item)
        if not comparison.running:
            self._job, self.comparison = None, None
        comparison.changed.emit()
        if not comparison.running:
            if comparison.record is not None:
                self.recorded.emit(comparison.record)
            self.ended.emit()
