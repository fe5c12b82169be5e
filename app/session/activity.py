"""What runs in the session, and what may start."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal, Slot

from app.session.compare_run import CompareRunner
from app.session.notice import Notice, Notices
from app.session.pair_session import PairLoader
from app.session.reply_runner import ReplyRunner
from app.storage.chat_tree import Chat
from app.text.language import tr
from mlx_engine.contract.requests import LoadPair
from mlx_engine.remote.saved_endpoints import SavedEndpoint


class SessionActivity(QObject):
    """The gate for replies, comparisons, summaries, and pairs.

    One of them starts at a time.

    Args:
        chat: returns the open chat.

    Attributes:
        summarizing: whether a summary of the open chat is being written.
    """

    changed = Signal()

    def __init__(
        self,
        loader: PairLoader,
        reply_runner: ReplyRunner,
        compare_runner: CompareRunner,
        notices: Notices,
        chat: Callable[[], Chat],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._loader, self._reply_runner, self._compare_runner = loader, reply_runner, compare_runner
        self._notices, self._chat = notices, chat
        self.summarizing = False
        for run in (reply_runner, compare_runner):
            run.started.connect(self.changed)
            run.ended.connect(self.changed)
        reply_runner.waiting_changed.connect(self.changed)

    @property
    def busy(self) -> bool:
        """Whether a reply, a comparison, or a summary is running."""
        return self._reply_runner.running or self.comparing or self.summarizing

    def set_summarizing(self, summarizing: bool) -> None:
        """Record that a summary of the open chat has begun or ended."""
        self.summarizing = summarizing
        self.changed.emit()

    @property
    def comparing(self) -> bool:
        return self._compare_runner.running

    @property
    def replying_here(self) -> bool:
        """Whether the open chat's reply is being generated."""
        return self._reply_runner.chat is self._chat()

    @property
    def replying_elsewhere(self) -> str:
        """Title of another chat whose reply is being generated, or an empty string."""
        chat = self._reply_runner.chat
        return chat.title if chat is not None and chat is not self._chat() else ""

    @property
    def why_private(self) -> str:
        """Why the open chat can't be sent to the server, or an empty string."""
        if not self._chat().settings.private or not (host := self._loader.sent_to):
            return ""
        return tr("This chat is private, so it isn't sent to {host}. Choose a model on this computer.", host=host)

    def switch_refusal(self) -> Notice | None:
        """Return what runs on the current pair and would be cut off by another, or None."""
        if self.comparing:
            return Notice(tr("A comparison is running. Wait for it to finish, or stop it."), until="idle")
        if self.summarizing:
            return Notice(tr("A summary is being written. Wait for it to finish, or cancel it."), until="idle")
        if (title := self.replying_elsewhere) and self._reply_runner.waiting:
            return Notice(
                tr("“{title}” needs your approval for a tool call. Respond there, or stop the reply.", title=title), until="idle"
            )
        if title:
            text = tr("A reply is being generated in “{title}”. Wait for it to finish, or stop it there.", title=title)
            return Notice(text, until="idle")
        if self.busy:
            return Notice(tr("A reply is being generated. Wait for it to finish, or stop it."), until="idle")
        return None

    def refusal(self) -> Notice | None:
        """Return why no reply or comparison can start now, or None."""
        if (refusal := self.switch_refusal()) is not None:
            return refusal
        if self._loader.running:
            return Notice(tr("The models are still loading. Try again in a moment."), until="loaded")
        if self._loader.pair is None:
            return Notice(tr("No models are loaded."), offer="load", until="pair")
        return Notice(why, offer="load", until="chat") if (why := self.why_private) else None

    def can_start(self) -> bool:
        """Return whether a reply or comparison can start, or else say why not."""
        if refusal := self.refusal():
            self._notices.post(refusal)
        return refusal is None

    @Slot()
    def use(self, pair: LoadPair | None = None) -> None:
        """Load a pair (by default, the demo pair) in place of the current one."""
        if self._can_switch():
            self._loader.load(pair or LoadPair())

    def connect_to(self, saved: SavedEndpoint) -> None:
        """Use a server in place of the loaded pair."""
        if self._can_switch():
            self._loader.connect_to(saved)

    def _can_switch(self) -> bool:
        """Return whether another pair can replace the current one, or else say why not."""
        if refusal := self.switch_refusal():
            self._notices.post(refusal)
        return refusal is None

    @Slot()
    def stop(self) -> None:
        """Stop the open chat's reply and any comparison. Other chats' replies continue."""
        if self.replying_here:
            self._reply_runner.stop()
        self._compare_runner.stop()
