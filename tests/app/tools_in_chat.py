"""A chat whose tools are played from a script."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TypeVar

from PySide6.QtCore import QTimer

from app.views.transcript.call_card import CallCard
from mlx_engine.contract.requests import ToolCall
from mlx_engine.mcp.approvals import Decision
from mlx_engine.mcp.tool import Tool, ToolResult
from tests.app.conftest import Running, Session
from tests.app.scripted_engine import PAIR, Script, ScriptedEngine, commit, done

App = TypeVar("App", bound=Session)
CALCULATOR = Tool("Calculator", "calculator", description="Calculate an arithmetic expression.")
READ = Tool("Files", "read_file", description="Read a file.")
PRODUCT = ToolCall("call_1", "calculator", '{"expression": "4817 × 392"}')
SECOND = ToolCall("call_2", "read_file", '{"path": "notes.md"}')


def calling(*calls: ToolCall, text: str = "Let me see.", reason: str = "tool_calls", seed: int = 7) -> Script:
    """A step that ends with calls."""
    said = [commit(text, 3)] if text else []
    return [*said, *calls, done(reason=reason, tokens=5, seed=seed)]  # type: ignore[list-item, arg-type]


@dataclass
class ScriptedTools:
    """Results by name of the tool; a call without one runs until it is ended or canceled."""

    results: dict[str, ToolResult] = field(default_factory=dict)
    offered: dict[str, Tool] = field(default_factory=lambda: {"calculator": CALCULATOR, "read_file": READ})
    called: list[tuple[str, str]] = field(default_factory=list)
    open: dict[str, tuple[Callable[[ToolResult], object], Callable[[str], object]]] = field(default_factory=dict)
    canceled: list[str] = field(default_factory=list)

    def call(
        self, tool: Tool, arguments: str, done: Callable[[ToolResult], object], progress: Callable[[str], object]
    ) -> Callable[[], None]:
        self.called.append((tool.name, arguments))
        if tool.name in self.results:
            QTimer.singleShot(0, partial(done, self.results[tool.name]))
        else:
            self.open[tool.name] = done, progress
        return partial(self.canceled.append, tool.name)


def with_tools(start: Callable[..., App], replies: Sequence[Script], **results: str) -> tuple[App, ScriptedTools]:
    """Start the app with two tools and their results."""
    app = start(ScriptedEngine(replies, replace(PAIR, can_call_tools=True)))
    tools = ScriptedTools({name: ToolResult(text) for name, text in results.items()})
    app.tools.offered = lambda settings, project="": tools.offered  # type: ignore[method-assign]
    app.tools.call = tools.call  # type: ignore[method-assign]
    return app, tools


def ask_for_call(app: Session, text: str = "What is 4817 × 392?") -> None:
    """Send, and wait until a call waits for the user."""
    app.send(text)
    app.until(lambda: bool(app.reply_runner.asking))


def decide(app: Session, decision: Decision, call_id: str = "") -> None:
    """Decide on a call, or on the first one that waits."""
    turn = app.session.chat.turns[-1]
    waiting = [record.call.id for record in turn.reply.calls if record.state == "waiting"]
    app.reply_runner.decide(turn, call_id or waiting[0], decision)


def cards(app: Running) -> list[CallCard]:
    return [card for step in app.reply.steps for card in step.cards]


def ask_for_card(app: Running, text: str = "What is 4817 × 392?") -> CallCard:
    """Send, and return the card of the first call that waits for the user."""
    ask_for_call(app, text)
    return next(card for card in cards(app) if card.record.state == "waiting")


def choose(app: Running, card: CallCard, number: int) -> None:
    """Click Allow Once, Allow in This Chat, Always Allow, or Deny."""
    once, deny, more = card.choices
    app.until(more.isEnabled)
    (once.click, card.lasting[0].trigger, card.lasting[1].trigger, deny.click)[number]()
