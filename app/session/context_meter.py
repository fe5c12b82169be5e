"""The share of the context that the next prompt uses."""

from dataclasses import replace

from PySide6.QtCore import QObject, QTimer, Signal, Slot
from shiboken6 import isValid

from app.session.activity import SessionActivity
from app.session.attachment_reader import AttachmentReader
from app.session.chat_session import ChatSession
from app.session.context_use import ContextUse, NextPrompt, estimate
from app.session.engine_adapter import EngineAdapter
from app.session.message_passages import MessagePassages
from app.session.pair_session import PairLoader
from app.session.prompt_count import PromptCount
from app.session.reply_runner import ReplyRunner
from app.session.tool_box import ToolBox
from app.storage.chat_tree import Turn
from app.text.plain_text import clean

COUNT_MS = 400  # delay after the last change


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
        passages: MessagePassages,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._passages = passages
        self._engine, self._session, self._activity, self._loader = engine, session, activity, loader
        self._attachments, self._reply_runner = attachments, reply_runner
        self._draft = ""
        self._prompt: NextPrompt | None = None  # the last one that was counted
        self.running: PromptCount | None = None  # its count, until that is complete
        self._incomplete = False  # whether files or tools of the prompt aren't known yet
        self._reported_counting = False  # the last state that was emitted
        self.use: ContextUse | None = None
        self._timer = QTimer(self, singleShot=True, interval=COUNT_MS)
        self._timer.timeout.connect(self._count)
        for signal in (loader.loaded, session.chat_changed):  # first, so that others see no count of another pair
            signal.connect(self._forget)
        loader.changed.connect(self._forget_while_loading)
        for signal in (
            loader.changed,
            loader.loaded,
            session.chat_changed,
            session.turns_changed,
            session.turn_added,
            session.cut_changed,
            session.settings_changed,
            tools.changed,
            activity.changed,
            session.editing_changed,
            session.pages_changed,
            attachments.changed,
            passages.changed,
        ):
            signal.connect(self.recount)
        reply_runner.changed.connect(self._grow)

    @property
    def counting(self) -> bool:
        """Whether `use` lacks the latest changes."""
        return self._can_count and (self._timer.isActive() or self.running is not None or self._incomplete)

    @property
    def _can_count(self) -> bool:
        """Whether the next prompt can be counted. A running reply is added instead."""
        return self._loader.ready and not self._loader.sent_to and not self._activity.replying_here

    @property
    def rolling(self) -> bool:
        """Whether a full context leaves out the oldest messages instead of ending replies."""
        return self._session.chat.settings.rolling

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
    def _forget_while_loading(self) -> None:
        """Forget the count of a pair that is being replaced."""
        if self._loader.running:
            self._forget()

    @Slot()
    def _forget(self) -> None:
        """Forget the use, which will be counted."""
        self._cancel()
        self._timer.start()
        self._show(None)

    def _cancel(self) -> None:
        if self.running is not None:
            self.running.cancel()
        self._prompt = self.running = None

    @Slot()
    def _count(self) -> None:
        if not self._can_count:
            if not self._activity.replying_here:
                self._cancel()
                self.use = self._estimated()  # drafts aren't sent to a server to be counted
            self._emit()
            return
        self._incomplete = bool(self._session.tools_starting() or self._attachments.busy or self._session.drawing_pages)
        self._incomplete |= self._passages.searching(self._session.chat, clean(self._draft).strip(), typing=True)
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
        self.running = PromptCount(self._engine, prompt, self._finish)

    def _finish(self, use: ContextUse | None) -> None:
        self.use, self.running = use, None
        if isValid(self):  # the window may be closed
            self._emit()  # even if unchanged: a message may wait for the count

    def _estimated(self) -> ContextUse | None:
        """Return the use that a server's statistics of the last reply lead to."""
        turns, pair = self._session.chat.turns, self._loader.pair
        if pair is None or self._loader.running or not pair.remote or not pair.context_known or not turns:
            return None
        return estimate(self._next_prompt(), turns[-1].reply, pair.context_limit)

    def _next_prompt(self) -> NextPrompt:
        """Return the prompt of the next request; see `ChatSession.send`."""
        chat = self._session.chat
        text, files = clean(self._draft).strip(), tuple(self._attachments.files)
        turns, editing, refused = chat.turns, self._session.editing, None
        after = turns[-1].last if turns else None
        if editing is not None and editing.asked is not None:
            after = editing.asked.parent
        elif not text and not files and turns and turns[-1].reply.error and turns[-1].reply.empty:
            refused = turns[-1]
            if refused.asked is not None:
                text, files, after = refused.asked.text, refused.asked.attachments, refused.asked.parent
        if refused is None:
            files = self._passages.added_to(chat, text, files)
        prompt = self._session.prompt_in(chat, text, files, after)
        if refused is None:
            return prompt
        system = tuple(message for message in refused.request.messages if message.role == "system")
        return replace(prompt, base=replace(prompt.base, messages=system))

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
