"""The quick chat, which is written in a window of its own next to the open chat."""

from time import monotonic

from PySide6.QtCore import QObject, Signal, Slot

from app.session.activity import SessionActivity
from app.session.chat_library import ChatLibrary
from app.session.chat_session import ChatSession
from app.session.drafts import Drafts
from app.session.message_passages import MessagePassages
from app.session.new_replies import NewReplies
from app.session.next_message import PAUSE_S, NextMessage
from app.session.notice import Notice, Notices
from app.session.outgoing import STOPPED
from app.session.pair_session import PairLoader
from app.session.reply_run import ReplyRun
from app.session.reply_runner import ReplyRunner
from app.session.tool_box import ToolBox
from app.storage.chat_tree import Chat, Turn
from app.storage.settings import Preset
from app.text.language import tr
from app.text.plain_text import clean


class QuickChat(QObject):
    """The quick chat and its message. From its first message on, it is in the library.

    It ends when it is opened in the main window or deleted: then a new one begins.

    Attributes:
        chat: the chat, which isn't the open one.
        text: the text in the message field.
        note: what the message waits for, or an empty string.
        notices: messages to the user about this chat.
        shown: whether the user sees the chat.
    """

    changed = Signal()  # `note`, or whether a reply is running
    replaced = Signal()  # the app has changed `text`
    restarted = Signal()  # `chat` is a new one
    left = Signal(object)  # Chat that the user doesn't see any more
    turn_added = Signal(object)  # Turn

    def __init__(
        self,
        session: ChatSession,
        activity: SessionActivity,
        library: ChatLibrary,
        loader: PairLoader,
        tools: ToolBox,
        reply_runner: ReplyRunner,
        new_replies: NewReplies,
        drafts: Drafts,
        message: NextMessage,
        passages: MessagePassages,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._session, self._activity, self._library, self._loader = session, activity, library, loader
        self._reply_runner, self._new_replies, self._drafts, self._message = reply_runner, new_replies, drafts, message
        self._passages = passages
        self.notices = Notices(self)
        self.chat = self._new_chat()
        self.text = self.note = ""
        self.shown = False
        self._after: Turn | None = None  # whose reply the message waits for
        self._paused_until = 0.0  # on the monotonic clock
        loader.loaded.connect(self.notices.clear_lasting)  # a question about another server, or that no models are loaded
        activity.changed.connect(self._clear_outdated)
        for signal in (loader.changed, loader.loaded, tools.changed, activity.changed, passages.changed):
            signal.connect(self._send_waiting)
        for signal in (reply_runner.started, reply_runner.ended):
            signal.connect(self.changed)
        reply_runner.ended.connect(self._see)
        loader.missed.connect(self._give_up)
        loader.notified.connect(self._explain_loading)
        session.chat_changed.connect(self._leave_opened)
        library.removed.connect(self._leave_removed)

    @property
    def running(self) -> bool:
        """Whether the chat's reply is being generated."""
        return self._reply_runner.of(self.chat.id) is not None

    def begin(self) -> None:
        """Show the chat if the user waits for it or hasn't seen its reply, else a new one."""
        if not (self.running or self.note or self.chat.id in self._new_replies):
            self.restart()
        self.shown = True
        self._new_replies.see(self.chat.id)

    def hide(self) -> None:
        """Leave the chat. What runs or waits there continues, and other text stays."""
        self.shown = False
        self.left.emit(self.chat)

    def restart(self) -> None:
        """Begin a new chat with the settings of new chats, and keep unsent text."""
        self.cancel()
        self.notices.clear_all()
        self.left.emit(self.chat)
        self.chat = self._new_chat()
        self.restarted.emit()
        self.changed.emit()

    def _new_chat(self) -> Chat:
        return Chat(settings=Preset("", self._session.new_chats).applied_to(self._session.switches))

    def write(self, text: str) -> None:
        """Set the text to what the user has typed. A message that waits isn't sent."""
        if text != self.text:
            self.text = text
            self.cancel()

    def add(self, text: str) -> None:
        """Add text of another app, with an empty line below it for a question."""
        if text and not self.text.rstrip().endswith(text):
            before = self.text.rstrip()
            self.write(f"{before}\n\n{text}\n\n" if before else f"{text}\n\n")
            self.replaced.emit()

    def pause(self) -> None:
        """Ignore the user's next attempts to send, which may be meant for another app."""
        self._paused_until = monotonic() + PAUSE_S

    @Slot()
    def submit(self) -> None:
        """Send the message for the user."""
        if monotonic() >= self._paused_until:
            self.send()

    @Slot()
    def send(self) -> None:
        """Send the message, or wait for what it needs.

        If no pair is loaded, the one used last is.
        """
        text = self.text.strip()
        self.notices.clear_all()
        if not text:
            return
        if self._loader.pair is None and not self._loader.running:
            if (refusal := self._activity.alone_refusal()) is not None:
                self.notices.post(refusal)
                return
            self._activity.use(self._loader.here)
        if note := self._what_to_wait_for():
            run = self._reply_runner.of(self.chat.id)
            self._wait(note, run.turn if run is not None else None)
            return
        self._wait("")
        if (refusal := self._activity.refusal(self.chat, again=self.send)) is not None:
            self.notices.post(refusal)
            return
        self.text = ""
        self._session.send_in(self.chat, text, self._passages.added_to(self.chat, clean(text).strip(), ()))
        self._library.set_open_chat("" if self._session.chat.empty else self._session.chat.id)  # not this one, at the next launch
        self.replaced.emit()
        self.turn_added.emit(self.chat.turns[-1])

    def _what_to_wait_for(self) -> str:
        """Return a note on what the message waits for, or an empty string."""
        if self.running:
            return tr("The message will be sent when the reply has ended.")
        if self._activity.comparing:
            return tr("The message will be sent when the comparison has ended.")
        if self._loader.running:
            return tr("The message will be sent when the models have loaded.")
        if self._session.tools_starting_in(self.chat):
            return tr("The message will be sent when the tools are ready.")
        if self._passages.searching(self.chat, clean(self.text).strip()):
            return tr("The message will be sent when the documents have been searched.")
        return ""

    @Slot()
    def _send_waiting(self) -> None:
        if not self.note:
            return
        if self._after is not None and self._after.reply.reason in STOPPED:
            self.cancel()  # the user may want to change the message
        else:
            self.send()

    def _wait(self, note: str, after: Turn | None = None) -> None:
        self.note, self._after = note, after
        self.changed.emit()

    @Slot()
    def cancel(self) -> None:
        """Stop waiting, and keep the message."""
        self._wait("")

    @Slot()
    def stop(self) -> None:
        """Stop the chat's reply."""
        self._reply_runner.stop(self.chat.id)

    @Slot()
    def open(self) -> None:
        """Open the chat in the main window, with the message. A new quick chat begins."""
        text, waits, self.text = self.text.strip(), bool(self.note), ""
        self.cancel()
        self.replaced.emit()
        if not self.chat.empty:
            self._session.open_chat(self.chat.id)  # immediately: it is in memory
        elif not self._session.in_new_chat:
            self._session.new_chat()
        self._message.put_back()
        if text:
            self._message.add(text)
            if waits and self._message.text == text:
                self._message.send()

    def end(self) -> None:
        """Keep the message as a draft, because the app quits."""
        self.cancel()
        if text := self.text.strip():
            draft = self._drafts.of(self.chat)
            draft.text, self.text = f"{draft.text}\n\n{text}".strip(), ""

    @Slot()
    def _clear_outdated(self) -> None:
        if not self._activity.busy:
            for until in ("free", "idle"):
                self.notices.clear(until)

    @Slot()
    def _give_up(self) -> None:
        """Keep a message whose models couldn't be loaded."""
        if self.note:
            self.cancel()

    @Slot(object)
    def _explain_loading(self, notice: Notice | str) -> None:
        if self.note:
            self.notices.post(notice)

    @Slot(object)
    def _see(self, run: ReplyRun) -> None:
        if self.shown and run.chat is self.chat:
            self._new_replies.see(run.chat.id)

    @Slot()
    def _leave_opened(self) -> None:
        if self._session.chat is self.chat:
            self.restart()

    @Slot(object)
    def _leave_removed(self, chats: list[str]) -> None:
        if self.chat.id in chats:
            self.restart()
