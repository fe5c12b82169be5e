"""Comparisons of modes, drafters, and servers, and their history."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from PySide6.QtCore import QObject, Signal

from app.session.engine_adapter import Delivery, EngineAdapter
from app.storage.chat_export import write_file
from app.storage.chat_tree import Turn
from app.storage.comparison_record import ComparisonRecord, ComparisonRow, are_drafters
from app.storage.reply import Reply
from app.storage.store import Store
from app.storage.store_thread import StoreThread
from app.text.language import tr, translated
from mlx_engine.contract.client import Run
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import CompareResult, ContestantEvent, ContestantResult, Failed, LoadProgress, NextReply, PairInfo
from mlx_engine.contract.requests import BOTH_MODES, Compare, Contestant, GenerationRequest, LoadPair, with_drafters
from mlx_engine.models.library.library import model_name
from mlx_engine.models.library.pair import demo_pair

PAUSE_S = 0.5  # between replies, to let the machine cool down


@dataclass(frozen=True)
class ComparisonOptions:
    """What a comparison compares.

    Attributes:
        repeats: replies of each contestant to each prompt.
        exact: whether to use exact mode.
        with_this_computer: whether to compare a server with this computer, instead of both modes.
        drafters: folders of the drafters to compare, instead of both modes.
        together: whether both modes reply at the same time.
    """

    repeats: int = 1
    exact: bool = False
    with_this_computer: bool = False
    drafters: tuple[Path, ...] = ()
    together: bool = False

    def contestants(self, here: LoadPair) -> tuple[Contestant, ...]:
        """Return the contestants, where `here` is the pair of this computer."""
        if self.drafters:
            return with_drafters(here.target or demo_pair()[0], self.drafters, here.drafter_bits, here.tuned)
        return (Contestant("drafter", here), Contestant("drafter")) if self.with_this_computer else BOTH_MODES


BOTH_MODES_ONCE = ComparisonOptions()


class CompareRun(QObject):
    """A comparison: the contestants' latest replies, their results, and the record.

    Attributes:
        request: its contestants have the same order as `replies` and `results`.
        prompts: as shown to the user, one per request.
        pair: the pair or endpoint in use before.
        here: the pair of this computer that is in use, or was before an endpoint.
        turn: the turn whose prompt is answered again, or None for a new prompt.
        names: of engines, if they are compared.
        latest: index of the contestant of the latest reply but the baseline's.
        outcome: all results, once the comparison is complete.
        has_loaded: whether it has replaced the pair in use.
    """

    changed = Signal()

    def __init__(self, request: Compare, prompts: Sequence[str], pair: PairInfo, here: LoadPair, turn: Turn | None = None) -> None:
        super().__init__()
        self.request, self.prompts, self.pair, self.here, self.turn = request, prompts, pair, here, turn
        self.names: tuple[str, ...] = ()
        self.loading, self.has_loaded = bool(request.pairs), False
        self.current: NextReply | None = None
        self.replies: list[Reply | None] = [None for _ in request.contestants]
        self.results: list[ContestantResult | None] = [None for _ in request.contestants]
        self.latest = 1
        self.outcome: CompareResult | None = None
        self.record: ComparisonRecord | None = None
        self.error = self.error_code = ""
        self.running = True

    @property
    def prompt(self) -> str:
        """The last prompt."""
        return self.prompts[-1]

    @property
    def of_drafters(self) -> bool:
        return are_drafters(self.request.contestants)

    @property
    def rows(self) -> list[ComparisonRow]:
        """The contestants' figures so far.

        Those of a row without `replies` are of the reply in progress.
        """
        return [self._row(at, contestant) for at, contestant in enumerate(self.request.contestants)]

    def _row(self, at: int, contestant: Contestant) -> ComparisonRow:
        name, result, reply = self.names[at] if self.names else "", self.results[at], self.replies[at]
        if result is not None:
            return ComparisonRow.of(result, name)
        drafter = contestant.pair.drafter if contestant.pair else None
        row = ComparisonRow(contestant.proposer, name, drafter=model_name(drafter) if drafter else "")
        if reply is None:
            return row
        return replace(
            row,
            kind=reply.drafter_kind if contestant.pair else "",
            tok_s=reply.stats.decode_tok_s if reply.stats else reply.rate.tok_s,
            first_token_s=reply.stats.ttft_s if reply.stats else None,
            rounds=reply.rounds,
            tokens_per_round=reply.tokens_per_round,
            tokens=reply.tokens,
        )

    def accept(self, delivery: Delivery) -> None:
        place = self.request.contestants.index
        match delivery.event:
            case None:
                self.running = False
            case LoadProgress():
                self.loading, self.has_loaded = True, not self.pair.remote
            case PairInfo() as here if self.pair.remote:
                self.names = tr("{pair} on this computer", pair=here.name), self.pair.name
            case NextReply(contestant) as current:
                self.loading, self.current, at = False, current, place(contestant)
                self.latest = at or self.latest
                mode = contestant.asked(self.request.requests[0]).mode
                kind = current.kind or self.pair.drafter_kind * (not self.of_drafters)
                self.replies[at] = Reply(mode, self.request.requests[0].max_tokens, drafter_kind=kind)
            case ContestantResult(contestant) as result:
                self.results[place(contestant)] = result
            case CompareResult() as outcome:
                self.outcome = outcome
                self.record = ComparisonRecord.of(outcome, self.request, self.pair, self.prompts, self.names)
            case Failed() as failed:
                self.error, self.error_code = translated(failed), failed.code
            case ContestantEvent(contestant, event):
                reply = self.replies[place(contestant)]
                assert reply is not None
                reply.accept(event, delivery.at_s)


class CompareRunner(QObject):
    """A controller that runs one comparison at a time."""

    started = Signal(object)  # CompareRun
    drafter_changed = Signal()  # a comparison has ended with another drafter loaded, or none
    recorded = Signal(object)  # ComparisonRecord
    ended = Signal()

    def __init__(self, engine: EngineAdapter, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._run: Run | None = None
        self.comparison: CompareRun | None = None  # the running one

    @property
    def running(self) -> bool:
        return self._run is not None

    def start(
        self,
        requests: Sequence[GenerationRequest],
        prompts: Sequence[str],
        options: ComparisonOptions,
        pair: PairInfo,
        here: LoadPair,
        turn: Turn | None = None,
    ) -> None:
        """Compare the replies to requests, and show only their `prompts`."""
        request = Compare(tuple(requests), options.contestants(here), options.repeats, PAUSE_S, options.together)
        self.comparison = CompareRun(request, prompts, pair, here, turn)
        self._run = self._engine.submit(request, self._receive)
        self.started.emit(self.comparison)

    def stop(self) -> None:
        if self._run is not None:
            self._run.cancel()

    def _receive(self, deliveries: list[Delivery]) -> None:
        comparison = self.comparison
        assert comparison is not None
        for delivery in deliveries:
            comparison.accept(delivery)
        if not comparison.running:
            self._run, self.comparison = None, None
        comparison.changed.emit()
        if not comparison.running:
            if comparison.record is not None:
                self.recorded.emit(comparison.record)
            if comparison.has_loaded:
                self.drafter_changed.emit()  # first, as the end may start a reply
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
