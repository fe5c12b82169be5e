"""Comparisons, which run one request in both modes, and their history."""

from dataclasses import dataclass, replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.session.engine_adapter import Delivery, EngineAdapter
from app.storage.chat_export import write_file
from app.storage.chat_tree import Turn
from app.storage.comparison_record import ComparisonRecord
from app.storage.drafters_record import DraftersRecord
from app.storage.reply import Reply
from app.storage.store import Store
from app.storage.store_thread import StoreThread
from app.text.language import tr, translated
from mlx_engine.contract.client import Run
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import (
    CompareResult,
    CompareRun,
    DrafterResult,
    DrafterRun,
    DraftersCompared,
    Failed,
    Finished,
    LoadProgress,
    PairInfo,
    Stats,
)
from mlx_engine.contract.requests import CompareDrafters, CompareRequest, GenerationRequest, LoadPair, Mode
from mlx_engine.models.library.pair import demo_pair

PAUSE_S = 0.5  # between runs, to let the machine cool down


@dataclass(frozen=True)
class ComparisonOptions:
    """What a comparison compares.

    Attributes:
        repeats: runs of each mode or drafter.
        exact: whether to use exact mode.
        with_this_computer: whether to compare a server with this computer, instead of both modes.
        drafters: folders of the drafters to compare, instead of both modes.
    """

    repeats: int = 1
    exact: bool = False
    with_this_computer: bool = False
    drafters: tuple[Path, ...] = ()


BOTH_MODES = ComparisonOptions()


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
                self.replies[run.mode] = Reply(mode, self.request.max_tokens, drafter_kind=self.pair.drafter_kind)
            case CompareResult() as result:
                self.record = ComparisonRecord.of(result, self.runs, self.pair, self.prompt, self.request, self.engines)
            case Failed() as failed:
                self.error = translated(failed)
            case event if self.current_run is not None:
                self.replies[self.current_run.mode].accept(event, delivery.at_s)
                if isinstance(event, Finished) and event.reason != "cancelled":
                    self.runs[self.current_run.mode].append(event.stats)


class DrafterComparison(QObject):
    """A comparison of plain decoding, lookup, and all drafters of the loaded target.

    Attributes:
        requests, prompts: one per prompt.
        pair: the pair in use before, loaded from `here`.
        drafters: their folders.
        turn: as in `Comparison`.
        reply: the current reply.
        replies: the latest plain reply, and the latest other one.
        results: of those that are done.
        outcome: all results, once the comparison is complete.
        has_loaded: whether it has replaced the pair in use.
    """

    changed = Signal()

    def __init__(
        self,
        requests: tuple[GenerationRequest, ...],
        prompts: tuple[str, ...],
        repeats: int,
        pair: PairInfo,
        here: LoadPair,
        drafters: tuple[Path, ...],
        turn: Turn | None = None,
    ) -> None:
        super().__init__()
        self.requests, self.prompts, self.repeats, self.pair = requests, prompts, repeats, pair
        self.here, self.drafters, self.turn = here, drafters, turn
        self.loading = self.has_loaded = False
        self.current_run: DrafterRun | None = None
        self.reply: Reply | None = None
        self.replies: dict[Mode, Reply] = {}
        self.results: list[DrafterResult] = []
        self.outcome: DraftersCompared | None = None
        self.record: DraftersRecord | None = None
        self.error = ""
        self.running = True

    @property
    def prompt(self) -> str:
        """The last prompt."""
        return self.prompts[-1]

    def row_of(self, one: DrafterRun | DrafterResult) -> int:
        """Return the row of a run or result in the table."""
        return (None, None, *self.drafters).index(one.folder) if one.folder else int(one.proposer == "lookup")

    def accept(self, delivery: Delivery) -> None:
        match delivery.event:
            case None:
                self.running, self.reply = False, None
            case LoadProgress():
                self.loading = self.has_loaded = True
            case DrafterRun() as run:
                self.loading, self.current_run = False, run
                mode: Mode = "plain" if run.proposer == "plain" else "dflash"
                self.reply = self.replies[mode] = Reply(mode, self.requests[0].max_tokens, drafter_kind=run.kind)
            case DrafterResult() as result:
                self.results.append(result)
                self.reply = None
            case DraftersCompared() as outcome:
                self.outcome = outcome
                self.record = DraftersRecord.of(outcome, self.pair, self.prompts, self.requests, self.repeats)
            case Failed() as failed:
                self.error = translated(failed)
            case event if self.reply is not None and event is not None:
                self.reply.accept(event, delivery.at_s)


class ComparisonJob(QObject):
    """A controller that runs one comparison at a time."""

    started = Signal(object)  # Comparison or DrafterComparison
    drafter_changed = Signal()  # a comparison has ended with another drafter loaded, or none
    recorded = Signal(object)  # ComparisonRecord or DraftersRecord
    ended = Signal()

    def __init__(self, engine: EngineAdapter, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._job: Run | None = None
        self.comparison: Comparison | DrafterComparison | None = None  # the running one

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
        self._start(
            Comparison(request, prompt, repeats, pair, turn, here is not None), CompareRequest(request, repeats, PAUSE_S, here)
        )

    def start_drafters(
        self,
        requests: tuple[GenerationRequest, ...],
        prompts: tuple[str, ...],
        options: ComparisonOptions,
        pair: PairInfo,
        here: LoadPair,
        turn: Turn | None = None,
    ) -> None:
        """Run requests plainly, with lookup, and with each drafter of the target."""
        target, repeats, drafters = here.target or demo_pair()[0], options.repeats, options.drafters
        asked = CompareDrafters(requests, target, drafters, here.drafter_bits, repeats, PAUSE_S, here.tuned)
        self._start(DrafterComparison(requests, prompts, repeats, pair, here, drafters, turn), asked)

    def _start(self, comparison: Comparison | DrafterComparison, request: CompareRequest | CompareDrafters) -> None:
        self.comparison = comparison
        self._job = self._engine.submit(request, self._receive)
        self.started.emit(comparison)

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
            if isinstance(comparison, DrafterComparison) and comparison.has_loaded:
                self.drafter_changed.emit()


class ComparisonHistory(QObject):
    """Earlier comparisons, newest first, stored with the chats."""

    changed = Signal()
    message = Signal(str)

    def __init__(self, store: StoreThread, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.records: tuple[ComparisonRecord | DraftersRecord, ...] = ()

    def read(self) -> None:
        self._store.read(Store.comparisons, self._show)

    def add(self, record: ComparisonRecord | DraftersRecord) -> None:
        self._show((record, *self.records))
        self._store.write(lambda store: store.save_comparison(record))

    def delete(self, record: ComparisonRecord | DraftersRecord) -> None:
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

    def _show(self, records: tuple[ComparisonRecord | DraftersRecord, ...]) -> None:
        self.records = records
        self.changed.emit()
