"""Servers of tools for tests, with methods that wait."""

import os
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mlx_engine.mcp.config import ServerConfig
from mlx_engine.mcp.server_status import ServerState, ServerStatus
from mlx_engine.mcp.servers import ToolServers
from mlx_engine.mcp.tool import Tool, ToolResult

PATIENCE_S = 60  # for busy machines
MADE = Path(__file__).with_name("made_server.py")


def made(mode: str = "", name: str = "made", **fields: Any) -> ServerConfig:
    return ServerConfig(name, command=sys.executable, args=("-S", str(MADE), mode), **fields)


def wait_until(condition: Callable[[], Any]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until, "waited in vain"
        time.sleep(0.005)


def is_running(pid: int) -> bool:
    """Return whether a process exists and isn't only waiting for its parent to notice its end."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except ProcessLookupError:
        return False
    except OSError:
        return True


class RunningServers(ToolServers):
    """Servers that are configured, with methods that wait."""

    def __init__(self, *configs: ServerConfig) -> None:
        self.changes: list[tuple[str, ServerState]] = []
        super().__init__(self._note)
        self.configure(configs)

    def _note(self) -> None:
        self.changes += [(status.name, status.state) for status in self.status()]

    def of(self, name: str) -> ServerStatus:
        return next(status for status in self.status() if status.name == name)

    def wait(self, name: str, state: ServerState) -> ServerStatus:
        wait_until(lambda: self.of(name).state == state)
        return self.of(name)

    def ready(self, name: str = "made") -> ServerStatus:
        """Connect to a server, again if a short time-out was too short."""

        def is_ready() -> bool:
            if self.of(name).state in ("off", "failed"):
                self.start([name])
            return self.of(name).state == "ready"

        wait_until(is_ready)
        return self.of(name)

    def tool(self, tool: str, name: str = "made") -> Tool:
        return next(found for found in self.ready(name).tools if found.name == tool)

    def begin(self, tool: Tool, arguments: str = "{}", progress: Callable[[str], None] = lambda text: None) -> "Call":
        return Call(self, tool, arguments, progress)

    def ask(self, tool: Tool | str, arguments: str = "{}", progress: Callable[[str], None] = lambda text: None) -> ToolResult:
        return self.begin(self.tool(tool) if isinstance(tool, str) else tool, arguments, progress).result()


class Call:
    """A call in progress."""

    def __init__(self, servers: ToolServers, tool: Tool, arguments: str, progress: Callable[[str], None]) -> None:
        self.results: list[ToolResult] = []
        self._done = threading.Event()
        self.cancel = servers.call(tool, arguments, self._add, progress)

    def _add(self, result: ToolResult) -> None:
        self.results.append(result)
        self._done.set()

    def result(self) -> ToolResult:
        assert self._done.wait(PATIENCE_S), "the call doesn't end"
        assert len(self.results) == 1
        return self.results[0]
