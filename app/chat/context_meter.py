"""How much of the target's context the open chat takes, with the message that is being written."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.conversations.attachments import prompt_text
from app.conversations.chat_tree import messages_to
from app.engine_adapter import Delivery, EngineAdapter
from mlx_engine.events import TokenCount
from mlx_engine.requests import CountTokens, Message

if TYPE_CHECKING:
    from app.chat.conductor import Conductor

REST_MS = 400  # after the last change, before it is counted
NEARLY_FULL = 0.9


@dataclass(frozen=True)
class Room:
    """Tokens taken, and tokens there are. `draft`: a message that is being written is among them; `exact`: they were counted."""

    used: int
    limit: int
    draft: bool = False
    exact: bool = True

    @property
    def left(self) -> int:
        return self.limit - self.used

    @property
    def share(self) -> float:
        """Of the context, 0 to 1."""
        return min(1.0, self.used / self.limit) if self.limit else 0.0

    @property
    def nearly_full(self) -> bool:
        return self.used >= NEARLY_FULL * self.limit

    @property
    def too_long(self) -> bool:
        """Not even one token of a reply would fit."""
        return self.left < 1


class ContextMeter(QObject):
    """Asks the engine a moment after the chat, its settings or the draft have changed, and never while a reply is written: then the
    reply's own tokens are added."""

    changed = Signal()

    def __init__(self, engine: EngineAdapter, conductor: Conductor) -> None:
        super().__init__(conductor)
        self._engine = engine
        self._conductor = conductor
        self._draft = ""
        self._asked: CountTokens | None = None  # what was counted last, or is being counted
        self.room: Room | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(REST_MS)
        self._timer.timeout.connect(self._ask)
        for signal in (
            conductor.pair_changed,
            conductor.chat_changed,
            conductor.turns_changed,
            conductor.turn_added,
            conductor.switches_changed,
            conductor.busy_changed,
            conductor.editing_changed,
            conductor.attaching.changed,
        ):
            signal.connect(self.recount)
        conductor.pair_changed.connect(self._forget)
        conductor.chat_changed.connect(self._forget)
        conductor.reply_changed.connect(self._grow)

    def set_draft(self, text: str) -> None:
        """What stands in the composer now."""
        if text != self._draft:
            self._draft = text
            self.recount()

    @Slot()
    def recount(self) -> None:
        """Something has changed: count soon."""
        self._timer.start()

    @Slot()
    def _forget(self) -> None:
        self._asked = None
        self._show(None)

    @Slot()
    def _ask(self) -> None:
        state = self._conductor
        if state.pair is None or state.busy:
            return  # the end of what runs counts anew
        messages = self._messages()
        request = CountTokens(messages, state.thinking)
        if not any(message.role == "user" for message in messages):
            self._asked = None
            self._show(Room(0, state.pair.context_limit))
        elif request != self._asked:
            self._asked = request
            self._engine.submit(request, partial(self._counted, request))

    def _messages(self) -> tuple[Message, ...]:
        """What the next request would hold."""
        chat, editing = self._conductor.chat, self._conductor.editing
        system = (Message("system", chat.settings.system),) if chat.settings.system.strip() else ()
        files = tuple(self._conductor.attaching.files)
        draft = self._draft.strip()
        before = chat.history()
        if editing is not None and editing.asked is not None:
            before = messages_to(editing.asked.parent) if editing.asked.parent is not None else ()
        return (*system, *before, *((Message("user", prompt_text(draft, files)),) if draft or files else ()))

    def _counted(self, request: CountTokens, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            if request is self._asked and isinstance(delivery.event, TokenCount):
                count = delivery.event
                self._show(Room(count.tokens, count.limit, request.messages[-1].role == "user"))

    @Slot(object)
    def _grow(self, turn: object) -> None:
        reply = getattr(turn, "reply", None)
        pair = self._conductor.pair
        shown = self._conductor.written_chat == self._conductor.chat.id
        if reply is not None and reply.running and reply.prefill is not None and pair is not None and shown:
            self._asked = None
            written = reply.tokens - reply.tokens_before  # what stood there before Continue is in the prefill
            self._show(Room(reply.prefill.total + written, pair.context_limit, exact=False))

    def _show(self, room: Room | None) -> None:
        if room != self.room:
            self.room = room
            self.changed.emit()
