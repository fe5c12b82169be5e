"""Summaries that replace older messages in the prompts of a chat."""

from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, Signal, Slot

from app.session.activity import SessionActivity
from app.session.chat_session import ChatSession
from app.session.context_meter import ContextMeter
from app.session.engine_adapter import Delivery, EngineAdapter
from app.session.next_message import NextMessage
from app.session.notice import Notice, NoticeAction, Notices
from app.session.pair_session import PairLoader
from app.session.preferences import Preferences
from app.storage.attachments import shown_to
from app.storage.chat_tree import SUMMARY_QUESTION, Node, Turn, asking, messages_to
from app.storage.reply import Reply
from app.text.language import tr, translated
from mlx_engine.contract.client import Run
from mlx_engine.contract.events import Failed, Finished, PrefillProgress
from mlx_engine.contract.requests import Message

MAX_TOKENS = 1024  # in a summary, with thinking that can't be turned off
_TASK = (
    f"{SUMMARY_QUESTION} The summary will replace these messages. Keep the facts, names, numbers, decisions, and open questions. "
    "Write at most 400 words, in the language of the conversation. Reply with the summary only."
)


class Compactor(QObject):
    """Lets the loaded model summarize older turns of the open chat.

    The messages stay in the chat. Turns that don't fit in one prompt are summarized in portions, each with the summary so far.
    Opening another chat cancels a summary that is being written.
    """

    changed = Signal()

    def __init__(
        self,
        session: ChatSession,
        activity: SessionActivity,
        loader: PairLoader,
        engine: EngineAdapter,
        meter: ContextMeter,
        message: NextMessage,
        preferences: Preferences,
        notices: Notices,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._session, self._activity, self._loader, self._engine = session, activity, loader, engine
        self._meter, self._message, self._preferences, self._notices = meter, message, preferences, notices
        self._run: Run | None = None
        self._chat = session.chat  # whose summary is being written
        self._reply: Reply | None = None  # the summary that is being written
        self._turns: list[Turn] = []  # those that have no summary yet
        self._portion: list[Turn] = []  # the first of `_turns`, which are being summarized
        self._covered: Node | None = None  # the last message of earlier portions
        self._summary = ""  # of earlier portions
        self._tried: Node | None = None  # the end of the chat that was summarized automatically, or when the chat was opened
        self.edits: dict[str, str] = {}  # unsaved summaries, by the ID of the message
        session.chat_changed.connect(self._leave)
        session.chat_changed.connect(self._await_reply)
        for signal in (meter.changed, preferences.changed):
            signal.connect(self._start_if_nearly_full)

    @property
    def running(self) -> bool:
        return self._run is not None

    @property
    def can_compact(self) -> bool:
        """Whether the open chat has turns to summarize, and a model that can."""
        can_write = self._loader.pair is not None and not self._loader.has_demo  # the demo pair can't write summaries
        return can_write and not self.running and self._session.chat.can_compact

    @property
    def can_undo(self) -> bool:
        """Whether a summary replaces messages of the open chat, and no reply reads it."""
        return self._summarized is not None and self._activity.refusal_here is None

    @property
    def _summarized(self) -> Node | None:
        cut = self._session.chat.cut
        return cut.summary if cut is not None else None

    @property
    def _kept_share(self) -> float:
        """The share of the chat that fits in half of the context."""
        use = self._meter.use
        return max(0.5, use.limit / use.used / 2) if use is not None and use.used else 0.5

    @Slot()
    def start(self) -> None:
        """Summarize the turns that can be, as if the user had asked for it in the chat."""
        if not self.can_compact:
            return
        if refusal := self._activity.refusal(again=self.start):
            self._notices.post(refusal)
            return
        self._chat = self._session.chat
        self._turns, self._covered, self._summary = self._chat.compactable(self._kept_share), None, ""
        self._summarize(len(self._turns))
        self._activity.set_summarizing(True)
        self.changed.emit()

    def _summarize(self, count: int) -> None:
        """Summarize the next `count` turns with the summary so far.

        The first prompt begins like that of the next reply, so most of it is known already.
        """
        self._portion = self._turns[:count]
        chat, last = self._chat, self._portion[-1].last
        earlier = messages_to(last, self._covered, self._summary)
        request = asking(self._session.base_request(chat, last), earlier, Message("user", _TASK))
        request = replace(
            request,
            messages=shown_to(self._session.can_see, request.messages),
            max_tokens=MAX_TOKENS,
            thinking=False,
            rolling=0 if count > 1 else None,  # reports whether all turns fit
            tool_choice="none",
            foreground=True,
            chat=chat.id,
            private=chat.settings.private,
        )
        self._reply = reply = Reply.to(request)
        self._run = self._engine.submit(request, partial(self._receive, reply))

    @Slot()
    def _await_reply(self) -> None:
        """Start nothing automatically in a chat that was opened until it grows."""
        turns = self._session.chat.turns
        self._tried = turns[-1].last if turns else None

    @Slot()
    def _start_if_nearly_full(self) -> None:
        """Start automatically, once for each end of the chat."""
        use, turns = self._meter.use, self._session.chat.turns
        full = use is not None and use.chat_nearly_full and not self._meter.counting and self._session.editing is None
        summary = self._summarized
        edited = summary is not None and summary.id in self.edits
        wanted = self._preferences.auto_compact and full and not edited
        if not wanted or not turns or turns[-1].last is self._tried or not self.can_compact or self._activity.refusal():
            return
        self._tried = turns[-1].last
        self._notices.post(Notice(tr("The context is nearly full, so older messages are being summarized."), topic="compact"))
        self.start()

    @Slot()
    def cancel(self) -> None:
        if self._run is not None:
            self._message.put_back()  # else the message would be sent without the summary
            self._run.cancel()
            self._end()

    @Slot()
    def _leave(self) -> None:
        """Cancel the summary of the chat that was open, and say so."""
        if self._run is None:
            return
        self.cancel()
        text = tr("The summary of “{title}” was canceled because you opened another chat.", title=self._chat.title)
        self._notices.post(Notice(text, topic="compact", stays=True))

    @Slot()
    def undo(self) -> None:
        """Let the model read the messages again that a summary replaces."""
        if refusal := self._activity.refusal_here:
            self._notices.post(refusal)
            return
        if (node := self._summarized) is not None:
            self._session.remove_summary(node)

    def _end(self) -> None:
        self._run = None
        self._turns, self._portion = [], []
        self._activity.set_summarizing(False)
        self.changed.emit()

    def _fail(self, why: str) -> None:
        """Keep the messages, and say why they weren't summarized."""
        self._message.put_back()
        self._end()
        self._notices.post(Notice(why, "error", until="chat"))

    def _receive(self, reply: Reply, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            if self._run is None or reply is not self._reply:
                return  # canceled
            if delivery.event is not None:
                reply.accept(delivery.event, delivery.at_s)
            match delivery.event:
                case PrefillProgress() if reply.left_out:
                    self._run.cancel()
                    self._summarize(len(self._portion) // 2)
                case Finished("cancelled"):
                    self._end()  # the app quits
                case Finished("length") if reply.context_full:
                    self._fail(tr("The context has too little room for a summary, so all messages are kept. Use a rolling window."))
                case Finished("length"):
                    self._fail(tr("The summary was too long, so all messages are kept. Try again, or use a rolling window."))
                case Finished():
                    self._finish(reply.answer.strip())
                case Failed(code="context_full" | "context_exceeded" | "remote_context_exceeded"):
                    self._fail(tr("A message is too long to be summarized, so all messages are kept. Use a rolling window."))
                case Failed() as failed:
                    self._fail(translated(failed))

    def _finish(self, summary: str) -> None:
        if not summary:
            self._fail(tr("The model didn't write a summary. Try again."))
            return
        last = self._portion[-1].last
        self._turns = self._turns[len(self._portion) :]
        if self._turns:
            self._covered, self._summary = last, summary
            self._summarize(min(len(self._portion), len(self._turns)))
            return
        self._session.set_summary(last, summary)
        text = tr("A summary replaces the older messages in prompts. They stay in the chat.")
        undo = NoticeAction(tr("Undo"), self.undo)
        self._notices.post(Notice(text, until="chat", topic="compact", actions=(undo,)))
        self._end()  # the message that waits is sent now
