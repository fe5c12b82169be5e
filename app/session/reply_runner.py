"""The replies in progress, one per chat."""

from collections.abc import Mapping
from dataclasses import replace

from PySide6.QtCore import QObject, QTimer, Signal, Slot

from app.session.chat_library import ChatLibrary
from app.session.engine_adapter import EngineAdapter
from app.session.reply_run import ReplyRun
from app.session.tool_box import ToolBox
from app.storage.chat_tree import Chat, Turn
from mlx_engine.contract.requests import GenerationRequest
from mlx_engine.mcp.approvals import Decision
from mlx_engine.mcp.tool import Tool
from mlx_engine.mcp.tool_turn import MOST_STEPS

SAVE_MS = 500  # between saves of growing replies
ALTERNATIVES = 5  # most likely tokens that are recorded in place of each token


class ReplyRunner(QObject):
    """The running replies, at most one per chat.

    The engine runs those of several chats together.

    Attributes:
        most_steps: number of steps after which a reply ends.
        logprobs: as in `GenerationRequest`.
    """

    started = Signal(object)  # ReplyRun
    changed = Signal(object)  # Turn whose reply grew or ended
    asked = Signal(object)  # ReplyRun with calls that wait for the user
    waiting_changed = Signal()
    finished = Signal(object, object)  # ReplyRun, and Stats of its last step
    kernels_selected = Signal(object)  # KernelsSelected, if kernels failed
    ended = Signal(object)  # ReplyRun
    refused = Signal(object, str)  # ReplyRun, whose reply stays as it was, and why it isn't continued

    def __init__(self, engine: EngineAdapter, library: ChatLibrary, tools: ToolBox, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._engine, self._library, self._tools = engine, library, tools
        self.most_steps = MOST_STEPS
        self.logprobs: int | None = None
        self._runs: dict[str, ReplyRun] = {}  # by the ID of the chat, in order of their starts
        self._save_timer = QTimer(self, interval=SAVE_MS)
        self._save_timer.timeout.connect(self._save_growth)

    @property
    def runs(self) -> tuple[ReplyRun, ...]:
        """The running replies, the earliest first."""
        return tuple(self._runs.values())

    @property
    def asking(self) -> tuple[ReplyRun, ...]:
        """Those with calls that wait for the user."""
        return tuple(run for run in self.runs if run.waiting)

    def of(self, chat_id: str) -> ReplyRun | None:
        """Return the running reply of a chat."""
        return self._runs.get(chat_id)

    def start(self, turn: Turn, chat: Chat, request: GenerationRequest, tools: Mapping[str, Tool], can_see: bool = False) -> None:
        """Start the reply of a turn, whose chat has no running one. See `ReplyRun`."""
        assert chat.id not in self._runs
        request = replace(request, logprobs=self.logprobs)
        run = ReplyRun(self._engine, self._library, self._tools, turn, chat, request, tools, self.most_steps, can_see, self)
        run.ended.connect(self._end)
        for signal, own in (
            (run.changed, self.changed),
            (run.asked, self.asked),
            (run.waiting_changed, self.waiting_changed),
            (run.finished, self.finished),
            (run.kernels_selected, self.kernels_selected),
            (run.refused, self.refused),
        ):
            signal.connect(own)
        self._runs[chat.id] = run
        run.begin()
        self._save_timer.start()
        self.started.emit(run)

    def resume(self, turn: Turn, chat: Chat, request: GenerationRequest, tools: Mapping[str, Tool], can_see: bool = False) -> None:
        """Continue a reply. If the engine refuses, the reply stays unchanged."""
        turn.reply.resume(request.mode)
        self.changed.emit(turn)
        self.start(turn, chat, request, tools, can_see)

    def stop(self, chat_id: str) -> None:
        """Stop a chat's reply, if one is running."""
        if (run := self.of(chat_id)) is not None:
            run.stop()

    def interrupt_all(self) -> None:
        """Stop all replies, because the app quits."""
        for run in self.runs:
            run.stop(interrupted=True)

    def decide(self, turn: Turn, call_id: str, decision: Decision) -> None:
        """Allow or deny a call of a turn that waits for the user.

        The ID of a call is unique in its turn only.
        """
        if (run := self._run_of(turn)) is not None:
            run.decide(call_id, decision)
        if decision == "always":
            for other in self.asking:
                other.start_allowed()

    def cancel_call(self, turn: Turn, call_id: str) -> None:
        """Cancel a running call of a turn. The reply continues with the call's error."""
        if (run := self._run_of(turn)) is not None:
            run.cancel_call(call_id)

    def _run_of(self, turn: Turn) -> ReplyRun | None:
        return next((run for run in self.runs if run.turn is turn), None)

    @Slot()
    def _save_growth(self) -> None:
        for run in self.runs:
            run.save_growth()

    @Slot(object)
    def _end(self, run: ReplyRun) -> None:
        del self._runs[run.chat.id]
        if not self._runs:
            self._save_timer.stop()
        self.changed.emit(run.turn)
        self.ended.emit(run)
        run.deleteLater()
