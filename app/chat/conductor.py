"""Between the views and the engine's thread: keeps the chat, knows what runs, decides what may start.

Views call its methods and listen to its signals. It has no widgets, so the behaviour of the app is tested without a window.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.chat.attachment_reader import Attaching
from app.chat.context_meter import ContextMeter
from app.chat.reply_job import Writing
from app.compare.comparison_history import ComparisonHistory
from app.compare.comparison_job import Comparison, ComparisonJob
from app.conversations.attachments import Attachment
from app.conversations.chat_tree import Chat, Node, Turn, continuation, same_again
from app.conversations.plain_text import clean
from app.conversations.settings import ChatSettings, Preset
from app.engine_adapter import EngineAdapter
from app.language import tr, translated
from app.machine.roofline_job import RooflineJob
from app.models.pair_loader import PairLoading
from app.notice import Notice
from app.sidebar.chat_library import Library
from app.store_thread import StoreThread
from mlx_engine.events import LoadProgress, PairInfo
from mlx_engine.requests import GenerationRequest, LoadPair, Mode, Sampling

KEEP_MS = 500  # after the last change of a chat's settings


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
    replied = Signal(object)  # Stats of what the loaded pair has just written, whichever chat is shown
    editing_changed = Signal(object)  # the Turn whose question is being written anew, or None
    comparison_started = Signal(object)  # Comparison
    noticed = Signal(object)  # Notice
    outdated = Signal(str)  # what notices with this `until` waited for has come

    def __init__(self, engine: EngineAdapter, parent: QObject | None = None, store: StoreThread | None = None) -> None:
        super().__init__(parent)
        store = store or StoreThread(parent=self)
        self.library = Library(store, self)
        self.library.loaded.connect(self._open_last)
        self.library.removed.connect(self._leave_removed)
        self.library.told.connect(self.tell)
        self._loading = PairLoading(engine, self)
        self._loading.changed.connect(self.load_changed)
        self._loading.loaded.connect(self.pair_changed)
        self._loading.loaded.connect(self.switches_changed)
        self._loading.changed.connect(self._load_changed)
        self._loading.noticed.connect(self.noticed)
        self._writing = Writing(engine, self.library, self)
        self._writing.changed.connect(self.reply_changed)
        self._writing.finished.connect(self.replied)
        self._writing.ended.connect(self._ended)
        self._comparing = ComparisonJob(engine, self)
        self._comparing.started.connect(self.comparison_started)
        self._comparing.ended.connect(self._ended)
        self.attaching = Attaching(engine, self)
        self.attaching.refused.connect(self.tell)
        self.pair_changed.connect(self.attaching.count_all)
        self.measuring = RooflineJob(engine, self)
        self.busy_changed.connect(self.measuring.stop)  # whoever asks something need not wait for a measurement
        self.pair_changed.connect(self.measuring.forget)
        self.comparisons = ComparisonHistory(store, self)
        self._comparing.recorded.connect(self.comparisons.add)
        self.chat = Chat()
        self.editing: Turn | None = None
        self._unkept: Chat | None = None  # its settings were changed
        self._keep_soon = QTimer(self)  # a system prompt that is typed is not written to the disk with every key
        self._keep_soon.setSingleShot(True)
        self._keep_soon.setInterval(KEEP_MS)
        self._keep_soon.timeout.connect(self.keep_settings)
        self._opening = ""
        self._told_at_start: list[str] = []
        self._at_start = True
        self.context = ContextMeter(engine, self)

    # What its parts know

    @property
    def pair(self) -> PairInfo | None:
        """The pair that is loaded."""
        return self._loading.pair

    @property
    def loading(self) -> LoadProgress | None:
        """How far a loading has come; None when nothing is loaded now."""
        return self._loading.progress

    @property
    def comparison(self) -> Comparison | None:
        """The comparison that runs."""
        return self._comparing.comparison

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
        return self._writing.turn.reply.mode if self._writing.turn else None

    @property
    def written_chat(self) -> str:
        """The id of the chat in which a reply is being written; empty when none is."""
        return self._writing.chat.id if self._writing.chat else ""

    @property
    def writes_here(self) -> bool:
        """A reply is being written in the chat that is open."""
        return self._writing.chat is self.chat

    @property
    def written_elsewhere(self) -> str:
        """The title of another chat in which a reply is being written; empty when none is."""
        return self._writing.chat.title if self._writing.chat is not None and not self.writes_here else ""

    @Slot()
    def go_to_written(self) -> None:
        """Open the chat in which a reply is being written."""
        if self.written_chat:
            self.open_chat(self.written_chat)

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
                self._unkept = self.chat
                self._keep_soon.start()
        self.switches_changed.emit()

    @Slot()
    def keep_settings(self) -> None:
        """Write what was changed of the settings, if anything was."""
        self._keep_soon.stop()
        if self._unkept is not None:
            self.library.save(self._unkept, ())
            self._unkept = None

    @property
    def default_sampling(self) -> Sampling:
        """What the pair's makers advise, for chats that ask for nothing else."""
        return self.pair.sampling if self.pair else Sampling()

    def apply_preset(self, preset: Preset) -> None:
        """Give this chat a preset's settings."""
        self.set_settings(preset.applied_to(self.chat.settings))

    # What may start

    @property
    def busy(self) -> bool:
        return self._writing.running or self._comparing.running

    @property
    def can_compare(self) -> bool:
        """Whether something can be answered both ways now."""
        return self.pair is not None and not self.busy and self.can_dflash

    @property
    def can_compare_last(self) -> bool:
        """Whether the last question can be."""
        return self.can_compare and self.chat.last_answered is not None

    @Slot()
    def load(self) -> None:
        """Load the demo pair."""
        self._loading.load(LoadPair())

    def use(self, pair: LoadPair) -> None:
        """Load a pair in place of the present one, which is freed first."""
        if self.busy:
            text = tr("A reply is still being written. Stop it, or wait for its end, before you switch models.")
            self.noticed.emit(Notice(text, until="idle"))
            return
        self._loading.load(pair)

    @Slot()
    def cancel_load(self) -> None:
        """Load no further."""
        self._loading.cancel()

    @property
    def loaded_from(self) -> LoadPair | None:
        """What the loaded pair was loaded from."""
        return self._loading.asked

    @Slot(object, object)
    def models_moved(self, before: Path, now: Path) -> None:
        """The model folder lies elsewhere."""
        self._loading.moved(before, now)

    @property
    def loading_from(self) -> LoadPair | None:
        """What is being loaded."""
        return self._loading.coming

    @Slot(str)
    def send(self, prompt: str, attachments: Sequence[Attachment] = ()) -> bool:
        """Ask, with these files, or ask anew what is being edited; False when that cannot be now, and then nothing was taken."""
        prompt = clean(prompt).strip()
        if self.attaching.reading:
            text = tr("A file is still being read. Your message stays here; send it in a moment, or leave the file out.")
            self.noticed.emit(Notice(text))
            return False
        if not prompt and not attachments:
            self.noticed.emit(Notice(tr("There is nothing to send yet: write a message first.")))
            return False
        if not self._ready():
            return False
        options = (self.next_mode, self.thinking, self.default_sampling, tuple(attachments))
        if self.editing is not None and self.editing.asked is not None:
            assert self.editing.asked.parent is not None
            turn = self.chat.ask(prompt, *options, after=self.editing.asked.parent)
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
        if turn.asked is not None and turn is not self._writing.turn:
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
        """End the reply of this chat, or the comparison, within a round. What is written in another chat goes on."""
        if self.writes_here:
            self._writing.stop()
        self._comparing.stop()

    # Chats

    @Slot()
    def new_chat(self) -> None:
        """Begin afresh, with this chat's switches."""
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
        elif self._writing.chat is not None and chat_id == self._writing.chat.id:
            opened(self._writing.chat)
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
        self.keep_settings()
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
            self._writing.stop()
        if self.chat.id in chat_ids:
            settings = ChatSettings(dflash=self.wants_dflash, thinking=self.wants_thinking)
            self._show(Chat(settings=settings))

    @Slot()
    def compare(self) -> None:
        """Answer the last prompt again, plainly and with DFlash."""
        if (turn := self.chat.last_answered) is not None:
            self.compare_turn(turn)

    @Slot(object)
    def compare_turn(self, turn: Turn, repeats: int = 1) -> None:
        """Answer a turn's prompt again both ways, after the same messages and with the same seed and settings; or say why that
        cannot be."""
        if self._ready_to_compare():
            self._compare(same_again(turn), turn.prompt, repeats, turn)

    def compare_prompt(self, prompt: str, repeats: int = 1) -> None:
        """Answer a prompt that stands for itself both ways, with this chat's settings."""
        prompt = clean(prompt).strip()
        if prompt:
            alone = Chat(settings=self.chat.settings).ask(prompt, "dflash", self.thinking, self.default_sampling)
            self._compare(alone.request, prompt, repeats)

    def _compare(self, request: GenerationRequest, prompt: str, repeats: int, turn: Turn | None = None) -> None:
        if self.pair is not None and self.can_compare:
            self._comparing.start(request, prompt, repeats, self.pair, turn)
            self.busy_changed.emit()

    @Slot(str)
    def tell(self, text: str) -> None:
        """Say something in the chat."""
        if self._at_start:
            self._told_at_start.append(text)
        self.noticed.emit(Notice(text))

    def _ready(self) -> bool:
        if self.pair is None and self._loading.running:
            text = tr("The models are still loading. Your message stays here; send it in a moment.")
            self.noticed.emit(Notice(text, until="loaded"))
        elif self.pair is None:
            self.noticed.emit(Notice(tr("No models are loaded, so nothing can answer. Your message stays here."), offer="load"))
        elif self._comparing.running:
            text = tr("A comparison is running. Your message stays here; wait for its end, or stop it.")
            self.noticed.emit(Notice(text, until="idle"))
        elif self.written_elsewhere:
            text = tr(
                "A reply is being written in “{title}”. Your message stays here; wait for the end, or go there to stop it.",
                title=self.written_elsewhere,
            )
            self.noticed.emit(Notice(text, until="idle"))
        elif self.busy:
            text = tr("A reply is still being written. Your message stays here; wait for the end, or press Stop.")
            self.noticed.emit(Notice(text, until="idle"))
        else:
            return True
        return False

    def _start(self, turn: Turn, request: GenerationRequest) -> None:
        self._at_start = False
        self._writing.start(turn, self.chat, request)
        self.busy_changed.emit()
        self.switches_changed.emit()

    def _ready_to_compare(self) -> bool:
        if self.pair is None and self._loading.running:
            self.noticed.emit(Notice(tr("The models are still loading. Compare again in a moment."), until="loaded"))
        elif self.pair is None:
            self.noticed.emit(Notice(tr("No models are loaded, so nothing can be compared."), offer="load"))
        elif self._comparing.running:
            self.noticed.emit(Notice(tr("A comparison is running already. Wait for its end, or stop it."), until="idle"))
        elif self.busy:
            text = tr("A reply is being written; a comparison needs the machine for itself. Wait for its end, or stop it.")
            self.noticed.emit(Notice(text, until="idle"))
        elif self.pair.why_plain is not None:
            self.noticed.emit(Notice(tr("DFlash is not available: {why_plain}", why_plain=translated(self.pair.why_plain))))
        else:
            return True
        return False

    @Slot()
    def _load_changed(self) -> None:
        if not self._loading.running:
            self.outdated.emit("loaded")

    @Slot()
    def _ended(self) -> None:
        self.outdated.emit("idle")
        self.busy_changed.emit()
        self.switches_changed.emit()
