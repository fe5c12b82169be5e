"""Between the views and the engine's thread: keeps the chat, knows what runs, decides what may start.

Views call its methods and listen to its signals. It has no widgets, so the behaviour of the app is tested without a window.
"""

from dataclasses import dataclass, replace
from typing import Literal

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.conversations.chat import Chat, Node, Turn, continuation, same_again
from app.conversations.plain_text import clean
from app.conversations.reply import Reply
from app.conversations.settings import ChatSettings
from app.engine_thread import EngineThread, LoadPair, News
from app.library import Library
from app.store_thread import StoreThread
from mlx_engine.events import (
    CompareRequest,
    CompareResult,
    CompareRun,
    Failed,
    GenerationRequest,
    LoadProgress,
    Mode,
    PairInfo,
    Sampling,
)

SAVE_MS = 500  # between two writes of a reply that grows
UNSENT = -1  # the number of a job that waits until the user's message is on the disk


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
    """The app's state. `busy` from the moment a reply or comparison is asked for until its end was heard. A reply goes on when
    another chat is opened."""

    pair_changed = Signal()
    load_changed = Signal()
    busy_changed = Signal()
    switches_changed = Signal()
    chat_changed = Signal()  # another chat is open
    turns_changed = Signal(list)  # of Turn: the branch that is shown now; its beginning may be that of before
    turn_added = Signal(object)  # Turn, at the end
    turn_pointed = Signal(object, object)  # Turn, Node: go there
    reply_changed = Signal(object)  # Turn
    editing_changed = Signal(object)  # the Turn whose question is being written anew, or None
    comparison_started = Signal(object)  # Comparison
    noticed = Signal(object)  # Notice

    def __init__(self, engine: EngineThread, parent: QObject | None = None, store: StoreThread | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._engine.happened.connect(self._hear)
        self.library = Library(store or StoreThread(parent=self), self)
        self.library.loaded.connect(self._open_last)
        self.library.removed.connect(self._leave_removed)
        self.library.told.connect(self.tell)
        self.chat = Chat()
        self.pair: PairInfo | None = None
        self.loading: LoadProgress | None = None
        self.comparison: Comparison | None = None
        self.editing: Turn | None = None
        self._load_job = 0
        self._job = 0
        self._turn: Turn | None = None
        self._written_chat: Chat | None = None
        self._saved_length = 0
        self._stopped_early = False
        self._opening = ""
        self._told_at_start: list[str] = []
        self._at_start = True
        self._saver = QTimer(self)
        self._saver.setInterval(SAVE_MS)
        self._saver.timeout.connect(self._save_growth)

    # What the switches say

    @property
    def wants_dflash(self) -> bool:
        return self.chat.settings.dflash

    @property
    def wants_thinking(self) -> bool:
        return self.chat.settings.thinking

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
        return self._turn.reply.mode if self._turn else None

    @property
    def written_chat(self) -> str:
        """The id of the chat in which a reply is being written; empty when none is."""
        return self._written_chat.id if self._written_chat else ""

    @Slot(bool)
    def set_dflash(self, on: bool) -> None:
        self.set_settings(replace(self.chat.settings, dflash=on))

    @Slot(bool)
    def set_thinking(self, on: bool) -> None:
        self.set_settings(replace(self.chat.settings, thinking=on))

    def set_settings(self, settings: ChatSettings) -> None:
        """Of this chat, from the next reply on."""
        if settings != self.chat.settings:
            self.chat.settings = settings
            if not self.chat.empty:
                self.library.save(self.chat, ())
        self.switches_changed.emit()

    @property
    def default_sampling(self) -> Sampling:
        """What the pair's makers advise, for chats that ask for nothing else."""
        return self.pair.sampling if self.pair else Sampling()

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
        """Ask, or ask anew what is being edited; False when it cannot be asked now, and then nothing was taken."""
        prompt = clean(prompt).strip()
        if not prompt:
            self.noticed.emit(Notice("There is nothing to send yet: write a message first."))
            return False
        if not self._ready():
            return False
        options = (self.next_mode, self.thinking, self.default_sampling)
        if self.editing is not None and self.editing.asked is not None:
            assert self.editing.asked.parent is not None
            turn = self.chat.ask_under(self.editing.asked.parent, prompt, *options)
            self.cancel_edit()
            self.turns_changed.emit(self.chat.turns)
        else:
            turn = self.chat.ask(prompt, *options)
            self.turn_added.emit(turn)
        self._start(turn, turn.request)
        return True

    def regenerate(self, turn: Turn) -> None:
        """Answer a question once more; the old reply stays beside the new one."""
        if turn.asked is None or not self._ready():
            return
        old = turn.answered
        again = self.chat.ask_again(turn, self.next_mode, self.thinking, self.default_sampling)
        if old is not None and old not in again.last.parent.children:  # type: ignore[union-attr]
            self.library.drop(old)
        self.turns_changed.emit(self.chat.turns)
        self._start(again, again.request)

    def resume(self, turn: Turn) -> None:
        """Let a reply go on that was cut off."""
        if turn.reply.can_continue and self._ready():
            request = replace(continuation(turn), mode=self.next_mode, max_tokens=self.chat.settings.max_tokens)
            turn.reply.resume(request.mode)
            self.reply_changed.emit(turn)
            self._start(turn, request)

    def edit(self, turn: Turn) -> None:
        """Begin to write a question anew. The old one stays beside it."""
        if turn.asked is not None and turn is not self._turn:
            self.editing = turn
            self.editing_changed.emit(turn)

    @Slot()
    def cancel_edit(self) -> None:
        if self.editing is not None:
            self.editing = None
            self.editing_changed.emit(None)

    def switch(self, node: Node, step: int) -> None:
        """Show the version after or before this one."""
        assert node.parent is not None
        versions = node.parent.children
        place = versions.index(node) + step
        if 0 <= place < len(versions):
            self.cancel_edit()
            self._choose(versions[place])
            turn = next(turn for turn in self.chat.turns if versions[place] in (turn.asked, turn.answered))
            self.turn_pointed.emit(turn, versions[place])

    @Slot()
    def stop(self) -> None:
        """End the running reply or comparison within a round."""
        self._stopped_early = self._job == UNSENT
        self._engine.cancel(self._job)

    # Chats

    @Slot()
    def new_chat(self) -> None:
        """Begin afresh, with this chat's switches. A reply that still runs is stopped."""
        self.stop()
        settings = ChatSettings(dflash=self.wants_dflash, thinking=self.wants_thinking)
        self._show(Chat(settings=settings))
        self.library.note_open("")

    def open_chat(self, chat_id: str, message_id: str = "") -> None:
        """Show a chat, at this message if one is given."""
        self._opening = chat_id

        def opened(chat: Chat) -> None:
            if chat.id != self._opening:
                return  # yet another was asked for since
            self._opening = ""
            if chat is not self.chat:
                self._show(chat)
                self.library.note_open(chat.id)
            node = chat.find(message_id) if message_id else None
            if node is not None:
                self._choose(node)
                turn = next(turn for turn in chat.turns if node in (turn.asked, turn.answered))
                self.turn_pointed.emit(turn, node)

        if chat_id == self.chat.id:
            opened(self.chat)
        elif self._written_chat is not None and chat_id == self._written_chat.id:
            opened(self._written_chat)
        else:
            self.library.open(chat_id, opened)

    def _choose(self, node: Node) -> None:
        before = self.chat.turns
        self.chat.choose(node)
        if self.chat.turns != before:
            self.library.choose(node)
            self.turns_changed.emit(self.chat.turns)

    def _show(self, chat: Chat) -> None:
        self.cancel_edit()
        self._opening = ""
        self.chat = chat
        self.chat_changed.emit()
        self.turns_changed.emit(chat.turns)
        self.switches_changed.emit()
        if self._at_start:  # what was said on the empty page must not go with it
            self._at_start = False
            for text in self._told_at_start:
                self.noticed.emit(Notice(text))

    @Slot(str)
    def _open_last(self, chat_id: str) -> None:
        if chat_id and self.chat.empty:
            self.open_chat(chat_id)

    @Slot(object)
    def _leave_removed(self, chat_ids: list[str]) -> None:
        if self.written_chat in chat_ids:
            self.stop()
        if self.chat.id in chat_ids:
            settings = ChatSettings(dflash=self.wants_dflash, thinking=self.wants_thinking)
            self._show(Chat(settings=settings))

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

    @Slot(str)
    def tell(self, text: str) -> None:
        """Say something in the chat."""
        if self._at_start:
            self._told_at_start.append(text)
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

    def _start(self, turn: Turn, request: GenerationRequest) -> None:
        """Ask the engine as soon as the question is kept: a reply may be the last thing that this computer does."""
        self._at_start = False
        self._turn, self._written_chat = turn, self.chat
        self._job, self._stopped_early = UNSENT, False
        self._saved_length = -1
        nodes = [node for node in (turn.asked, turn.answered) if node is not None]
        self.library.save(self.chat, nodes, lambda: self._submit(turn, request))
        self._saver.start()
        self.busy_changed.emit()
        self.switches_changed.emit()

    def _submit(self, turn: Turn, request: GenerationRequest) -> None:
        if self._turn is not turn or self._job != UNSENT:
            return
        if self._stopped_early:
            turn.reply.reason = "cancelled"
            self._end_job()
        else:
            self._job = self._engine.submit(request)

    @Slot()
    def _save_growth(self) -> None:
        """Keep what there is of the reply, if it is more than was kept."""
        turn, chat = self._turn, self._written_chat
        if turn is None or chat is None:
            return
        length = len(turn.reply.answer) + len(turn.reply.thinking)
        if length != self._saved_length and turn.answered is not None:
            self._saved_length = length
            self.library.save(chat, [turn.answered])

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
        turn, chat, comparison = self._turn, self._written_chat, self.comparison
        self._turn = self._written_chat = self.comparison = None
        self._saver.stop()
        if comparison is not None:
            comparison.changed.emit()
            comparison.ended.emit()
        elif turn is not None:
            if turn.reply.running:  # an engine that ended without a word
                turn.reply.accept(Failed("The reply ended unexpectedly."), 0.0)
            if chat is not None and turn.answered is not None:
                self.library.save(chat, [turn.answered])
            self.reply_changed.emit(turn)
        self.busy_changed.emit()
        self.switches_changed.emit()
