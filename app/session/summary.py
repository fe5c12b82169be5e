"""A summary of a chat that fills the context, to continue in a new chat."""

from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, Signal, Slot

from app.session.activity import SessionActivity
from app.session.chat_session import ChatSession
from app.session.drafts import Draft
from app.session.engine_adapter import Delivery, EngineAdapter
from app.session.next_message import NextMessage
from app.session.notice import Notice, NoticeAction, Notices
from app.storage.attachments import shown_to
from app.storage.chat_tree import Chat
from app.storage.reply import Reply
from app.text.language import tr, translated
from mlx_engine.contract.client import Run
from mlx_engine.contract.events import Failed, Finished
from mlx_engine.contract.requests import GenerationRequest, Message

MAX_TOKENS = 512  # in a summary
_TASK = (
    "Summarize our conversation so far, so that we can continue it in a new chat. Keep the facts, decisions, and open questions. "
    "Write in the language of the conversation. Reply with the summary only."
)


class SummaryRunner(QObject):
    """A summary of the open chat, to begin a new one. Opening another chat cancels it."""

    changed = Signal()
    written = Signal()  # the new chat is open

    def __init__(
        self,
        session: ChatSession,
        activity: SessionActivity,
        engine: EngineAdapter,
        message: NextMessage,
        notices: Notices,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._session, self._activity, self._engine = session, activity, engine
        self._message, self._notices = message, notices
        self._run: Run | None = None
        self._reply: Reply | None = None  # the latest summary
        session.chat_changed.connect(self.cancel)

    @property
    def running(self) -> bool:
        return self._run is not None

    @Slot()
    def start(self) -> None:
        if self.running:
            return
        if refusal := self._activity.refusal():
            self._notices.post(refusal)
            return
        messages = (*shown_to(self._session.can_see, self._session.chat.history()), Message("user", _TASK))
        chat = self._session.chat
        request = GenerationRequest(
            messages,
            mode=self._session.next_mode,
            max_tokens=MAX_TOKENS,
            rolling=0,
            shorten_results=True,
            foreground=True,
            chat=chat.id,
            private=chat.settings.private,
        )
        self._reply = reply = Reply.to(request)
        self._run = self._engine.submit(request, partial(self._receive, reply))
        self._activity.set_summarizing(True)
        self.changed.emit()

    @Slot()
    def cancel(self) -> None:
        if self._run is not None:
            self._message.put_back()  # else the message would be sent without the summary
            self._run.cancel()
            self._end()

    def _end(self) -> None:
        self._run = None
        self._activity.set_summarizing(False)
        self.changed.emit()

    def _receive(self, reply: Reply, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            if self._run is None or reply is not self._reply:
                return  # canceled
            if delivery.event is not None:
                reply.accept(delivery.event, delivery.at_s)
            match delivery.event:
                case Finished("cancelled"):
                    self._end()  # the app quits
                case Finished():
                    self._finish(reply.answer.strip())
                case Failed() as failed:
                    self._message.put_back()
                    self._end()
                    self._notices.post(Notice(translated(failed), "error", until="chat"))

    def _finish(self, summary: str) -> None:
        chat, editing = self._session.chat, self._session.editing is not None
        if not summary:
            self._message.put_back()
        waiting = self._message.take_waiting() if summary and not editing else None
        self._end()
        if summary and not editing:
            self._open_new_chat(chat, summary, waiting)
        elif summary:
            show = partial(self._open_new_chat, chat, summary, None)
            open_chat = NoticeAction(tr("Open New Chat"), show, needed=True)
            self._notices.post(Notice(tr("The summary is ready."), topic="summary", actions=(open_chat,)))
        else:
            self._notices.post(Notice(tr("The model didn't write a summary. Try again."), "error", until="chat"))

    def _open_new_chat(self, old: Chat, summary: str, waiting: Draft | None) -> None:
        """Put a chat's summary into a new chat's message, to be edited before sending.

        A message that waits in the old chat goes with it.
        """
        self._session.new_chat()
        self._session.set_settings(replace(old.settings, rolling=False))
        self._message.begin_with(tr("Summary of “{title}”:", title=old.title) + f"\n\n{summary}", waiting)
        self.written.emit()
