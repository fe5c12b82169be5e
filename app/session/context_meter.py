"""The share of the context that the next prompt uses."""

from collections.abc import Generator
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from shiboken6 import isValid

from app.session.activity import SessionActivity
from app.session.attachment_reader import AttachmentReader
from app.session.chat_session import ChatSession
from app.session.context_use import ContextUse, NextPrompt, measure
from app.session.engine_adapter import Delivery, EngineAdapter
from app.session.pair_session import PairLoader
from app.session.reply_runner import ReplyRunner
from app.session.tool_box import ToolBox
from app.storage.chat_tree import Turn, messages_to
from app.text.plain_text import clean
from mlx_engine.contract.client import Run
from mlx_engine.contract.events import Failed, TokenCount
from mlx_engine.contract.requests import CountTokens

COUNT_MS = 400  # delay after the last change

Counts = Generator[CountTokens, TokenCount, ContextUse]


class ContextMeter(QObject):
    """A meter that counts the prompt that Return would send."""

    changed = Signal()

    def __init__(
        self,
        engine: EngineAdapter,
        session: ChatSession,
        activity: SessionActivity,
        loader: PairLoader,
        tools: ToolBox,
        attachments: AttachmentReader,
        reply_runner: ReplyRunner,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._engine, self._session, self._activity, self._loader = engine, session, activity, loader
        self._attachments, self._reply_runner = attachments, reply_runner
        self._draft = ""
        self._prompt: NextPrompt | None = None  # the last one that was counted
        self._counts: Counts | None = None  # not completed yet
        self._request: CountTokens | None = None  # of these counts
        self._run: Run | None = None
        self._incomplete = False  # whether files or tools of the prompt aren't known yet
        self._reported_counting = False  # the last state that was emitted
        self.use: ContextUse | None = None
        self._timer = QTimer(self, singleShot=True, interval=COUNT_MS)
        self._timer.timeout.connect(self._count)
        for signal in (
            loader.changed,
            loader.loaded,
            session.chat_changed,
            session.turns_changed,
            session.turn_added,
            session.settings_changed,
            tools.changed,
            activity.changed,
            session.editing_changed,
            session.pages_changed,
            attachments.changed,
        ):
            signal.connect(self.recount)
        loader.loaded.connect(self._forget)
        session.chat_changed.connect(self._forget)
        reply_runner.changed.connect(self._grow)

    @property
    def counting(self) -> bool:
        """Whether `use` lacks the latest changes."""
        return self._can_count and (self._timer.isActive() or self._counts is not None or self._incomplete)

    @property
    def _can_count(self) -> bool:
        """Whether the next prompt can be counted. A running reply is added instead."""
        return self._loader.pair is not None and not self._loader.sent_to and not self._activity.replying_here

    @property
    def may_exceed(self) -> bool:
        """Whether the latest changes aren't counted yet and might not fit."""
        pair = self._loader.pair
        return pair is not None and self.counting and self._next_prompt().most_tokens >= pair.context_limit

    def count_now(self) -> None:
        """Count the tokens without waiting for more changes."""
        if self._timer.isActive():
            self._timer.stop()
            self._count()

    def set_draft(self, text: str) -> None:
        if text != self._draft:
            self._draft = text
            self._cancel()
            self.recount()

    @Slot()
    def recount(self) -> None:
        """Count the tokens after a short delay, which starts again with each change."""
        self._timer.start()
        self._report()

    @Slot()
    def _forget(self) -> None:
        self._cancel()
        self._show(None)

    def _cancel(self) -> None:
        if self._run is not None:
            self._run.cancel()
        self._prompt = self._counts = self._request = self._run = None

    @Slot()
    def _count(self) -> None:
        if not self._can_count:
            if not self._activity.replying_here:
                self._cancel()
                self.use = self._reported()  # drafts aren't sent to a server to be counted
            self._emit()
            return
        self._incomplete = bool(self._session.tools_starting() or self._attachments.busy or self._session.drawing_pages)
        prompt = self._next_prompt()
        if self._incomplete or prompt == self._prompt:
            self._emit()
            return
        self._cancel()
        self._prompt = prompt
        if prompt.empty and not prompt.has_message:
            assert self._loader.pair is not None
            self._finish(ContextUse(0, self._loader.pair.context_limit))
            return
        self._counts = measure(prompt)
        self._submit(self._counts, next(self._counts))

    def _submit(self, counts: Counts, request: CountTokens) -> None:
        self._request = request
        self._run = self._engine.submit(request, partial(self._counted, counts, request))

    def _counted(self, counts: Counts, request: CountTokens, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            if request is not self._request:
                return  # the prompt has changed, or this is the end of an earlier request
            match delivery.event:
                case TokenCount() as count:
                    try:
                        self._submit(counts, counts.send(count))
                    except StopIteration as end:
                        self._finish(end.value)
                case Failed() | None:
                    self._finish(None)  # the reply would fail with the same message

    def _finish(self, use: ContextUse | None) -> None:
        self.use, self._counts, self._request, self._run = use, None, None, None
        if isValid(self):  # the window may be closed
            self._emit()  # even if unchanged: a message may wait for the count

    def _reported(self) -> ContextUse | None:
        """Return the use that a server reported for the last reply."""
        turns, pair = self._session.chat.turns, self._loader.pair
        stats = next((stats for stats in turns[-1].reply.step_stats[-1:] or [turns[-1].reply.stats]), None) if turns else None
        if pair is None or not pair.remote or not pair.context_known or stats is None or not stats.prompt_tokens:
            return None
        return ContextUse(stats.prompt_tokens + stats.tokens, pair.context_limit, exact=False)

    def _next_prompt(self) -> NextPrompt:
        """Return the prompt of the next request; see `ChatSession.send`."""
        chat = self._session.chat
        text, files = clean(self._draft).strip(), tuple(self._attachments.files)
        system, turns, editing = chat.settings.system, chat.turns, self._session.editing
        after = turns[-1].last if turns else None
        if editing is not None and editing.asked is not None:
            after = editing.asked.parent
        elif not text and not files and turns and turns[-1].reply.error and turns[-1].reply.empty:
            refused, request = turns[-1].asked, turns[-1].request
            if refused is not None:
                text, files, after = refused.text, refused.attachments, refused.parent
                system = "".join(message.content for message in request.messages if message.role == "system")
        return NextPrompt(
            system if system.strip() else "",
            messages_to(after) if after is not None else (),
            text,
            files,
            self._session.thinking,
            chat.rolling_after(after),
            chat.settings.max_tokens,
            self._session.tool_specs,
            self._loader.can_see,
        )

    @Slot(object)
    def _grow(self, turn: Turn) -> None:
        reply, pair, run = turn.reply, self._loader.pair, self._reply_runner.of(self._session.chat.id)
        if run is None or run.turn is not turn:
            return
        if reply.running and reply.prefill is not None and pair is not None and not pair.remote:
            self._cancel()
            new_tokens = reply.tokens - reply.tokens_before  # tokens before Continue are part of the prefill
            self._show(ContextUse(reply.prefill.total + new_tokens, pair.context_limit, exact=False))

    def _show(self, use: ContextUse | None) -> None:
        if use != self.use:
            self.use = use
            self._emit()
        self._report()

    def _report(self) -> None:
        """Report a change of `counting`."""
        if self.counting != self._reported_counting:
            self._emit()

    def _emit(self) -> None:
        self._reported_counting = self.counting
        self.changed.emit()
