"""Connections to the servers of tools."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from mlx_engine.errors import EngineText
from mlx_engine.tools.config import ServerConfig
from mlx_engine.tools.tool import Tool, ToolResult

ServerState = Literal["off", "connecting", "ready", "failed", "sign_in"]


@dataclass(frozen=True)
class ServerStatus:
    """The state of a server.

    Attributes:
        state: “sign_in” if the user has to sign in first.
        error: why the server can't be used.
        log: the last lines that the server wrote to its standard error; untrusted.
    """

    name: str
    state: ServerState
    error: EngineText | None = None
    tools: tuple[Tool, ...] = ()
    log: tuple[str, ...] = ()


class ToolServers:
    """The servers of tools. All methods can be called from any thread, and don't wait for servers.

    Args:
        changed: called after the status of a server has changed, on the servers' thread.
    """

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._changed = changed
        self._configs: tuple[ServerConfig, ...] = ()

    def configure(self, configs: Sequence[ServerConfig]) -> None:
        """Use these servers. Those that changed or left are closed."""
        self._configs = tuple(configs)
        self._changed()

    def start(self, names: Iterable[str]) -> None:
        """Connect to these servers, if they are enabled and not connected."""

    def status(self) -> tuple[ServerStatus, ...]:
        return tuple(ServerStatus(config.name, "off") for config in self._configs)

    def call(
        self, tool: Tool, arguments: str, done: Callable[[ToolResult], None], progress: Callable[[str], None] = lambda text: None
    ) -> Callable[[], None]:
        """Call a tool, and return a function that cancels the call.

        Args:
            tool: as the user approved it. If the server's tool is different now, it isn't called.
            arguments: a JSON object.
            done: called once with the result, on the servers' thread.
            progress: called with the server's messages about its progress, which are untrusted, at most 10 times per second.
        """
        error = EngineText.of("tool_server_gone", "The server “{server}” isn't connected.", server=tool.server)
        done(ToolResult(error.message, error, failed=True))
        return lambda: None

    def sign_in(self, name: str, open_browser: Callable[[str], None]) -> None:
        """Sign in to a remote server in the browser."""

    def sign_out(self, name: str) -> None:
        """Forget the credentials of a remote server."""

    def close(self) -> None:
        """End all calls and servers, within two seconds."""
