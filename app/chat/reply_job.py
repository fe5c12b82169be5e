"""The reply that is being written: asked for once its question is on the disk, and kept there as it grows."""

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.conversations.chat_tree import Chat, Turn
from app.engine_adapter import Delivery, EngineAdapter
from app.language import tr
from app.sidebar.chat_library import Library
from mlx_engine.events import Failed, Finished
from mlx_engine.host import Job
from mlx_engine.requests import GenerationRequest

SAVE_MS = 500  # between two writes of a reply that grows


class Writing(QObject):
    """`turn` and `chat` from the moment a reply is asked for until its end was heard; None when none is written."""

    changed = Signal(object)  # Turn: its reply grew
    finished = Signal(object)  # Stats of what was just written
    ended = Signal()

    def __init__(self, engine: EngineAdapter, library: Library, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._library = library
        self.turn: Turn | None = None
        self.chat: Chat | None = None
        self._job: Job | None = None  # None until the user's message is saved
        self._stopped_early = False
        self._saved_length = 0
        self._saver = QTimer(self)
        self._saver.setInterval(SAVE_MS)
        self._saver.timeout.connect(self._save_growth)

    @property
    def running(self) -> bool:
        return self.turn is not None

    def start(self, turn: Turn, chat: Chat, request: GenerationRequest) -> None:
        """Ask the engine as soon as the question is kept: a reply may be the last thing that this computer does."""
        self.turn, self.chat = turn, chat
        self._job, self._stopped_early = None, False
        self._saved_length = -1
        nodes = [node for node in (turn.asked, turn.answered) if node is not None]
        self._library.save(chat, nodes, lambda: self._submit(turn, request))
        self._saver.start()

    def stop(self) -> None:
        """End the reply within a round."""
        self._stopped_early = self._job is None
        if self._job is not None:
            self._job.cancel()

    def _submit(self, turn: Turn, request: GenerationRequest) -> None:
        if self.turn is not turn or self._job is not None:
            return
        if self._stopped_early:
            turn.reply.reason = "cancelled"
            self._end()
        else:
            self._job = self._engine.submit(request, self._receive)

    @Slot()
    def _save_growth(self) -> None:
        """Keep what there is of the reply, if it is more than was kept."""
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
                self.turn.reply.accept(item.event, item.at_s)
                if isinstance(item.event, Finished):
                    self.finished.emit(item.event.stats)
        if self.turn is not None:
            self.changed.emit(self.turn)

    def _end(self) -> None:
        turn, chat = self.turn, self.chat
        self._job, self.turn, self.chat = None, None, None
        self._saver.stop()
        if turn is not None and chat is not None:
            if turn.reply.running:  # an engine that ended without a word
                turn.reply.accept(Failed("reply_lost", tr("The reply ended unexpectedly.")), 0.0)
            if turn.answered is not None:
                self._library.save(chat, [turn.answered])
            self.changed.emit(turn)
        self.ended.emit()
