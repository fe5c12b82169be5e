"""One running reply with its tool calls, saved as it grows."""

import time
from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, Signal

from app.session.chat_library import ChatLibrary
from app.session.context_use import letters_of
from app.session.engine_adapter import Delivery, EngineAdapter
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
from mlx_engine.mcp.tool_turn import ToolTurn


class ReplyRun(QObject):
    """The driver of a turn's reply: requests, calls, and saving. `begin` starts it.

    Args:
        turn: the question and its reply.
        chat: the chat of the turn.
        request: the request for the reply's first step.
        tools: the tools that the model may call, by the names that it sees.
        most_steps: number of steps after which the reply ends.
        can_see: whether the model sees images. Otherwise, they are kept with the chat only.
    """

    changed = Signal(object)  # Turn whose reply grew or ended
    asked = Signal(object)  # this run, whose calls wait for the user
    waiting_changed = Signal()
    finished = Signal(object, object)  # this run, and Stats of the last step
    kernels_selected = Signal(object)  # KernelsSelected, if kernels failed
    ended = Signal(object)  # this run, before the last `changed`
    refused = Signal(object, str)  # this run, whose reply stays as it was, and why it isn't continued

    def __init__(
        self,
        engine: EngineAdapter,
        library: ChatLibrary,
        tool_box: ToolBox,
        turn: Turn,
        chat: Chat,
        request: GenerationRequest,
        tools: Mapping[str, Tool],
        most_steps: int,
        can_see: bool,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._engine, self._library, self._tool_box = engine, library, tool_box
        self.turn, self.chat = turn, chat
        self._state = ToolTurn(request, tools, tool_box.approvals, chat.id, turn.reply.calls, most_steps, can_see=True)
        self._can_see = can_see
        self._sent = request  # the latest step
        self._saved_length = -1
        self._over = False

    @property
    def waiting(self) -> bool:
        """Whether calls wait for the user."""
        state = self._state  # calls that need no decision have started by now
        return not state.generating and any(record.state == "waiting" for record in state.calls)

    def begin(self) -> None:
        """Save the question, so that a crash can't lose it, then submit the request."""
        nodes = [node for node in (self.turn.asked, self.turn.answered) if node is not None]
        self._library.save(self.chat, nodes, self._submit)

    def stop(self, interrupted: bool = False) -> None:
        """Stop the reply within one round, and all calls.

        Args:
            interrupted: whether the app quits.
        """
        self._state.stop(interrupted)
        if self._state.over:
            self._proceed()

    def decide(self, call_id: str, decision: Decision) -> None:
        """Allow or deny a call that waits for the user."""
        if not self._over and self._state.decide(call_id, decision):
            self._proceed()

    def start_allowed(self) -> None:
        """Start waiting calls of tools that have been allowed."""
        if self._state.ready:
            self._proceed()

    def cancel_call(self, call_id: str) -> None:
        """Cancel a running call. The reply continues with the call's error."""
        self._state.cancel(call_id)

    def save_growth(self) -> None:
        """Save the text if it has grown since the last save."""
        length = len(self.turn.reply.answer) + len(self.turn.reply.thinking)
        if length != self._saved_length and self.turn.answered is not None:
            self._saved_length = length
            self._library.save_growth(self.chat, self.turn.answered)

    def _submit(self, _: object = None) -> None:
        """Submit the next step, unless the turn was stopped while it was saved."""
        if self._over:
            return
        reply, state = self.turn.reply, self._state
        request = state.request(reply.answer, reply.thinking)
        messages = shown_to(self._can_see, request.messages)
        request = replace(request, messages=messages, foreground=True, chat=self.chat.id, private=self.chat.settings.private)
        if reply.stats is not None:
            request = replace(request, seed=reply.stats.seed)
        if request.rolling is not None:
            request = replace(request, rolling=max(request.rolling, reply.left_out))
        self._sent = request
        receive = partial(self._receive, state.requests + 1)
        state.submitted(self._engine.submit(request, receive).cancel)

    def _receive(self, number: int, deliveries: list[Delivery]) -> None:
        state = self._state
        for item in deliveries:
            if self._over or not state.generating or number != state.requests:
                return
            if item.event is not None:
                self._accept(self.turn.reply, item.event, item.at_s)
                continue
            if not state.closed() and not state.stopped:  # a request may be canceled before its first event
                self.turn.reply.accept(Failed("reply_lost", tr("The reply ended unexpectedly. Try again.")), 0.0)
            self._proceed()
            if not self._over and self.waiting:
                self.asked.emit(self)
        if not self._over:
            self.changed.emit(self.turn)

    def _accept(self, reply: Reply, event: Event, at_s: float) -> None:
        state = self._state
        if isinstance(event, Finished) and (reply.stats is None or reply.calls):  # after Continue, `stats` keeps the first prompt
            head = sum(message.role == "system" for message in self._sent.messages)
            messages = (*self._sent.messages[:head], *self._sent.messages[head + reply.left_out :])
            reply.prompt_letters = letters_of(replace(self._sent, messages=messages))
        reply.accept(event, at_s)
        match event:
            case ToolCall() as call:
                state.called(call)
            case KernelsSelected() as kernels:
                self.kernels_selected.emit(kernels)
            case Finished(reason, stats):
                state.replied(reason, reply.answer, reply.thinking, time.time())
                reply.calls = state.calls
                if reason == "tool_calls":
                    reply.next_step()
                else:
                    self.finished.emit(self, stats)
                    if reason == "cancelled" and state.stopped:
                        reply.reason = state.ending
            case Failed() as failed:
                state.replied("error", reply.answer, reply.thinking, time.time())
                reply.calls = state.calls
                if reply.revert():
                    self.refused.emit(self, translated(failed))

    def _proceed(self) -> None:
        """Start calls that are allowed.

        When all calls have ended, submit the next step or end the reply.
        """
        if self._over:
            return
        state, turn = self._state, self.turn
        for record, tool in state.ready:
            call_id, now = record.call.id, time.monotonic()
            done, report = partial(self._finish_call, call_id), partial(self._report, call_id)
            state.started(call_id, self._tool_box.call(tool, record.call.arguments, done, report), now)
        turn.reply.calls = state.calls
        if state.over:
            self._end(state.ending)
            return
        self.waiting_changed.emit()
        if turn.answered is not None:
            self._library.save(self.chat, [turn.answered])
        if state.has_next:
            self._submit()
        self.changed.emit(turn)

    def _finish_call(self, call_id: str, result: ToolResult) -> None:
        if not self._over and self._state.ended(call_id, result, time.monotonic()):
            self.turn.reply.progress.pop(call_id, None)
            self._proceed()

    def _report(self, call_id: str, text: str) -> None:
        """Show the progress of a running call."""
        if not self._over and call_id in self._state.running:
            self.turn.reply.progress[call_id] = text
            self.changed.emit(self.turn)

    def _end(self, reason: Ending) -> None:
        """End the reply, with a reason unless it has one."""
        self._over = True
        self.turn.reply.end(reason)
        if self.turn.answered is not None:
            self._library.save(self.chat, [self.turn.answered])
        self.ended.emit(self)
