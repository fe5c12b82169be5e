"""The share of the context that the open chat and the draft use."""

from dataclasses import dataclass, replace
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from shiboken6 import isValid

from app.chat.conductor import Conductor
from app.conversations.attachments import prompt_text
from app.conversations.chat_tree import Node, Turn, messages_to
from app.engine_adapter import Delivery
from mlx_engine.events import Failed, TokenCount
from mlx_engine.requests import CountTokens, Message

COUNT_MS = 400  # delay after the last change
NEARLY_FULL = 0.9
LONG_TEXT = 50_000  # characters
TEMPLATE_TOKENS = 64  # upper bound of what a chat template adds to a message
SHORTEST = Message("user", "a")


@dataclass(frozen=True)
class ContextUse:
    """Used and available tokens."""

    used: int
    limit: int
    draft: bool = False  # whether the draft is counted too
    chat_full: bool = False  # whether even the shortest message would not fit
    exact: bool = True  # False for an estimate while a reply grows

    @property
    def left(self) -> int:
        return self.limit - self.used

    @property
    def share(self) -> float:
        """Used share of the context, from 0 to 1."""
        return min(1.0, self.used / self.limit) if self.limit else 0.0

    @property
    def nearly_full(self) -> bool:
        return self.used >= NEARLY_FULL * self.limit

    @property
    def full(self) -> bool:
        """Whether the context has no room for a token of a reply."""
        return self.left < 1


class ContextMeter(QObject):
    """A meter that counts tokens soon after the chat, settings, or draft change."""

    changed = Signal()

    def __init__(self, conductor: Conductor, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._conductor = conductor
        self._draft = ""
        self._request: CountTokens | None = None  # the last one
        self._counting: CountTokens | None = None  # not completed yet
        self.use: ContextUse | None = None
        self._timer = QTimer(self, singleShot=True, interval=COUNT_MS)
        self._timer.timeout.connect(self._count)
        for signal in (
            conductor.loader.changed,
            conductor.loader.loaded,
            conductor.chat_changed,
            conductor.turns_changed,
            conductor.turn_added,
            conductor.settings_changed,
            conductor.tools.changed,
            conductor.busy_changed,
            conductor.editing_changed,
            conductor.attachments.changed,
        ):
            signal.connect(self.recount)
        conductor.loader.loaded.connect(self._forget)
        conductor.chat_changed.connect(self._forget)
        conductor.reply_job.changed.connect(self._grow)

    @property
    def counting(self) -> bool:
        """Whether `use` lacks the latest changes."""
        return self._timer.isActive() or self._counting is not None

    @property
    def slow(self) -> bool:
        """Whether a long text is being counted."""
        return self._counting is not None and sum(len(message.content) for message in self._counting.messages) > LONG_TEXT

    def may_exceed(self, text: str) -> bool:
        """Whether a text might not fit, assuming at least one byte per token."""
        pair = self._conductor.loader.pair
        if pair is None or pair.remote:
            return False
        messages = (*self._conductor.chat.history(), Message("system", self._conductor.chat.settings.system))
        used = self.use.used if self.use is not None else sum(len(message.content.encode()) for message in messages)
        return used + len(text.encode()) + TEMPLATE_TOKENS >= pair.context_limit

    def count_now(self) -> None:
        """Count the tokens without waiting for more changes."""
        if self._timer.isActive():
            self._timer.stop()
            self._count()

    def set_draft(self, text: str) -> None:
        if text != self._draft:
            self._draft = text
            self.recount()

    @Slot()
    def recount(self) -> None:
        """Count the tokens after a short delay, which starts again with each change."""
        self._timer.start()

    @Slot()
    def _forget(self) -> None:
        self._request = self._counting = None
        self._show(None)

    @Slot()
    def _count(self) -> None:
        conductor = self._conductor
        if conductor.loader.pair is None or conductor.busy:
            return  # counted when the reply has ended
        if conductor.sent_to:  # drafts aren't sent to a server to be counted
            self._request = self._counting = None
            self._show(self._reported())
            return
        messages, after = self._messages()
        settings = conductor.chat.settings
        options = (conductor.thinking, conductor.chat.rolling_after(after), settings.max_tokens, conductor.tool_definitions)
        request = CountTokens(messages, *options, shorten_results=True)
        if not any(message.role == "user" for message in messages):
            self._request = self._counting = None
            self._show(ContextUse(0, conductor.loader.pair.context_limit))
        elif request != self._request:
            self._request = self._counting = request
            conductor.engine.submit(request, partial(self._counted, request))
            if self.slow:
                self.changed.emit()

    def _reported(self) -> ContextUse | None:
        """Return the use that a server reported for the last reply."""
        turns, pair = self._conductor.chat.turns, self._conductor.loader.pair
        stats = next((stats for stats in turns[-1].reply.step_stats[-1:] or [turns[-1].reply.stats]), None) if turns else None
        if pair is None or not pair.context_known or stats is None or not stats.prompt_tokens:
            return None
        return ContextUse(stats.prompt_tokens + stats.tokens, pair.context_limit, exact=False)

    def _messages(self) -> tuple[tuple[Message, ...], Node | None]:
        """Return the next request's messages, and the message before the draft."""
        chat, editing = self._conductor.chat, self._conductor.editing
        system = (Message("system", chat.settings.system),) if chat.settings.system.strip() else ()
        files = tuple(self._conductor.attachments.files)
        draft = self._draft.strip()
        turns = chat.turns
        after = turns[-1].last if turns else None
        if editing is not None and editing.asked is not None:
            after = editing.asked.parent
        elif not draft and not files and turns and turns[-1].reply.error and turns[-1].reply.empty:
            return turns[-1].request.messages, after  # the refused message
        before = messages_to(after) if after is not None else ()
        last = (Message("user", prompt_text(draft, files)),) if draft or files else ()
        if before and not last and chat.settings.rolling:
            last = (SHORTEST,)  # the oldest turns make room for any next message
        return (*system, *before, *last), after

    def _counted(self, request: CountTokens, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            if request is not self._counting:
                continue
            match delivery.event:
                case TokenCount(tokens, limit):
                    use = ContextUse(tokens, limit, request.messages[-1].role == "user")
                    if use.full and use.draft and any(message.role == "assistant" for message in request.messages):
                        self._counting = shortest = replace(request, messages=(*request.messages[:-1], SHORTEST))
                        self._conductor.engine.submit(shortest, partial(self._compared, shortest, use))
                    else:
                        self._finish(use)
                case Failed() | None:
                    self._finish(self.use)

    def _compared(self, shortest: CountTokens, use: ContextUse, deliveries: list[Delivery]) -> None:
        """Report whether even the shortest message would exceed the context."""
        for delivery in deliveries:
            if shortest is self._counting:
                count = delivery.event
                self._finish(replace(use, chat_full=isinstance(count, TokenCount) and count.tokens >= count.limit))

    def _finish(self, use: ContextUse | None) -> None:
        self.use, self._counting = use, None
        if isValid(self):  # the window may be closed
            self.changed.emit()  # even if unchanged: a message may wait for the count

    @Slot(object)
    def _grow(self, turn: Turn) -> None:
        reply, pair = turn.reply, self._conductor.loader.pair
        if reply.running and reply.prefill is not None and pair is not None and not pair.remote and self._conductor.replying_here:
            self._request = self._counting = None
            new_tokens = reply.tokens - reply.tokens_before  # tokens before Continue are part of the prefill
            self._show(ContextUse(reply.prefill.total + new_tokens, pair.context_limit, exact=False))

    def _show(self, use: ContextUse | None) -> None:
        if use != self.use:
            self.use = use
            self.changed.emit()
