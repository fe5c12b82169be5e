"""Ways to continue a chat that fills the context: a rolling window or a summary."""

from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, Signal, Slot
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QFrame

from app.session.activity import SessionActivity
from app.session.chat_session import ChatSession
from app.session.context_meter import ContextMeter
from app.session.engine_adapter import Delivery, EngineAdapter
from app.session.notice import Notice, Notices
from app.session.pair_session import PairLoader
from app.text.language import tr, translated
from app.views.chat.composer import Composer
from app.widgets.controls import button, small_label
from app.widgets.layout import Flow, column
from app.widgets.theme import Theme, set_look
from mlx_engine.contract.client import Run
from mlx_engine.contract.events import Commit, Failed, Finished
from mlx_engine.contract.requests import GenerationRequest, Message

MAX_TOKENS = 512  # in a summary
_TASK = (
    "Summarize our conversation so far, so that we can continue it in a new chat. Keep the facts, decisions, and open questions. "
    "Write in the language of the conversation. Reply with the summary only."
)


class SummaryRunner(QObject):
    """A summary of the open chat by the loaded model. Opening another chat cancels it."""

    changed = Signal()
    written = Signal(str)

    def __init__(
        self,
        session: ChatSession,
        activity: SessionActivity,
        engine: EngineAdapter,
        notices: Notices,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._session, self._activity, self._engine, self._notices = session, activity, engine, notices
        self._run: Run | None = None
        self._pieces: list[str] = []
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
        messages = (*self._session.chat.history(), Message("user", _TASK))
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
        self._pieces = []
        self._run = self._engine.submit(request, partial(self._receive, self._pieces))
        self.changed.emit()

    @Slot()
    def cancel(self) -> None:
        if self._run is not None:
            self._run.cancel()
            self._end()

    def _end(self) -> None:
        self._run = None
        self.changed.emit()

    def _receive(self, pieces: list[str], deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            if self._run is None or pieces is not self._pieces:
                return  # canceled
            match delivery.event:
                case Commit(channel="answer") as commit:
                    pieces.append(commit.text)
                case Finished():
                    self._end()
                    if summary := "".join(pieces).strip():
                        self.written.emit(summary)
                    else:
                        self._notices.post(Notice(tr("The model didn't write a summary. Try again."), "error", until="chat"))
                case Failed() as failed:
                    self._end()
                    self._notices.post(Notice(translated(failed), "error", until="chat"))


class FullContextBar(QFrame):
    """A bar that offers ways to continue while the chat fills the context."""

    def __init__(
        self,
        theme: Theme,
        summary: SummaryRunner,
        session: ChatSession,
        activity: SessionActivity,
        loader: PairLoader,
        meter: ContextMeter,
        composer: Composer,
    ) -> None:
        super().__init__()
        set_look(self, "notice")
        self._session, self._activity, self._loader = session, activity, loader
        self._meter, self._composer = meter, composer
        self.summary = summary
        self.label = small_label(theme, look="secondary", wrap=True)
        self.label.setAccessibleName(tr("Note"))
        self.roll = button(tr("Continue with a Rolling Window"), look="bordered", clicked=session.continue_rolling)
        self.roll.setToolTip(tr("Leaves out the oldest messages but keeps them in the chat"))
        self.summarize = button(tr("Start New Chat with Summary"), look="bordered", clicked=self.summary.start)
        self.cancel = button(tr("Cancel"), tr("Cancel the summary"), "bordered", self.summary.cancel)
        buttons = Flow(gap=8)
        for made in (self.roll, self.summarize, self.cancel):
            buttons.addWidget(made)
        column(self.label, buttons, spacing=6, margins=(16, 8, 8, 8), parent=self)
        for signal in (self.summary.changed, meter.changed, session.settings_changed, activity.changed):
            signal.connect(self.refresh)
        self.summary.written.connect(self._open_new_chat)
        self.hide()

    @Slot()
    def refresh(self) -> None:
        chat, use, running = self._session.chat, self._meter.use, self.summary.running
        full = use is not None and use.chat_full
        self.setVisible(running or (full and not chat.empty and not chat.settings.rolling and not self._activity.busy))
        ways = tr("The model's context is full. Continue here, start a new chat, or edit an earlier message.")
        self.label.setText(tr("Summarizing the chat…") if running else ways)
        self.roll.setVisible(not running)
        self.summarize.setVisible(not running and not self._loader.has_demo)  # the demo pair can't write summaries
        self.cancel.setVisible(running)

    @Slot(str)
    def _open_new_chat(self, summary: str) -> None:
        """Put the summary into a new chat's composer, to be edited before sending."""
        old = self._session.chat
        self._session.new_chat()
        self._session.set_settings(replace(old.settings, rolling=False))
        text = tr("Summary of “{title}”:", title=old.title) + f"\n\n{summary}\n\n{self._composer.text}"
        self._composer.field.setPlainText(text)
        self._composer.field.moveCursor(QTextCursor.MoveOperation.End)
        self._composer.focus()
