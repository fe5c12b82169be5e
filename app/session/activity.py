"""What runs in the session, and what may start."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal, Slot

from app.session.compare_run import CompareRunner
from app.session.notice import Notice, Notices
from app.session.pair_session import PairLoader
from app.session.reply_runner import ReplyRunner
from app.session.send_consent import SendConsent
from app.storage.chat_tree import Chat
from app.text.language import tr
from mlx_engine.contract.requests import LoadPair
from mlx_engine.remote.saved_endpoints import SavedEndpoint


class SessionActivity(QObject):
    """The gate for replies, comparisons, summaries, and pairs.

    Replies run next to those of other chats. Comparisons run alone, and pairs are loaded while nothing runs.

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
        self._consent = SendConsent(loader, reply_runner)
        self.summarizing = False
        for run in (reply_runner, compare_runner):
            run.started.connect(self.changed)
            run.ended.connect(self.changed)
        reply_runner.waiting_changed.connect(self.changed)

    @property
    def busy(self) -> bool:
        """Whether a reply, a comparison, or a summary is running."""
        return bool(self._reply_runner.runs) or self.comparing or self.summarizing

    def set_summarizing(self, summarizing: bool) -> None:
        """Record the beginning or the end of a summary of the open chat."""
        self.summarizing = summarizing
        self.changed.emit()

    @property
    def comparing(self) -> bool:
        return self._compare_runner.running

    @property
    def replying_here(self) -> bool:
        """Whether the open chat's reply is being generated."""
        return self._reply_runner.of(self._chat().id) is not None

    @property
    def asking_elsewhere(self) -> tuple[Chat, ...]:
        """Other chats whose replies need the user's approval for a call."""
        return tuple(run.chat for run in self._reply_runner.asking if run.chat.id != self._chat().id)

    @property
    def why_private(self) -> str:
        """Why the open chat can't be sent to the server, or an empty string."""
        return self._why_private(self._chat())

    def _why_private(self, chat: Chat) -> str:
        if not chat.settings.private or not (host := self._loader.sent_to):
            return ""
        return tr("This chat is private, so it isn't sent to {host}. Choose a model on this computer.", host=host)

    def refusal_in(self, chat: Chat) -> Notice | None:
        """Return what runs in a chat, or alone, and keeps replies from starting."""
        if self.comparing:
            return Notice(tr("A comparison is running. Wait for it to finish, or stop it."), until="free")
        if self.summarizing and chat.id == self._chat().id:
            return Notice(tr("A summary is being written. Wait for it to finish, or cancel it."), until="free")
        if self._reply_runner.of(chat.id) is not None:
            return Notice(tr("A reply is being generated. Wait for it to finish, or stop it."), until="free")
        return None

    @property
    def refusal_here(self) -> Notice | None:
        """The same for the open chat."""
        return self.refusal_in(self._chat())

    def alone_refusal(self) -> Notice | None:
        """Return why nothing can start that runs alone: a comparison, or another pair."""
        if self.comparing or self.summarizing:
            return self.refusal_here
        for run in self._reply_runner.runs[:1]:
            title = run.chat.title
            if run.waiting:
                text = tr("“{title}” needs your approval for a tool call. Respond there, or stop the reply.", title=title)
            else:
                text = tr("A reply is being generated in “{title}”. Wait for it to finish, or stop it there.", title=title)
            return Notice(text, until="idle")
        return None

    @property
    def why_busy(self) -> str:
        """The same as a text, or an empty string."""
        refusal = self.alone_refusal()
        return refusal.text if refusal is not None else ""

    def refusal(self, chat: Chat | None = None, again: Callable[[], object] | None = None) -> Notice | None:
        """Return why no reply can start in a chat.

        Args:
            chat: the chat, by default the open one.
            again: called when the user consents to send the chat's earlier messages: see `SendConsent`.
        """
        chat = chat or self._chat()
        if refusal := self.refusal_in(chat):
            return refusal
        if self._loader.running:
            return self._loading_refusal
        if self._loader.pair is None:
            return Notice(tr("No models are loaded."), offer="load", until="pair")
        if why := self._why_private(chat):
            return Notice(why, offer="load", until="chat")
        return self._consent.refusal(chat, again)

    @property
    def _loading_refusal(self) -> Notice | None:
        text = tr("The models are still loading. Try again in a moment.")
        return Notice(text, until="loaded") if self._loader.running else None

    def can_start(self, again: Callable[[], object]) -> bool:
        """Return whether a reply can start in the open chat, or else say why not.

        Args:
            again: called when the user consents to send the chat's earlier messages.
        """
        return self._is_free(self.refusal(again=again))

    def can_compare(self, again: Callable[[], object]) -> bool:
        """Return whether the chat's turns can be compared, or else say why not."""
        return self._is_free(self.alone_refusal() or self.refusal(again=again))

    def _is_free(self, refusal: Notice | None) -> bool:
        if refusal is not None:
            self._notices.post(refusal)
        return refusal is None

    @Slot()
    def use(self, pair: LoadPair | None = None) -> None:
        """Load a pair (by default, the demo pair) in place of the current one."""
        if self._is_free(self.alone_refusal() or self._loading_refusal):
            self._loader.load(pair or LoadPair())

    def connect_to(self, saved: SavedEndpoint) -> None:
        """Use a server in place of the loaded pair."""
        if self._is_free(self.alone_refusal() or self._loading_refusal):
            self._loader.connect_to(saved)

    @Slot()
    def stop(self) -> None:
        """Stop the open chat's reply and any comparison. Other chats' replies continue."""
        self._reply_runner.stop(self._chat().id)
        self.stop_comparison()

    def stop_comparison(self) -> None:
        self._compare_runner.stop()
