"""Comparisons, which run one request in both modes, and their history."""

from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.conversations.chat_export import write_file
from app.conversations.chat_tree import Turn
from app.conversations.comparison_record import ComparisonRecord
from app.conversations.reply import Reply
from app.conversations.store import Store
from app.engine_adapter import Delivery, EngineAdapter
from app.language import tr, translated
from app.store_thread import StoreThread
from mlx_engine.errors import UserError
from mlx_engine.events import CompareResult, CompareRun, Failed, Finished, PairInfo, Stats
from mlx_engine.host import Job
from mlx_engine.requests import CompareRequest, GenerationRequest, LoadPair, Mode

PAUSE_S = 0.5  # between runs, to let the machine cool down


class Comparison(QObject):
    """A comparison: the current reply of each mode, finished runs, and the record.

    Attributes:
        turn: the turn whose prompt is answered again, or None for a new prompt.
        with_this_computer: whether a pair on this computer is compared with a server.
        engines: their names, once the pair is loaded.
    """

    changed = Signal()

    def __init__(
        self, request: GenerationRequest, prompt: str, repeats: int, pair: PairInfo, turn: Turn | None, with_this_computer: bool
    ) -> None:
        super().__init__()
        self.request, self.prompt, self.repeats, self.pair, self.turn = request, prompt, repeats, pair, turn
        self.with_this_computer = with_this_computer
        self.engines: tuple[str, ...] = ()
        self.replies: dict[Mode, Reply] = {}
        self.runs: dict[Mode, list[Stats]] = {"plain": [], "dflash": []}
        self.current_run: CompareRun | None = None
        self.record: ComparisonRecord | None = None
        self.error = ""
        self.running = True

    def accept(self, delivery: Delivery) -> None:
        match delivery.event:
            case None:
                self.running = False
            case PairInfo() as here:
                self.engines = tr("{pair} on this computer", pair=here.name), self.pair.name
            case CompareRun() as run:
                self.current_run = run
                mode = "dflash" if self.with_this_computer else run.mode
                self.replies[run.mode] = Reply(mode, self.request.max_tokens)
            case CompareResult() as result:
                self.record = ComparisonRecord.of(result, self.runs, self.pair, self.prompt, self.request, self.engines)
            case Failed() as failed:
                self.error = translated(failed)
            case event if self.current_run is not None:
                self.replies[self.current_run.mode].accept(event, delivery.at_s)
                if isinstance(event, Finished) and event.reason != "cancelled":
                    self.runs[self.current_run.mode].append(event.stats)


class ComparisonJob(QObject):
    """A controller that runs one comparison at a time."""

    started = Signal(object)  # Comparison
    recorded = Signal(object)  # ComparisonRecord
    ended = Signal()

    def __init__(self, engine: EngineAdapter, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._job: Job | None = None
        self.comparison: Comparison | None = None  # the running one

    @property
    def running(self) -> bool:
        return self._job is not None

    def start(
        self,
        request: GenerationRequest,
        prompt: str,
        repeats: int,
        pair: PairInfo,
        turn: Turn | None = None,
        here: LoadPair | None = None,
    ) -> None:
        """Run a request `repeats` times in each mode and show only its `prompt`.

        Args:
            here: a pair on this computer to compare with the server instead.
        """
        request = replace(request, mode="dflash")
        self.comparison = Comparison(request, prompt, repeats, pair, turn, here is not None)
        self._job = self._engine.submit(CompareRequest(request, repeats, PAUSE_S, here), self._receive)
        self.started.emit(self.comparison)

    def stop(self) -> None:
        if self._job is not None:
            self._job.cancel()

    def _receive(self, deliveries: list[Delivery]) -> None:
        comparison = self.comparison
        assert comparison is not None
        for delivery in deliveries:
            comparison.accept(delivery)
        if not comparison.running:
            self._job, self.comparison = None, None
        comparison.changed.emit()
        if not comparison.running:
            if comparison.record is not None:
                self.recorded.emit(comparison.record)
            self.ended.emit()


class ComparisonHistory(QObject):
    """Earlier comparisons, newest first, stored with the chats."""

    changed = Signal()
    message = Signal(str)

    def __init__(self, store: StoreThread, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.records: tuple[ComparisonRecord, ...] = ()

    def read(self) -> None:
        self._store.read(Store.comparisons, self._show)

    def add(self, record: ComparisonRecord) -> None:
        self._show((record, *self.records))
        self._store.write(lambda store: store.save_comparison(record))

    def delete(self, record: ComparisonRecord) -> None:
        self._show(tuple(one for one in self.records if one.id != record.id))
        self._store.write(lambda store: store.delete_comparison(record.id))

    def save(self, content: bytes | str, file: Path) -> None:
        """Save an exported comparison or image. `message` reports the outcome."""

        def work(store: Store) -> str:
            try:
                write_file(file, content)
            except UserError as error:
                return translated(error.text)
            return tr("Saved as {file}.", file=file)

        self._store.read(work, self.message.emit)

    def _show(self, records: tuple[ComparisonRecord, ...]) -> None:
        self.records = records
        self.changed.emit()
