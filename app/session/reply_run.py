"""The reply in progress with its tool calls, saved as it grows."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.session.chat_library import ChatLibrary
from app.session.engine_adapter import Delivery, EngineAdapter
from app.session.notice import Notice
from app.session.tool_box import ToolBox
from app.storage.chat_tree import Chat, Turn
from app.storage.reply import Reply
from app.text.language import tr, translated
from mlx_engine.contract.client import Run
from mlx_engine.contract.events import Failed, Finished
from mlx_engine.contract.requests import GenerationRequest, ToolCall
from mlx_engine.mcp.approvals import Decision
from mlx_engine.mcp.tool import Tool, ToolResult
from mlx_engine.mcp.tool_loop import MOST_STEPS, ToolLoop

SAVE_MS = 500  # between saves of a growing reply


class ReplyJob(QObject):
    """The generation of a reply. `turn` and `chat` are set until the last event.

    A step that ends with tool calls is followed by the calls, which wait for the user, and by the next step.
    """

    started = Signal()
    changed = Signal(object)  # Turn whose reply grew or ended
    asked = Signal(object)  # Turn with calls that wait for the user
    waiting_changed = Signal()
    finished = Signal(object)  # Stats of the last step
    ended = Signal()
    notified = Signal(object)  # Notice

    def __init__(self, engine: EngineAdapter, library: ChatLibrary, tools: ToolBox, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._library = library
        self._tools = tools
        self.turn: Turn | None = None
        self.chat: Chat | None = None
        self.waiting = False  # whether calls wait for the user
        self.most_steps = MOST_STEPS
        self._loop: ToolLoop | None = None
        self._calls: list[ToolCall] = []  # of the current step
        self._called = False  # whether the step has ended with calls
        self._cancels: dict[str, Callable[[], None]] = {}  # of running calls, by ID
        self._job: Run | None = None  # None until the question is saved, and between steps
        self._saving = False  # whether the question is not saved yet
        self._stopping = False
        self._quitting = False
        self._before: dict[str, object] = {}  # the reply's ending before it was continued
        self._saved_length = 0
        self._save_timer = QTimer(self, interval=SAVE_MS)
        self._save_timer.timeout.connect(self._save_growth)

    @property
    def running(self) -> bool:
        return self.turn is not None

    def start(self, turn: Turn, chat: Chat, request: GenerationRequest, tools: Mapping[str, Tool]) -> None:
        """Save the question, so that a crash can't lose it, then submit the request.

        Args:
            turn: the question and its reply.
            chat: the chat of the turn.
            request: the request for the reply's first step.
            tools: the tools that the model may call, by the names that it sees.
        """
        self.turn, self.chat = turn, chat
        self._loop = ToolLoop(request, tools, self._tools.approvals, chat.id, turn.reply.calls, self.most_steps)
        self._job, self._saving, self._stopping, self._saved_length = None, True, False, -1
        self._library.save(chat, [node for node in (turn.asked, turn.answered) if node is not None], self._submit)
        self._save_timer.start()
        self.started.emit()

    def resume(self, turn: Turn, chat: Chat, request: GenerationRequest, tools: Mapping[str, Tool]) -> None:
        """Continue a reply. If the engine refuses, the reply stays unchanged."""
        self._before = {name: getattr(turn.reply, name) for name in ("mode", "reason", "error", "tokens_before")}
        turn.reply.resume(request.mode)
        self.changed.emit(turn)
        self.start(turn, chat, request, tools)

    def interrupt(self) -> None:
        """Mark the running reply as interrupted because the app quits."""
        self._quitting = True
        if self._job is None:
            self.stop()

    def stop(self) -> None:
        """Stop the reply within one round, and all calls."""
        if self.turn is None or self._loop is None:
            return
        self._stopping = True
        self._loop.stop()
        cancels, self._cancels = self._cancels, {}
        for cancel in cancels.values():
            cancel()
        if self._job is not None:
            self._job.cancel()
        elif not self._saving:
            self._proceed()

    def decide(self, call_id: str, decision: Decision) -> None:
        """Allow or deny a call that waits for the user."""
        if self._loop is not None and self.waiting:
            self._loop.decide(call_id, decision)
            self._proceed()

    def cancel_call(self, call_id: str) -> None:
        """Cancel a running call. The reply continues with the call's error."""
        if call_id in self._cancels:
            self._cancels[call_id]()

    @Slot()
    def _submit(self, _: object = None) -> None:
        """Submit the request for the next step."""
        assert self.turn is not None and self.chat is not None and self._loop is not None
        self._saving, reply = False, self.turn.reply
        if self._stopping:
            self._proceed()
            return
        request = replace(
            self._loop.request(reply.answer, reply.thinking),
            foreground=True,
            chat=self.chat.id,
            private=self.chat.settings.private,
        )
        if reply.stats is not None:
            request = replace(request, seed=reply.stats.seed)
        if request.rolling is not None:
            request = replace(request, rolling=max(request.rolling, reply.left_out))
        self._calls, self._called = [], False
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
                self._end_step()
            else:
                self._accept(self.turn.reply, item)
        if self.turn is not None:
            self.changed.emit(self.turn)

    def _accept(self, reply: Reply, item: Delivery) -> None:
        assert item.event is not None and self._loop is not None
        reply.accept(item.event, item.at_s)
        match item.event:
            case ToolCall() as call:
                self._calls.append(call)
            case Finished(reason, stats):
                self._add_calls(reply, cut_off=reason != "tool_calls")
                if reason == "tool_calls":
                    self._called, self._before = True, {}
                    reply.resume(reply.mode)
                else:
                    self.finished.emit(stats)
            case Failed() as failed:
                self._add_calls(reply, cut_off=True)
                if self._before and reply.tokens == reply.tokens_before:
                    for name, value in self._before.items():
                        setattr(reply, name, value)
                    self.notified.emit(Notice(translated(failed), "error"))
        if self._quitting and reply.reason == "cancelled":
            reply.reason = "interrupted"

    def _add_calls(self, reply: Reply, cut_off: bool) -> None:
        """Add the calls of a step. They are stopped if the step was cut off after them."""
        assert self._loop is not None
        if self._calls:
            if cut_off:
                self._loop.stop()
            self._loop.replied(self._calls, reply.answer, reply.thinking)
            reply.calls = self._loop.calls

    def _end_step(self) -> None:
        """Start the calls of a step, or end the reply."""
        assert self.turn is not None
        self._job = None
        if not self.turn.reply.running:
            self._end()
        elif not self._called:  # the last event is missing
            self.turn.reply.accept(Failed("reply_lost", tr("The reply ended unexpectedly. Try again.")), 0.0)
            self._end()
        else:
            self._proceed()
            if self.waiting:
                self.asked.emit(self.turn)

    def _proceed(self) -> None:
        """Start calls that are allowed.

        When all calls have ended, submit the next step or end the reply.
        """
        loop, turn, chat = self._loop, self.turn, self.chat
        assert loop is not None and turn is not None and chat is not None
        for record, tool in loop.ready:
            call_id = record.call.id
            loop.started(call_id)
            done = partial(self._finish_call, loop, call_id, time.monotonic())
            self._cancels[call_id] = self._tools.call(tool, record.call.arguments, done, partial(self._report, loop, call_id))
        turn.reply.calls = loop.calls
        self._set_waiting(bool(loop.waiting))
        if turn.answered is not None:
            self._library.save(chat, [turn.answered])
        if loop.next:
            self._submit()
        elif all(record.ended for record in loop.calls):
            turn.reply.reason = "tool_calls" if not self._stopping else "interrupted" if self._quitting else "cancelled"
            self._end()
            return
        self.changed.emit(turn)

    def _finish_call(self, loop: ToolLoop, call_id: str, began: float, result: ToolResult) -> None:
        if loop is self._loop and self.turn is not None and self._cancels.pop(call_id, None) is not None:
            self.turn.reply.progress.pop(call_id, None)
            loop.ended(call_id, result, time.monotonic() - began)
            self._proceed()

    def _report(self, loop: ToolLoop, call_id: str, text: str) -> None:
        """Show the progress of a running call."""
        if loop is self._loop and self.turn is not None and call_id in self._cancels:
            self.turn.reply.progress[call_id] = text
            self.changed.emit(self.turn)

    def _set_waiting(self, waiting: bool) -> None:
        if waiting != self.waiting:
            self.waiting = waiting
            self.waiting_changed.emit()

    def _end(self) -> None:
        turn, chat = self.turn, self.chat
        self._job, self.turn, self.chat, self._loop, self._before, self._cancels = None, None, None, None, {}, {}
        self._set_waiting(False)
        self._save_timer.stop()
        if turn is not None and chat is not None:
            turn.reply.progress.clear()
            if turn.answered is not None:
                self._library.save(chat, [turn.answered])
            self.changed.emit(turn)
        self.ended.emit()
