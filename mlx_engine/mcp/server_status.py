"""The state of a tool server, as the window shows it."""

from dataclasses import dataclass
from typing import Literal

from mlx_engine.contract.errors import EngineText
from mlx_engine.mcp.tool import Tool, ToolResult

ServerState = Literal["off", "connecting", "ready", "failed", "sign_in"]


@dataclass(frozen=True)
class ServerStatus:
    """The state of a server.

    Attributes:
        name: its key.
        state: “sign_in” if the user has to sign in first.
        error: why the server can't be used.
        log: the last lines of the server's output, except its messages; untrusted.
    """

    name: str
    state: ServerState
    error: EngineText | None = None
    tools: tuple[Tool, ...] = ()
    log: tuple[str, ...] = ()


def failed(error: EngineText) -> ToolResult:
    return ToolResult(error.message, error, failed=True)


def gone(server: str) -> EngineText:
    return EngineText.of("tool_server_gone", "The connection to “{server}” has ended.", server=server)
