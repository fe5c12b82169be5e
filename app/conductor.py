"""Between the views and the engine's thread: keeps the chat, knows what runs, decides what may start.

Views call its methods and listen to its signals. It has no widgets, so the behaviour of the app is tested without a window.
"""

from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import QObject, Signal, Slot

from app.conversations.chat import Chat, Turn, same_again
from app.conversations.reply import Reply
from app.engine_thread import EngineThread, LoadPair, News
from mlx_engine.events import CompareRequest, CompareResult, CompareRun, Failed, LoadProgress, Mode, PairInfo

MAX_TOKENS = 1024


@dataclass(frozen=True)
class Notice:
    """A sentence for the chat. `offer` names what the button under it does."""

    text: str
    kind: Literal["info", "error"] = "info"
    offer: Literal["", "load"] = ""


class Comparison(QObject):
    """A comparison while it runs: one growing reply a mode, and in the end the engine's result."""

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


class Conductor(QObject):
    """The app's state. `busy` from the moment a reply or comparison is asked for until its end was heard."""

    pair_changed = Signal()
    load_changed = Signal()
    busy_changed = Signal()
    switches_changed = Signal()
    turn_added = Signal(object)  # Turn
    turn_removed = Signal(object)  # Turn
    reply_changed = Signal(object)  # Turn
    prompt_returned = Signal(str)  # text to put back into the composer
    chat_cleared = Signal()
    comparison_started = Signal(object)  # Comparison
    noticed = Signal(object)  # Notice

    def __init__(self, engine: EngineThread, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._engine.happened.connect(self._hear)
        self.chat = Chat()
        self.pair: PairInfo | None = None
        self.loading: LoadProgress | None = None
        self.comparison: Comparison | None = None
        self._load_job = 0
        self._job = 0
        self._turn: Turn | None = None
        self.wants_dflash = True
        self.wants_thinking = False

    # What the switches say

    @property
    def can_dflash(self) -> bool:
        """Whether DFlash may be chosen; before a pair is loaded nothing speaks against it."""
        return self.pair is None or not self.pair.why_plain

    @property
    def can_think(self) -> bool:
        return self.pair is not None and self.pair.can_think

    @property
    def dflash(self) -> bool:
        """The next reply will be decoded with DFlash."""
        return self.wants_dflash and self.can_dflash

    @property
    def thinking(self) -> bool:
        """The next reply will begin with thinking."""
        return self.wants_thinking and self.can_think

    @property
    def next_mode(self) -> Mode:
        return "dflash" if self.dflash else "plain"

    @property
    def running_mode(self) -> Mode | None:
        """How the reply that is being written is decoded."""
        return self._turn.request.mode if self._turn else None

    @Slot(bool)
    def set_dflash(self, on: bool) -> None:
        self.wants_dflash = on
        self.switches_changed.emit()

    @Slot(bool)
    def set_thinking(self, on: bool) -> None:
        self.wants_thinking = on
        self.switches_changed.emit()

    # What may start

    @property
    def busy(self) -> bool:
        return self._job != 0

    @property
    def can_compare(self) -> bool:
        return self.pair is not None and not self.busy and self.can_dflash and self.chat.last_answered is not None

    @Slot()
    def load(self) -> None:
        """Load the demo pair."""
        if self._load_job:
            return
        self.loading = LoadProgress(0.0, "Starting")
        self._load_job = self._engine.submit(LoadPair())
        self.load_changed.emit()

    @Slot(str)
    def send(self, prompt: str) -> bool:
        """Ask; False when it cannot be asked now, and then nothing was taken."""
        if not prompt.strip():
            self.noticed.emit(Notice("There is nothing to send yet: write a message first."))
            return False
        if not self._ready():
            return False
        turn = self.chat.ask(prompt.strip(), self.next_mode, self.thinking, MAX_TOKENS)
        self._start(turn)
        return True

    def try_again(self, turn: Turn) -> None:
        """Ask the same once more, in place of a reply that failed."""
        if self._ready():
            self.turn_removed.emit(turn)
            self._start(self.chat.ask_again(turn, self.next_mode))

    def edit(self, turn: Turn) -> None:
        """Put the question of a failed turn back into the composer."""
        if turn is not self._turn:
            self.chat.remove(turn)
            self.turn_removed.emit(turn)
            self.prompt_returned.emit(turn.prompt)

    @Slot()
    def stop(self) -> None:
        """End the running reply or comparison within a round."""
        self._engine.cancel(self._job)

    @Slot()
    def new_chat(self) -> None:
        """Begin afresh. A reply that still runs is stopped."""
        self.stop()
        self._turn = None
        self.chat = Chat()
        self.chat_cleared.emit()

    @Slot()
    def compare(self) -> None:
        """Answer the last prompt again, plainly and with DFlash."""
        turn = self.chat.last_answered
        if turn is None or not self.can_compare:
            return
        self.comparison = Comparison(turn)
        self._job = self._engine.submit(CompareRequest(same_again(turn)))
        self.comparison_started.emit(self.comparison)
        self.busy_changed.emit()

    def tell(self, text: str) -> None:
        """Say something in the chat."""
        self.noticed.emit(Notice(text))

    def _ready(self) -> bool:
        if self.pair is None and self._load_job:
            self.noticed.emit(Notice("The models are still loading. Your message stays here; send it in a moment."))
        elif self.pair is None:
            self.noticed.emit(Notice("No models are loaded, so nothing can answer. Your message stays here.", offer="load"))
        elif self.busy:
            self.noticed.emit(Notice("A reply is still being written. Your message stays here; wait for the end, or press Stop."))
        else:
            return True
        return False

    def _start(self, turn: Turn) -> None:
        self._turn = turn
        self._job = self._engine.submit(turn.request)
        self.turn_added.emit(turn)
        self.busy_changed.emit()
        self.switches_changed.emit()

    # What the engine says

    @Slot(list)
    def _hear(self, news: list[News]) -> None:
        touched = False
        for item in news:
            if item.job == self._load_job:
                self._hear_load(item)
            elif item.job == self._job:
                touched = True
                if self.comparison is not None:
                    self.comparison.accept(item)
                elif self._turn is not None and item.event is not None:
                    self._turn.reply.accept(item.event, item.at_s)
                if item.event is None:
                    self._end_job()
        if touched:
            if self.comparison is not None:
                self.comparison.changed.emit()
            elif self._turn is not None:
                self.reply_changed.emit(self._turn)

    def _hear_load(self, item: News) -> None:
        match item.event:
            case LoadProgress() as progress:
                self.loading = progress
                self.load_changed.emit()
            case PairInfo() as pair:
                self.pair = pair
                self.pair_changed.emit()
                self.switches_changed.emit()
                if pair.why_plain:
                    self.noticed.emit(Notice(f"DFlash is off: {pair.why_plain}"))
            case Failed(error=error):
                self.noticed.emit(Notice(error, "error", "load"))
            case None:
                self._load_job = 0
                self.loading = None
                self.load_changed.emit()

    def _end_job(self) -> None:
        self._job = 0
        turn, comparison = self._turn, self.comparison
        self._turn = self.comparison = None
        if comparison is not None:
            comparison.changed.emit()
            comparison.ended.emit()
        elif turn is not None:
            if turn.reply.running:  # an engine that ended without a word
                turn.reply.accept(Failed("The reply ended unexpectedly."), 0.0)
            self.reply_changed.emit(turn)
        self.busy_changed.emit()
        self.switches_changed.emit()
