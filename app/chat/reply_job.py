"""The reply in progress, saved as it grows."""

from dataclasses import replace

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.conversations.chat_tree import Chat, Turn
from app.conversations.reply import Reply
from app.engine_adapter import Delivery, EngineAdapter
from app.language import tr, translated
from app.notice import Notice
from app.sidebar.chat_library import ChatLibrary
from mlx_engine.events import Failed, Finished
from mlx_engine.host import Job
from mlx_engine.requests import GenerationRequest

SAVE_MS = 500  # between saves of a growing reply


class ReplyJob(QObject):
    """The generation of a reply. `turn` and `chat` are set until the last event."""

    started = Signal()
    changed = Signal(object)  # Turn whose reply grew or ended
    finished = Signal(object)  # Stats of the reply
    ended = Signal()
    notified = Signal(object)  # Notice

    def __init__(self, engine: EngineAdapter, library: ChatLibrary, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._library = library
        self.turn: Turn | None = None
        self.chat: Chat | None = None
        self._request = GenerationRequest()
        self._job: Job | None = None  # None until the question is saved
        self._stopped_early = False
        self._quitting = False
        self._before: dict[str, object] = {}  # the reply's ending before it was continued
        self._saved_length = 0
        self._save_timer = QTimer(self, interval=SAVE_MS)
        self._save_timer.timeout.connect(self._save_growth)

    @property
    def running(self) -> bool:
        return self.turn is not None

    def start(self, turn: Turn, chat: Chat, request: GenerationRequest) -> None:
        """Save the question, so that a crash can't lose it, then submit the request."""
        self.turn, self.chat, self._request = turn, chat, request
        self._job, self._stopped_early, self._saved_length = None, False, -1
        self._library.save(chat, [node for node in (turn.asked, turn.answered) if node is not None], self._submit)
        self._save_timer.start()
        self.started.emit()

    def resume(self, turn: Turn, chat: Chat, request: GenerationRequest) -> None:
        """Continue a reply. If the engine refuses, the reply stays unchanged."""
        self._before = {name: getattr(turn.reply, name) for name in ("mode", "reason", "error", "tokens_before")}
        turn.reply.resume(request.mode)
        self.changed.emit(turn)
        self.start(turn, chat, request)

    def interrupt(self) -> None:
        """Mark the running reply as interrupted because the app quits."""
        self._quitting = True

    def stop(self) -> None:
        """Stop the reply within one round."""
        self._stopped_early = self._job is None
        if self._job is not None:
            self._job.cancel()

    def _submit(self, _: object) -> None:
        if self._stopped_early and self.turn is not None:
            self.turn.reply.reason = "interrupted" if self._quitting else "cancelled"
            self._end()
        else:
            assert self.chat is not None
            request = replace(self._request, foreground=True, chat=self.chat.id, private=self.chat.settings.private)
            self._job = self._engine.submit(request, self._receive)

    @Slot()
    def _save_growth(self) -> None:
        if self.turn is None or self.chat is None:
            return
        length = len(self.turn.reply.answer) + len(self.turn.reply.thinking)
        if length != self._saved_length and self.turn.answered is not None:
            self._saved_length = length
            self._library.save(self.chat, [self.turn.answered])

    def _receive(self, deliveries: list[Delivery]) -> None:
        for item in deliveries:
            if self.turn is None:
                continue
            if item.event is None:
                self._end()
            else:
                self._accept(self.turn.reply, item)
                if isinstance(item.event, Finished):
                    self.finished.emit(item.event.stats)
        if self.turn is not None:
            self.changed.emit(self.turn)

    def _accept(self, reply: Reply, item: Delivery) -> None:
        assert item.event is not None
        reply.accept(item.event, item.at_s)
        if isinstance(item.event, Failed) and self._before and reply.tokens == reply.tokens_before:
            for name, value in self._before.items():
                setattr(reply, name, value)
            self.notified.emit(Notice(translated(item.event), "error"))
        elif self._quitting and reply.reason == "cancelled":
            reply.reason = "interrupted"

    def _end(self) -> None:
        turn, chat = self.turn, self.chat
        self._job, self.turn, self.chat, self._before = None, None, None, {}
        self._save_timer.stop()
        if turn is not None and chat is not None:
            if turn.reply.running:  # the last event is missing
                turn.reply.accept(Failed("reply_lost", tr("The reply ended unexpectedly. Try again.")), 0.0)
            if turn.answered is not None:
                self._library.save(chat, [turn.answered])
            self.changed.emit(turn)
        self.ended.emit()
