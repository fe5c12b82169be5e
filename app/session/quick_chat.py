"""The quick chat, which is written in a window of its own next to the open chat."""

from functools import partial
from time import monotonic

from PySide6.QtCore import QObject, Signal, Slot

from app.session.activity import SessionActivity
from app.session.chat_library import ChatLibrary
from app.session.chat_session import ChatSession
from app.session.drafts import Draft, Drafts
from app.session.message_passages import MessagePassages
from app.session.new_replies import NewReplies
from app.session.next_message import PAUSE_S, NextMessage
from app.session.notice import Notice, Notices
from app.session.outgoing import STOPPED, not_sent
from app.session.pair_session import PairLoader
from app.session.reply_run import ReplyRun
from app.session.reply_runner import ReplyRunner
from app.session.tool_box import ToolBox
from app.storage.chat_tree import Chat, Turn
from app.storage.settings import Preset
from app.storage.stored_drafts import QUICK_CHAT
from app.text.language import tr
from app.text.plain_text import clean


class QuickChat(QObject):
    """The quick chat and its message. From its first message on, it is in the library.

    It ends when it is opened in the main window or deleted: then a new one begins. The text in its message field is the draft of
    the chat.

    Attributes:
        chat: the chat, which isn't the open one.
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
        notices: Notices,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._session, self._activity, self._library, self._loader = session, activity, library, loader
        self._reply_runner, self._new_replies, self._drafts, self._message = reply_runner, new_replies, drafts, message
        self._passages, self._main_notices = passages, notices
        self.notices = Notices(self)
        self.chat = Chat()
        self.note = ""
        self.shown = False
        self._for_loading = False  # whether the message waits for a pair that is being loaded
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
        session.opened.connect(self._leave_opened)
        drafts.read.connect(self.replaced)
        library.removed.connect(self._leave_removed)

    @property
    def running(self) -> bool:
        """Whether the chat's reply is being generated."""
        return self._reply_runner.of(self.chat.id) is not None

    @property
    def _draft(self) -> Draft:
        return self._drafts.of(self.chat, new=QUICK_CHAT)

    @property
    def text(self) -> str:
        """The text in the message field."""
        return self._draft.text

    def begin(self) -> None:
        """Show the chat, or a new one if nothing of it waits for the user."""
        if not (self.running or self.text.strip() or self.chat.id in self._new_replies):
            self.restart()
        self.shown = True
        self._new_replies.see(self.chat.id)

    def hide(self) -> None:
        """Leave the chat. What runs or waits there continues, and unsent text stays."""
        self.shown = False
        self.left.emit(self.chat)

    def restart(self) -> None:
        """Begin a new chat, and keep unsent text."""
        before = self._draft
        self._begin_new()
        if before is not self._draft and before.text:
            self.write(f"{self.text}\n\n{before.text}".lstrip())
            self._forget(before)
            self.replaced.emit()

    def _begin_new(self) -> None:
        self.cancel()
        self.notices.clear_all()
        self.left.emit(self.chat)
        self.chat = Chat()
        self.restarted.emit()
        self.replaced.emit()
        self.changed.emit()

    def _forget(self, draft: Draft) -> None:
        """Discard a draft whose text is in another one, or sent."""
        self._drafts.save()  # first, so that a crash loses nothing
        self._drafts.discard(draft)
        self._drafts.save()

    def write(self, text: str) -> None:
        """Set the text to what the user has typed. A message that waits isn't sent."""
        if text != self.text:
            self._draft.text = text
            self._drafts.save_soon()
            self.cancel()

    def add(self, text: str) -> None:
        """Add text of another app and an empty line, unless it is the last paragraph."""
        before, text = self.text.rstrip(), text.strip()
        if text and not f"\n\n{before}".endswith(f"\n\n{text}"):
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
        if self.chat.empty:
            self.chat.settings = Preset("", self._session.new_chats).applied_to(self._session.switches)
        if self._loader.pair is None and not self._loader.running:
            if (refusal := self._activity.alone_refusal()) is not None:
                self._refuse(refusal)
                return
            self._activity.use(self._loader.here)
        if note := self._what_to_wait_for():
            run = self._reply_runner.of(self.chat.id)
            self._wait(note, run.turn if run is not None else None)
            return
        self._wait("")
        if (refusal := self._activity.refusal(self.chat, again=self.send)) is not None:
            self._refuse(refusal)
            return
        sent = self._draft
        self._session.send_in(self.chat, text, self._passages.added_to(self.chat, clean(text).strip(), ()))
        self._forget(sent)
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
        if not self.note or self.chat is self._session.chat:
            return  # or `opened` follows
        if self._after is not None and self._after.reply.reason in STOPPED:
            self._put_back()  # the user may want to change the message
        else:
            self.send()

    def _wait(self, note: str, after: Turn | None = None) -> None:
        if note and not self.note:
            self._for_loading = self._loader.running
            self._drafts.save()  # for the user, the message is sent, so not even a crash may lose it
        self._draft.waits = bool(note)
        self.note, self._after = note, after
        self.changed.emit()

    def _refuse(self, refusal: Notice) -> None:
        self.notices.post(refusal)
        self._put_back(refusal.text)

    def _put_back(self, why: str = "") -> None:
        """Stop waiting, keep the message, and say so where the user sees it."""
        self.cancel()
        if not self.shown:
            chat = self.chat
            title, show = (tr("Quick Chat"), self.open) if chat.empty else (chat.title, partial(self._session.open_chat, chat.id))
            self._main_notices.post(not_sent(chat, title, show, why))

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
        if not self.chat.empty:
            self._session.open_chat(self.chat.id)  # immediately: it is in memory
            return  # after `_leave_opened`
        draft, waits = self._draft, bool(self.note)
        self._begin_new()
        if not self._session.in_new_chat:
            self._session.new_chat()
        self._session.stay()
        self._message.put_back()
        if text := draft.text.strip():
            self._message.add(text)
            self._forget(draft)
            self.replaced.emit()
            if waits and self._message.text == text:
                self._message.send()
            elif waits:
                self._message.explain_end()  # it is below another message

    def end(self) -> None:
        """Send nothing that waits, because the app quits."""
        self.cancel()

    @Slot()
    def _clear_outdated(self) -> None:
        if not self._activity.busy:
            for until in ("free", "idle"):
                self.notices.clear(until)

    @Slot()
    def _give_up(self) -> None:
        """Keep a message whose models couldn't be loaded."""
        if self.note and (self._for_loading or self._loader.pair is None):
            self._put_back(tr("The model it was for isn't available."))

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
        """Leave the chat, its draft, and a waiting message to the main window."""
        if self._session.chat is self.chat:
            waits = bool(self.note)
            self._begin_new()
            if waits:
                self._message.send()

    @Slot(object)
    def _leave_removed(self, chats: list[str]) -> None:
        if self.chat.id in chats:
            self.restart()
