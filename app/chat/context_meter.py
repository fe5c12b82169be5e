"""Counts how much of the target's context the open chat and the message in the composer use."""

from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.chat.conductor import Conductor
from app.conversations.attachments import prompt_text
from app.conversations.chat_tree import Turn, messages_to
from app.engine_adapter import Delivery
from mlx_engine.events import TokenCount
from mlx_engine.requests import CountTokens, Message

COUNT_MS = 400  # after the last change
NEARLY_FULL = 0.9


@dataclass(frozen=True)
class ContextUse:
    """Used and available tokens.

    Attributes:
        draft: whether the message in the composer is counted too.
        exact: False for an estimate while a reply grows.
    """

    used: int
    limit: int
    draft: bool = False
    exact: bool = True

    @property
    def left(self) -> int:
        return self.limit - self.used

    @property
    def share(self) -> float:
        """The used part of the context, 0 to 1."""
        return min(1.0, self.used / self.limit) if self.limit else 0.0

    @property
    def nearly_full(self) -> bool:
        return self.used >= NEARLY_FULL * self.limit

    @property
    def full(self) -> bool:
        """Whether no token of a reply would fit."""
        return self.left < 1


class ContextMeter(QObject):
    """Asks the engine shortly after the chat, its settings or the draft have changed. While a reply grows, adds its tokens."""

    changed = Signal()

    def __init__(self, conductor: Conductor, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._conductor = conductor
        self._draft = ""
        self._request: CountTokens | None = None  # the last one
        self.use: ContextUse | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(COUNT_MS)
        self._timer.timeout.connect(self._count)
        for signal in (
            conductor.loader.loaded,
            conductor.chat_changed,
            conductor.turns_changed,
            conductor.turn_added,
            conductor.settings_changed,
            conductor.busy_changed,
            conductor.editing_changed,
            conductor.attachments.changed,
        ):
            signal.connect(self.recount)
        conductor.loader.loaded.connect(self._forget)
        conductor.chat_changed.connect(self._forget)
        conductor.reply_job.changed.connect(self._grow)

    def set_draft(self, text: str) -> None:
        """Set the text in the composer."""
        if text != self._draft:
            self._draft = text
            self.recount()

    @Slot()
    def recount(self) -> None:
        """Count soon."""
        self._timer.start()

    @Slot()
    def _forget(self) -> None:
        self._request = None
        self._show(None)

    @Slot()
    def _count(self) -> None:
        conductor = self._conductor
        if conductor.loader.pair is None or conductor.busy:
            return  # counted when the reply has ended
        messages = self._messages()
        request = CountTokens(messages, conductor.thinking)
        if not any(message.role == "user" for message in messages):
            self._request = None
            self._show(ContextUse(0, conductor.loader.pair.context_limit))
        elif request != self._request:
            self._request = request
            conductor.engine.submit(request, partial(self._counted, request))

    def _messages(self) -> tuple[Message, ...]:
        """The messages that the next request would have."""
        chat, editing = self._conductor.chat, self._conductor.editing
        system = (Message("system", chat.settings.system),) if chat.settings.system.strip() else ()
        files = tuple(self._conductor.attachments.files)
        draft = self._draft.strip()
        before = chat.history()
        if editing is not None and editing.asked is not None:
            before = messages_to(editing.asked.parent) if editing.asked.parent is not None else ()
        return (*system, *before, *((Message("user", prompt_text(draft, files)),) if draft or files else ()))

    def _counted(self, request: CountTokens, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            if request is self._request and isinstance(delivery.event, TokenCount):
                self._show(ContextUse(delivery.event.tokens, delivery.event.limit, request.messages[-1].role == "user"))

    @Slot(object)
    def _grow(self, turn: Turn) -> None:
        reply, pair = turn.reply, self._conductor.loader.pair
        if reply.running and reply.prefill is not None and pair is not None and self._conductor.replying_here:
            self._request = None
            new_tokens = reply.tokens - reply.tokens_before  # the tokens before Continue are part of the prefill
            self._show(ContextUse(reply.prefill.total + new_tokens, pair.context_limit, exact=False))

    def _show(self, use: ContextUse | None) -> None:
        if use != self.use:
            self.use = use
            self.changed.emit()
