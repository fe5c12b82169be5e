"""Servers of tools that answer immediately, without a thread, a program, or the network."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import ClassVar

from mlx_engine.contract.errors import EngineText
from mlx_engine.mcp.config import ServerConfig
from mlx_engine.mcp.server_status import ServerStatus
from mlx_engine.mcp.tool import Tool, ToolResult

CALCULATE = Tool("Calculator", "calculator", description="Calculate an arithmetic expression.")


class FakeServers:
    """A stand-in for `ToolServers`. `answers` says what a start leads to; every other server has one tool."""

    answers: ClassVar[dict[str, ServerStatus]] = {}
    made: ClassVar["list[FakeServers]"] = []
    slow: ClassVar[bool] = False  # whether `finish` ends connecting

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self.changed = changed
        self.found: dict[str, ServerStatus] = {}
        self.configs: dict[str, ServerConfig] = {}
        self.started: list[str] = []
        self.calls: list[tuple[Tool, str]] = []
        self.signs: list[str] = []
        self.closed = False
        self.made.append(self)

    def configure(self, configs: Sequence[ServerConfig]) -> None:
        old, self.configs = self.configs, {config.key: config for config in configs}
        self.found = {
            name: self.found[name] if old.get(name) == config else ServerStatus(name, "off")
            for name, config in self.configs.items()
        }
        self.changed()

    def start(self, names: Iterable[str]) -> None:
        for name in names:
            if self.configs[name].enabled and self.found[name].state != "ready":
                self.started.append(name)
                self.found[name] = ServerStatus(name, "connecting")
                if not self.slow:
                    self.finish(name)
        self.changed()

    def finish(self, name: str) -> None:
        """End connecting."""
        config = self.configs[name]
        tools = (replace(CALCULATE, server=config.name, origin=config.origin, project=config.project),)
        self.found[name] = replace(self.answers.get(name, ServerStatus(name, "ready", tools=tools)), name=name)
        self.changed()

    def status(self) -> tuple[ServerStatus, ...]:
        return tuple(self.found.values())

    def call(
        self, tool: Tool, arguments: str, done: Callable[[ToolResult], None], progress: Callable[[str], None] = lambda text: None
    ) -> Callable[[], None]:
        self.calls.append((tool, arguments))
        for step in range(1000):
            progress(f"Step {step}")
        done(ToolResult("1888264"))
        return lambda: None

    def sign_in(self, name: str, open_browser: Callable[[str], None]) -> None:
        self.signs.append(f"in {name}")
        open_browser("https://login.example/authorize")

    def sign_out(self, name: str) -> None:
        self.signs.append(f"out {name}")

    def close(self) -> None:
        self.closed = True


def failed(reason: str, *log: str) -> ServerStatus:
    return ServerStatus("", "failed", EngineText("", reason), log=log)
