"""The tool servers that the user has configured, on their own thread."""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from mlx_engine.contract.errors import EngineText
from mlx_engine.mcp.config import ServerConfig
from mlx_engine.mcp.server_status import ServerStatus, failed, gone
from mlx_engine.mcp.tool import Tool, ToolResult

if TYPE_CHECKING:
    from mlx_engine.mcp.connection import McpConnection

log = logging.getLogger(__name__)

_END_S, _KILL_S = 1.6, 0.2


class ToolServers:
    """The tool servers.

    All methods can be called from any thread, and don't wait for servers.

    Args:
        changed: called after the status of a server has changed, on the servers' thread.
    """

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        self._changed = changed
        self._configs: dict[str, ServerConfig] = {}
        self._connections: dict[str, McpConnection] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._calls: set[_Call] = set()
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._closed = False

    def configure(self, configs: Sequence[ServerConfig]) -> None:
        """Use these servers. Servers that changed or were removed are closed."""
        self._configs = {config.key: config for config in configs}
        if self._loop is not None:
            self._post(self._close_changed)

    def start(self, keys: Iterable[str]) -> None:
        """Connect to the servers with these keys, if they are enabled and not connected."""
        for key in keys:
            self._post(self._start, key)

    def status(self) -> tuple[ServerStatus, ...]:
        connections = {config: self._connections.get(config.key) for config in self._configs.values()}
        return tuple(
            connection.status if connection and connection.config == config else ServerStatus(config.key, "off")
            for config, connection in connections.items()
        )

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
        call = _Call(tool, done)
        if not self._post(self._begin, call, arguments, progress):
            call.cancel()

        def cancel() -> None:
            self._post(call.cancel)

        return cancel

    def sign_in(self, name: str, open_browser: Callable[[str], None]) -> None:
        """Sign in to a remote server.

        Args:
            open_browser: called with the address of the sign-in page, on the servers' thread.
        """
        self._post(self._sign_in, name, open_browser)

    def sign_out(self, name: str) -> None:
        """Forget the credentials of a remote server."""
        self._post(self._sign_out, name)

    def close(self) -> None:
        """End all calls and servers, within two seconds."""
        with self._lock:
            loop, thread, self._closed = self._loop, self._thread, True
            self._loop = None
        if loop is not None and thread is not None:
            asyncio.run_coroutine_threadsafe(self._end(loop), loop)
            thread.join(_END_S + 2 * _KILL_S)

    def _post(self, work: Callable[..., None], *arguments: Any) -> bool:
        """Run a function on the servers' thread. Return False after `close`."""
        with self._lock:
            if self._closed:
                return False
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_run, args=(self._loop,), name="tool servers", daemon=True)
                self._thread.start()
            self._loop.call_soon_threadsafe(work, *arguments)
        return True

    def _close_changed(self) -> None:
        for name, connection in tuple(self._connections.items()):
            if self._configs.get(name) != connection.config:
                self._stop(name)
        self._changed()

    def _connection(self, name: str) -> "McpConnection | None":
        """Return the connection to an enabled server, which may be off."""
        config = self._configs.get(name)
        if config is None or not config.enabled:
            return None
        if name not in self._connections:
            from mlx_engine.mcp.connection import McpConnection  # slow to import

            self._connections[name] = McpConnection(config, self._changed)
        return self._connections[name]

    def _start(self, name: str) -> None:
        if connection := self._connection(name):
            connection.start()

    def _begin(self, call: "_Call", arguments: str, progress: Callable[[str], None]) -> None:
        connection = self._connection(call.tool.server_key)
        if connection is None:
            call.end(failed(gone(call.tool.server)))
            return
        self._calls.add(call)
        seconds = connection.config.timeout_s
        work = connection.call(call.tool, arguments, progress, lambda: call.limit(seconds))
        call.begin(work, self._calls.discard)

    def _sign_in(self, name: str, open_browser: Callable[[str], None]) -> None:
        self._stop(name)
        if connection := self._connection(name):
            connection.start(open_browser)

    def _sign_out(self, name: str) -> None:
        self._stop(name)
        if config := self._configs.get(name):
            from mlx_engine.mcp.oauth import forget  # slow to import

            asyncio.get_running_loop().run_in_executor(None, forget, config.url)
        self._changed()

    def _stop(self, name: str) -> None:
        connection = self._connections.pop(name, None)
        if connection and (task := connection.stop()):
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def _end(self, loop: asyncio.AbstractEventLoop) -> None:
        for call in tuple(self._calls):
            call.cancel()
        connections = tuple(self._connections.values())
        for name in tuple(self._connections):
            self._stop(name)
        for seconds in (_END_S, _KILL_S):
            if self._ending:
                await asyncio.wait(tuple(self._ending), timeout=seconds)
            for task in self._ending:
                task.cancel()
        for connection in connections:
            connection.kill()
        loop.stop()


class _Call:
    """A call that ends once."""

    def __init__(self, tool: Tool, done: Callable[[ToolResult], None]) -> None:
        self.tool = tool
        self._done = done
        self._ended = False
        self._task: asyncio.Task[ToolResult] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self, work: Coroutine[Any, Any, ToolResult], ended: Callable[["_Call"], None]) -> None:
        def finish(task: asyncio.Task[ToolResult]) -> None:
            ended(self)
            if task.cancelled():
                self.cancel()
            elif problem := task.exception():
                log.error("A tool call failed", exc_info=problem)
                template = "“{tool}” failed ({reason})."
                self.end(failed(EngineText.of("tool_failed", template, tool=self.tool.name, reason=type(problem).__name__)))
            else:
                self.end(task.result())

        self._task = asyncio.create_task(work)
        self._task.add_done_callback(finish)

    def limit(self, seconds: float) -> None:
        """End the call after this time."""
        template = "“{tool}” didn't finish within {seconds:g} seconds and was stopped."
        error = EngineText.of("tool_timed_out", template, tool=self.tool.name, seconds=seconds)
        self._timer = asyncio.get_running_loop().call_later(seconds, self.end, failed(error))

    def cancel(self) -> None:
        self.end(failed(EngineText.of("tool_canceled", "The call to “{tool}” was canceled.", tool=self.tool.name)))

    def end(self, result: ToolResult) -> None:
        if self._ended:
            return
        self._ended = True
        for pending in (self._task, self._timer):
            if pending is not None:
                pending.cancel()
        try:
            self._done(result)
        except Exception:
            log.exception("The result of a tool call can't be delivered")


def _run(loop: asyncio.AbstractEventLoop) -> None:
    for name in ("mcp", "client"):  # the SDK's loggers, which log what servers send
        logging.getLogger(name).setLevel(logging.CRITICAL)
    asyncio.set_event_loop(loop)
    loop.run_forever()
    loop.close()
