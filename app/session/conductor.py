"""The app's state without widgets: the open chat, its jobs, and what may start."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.session.attachment_reader import AttachmentReader
from app.session.chat_library import ChatLibrary
from app.session.compare_run import BOTH_MODES_ONCE, CompareRunner, ComparisonHistory, ComparisonOptions
from app.session.engine_adapter import EngineAdapter
from app.session.measurements import RooflineJob
from app.session.notice import Notice
from app.session.pair_session import PairLoader
from app.session.reply_run import ReplyRun
from app.session.tool_box import ToolBox
from app.storage.attachments import Attachment
from app.storage.chat_tree import Chat, Node, Turn, same_again
from app.storage.settings import ChatSettings, Preset
from app.storage.store_thread import StoreThread
from app.text.language import tr, translated
from app.text.plain_text import clean
from mlx_engine.contract.requests import GenerationRequest, LoadPair, Mode, ToolSpec
from mlx_engine.mcp.tool import Tool
from mlx_engine.remote.saved_endpoints import SavedConnection

ANOTHER_WORDING = 0.7  # temperature of a regenerated reply if the user has set none and the pair's default is 0
SAVE_MS = 500  # delay after the last change of a chat's settings


class Conductor(QObject):
    """A controller that owns the open chat and starts replies and comparisons."""

    busy_changed = Signal()
    settings_changed = Signal()  # of the open chat
    chat_changed = Signal()  # another chat was opened
    turns_changed = Signal(list)  # list of Turn: the shown branch
    turn_added = Signal(object)  # Turn, added at the end
    turn_revealed = Signal(object, object)  # Turn and Node to scroll to
    editing_changed = Signal(object)  # Turn being edited, or None
    notified = Signal(object)  # Notice
    delayed = Signal(object, str)  # function that starts a reply, to call when the tools are ready; an example's server

    def __init__(
        self,
        engine: EngineAdapter,
        parent: QObject | None = None,
        store: StoreThread | None = None,
        tools: ToolBox | None = None,
    ) -> None:
        super().__init__(parent)
        store = store or StoreThread(parent=self)
        self.engine = engine
        self.tools = tools or ToolBox(parent=self)
        self.library = ChatLibrary(store, self)
        self.loader = PairLoader(engine, self)
        self.reply_run = ReplyRun(engine, self.library, self.tools, self)
        self.compare_runner = CompareRunner(engine, self)
        self.roofline_job = RooflineJob(engine, self)
        self.attachments = AttachmentReader(engine, lambda: self.loader.pair is not None and not self.loader.sent_to, self)
        self.comparisons = ComparisonHistory(store, self)
        self.new_chats = ChatSettings()
        self.chat = Chat()
        self.editing: Turn | None = None
        self._opening = ""  # id of the chat being read
        self._left = ""  # id of the chat that was open until it was deleted; a new one is shown since
        self._unsaved: Chat | None = None  # chat with changed settings
        self._save_timer = QTimer(self, singleShot=True, interval=SAVE_MS)  # avoids a save per keystroke
        self._save_timer.timeout.connect(self.save_settings)
        self.library.loaded.connect(self._open_last)
        self.library.removed.connect(self._leave_removed)
        self.library.restored.connect(self._return_to_restored)
        self.library.revealed.connect(self.open_chat)
        self.library.messages_added.connect(lambda chat: self.turns_changed.emit(chat.turns) if chat is self.chat else None)
        for signal in (self.library.notified, self.loader.notified, self.attachments.refused, self.reply_run.notified):
            signal.connect(self.notify)
        for job in (self.reply_run, self.compare_runner):
            job.started.connect(self.busy_changed)
            job.ended.connect(self.busy_changed)
        self.reply_run.waiting_changed.connect(self.busy_changed)
        self.compare_runner.recorded.connect(self.comparisons.add)
        self.compare_runner.drafter_changed.connect(self._load_again)
        self.busy_changed.connect(self.roofline_job.stop)
        self.loader.loaded.connect(self.roofline_job.forget)
        self.roofline_job.kernels_selected.connect(self.loader.calibration.use)
        self.loader.loaded.connect(self.attachments.count_all)

    @Slot(object)
    def notify(self, notice: Notice | str) -> None:
        """Show a notice above the composer."""
        self.notified.emit(Notice(notice) if isinstance(notice, str) else notice)

    # The settings of the open chat

    @property
    def stays_here(self) -> bool:
        """Whether the open chat is private, so that it can't be sent to the server."""
        return self.chat.settings.private and bool(self.loader.sent_to)

    @property
    def thinking(self) -> bool:
        """Whether the next reply starts with thinking."""
        return self.chat.settings.thinking and self.loader.can_think

    @property
    def offered_tools(self) -> dict[str, Tool]:
        """The tools of the next reply, keyed by the names sent to the model."""
        return self.tools.offered(self.chat.settings) if self.loader.can_call_tools else {}

    @property
    def tool_specs(self) -> tuple[ToolSpec, ...]:
        """The same tools, for requests."""
        return tuple(tool.spec(name) for name, tool in self.offered_tools.items())

    @property
    def next_mode(self) -> Mode:
        """Decoding mode of the next reply."""
        return "dflash" if self.loader.can_dflash and (self.chat.settings.dflash or not self.loader.can_plain) else "plain"

    @Slot(bool)
    def set_dflash(self, on: bool) -> None:
        self.set_settings(replace(self.chat.settings, dflash=on))

    @Slot(bool)
    def set_thinking(self, on: bool) -> None:
        self.set_settings(replace(self.chat.settings, thinking=on))

    @Slot(bool)
    def set_rolling(self, on: bool) -> None:
        self.set_settings(replace(self.chat.settings, rolling=on))

    def apply_preset(self, preset: Preset) -> None:
        self.set_settings(preset.applied_to(self.chat.settings))

    def set_settings(self, settings: ChatSettings) -> None:
        """Set the open chat's settings, starting with the next reply."""
        if settings.private and not self.chat.settings.private and self.chat.empty:
            settings = replace(settings, tool_servers=(), example_servers=())  # from the chat before
        if settings != self.chat.settings:
            self.chat.settings = settings
            if not self.chat.empty:
                self._unsaved = self.chat
                self._save_timer.start()
        self.settings_changed.emit()

    def set_new_chats(self, settings: ChatSettings) -> None:
        """Set the settings of new chats, and of the open chat if it is new and unchanged."""
        before, self.new_chats = Preset("", self.new_chats), settings
        if self.chat.empty and before.fits(self.chat.settings):
            self.set_settings(Preset("", settings).applied_to(self.chat.settings))

    @Slot()
    def save_settings(self) -> None:
        """Save changed settings now."""
        self._save_timer.stop()
        if self._unsaved is not None:
            self.library.save(self._unsaved, ())
            self._unsaved = None

    # Running jobs, and what may start

    @property
    def busy(self) -> bool:
        """Whether a reply or a comparison is running."""
        return self.reply_run.running or self.compare_runner.running

    @property
    def replying_here(self) -> bool:
        """Whether the open chat's reply is being generated."""
        return self.reply_run.chat is self.chat

    @property
    def replying_elsewhere(self) -> str:
        """Title of another chat whose reply is being generated, or an empty string."""
        chat = self.reply_run.chat
        return chat.title if chat is not None and chat is not self.chat else ""

    @property
    def can_compare(self) -> bool:
        return not self.busy and not self.why_no_comparison()

    def why_no_comparison(self, with_this_computer: bool = False) -> str:
        """Return why a comparison isn't possible, or an empty string."""
        pair = self.loader.pair
        if pair is None or self.loader.connecting_to is not None:
            return tr("To compare, load a pair first.")
        if pair.why_plain and not with_this_computer:
            return tr("DFlash isn't available: {why_plain}", why_plain=translated(pair.why_plain))
        if pair.why_not_plain and not with_this_computer:
            return tr("Plain replies aren't available: {why}", why=translated(pair.why_not_plain))
        return self._why_private if self.stays_here else ""

    @property
    def _why_private(self) -> str:
        return tr("This chat is private, so it isn't sent to {host}. Choose a model on this computer.", host=self.loader.sent_to)

    def refusal(self) -> Notice | None:
        """Return why nothing can start now, or None."""
        if self.compare_runner.running:
            return Notice(tr("A comparison is running. Wait for it to finish, or stop it."), until="idle")
        if (title := self.replying_elsewhere) and self.reply_run.waiting:
            return Notice(
                tr("“{title}” needs your approval for a tool call. Respond there, or stop the reply.", title=title), until="idle"
            )
        if title:
            text = tr("A reply is being generated in “{title}”. Wait for it to finish, or stop it there.", title=title)
            return Notice(text, until="idle")
        if self.busy:
            return Notice(tr("A reply is being generated. Wait for it to finish, or stop it."), until="idle")
        if self.loader.running and (self.loader.pair is None or self.loader.connecting_to is not None):
            return Notice(tr("The models are still loading. Try again in a moment."), until="loaded")
        if self.loader.pair is None:
            return Notice(tr("No models are loaded."), offer="load")
        if self.stays_here:
            return Notice(self._why_private, offer="load", until="chat")
        return None

    def _can_start(self) -> bool:
        if refusal := self.refusal():
            self.notify(refusal)
        return refusal is None

    def tools_starting(self, example: str = "") -> bool:
        """Whether a server is starting that the open chat has on, or an example needs."""
        return self.loader.can_call_tools and self.tools.connecting(self.tools.with_example(self.chat.settings, example))

    def _is_early(self, start: Callable[[], object], example: str = "") -> bool:
        """Whether a reply waits for the chat's servers; `start` is called then."""
        if early := self.tools_starting(example):
            self.tools.warm(self.tools.with_example(self.chat.settings, example))
            self.delayed.emit(start, example)
        return early

    @Slot()
    def use(self, pair: LoadPair | None = None) -> None:
        """Load a pair (by default, the demo pair) in place of the current one."""
        if not self.busy or self._can_start():  # says why not
            self.loader.load(pair or LoadPair())

    @Slot()
    def _load_again(self) -> None:
        """Load the pair that a comparison replaced. Auto may choose another drafter."""
        self.loader.load(self.loader.here)

    def connect_to(self, saved: SavedConnection) -> None:
        """Use a server in place of the loaded pair."""
        if not self.busy or self._can_start():  # says why not
            self.loader.connect_to(saved)

    # Replies

    @Slot(str)
    def send(self, prompt: str, files: Sequence[Attachment] = (), example: str = "") -> bool:
        """Send a message or an edited version; return whether it was sent.

        Args:
            example: a built-in server that is turned on for this chat, if the message is sent.
        """
        prompt = clean(prompt).strip()
        if self.attachments.reading:
            self.notify(Notice(tr("A file is still being read. Try again in a moment, or remove the file."), until="read"))
            return False
        if not prompt and not files:
            self.notify(Notice(tr("Write a message first."), until="chat"))
            return False
        if not self._can_start() or self._is_early(partial(self.send, prompt, files, example), example):
            return False
        self.set_settings(self.tools.with_example(self.chat.settings, example))
        options = (self.next_mode, self.thinking, self.loader.sampling, tuple(files))
        if self.editing is not None and self.editing.asked is not None:
            assert self.editing.asked.parent is not None
            turn = self.chat.ask(prompt, *options, after=self.editing.asked.parent)
            self.cancel_edit()
            self.turns_changed.emit(self.chat.turns[:-1])
        else:
            turn = self.chat.ask(prompt, *options)
        self.turn_added.emit(turn)
        self._reply(turn)
        return True

    def regenerate(self, turn: Turn) -> None:
        """Generate another reply to a message, keeping the old one as a version."""
        if turn.asked is None or not self._can_start() or self._is_early(partial(self.regenerate, turn)):
            return
        old, sampling = turn.answered, self.loader.sampling
        if sampling.temperature == 0:
            sampling = replace(sampling, temperature=ANOTHER_WORDING)  # greedy decoding would generate the same reply
        new = self.chat.ask_again(turn, self.next_mode, self.thinking, sampling)
        if old is not None and old not in turn.asked.children:
            self.library.delete_message(old)
        self.turns_changed.emit(self.chat.turns)
        self._reply(new)

    def _reply(self, turn: Turn) -> None:
        turn.reply.drafter_kind = self.loader.pair.drafter_kind if self.loader.pair is not None else ""
        self.reply_run.start(turn, self.chat, turn.request, self.offered_tools)

    def resume(self, turn: Turn) -> None:
        """Continue a reply that was cut off."""
        if turn.reply.can_continue:
            self._resume(turn)

    def _resume(self, turn: Turn) -> None:
        if not self._can_start() or self._is_early(partial(self._resume, turn)):
            return
        rolling = self.chat.rolling_after(turn.answered)
        request = replace(turn.request, mode=self.next_mode, max_tokens=self.chat.settings.max_tokens, rolling=rolling)
        self.reply_run.resume(turn, self.chat, request, self.offered_tools)

    @Slot()
    def continue_rolling(self) -> None:
        """Turn on the rolling window, and continue a reply that filled the context."""
        self.set_rolling(True)
        turns = self.chat.turns
        if len(turns) > 1 and turns[-1].reply.context_full:
            self._resume(turns[-1])

    def edit(self, turn: Turn) -> None:
        """Start editing a message. The old version is kept."""
        if turn.asked is not None and turn is not self.reply_run.turn:
            self.editing = turn
            self.editing_changed.emit(turn)

    @Slot()
    def cancel_edit(self) -> None:
        if self.editing is not None:
            self.editing = None
            self.editing_changed.emit(None)

    def switch(self, node: Node, step: int) -> None:
        """Show another version of a message, `step` places after the current one."""
        assert node.parent is not None
        versions = node.parent.children
        place = versions.index(node) + step
        if 0 <= place < len(versions):
            self.cancel_edit()
            self._reveal(versions[place])

    @Slot()
    def stop(self) -> None:
        """Stop the open chat's reply and any comparison. Other chats' replies continue."""
        if self.replying_here:
            self.reply_run.stop()
        self.compare_runner.stop()

    # Chats

    @Slot()
    def new_chat(self) -> None:
        """Open an empty chat with the settings of new chats and the current switches.

        It isn't private, and has no tools that an example turned on.
        """
        self._show(Chat(settings=Preset("", self.new_chats).applied_to(self.chat.settings.inherited)))
        self.library.set_open_chat("")

    def open_chat(self, chat_id: str, message_id: str = "") -> None:
        """Open a chat, and scroll to a message if an id is given."""
        self._opening = chat_id

        def show(chat: Chat) -> None:
            if chat.id != self._opening:
                return  # the user has opened another chat
            self._opening = ""
            if chat is not self.chat:
                self._show(chat)
                self.library.set_open_chat(chat.id)
            if message_id and (node := chat.find(message_id)) is not None:
                self._reveal(node)

        chat = next((chat for chat in (self.chat, self.reply_run.chat) if chat is not None and chat.id == chat_id), None)
        if chat is not None:
            show(chat)
        else:
            self.library.open(chat_id, show)

    def _reveal(self, node: Node) -> None:
        """Show a message's branch and scroll to the message."""
        before = self.chat.turns
        self.chat.choose(node)
        if self.chat.turns != before:
            self.library.choose(node)
            self.turns_changed.emit(self.chat.turns)
        self.turn_revealed.emit(next(turn for turn in self.chat.turns if node in (turn.asked, turn.answered)), node)

    def _show(self, chat: Chat) -> None:
        self.cancel_edit()
        self.save_settings()
        self._opening = self._left = ""
        self.chat = chat
        self.chat_changed.emit()
        self.turns_changed.emit(chat.turns)
        self.settings_changed.emit()

    @Slot(str)
    def _open_last(self, chat_id: str) -> None:
        if chat_id and self.chat.empty:
            self.open_chat(chat_id)

    @Slot(object)
    def _leave_removed(self, chat_ids: list[str]) -> None:
        if self.reply_run.chat is not None and self.reply_run.chat.id in chat_ids:
            self.reply_run.stop()
        if self.chat.id in chat_ids:
            left = self.chat.id
            self.new_chat()
            self._left = left

    @Slot(object)
    def _return_to_restored(self, chat_ids: list[str]) -> None:
        """Open the chat that was deleted while open, unless another is open now."""
        if self._left in chat_ids:
            self.open_chat(self._left)

    # Comparisons

    @Slot()
    def compare(self) -> None:
        """Compare both modes on the last prompt."""
        if (turn := self.chat.last_comparable) is not None:
            self.compare_turn(turn)

    @Slot(object)
    def compare_turn(self, turn: Turn) -> None:
        """Compare both modes on a turn."""
        self.compare_turns((turn,))

    def compare_turns(self, turns: Sequence[Turn], options: ComparisonOptions = BOTH_MODES_ONCE) -> None:
        """Compare both modes on a turn, or drafters on several turns."""
        if not self._can_start():
            return
        if why := self.why_no_comparison(options.with_this_computer):
            self.notify(why)
            return
        requests = [same_again(turn, self.tool_specs) for turn in turns]
        self._compare(requests, [turn.prompt for turn in turns], turns[0] if len(turns) == 1 else None, options)

    def compare_prompt(self, prompt: str, options: ComparisonOptions = BOTH_MODES_ONCE) -> None:
        """Compare both modes, or drafters, on a prompt with the open chat's settings."""
        if prompt := clean(prompt).strip():
            turn = Chat(settings=self.chat.settings).ask(prompt, "dflash", self.thinking, self.loader.sampling)
            self._compare([turn.request], [prompt], None, options)

    def _compare(
        self, requests: Sequence[GenerationRequest], prompts: Sequence[str], turn: Turn | None, options: ComparisonOptions
    ) -> None:
        pair, here = self.loader.pair, self.loader.here
        if pair is None or self.busy or self.why_no_comparison(options.with_this_computer):
            return
        asked = [replace(one, exact=options.exact, private=self.chat.settings.private) for one in requests]
        self.compare_runner.start(asked, prompts, options, pair, here, turn)
