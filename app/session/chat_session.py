"""The open chat: its settings, its messages, and its replies."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.session.activity import SessionActivity
from app.session.chat_library import ChatLibrary
from app.session.chat_pages import ChatPages
from app.session.context_use import NextPrompt
from app.session.notice import Notice, NoticeAction, Notices
from app.session.pair_session import PairLoader
from app.session.reply_run import ReplyRun
from app.session.reply_runner import ReplyRunner
from app.session.tool_box import ToolBox
from app.storage.attachments import Attachment, Unread, unread, unread_images
from app.storage.chat_tree import Chat, Node, Turn, messages_summarized, messages_to
from app.storage.project import Project
from app.storage.settings import ChatSettings, Preset
from app.text.language import sentences, tr
from app.text.plain_text import clean
from mlx_engine.contract.requests import GenerationRequest, Mode, Sampling, ToolSpec
from mlx_engine.mcp.tool import Tool

ANOTHER_WORDING = 0.7  # temperature of a regenerated reply if the user has set none and the pair's default is 0
SAVE_MS = 500  # delay after the last change of a chat's settings


class ChatSession(QObject):
    """The open chat, which the user edits and sends, and whose replies start here.

    Attributes:
        chat: the open chat.
        editing: the turn that is being edited, or None.
        new_chats: the settings of new chats.
    """

    settings_changed = Signal()
    chat_changed = Signal()  # another chat is open; `turns_changed`, `settings_changed`, and `opened` follow
    opened = Signal()
    turns_changed = Signal(list)  # list of Turn: the shown branch
    turn_added = Signal(object)  # Turn, added at the end
    turn_revealed = Signal(object, object, str)  # Turn and Node to scroll to, and words to mark
    editing_changed = Signal(object)  # Turn being edited, or None
    edit_canceled = Signal()  # by the user; `editing_changed` follows
    pages_changed = Signal()  # `drawing_pages`, or pages that were drawn
    cut_changed = Signal()  # what replaces older messages
    delayed = Signal(object, str)  # function that starts a reply, to call when tools and pages are ready; an example's server

    def __init__(
        self,
        library: ChatLibrary,
        loader: PairLoader,
        tools: ToolBox,
        reply_runner: ReplyRunner,
        activity: SessionActivity,
        notices: Notices,
        pages: ChatPages,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._library, self._loader, self._tools, self._pages = library, loader, tools, pages
        self._reply_runner, self._activity, self._notices = reply_runner, activity, notices
        self.new_chats = ChatSettings()
        self.chat = Chat()
        self.editing: Turn | None = None
        self._opening = ""  # id of the chat being read
        self.switches = ChatSettings()  # of new chats: those chosen last, but not in a project with its own settings
        self._stays = False  # whether the new chat of the launch stays open
        self._left = ""  # id of the chat that was open until it was deleted; a new one is shown since
        self._unsaved: Chat | None = None  # chat with changed settings
        self._summaries: dict[str, tuple[Node, str]] = {}  # those that Continue removed, by the ID of the chat
        self._save_timer = QTimer(self, singleShot=True, interval=SAVE_MS)  # avoids a save per keystroke
        self._save_timer.timeout.connect(self.save_settings)
        library.loaded.connect(self._open_last)
        library.removed.connect(self._leave_removed)
        library.restored.connect(self._return_to_restored)
        library.revealed.connect(self.open_chat)
        for signal in (tools.changed, self.settings_changed, loader.loaded, loader.changed):
            signal.connect(self._warm_tools)
        for signal in (self.chat_changed, self.turns_changed, loader.loaded):
            signal.connect(self._draw_pages)
        pages.changed.connect(self.pages_changed)
        reply_runner.refused.connect(self._show_refusal)
        reply_runner.ended.connect(self._offer_removed_summary)
        library.messages_added.connect(lambda chat: self._show_branch() if chat is self.chat else None)

    @property
    def thinking(self) -> bool:
        """Whether the next reply starts with thinking."""
        return self._thinking(self.chat)

    def _thinking(self, chat: Chat) -> bool:
        return chat.settings.thinking and self._loader.can_think

    @property
    def can_see(self) -> bool:
        """Whether the next reply's model sees images."""
        return self._loader.can_see

    @property
    def unread(self) -> tuple[Unread, ...]:
        """What the loaded pair doesn't read of the chat's files below the cut.

        It is empty without a pair. Pages that are being drawn will be read.
        """
        found: list[Unread] = []
        for turn in self.chat.turns_below_cut if self._loader.pair is not None else ():
            found += unread(turn.asked.attachments if turn.asked is not None else (), self.can_see, self.drawing_pages)
            found += unread_images((image for call in turn.reply.calls for image in call.images), self.can_see)
        return tuple(found)

    @property
    def offered_tools(self) -> dict[str, Tool]:
        """The tools of the next reply, keyed by the names sent to the model."""
        return self._offered_tools(self.chat)

    def _offered_tools(self, chat: Chat) -> dict[str, Tool]:
        return self._tools.offered(chat.settings, self._library.project_of(chat)) if self._loader.can_call_tools else {}

    @property
    def tool_specs(self) -> tuple[ToolSpec, ...]:
        """The same tools, for requests."""
        return self._tool_specs(self.chat)

    def _tool_specs(self, chat: Chat) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec(name) for name, tool in self._offered_tools(chat).items())

    @property
    def next_mode(self) -> Mode:
        """Decoding mode of the next reply."""
        return self._mode(self.chat)

    def _mode(self, chat: Chat) -> Mode:
        return "dflash" if self._loader.can_dflash and (chat.settings.dflash or not self._loader.can_plain) else "plain"

    def change(self, **changes: Any) -> None:
        """Change fields of the open chat's settings, starting with the next reply."""
        self.set_settings(replace(self.chat.settings, **changes))

    def set_settings(self, settings: ChatSettings) -> None:
        """Set the open chat's settings, starting with the next reply."""
        if not self._has_own_settings:
            self.switches = self.switches.following(self.chat.settings, settings)
        if settings.private and not self.chat.settings.private and self.chat.empty:
            settings = replace(settings, tool_servers=(), example_servers=())  # those of new chats
        if settings != self.chat.settings:
            self.chat.settings = settings
            if not self.chat.empty:
                self._unsaved = self.chat
                self._save_timer.start()
        self.settings_changed.emit()

    def set_new_chats(self, settings: ChatSettings) -> None:
        """Set the settings of new chats, and of the open chat if it is new and unchanged."""
        before, self.new_chats = Preset("", self.new_chats), settings
        if self.chat.empty and not self._has_own_settings and before.fits(self.chat.settings):
            self.set_settings(Preset("", settings).applied_to(self.chat.settings))

    @Slot()
    def save_settings(self) -> None:
        """Save changed settings now."""
        self._save_timer.stop()
        if self._unsaved is not None:
            self._library.save(self._unsaved, ())
            self._unsaved = None

    @Slot()
    def _warm_tools(self) -> None:
        """Start the servers that are on in the open chat."""
        if self._loader.can_call_tools:
            self._tools.warm(self.chat.settings, self.project_id)

    def tools_starting(self, example: str = "") -> bool:
        """Whether a server is starting that the open chat has on, or an example needs."""
        settings = self._tools.with_example(self.chat.settings, example)
        return self._loader.can_call_tools and self._tools.connecting(settings, self.project_id)

    def tools_starting_in(self, chat: Chat) -> bool:
        """Whether a server is starting that a chat has on.

        Servers that are off are started.
        """
        project = self._library.project_of(chat)
        if self._loader.can_call_tools:
            self._tools.warm(chat.settings, project)
        return self._loader.can_call_tools and self._tools.connecting(chat.settings, project)

    @Slot()
    def _draw_pages(self) -> None:
        self._pages.draw(self.chat)

    @property
    def drawing_pages(self) -> bool:
        """Whether pages of the open chat's PDFs are being drawn for a model that sees."""
        return self._pages.drawing

    def lacks_pages(self, chat: Chat) -> bool:
        """Whether a chat that isn't open has pages that are drawn when it opens."""
        return self._pages.lacking(chat)

    def _can_start(self, start: Callable[[], object], example: str = "") -> bool:
        """Whether a reply can start now. Later, after a wait or consent, `start` does."""
        if not self._activity.can_start(start):
            return False
        if early := self.tools_starting(example) or self.drawing_pages:
            self._tools.warm(self._tools.with_example(self.chat.settings, example), self.project_id)
            self.delayed.emit(start, example)
        return not early

    @Slot(str)
    def send(self, prompt: str, files: Sequence[Attachment] = (), example: str = "") -> bool:
        """Send a message or an edited version; return whether it was sent.

        Args:
            example: a built-in server that is turned on for this chat, if the message is sent.
        """
        prompt = clean(prompt).strip()
        if not prompt and not files:
            self._notices.post(Notice(tr("Write a message first."), until="chat"))
            return False
        if not self._can_start(partial(self.send, prompt, files, example), example):
            return False
        self.set_settings(self._tools.with_example(self.chat.settings, example))
        options = (*self._options(self.chat), tuple(files))
        if self.editing is not None and self.editing.asked is not None:
            assert self.editing.asked.parent is not None
            turn = self.chat.ask(prompt, *options, after=self.editing.asked.parent)
            self._end_edit()
            self.turns_changed.emit(self.chat.turns[:-1])
        else:
            turn = self.chat.ask(prompt, *options)
        self.turn_added.emit(turn)
        self._reply(self.chat, turn)
        return True

    def send_in(self, chat: Chat, prompt: str, files: Sequence[Attachment], edits: str = "") -> None:
        """Send a message, or an edit of a message, in a chat that isn't open."""
        turn = chat.ask(clean(prompt).strip(), *self._options(chat), tuple(files), after=chat.node_before(edits))
        self._reply(chat, turn)

    def prompt_in(self, chat: Chat, text: str, files: tuple[Attachment, ...], after: Node | None) -> NextPrompt:
        """Return the prompt that a message leads to, to count its tokens.

        Args:
            chat: its chat.
            text, files: the message.
            after: the message before it.
        """
        base, earlier = self.base_request(chat, after), messages_to(after)
        return NextPrompt(base, earlier, text, files, self._loader.can_see, messages_summarized(after))

    def base_request(self, chat: Chat, after: Node | None) -> GenerationRequest:
        """Return the request for a reply after a message of a chat, without its messages."""
        base = chat.base_request(after, *self._options(chat))
        return replace(base, tools=self._tool_specs(chat), shorten_results=True)

    def _options(self, chat: Chat) -> tuple[Mode, bool, Sampling]:
        """Return the options of a chat's next reply."""
        return self._mode(chat), self._thinking(chat), self._loader.sampling

    def regenerate(self, turn: Turn, example: str = "") -> None:
        """Generate another reply to a message, keeping the old one as a version.

        Args:
            turn: the message and its reply.
            example: a built-in server that is turned on for this chat.
        """
        if turn.asked is None or not self._can_start(partial(self.regenerate, turn, example), example):
            return
        self.set_settings(self._tools.with_example(self.chat.settings, example))
        old, sampling = turn.answered, self._loader.sampling
        if sampling.temperature == 0 and not example:
            sampling = replace(sampling, temperature=ANOTHER_WORDING)  # greedy decoding would generate the same reply
        new = self.chat.ask_again(turn, self.next_mode, self.thinking, sampling)
        if old is not None and old not in turn.asked.children:
            self._library.delete_message(old)
        self._show_branch()
        self._reply(self.chat, new)

    def _reply(self, chat: Chat, turn: Turn) -> None:
        turn.reply.drafter_kind = self._loader.pair.drafter_kind if self._loader.pair is not None else ""
        self._reply_runner.start(turn, chat, turn.request, self._offered_tools(chat), self._loader.can_see)

    def resume(self, turn: Turn) -> None:
        """Continue a reply that was cut off, or that has room again."""
        has_room = turn.asked is not None and (self.chat.settings.rolling or turn.asked.is_after_summary)
        can = turn.reply.can_continue or (turn.reply.context_full and has_room)
        if not can or not self._can_start(partial(self.resume, turn)):
            return
        if turn.answered is not None and turn.answered.summary:
            self._summaries[self.chat.id] = turn.answered, turn.answered.summary
            self.set_summary(turn.answered, "")  # else later prompts would lack what the model adds
        rolling = self.chat.rolling_after(turn.answered)
        request = replace(turn.request, mode=self.next_mode, max_tokens=self.chat.settings.max_tokens, rolling=rolling)
        self._reply_runner.resume(turn, self.chat, request, self.offered_tools, self._loader.can_see)

    @Slot(object, str)
    def _show_refusal(self, run: ReplyRun, why: str) -> None:
        """Say why a reply isn't continued, and in which chat. Its summary is restored."""
        if (removed := self._summaries.pop(run.chat.id, None)) is not None:
            self.set_summary(*removed, run.chat)
        if run.chat is self.chat:
            self._notices.post(Notice(why, "error", until="chat"))
            return
        text = tr("The reply in “{title}” can't be continued.", title=run.chat.title)
        show = NoticeAction(tr("Open Chat"), partial(self.open_chat, run.chat.id), needed=True)
        self._notices.post(Notice(sentences(text, why), "error", topic=f"refused {run.chat.id}", actions=(show,)))

    @Slot()
    def continue_rolling(self) -> None:
        """Turn on the rolling window, and continue a reply that filled the context."""
        self.change(rolling=True)
        turns = self.chat.turns
        if len(turns) > 1 and turns[-1].reply.context_full:
            self.resume(turns[-1])

    @Slot(object)
    def _offer_removed_summary(self, run: ReplyRun) -> None:
        """Offer to undo the removal of a summary once a continued reply has ended."""
        removed = self._summaries.pop(run.chat.id, None)
        if removed is not None and run.chat is self.chat:
            self._offer_summary(*removed)

    def remove_summary(self, node: Node) -> None:
        """Let the model read the messages again that a summary replaces, and offer Undo."""
        summary = node.summary
        self.set_summary(node, "")
        self._offer_summary(node, summary)

    def _offer_summary(self, node: Node, summary: str) -> None:
        """Offer to undo the removal of a summary."""
        cut, again = self.chat.cut, NoticeAction(tr("Undo"), partial(self.edit_summary, node, summary))
        text = tr("The model reads the older messages again.")
        if cut is not None and cut.summary is not None:
            text = tr("The earlier summary replaces the older messages again.")
        self._notices.post(Notice(text, until="chat", topic="compact", actions=(again,)))

    @Slot(object, str)
    def edit_summary(self, node: Node, summary: str) -> None:
        """Change a summary, unless a reply that runs here reads it."""
        if refusal := self._activity.refusal_here:
            self._notices.post(refusal)
        else:
            self.set_summary(node, summary)

    def set_summary(self, node: Node, summary: str, chat: Chat | None = None) -> None:
        """Set what replaces the messages up to this one; an empty text sends them.

        Args:
            node: the last message that the summary replaces.
            summary: its text.
            chat: the chat of the message, by default the open one.
        """
        before, node.summary = node.summary, clean(summary).strip()
        changed = [node]
        for later in node.below() if bool(before) != bool(node.summary) else ():
            if later.reply is not None and later.reply.left_out:
                later.reply.left_out = 0  # messages of other prompts than the next one
                changed.append(later)
        self._library.save(chat or self.chat, changed)
        self.cut_changed.emit()

    def edit(self, turn: Turn) -> None:
        """Start editing a message. The old version is kept."""
        run = self._reply_runner.of(self.chat.id)
        if turn.asked is not None and (run is None or run.turn is not turn):
            self.editing = turn
            self.editing_changed.emit(turn)

    @Slot()
    def cancel_edit(self) -> None:
        """Give up an edit. In other cases, its text is kept for the next edit."""
        if self.editing is not None:
            self.edit_canceled.emit()
            self._end_edit()

    def _end_edit(self) -> None:
        if self.editing is not None:
            self.editing = None
            self.editing_changed.emit(None)

    def _show_branch(self) -> None:
        """Show the turns after a change. The edit of a message that is gone ends."""
        turns = self.chat.turns
        if self.editing is not None and all(turn.asked is not self.editing.asked for turn in turns):
            self._end_edit()
        self.turns_changed.emit(turns)

    def switch(self, node: Node, step: int) -> None:
        """Show another version of a message, `step` places after the current one."""
        assert node.parent is not None
        versions = node.parent.children
        place = versions.index(node) + step
        if 0 <= place < len(versions):
            self._reveal(versions[place])

    # Chats

    @property
    def in_new_chat(self) -> bool:
        """Whether an empty chat is open, and no other one is being opened."""
        return self.chat.empty and not self._opening

    def new_chat(self, project: Project | None = None) -> None:
        """Open an empty chat with the settings of new chats and the latest switches.

        It isn't private, has no rolling window, and no tools that an example turned on. A project's own settings take precedence.
        """
        settings = Preset("", self.new_chats).applied_to(self.switches)
        if project is not None and project.new_chats is not None:
            settings = project.new_chats.inherited
        self._show(Chat(settings=settings, project=project.id if project is not None else ""))
        self._library.set_open_chat("")

    @property
    def project_id(self) -> str:
        """The ID of the open chat's project, or an empty string."""
        return self._library.project_of(self.chat)

    @property
    def project(self) -> Project | None:
        return self._library.projects.get(self.project_id)

    @property
    def _has_own_settings(self) -> bool:
        """Whether the open chat's project has settings for new chats."""
        return (project := self.project) is not None and project.new_chats is not None

    def open_chat(self, chat_id: str, message_id: str = "", words: str = "") -> None:
        """Open a chat, scroll to a message if an id is given, and mark words in it."""
        self._opening = chat_id

        def show(chat: Chat) -> None:
            if chat.id != self._opening:
                return  # the user has opened another chat
            self._opening = ""
            if chat is not self.chat:
                self._show(chat)
                self._library.set_open_chat(chat.id)
            if message_id and (node := chat.find(message_id)) is not None:
                self._reveal(node, words)

        if self.chat.id == chat_id:
            show(self.chat)
        else:
            self._library.open(chat_id, show)

    def _reveal(self, node: Node, words: str = "") -> None:
        """Show a message's branch and scroll to the message."""
        before = self.chat.turns
        self.chat.choose(node)
        if self.chat.turns != before:
            self._library.choose(node)
            self._show_branch()
        self.turn_revealed.emit(next(turn for turn in self.chat.turns if node in (turn.asked, turn.answered)), node, words)

    def _show(self, chat: Chat) -> None:
        self.save_settings()
        self._opening = self._left = ""
        self.chat = chat
        self._end_edit()
        self.chat_changed.emit()
        self.turns_changed.emit(chat.turns)
        self.settings_changed.emit()
        self.opened.emit()

    def stay(self) -> None:
        """Stay in the open chat, whatever is being opened."""
        self._opening, self._stays = "", True

    @Slot(str)
    def _open_last(self, chat_id: str) -> None:
        if chat_id and self.chat.empty and not self._stays:
            self.open_chat(chat_id)

    @Slot(object)
    def _leave_removed(self, chat_ids: list[str]) -> None:
        for chat_id in chat_ids:
            self._reply_runner.stop(chat_id)
        if self.chat.id in chat_ids:
            left = self.chat.id
            self.new_chat()
            self._left = left

    @Slot(object)
    def _return_to_restored(self, chat_ids: list[str]) -> None:
        """Open the chat that was deleted while open, unless another is open now."""
        if self._left in chat_ids:
            self.open_chat(self._left)
