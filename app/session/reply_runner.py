"""The reply in progress with its tool calls, saved as it grows."""

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.session.chat_library import ChatLibrary
from app.session.engine_adapter import Delivery, EngineAdapter
from app.session.notice import Notice
from app.session.tool_box import ToolBox
from app.storage.attachments import shown_to
from app.storage.chat_tree import Chat, Turn
from app.storage.reply import Ending, Reply
from app.text.language import tr, translated
from mlx_engine.contract.events import Event, Failed, Finished
from mlx_engine.contract.machine_events import KernelsSelected
from mlx_engine.contract.requests import GenerationRequest, ToolCall
from mlx_engine.mcp.approvals import Decision
from mlx_engine.mcp.tool import Tool, ToolResult
from mlx_engine.mcp.tool_turn import MOST_STEPS, ToolTurn

SAVE_MS = 500  # between saves of a growing reply


class ReplyRunner(QObject):
    """The driver of one reply at a time: requests, calls, and saving.

    Attributes:
        turn, chat: of the running reply, or None.
    """

    started = Signal()
    changed = Signal(object)  # Turn whose reply grew or ended
    asked = Signal(object)  # Turn with calls that wait for the user
    waiting_changed = Signal()
    finished = Signal(object)  # Stats of the last step
    kernels_selected = Signal(object)  # KernelsSelected, if kernels failed
    ended = Signal()
    notified = Signal(object)  # Notice

    def __init__(self, engine: EngineAdapter, library: ChatLibrary, tools: ToolBox, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine = engine
        self._library = library
        self._tools = tools
        self.turn: Turn | None = None
        self.chat: Chat | None = None
        self.most_steps = MOST_STEPS
        self._state: ToolTurn | None = None
        self._saved_length = 0
        self._can_see = False
        self._save_timer = QTimer(self, interval=SAVE_MS)
        self._save_timer.timeout.connect(self._save_growth)

    @property
    def running(self) -> bool:
        return self.turn is not None

    @property
    def waiting(self) -> bool:
        """Whether calls wait for the user."""
        state = self._state  # calls that need no decision have started by now
        return state is not None and not state.generating and any(record.state == "waiting" for record in state.calls)

    def start(self, turn: Turn, chat: Chat, request: GenerationRequest, tools: Mapping[str, Tool], can_see: bool = False) -> None:
        """Save the question, so that a crash can't lose it, then submit the request.

        Args:
            turn: the question and its reply.
            chat: the chat of the turn.
            request: the request for the reply's first step.
            tools: the tools that the model may call, by the names that it sees.
            can_see: whether the model sees images. Otherwise, they are kept with the chat only.
        """
        self.turn, self.chat, self._saved_length, self._can_see = turn, chat, -1, can_see
        approvals = self._tools.approvals
        self._state = state = ToolTurn(request, tools, approvals, chat.id, turn.reply.calls, self.most_steps, can_see=True)
        nodes = [node for node in (turn.asked, turn.answered) if node is not None]
        self._library.save(chat, nodes, partial(self._submit, state))
        self._save_timer.start()
        self.started.emit()

    def resume(self, turn: Turn, chat: Chat, request: GenerationRequest, tools: Mapping[str, Tool], can_see: bool = False) -> None:
        """Continue a reply. If the engine refuses, the reply stays unchanged."""
        turn.reply.resume(request.mode)
        self.changed.emit(turn)
        self.start(turn, chat, request, tools, can_see)

    def stop(self, interrupted: bool = False) -> None:
        """Stop the reply within one round, and all calls.

        Args:
            interrupted: whether the app quits.
        """
        if self._state is not None:
            self._state.stop(interrupted)
            if self._state.over:
                self._proceed()

    def decide(self, turn: Turn, call_id: str, decision: Decision) -> None:
        """Allow or deny a call of a turn that waits for the user.

        The ID of a call is unique in its turn only.
        """
        if turn is self.turn and self._state is not None and self._state.decide(call_id, decision):
            self._proceed()

    def cancel_call(self, turn: Turn, call_id: str) -> None:
        """Cancel a running call of a turn. The reply continues with the call's error."""
        if turn is self.turn and self._state is not None:
            self._state.cancel(call_id)

    def _submit(self, state: ToolTurn, _: object = None) -> None:
        """Submit the next step, unless the turn was stopped while it was saved."""
        turn, chat = self.turn, self.chat
        if state is not self._state or turn is None or chat is None:
            return
        reply, request = turn.reply, state.request(turn.reply.answer, turn.reply.thinking)
        messages = shown_to(self._can_see, request.messages)
        request = replace(request, messages=messages, foreground=True, chat=chat.id, private=chat.settings.private)
        if reply.stats is not None:
            request = replace(request, seed=reply.stats.seed)
        if request.rolling is not None:
            request = replace(request, rolling=max(request.rolling, reply.left_out))
        receive = partial(self._receive, state, state.requests + 1)
        state.submitted(self._engine.submit(request, receive).cancel)

    @Slot()
    def _save_growth(self) -> None:
        if self.turn is None or self.chat is None:
            return
        length = len(self.turn.reply.answer) + len(self.turn.reply.thinking)
        if length != self._saved_length and self.turn.answered is not None:
            self._saved_length = length
            self._library.save_growth(self.chat, self.turn.answered)

    def _receive(self, state: ToolTurn, number: int, deliveries: list[Delivery]) -> None:
        for item in deliveries:
            if self.turn is None or state is not self._state or not state.generating or number != state.requests:
                return
            if item.event is not None:
                self._accept(state, self.turn.reply, item.event, item.at_s)
                continue
            if not state.closed() and not state.stopped:  # a request may be canceled before its first event
                self.turn.reply.accept(Failed("reply_lost", tr("The reply ended unexpectedly. Try again.")), 0.0)
            self._proceed()
            if self.waiting:
                self.asked.emit(self.turn)
        if self.turn is not None:
            self.changed.emit(self.turn)

    def _accept(self, state: ToolTurn, reply: Reply, event: Event, at_s: float) -> None:
        reply.accept(event, at_s)
        match event:
            case ToolCall() as call:
                state.called(call)
            case KernelsSelected() as kernels:
                self.kernels_selected.emit(kernels)
            case Finished(reason, stats):
                state.replied(reason, reply.answer, reply.thinking)
                reply.calls = state.calls
                if reason == "tool_calls":
                    reply.next_step()
                else:
                    self.finished.emit(stats)
                    if reason == "cancelled" and state.stopped:
                        reply.reason = state.ending
            case Failed() as failed:
                state.replied("error", reply.answer, reply.thinking)
                reply.calls = state.calls
                if reply.revert():
                    self.notified.emit(Notice(translated(failed), "error", until="chat"))

    def _proceed(self) -> None:
        """Start calls that are allowed.

        When all calls have ended, submit the next step or end the reply.
        """
        state, turn, chat = self._state, self.turn, self.chat
        assert state is not None and turn is not None and chat is not None
        for record, tool in state.ready:
            call_id, now = record.call.id, time.monotonic()
            done, report = partial(self._finish_call, state, call_id), partial(self._report, state, call_id)
            state.started(call_id, self._tools.call(tool, record.call.arguments, done, report), now)
        turn.reply.calls = state.calls
        if state.over:
            self._end(state.ending)
            return
        self.waiting_changed.emit()
        if turn.answered is not None:
            self._library.save(chat, [turn.answered])
        if state.has_next:
            self._submit(state)
        self.changed.emit(turn)

    def _finish_call(self, state: ToolTurn, call_id: str, result: ToolResult) -> None:
        if state.ended(call_id, result, time.monotonic()) and self.turn is not None:
            self.turn.reply.progress.pop(call_id, None)
            self._proceed()

    def _report(self, state: ToolTurn, call_id: str, text: str) -> None:
        """Show the progress of a running call."""
        if call_id in state.running and self.turn is not None:
            self.turn.reply.progress[call_id] = text
            self.changed.emit(self.turn)

    def _end(self, reason: Ending) -> None:
        """End the reply, with a reason unless it has one."""
        turn, chat = self.turn, self.chat
        assert turn is not None and chat is not None
        self._state = self.turn = self.chat = None
        self._save_timer.stop()
        turn.reply.end(reason)
        if turn.answered is not None:
            self._library.save(chat, [turn.answered])
        self.changed.emit(turn)
        self.ended.emit()
