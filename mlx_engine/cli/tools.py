"""Tools in the terminal: servers, approvals, and calls."""

import argparse
import json
import queue
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from mlx_engine.cli.console import ask, note, progress
from mlx_engine.cli.documents import pages_line
from mlx_engine.contract.client import EngineClient
from mlx_engine.contract.files import data_folder
from mlx_engine.contract.requests import CountTokens, GenerationRequest, Message, ToolSpec
from mlx_engine.contract.token_counts import TokenCount
from mlx_engine.engine.bridge import to_iter
from mlx_engine.mcp.approvals import Approvals, Decision
from mlx_engine.mcp.config import BUILTINS, read_config, renamed
from mlx_engine.mcp.record import CallRecord
from mlx_engine.mcp.servers import ToolServers
from mlx_engine.mcp.tool import Tool, ToolResult, named
from mlx_engine.mcp.tool_turn import ToolTurn

_CONNECTING_S = 60.0
_WAKE_S = 0.05  # an endless wait may miss Ctrl-C
_LONGEST = 200  # characters of a result or description to show
_DECISIONS: dict[str, Decision] = {"o": "once", "c": "chat", "a": "always", "d": "deny"}


class TerminalTools:
    """The tools of a chat in the terminal.

    Args:
        args: the command line.
        asks: whether a user can be asked. If not, only tools given with `--allow` run.
        can_call: whether the model can call tools. If not, it gets passages of documents with each message instead.
    """

    def __init__(self, args: argparse.Namespace, asks: bool, can_call: bool = True) -> None:
        self._configs = [config for config in (read_config(args.mcp) if args.mcp else ()) if config.enabled]
        documents = args.documents if can_call else []
        chosen = ((), args.calculator), (args.files, bool(args.files)), (documents, bool(documents))
        for builtin, (folders, is_on) in zip(BUILTINS, chosen, strict=True):
            if is_on:
                self._configs = [config for config in self._configs if config.builtin != builtin.builtin]
                paths = tuple(str(folder.resolve()) for folder in folders)
                self._configs += renamed([replace(builtin, enabled=True, folders=paths)], self._configs)
        self._documents = {config.name for config in self._configs if config.builtin == "documents"}
        self._allowed = tuple(args.allow)
        self._allowed_tools = dict[tuple[str, str], str]()  # fingerprint at the first listing, by server and tool
        self._asks, self._most_steps = asks, args.steps
        self._approvals = Approvals(data_folder() / "approvals.json" if asks else None)
        self._servers = ToolServers()

    def connect(self) -> None:
        """Connect to the servers, and report the problems."""
        if not self._configs:
            return
        self._servers.configure(self._configs)
        self._servers.start([config.name for config in self._configs])
        until = time.monotonic() + _CONNECTING_S
        try:
            while any(status.state in ("off", "connecting") for status in self._servers.status()) and time.monotonic() < until:
                progress("Connecting to the tools…")
                time.sleep(_WAKE_S)
        finally:
            progress("")
        for status in self._servers.status():
            if status.state == "sign_in":
                note(f"“{status.name}” requires you to sign in. Sign in once in the app, in Settings under Tools.")
            elif status.state != "ready":
                note(f"“{status.name}” can't be used: {status.error or 'no answer'}")
        offered = self._offered()
        self._allow(offered)
        names = {name for tool in offered.values() for name in self._names(tool)}
        for name in self._allowed:
            if name not in names:
                note(f"--allow: there is no tool “{name}”. Tools: {', '.join(sorted(names)) or 'none'}")

    def close(self) -> None:
        self._servers.close()

    def turn(self, request: GenerationRequest, chat: str, can_see: bool = False) -> ToolTurn:
        """Return a turn with the offered tools.

        Servers that ended are started for the next one.
        """
        tools = self._offered()
        self._servers.start([config.name for config in self._configs])
        for tool in self._allow(tools):
            self._approvals.record(tool, chat, "chat")
        return ToolTurn(request, tools, self._approvals, chat, most_steps=self._most_steps, can_see=can_see)

    def make_calls(self, turn: ToolTurn, calls: Sequence[CallRecord]) -> None:
        """Ask about a step's calls, and make the allowed ones. Ctrl-C stops the turn."""
        results = queue.SimpleQueue[tuple[str, ToolResult]]()
        try:
            for record in calls:
                if record.state == "waiting":
                    self._ask(turn, record)
            for record, tool in turn.ready:
                progress(f"{record.call.name}…")
                turn.started(record.call.id, self._call(record, tool, results), time.monotonic())
            while turn.running:
                with suppress(queue.Empty):
                    turn.ended(*results.get(timeout=_WAKE_S), time.monotonic())
        except KeyboardInterrupt:
            turn.stop()
        finally:
            progress("")
        added = {record.call.id for record in calls}
        for record in turn.calls:
            if record.call.id in added:
                took = "" if record.seconds is None else f" · {record.seconds:.1f} s"
                shown = "" if record.state == "denied" else f" · {self._shown_result(record)}"
                note(f"{record.call.name}: {record.state}{took}{shown}")

    def show(self, client: EngineClient) -> None:
        """List the tools, with the tokens of their descriptions."""
        none = _tokens(client, ())
        for name, tool in self._offered().items():
            tokens = _tokens(client, (tool.spec(name),)) - none
            note(f"{name} · {tool.server} · {tokens} tokens · {tool.description[:_LONGEST]}")
        if not self._offered():
            note("No tools. Start the chat with --calculator, --files FOLDER, --documents FOLDER, or --mcp FILE.")

    def _offered(self) -> dict[str, Tool]:
        if not self._configs:
            return {}
        return named(tool for status in self._servers.status() if status.state == "ready" for tool in status.tools)

    def _names(self, tool: Tool) -> set[str]:
        """Return the names that `--allow` accepts for a tool.

        With several servers, a name without its server would be ambiguous.
        """
        return {f"{tool.server}/{tool.name}", *([tool.name] if len(self._configs) == 1 else [])}

    def _allow(self, tools: Mapping[str, Tool]) -> list[Tool]:
        """Return the tools of `--allow` that haven't changed since first listed."""
        named = [tool for tool in tools.values() if self._names(tool) & set(self._allowed)]
        first = self._allowed_tools
        return [tool for tool in named if first.setdefault((tool.server, tool.name), tool.fingerprint) == tool.fingerprint]

    def _ask(self, turn: ToolTurn, record: CallRecord) -> None:
        arguments = json.dumps(json.loads(record.call.arguments), ensure_ascii=False, indent=2)
        note(f"{record.server} · {record.tool}", *arguments.split("\n"))
        if record not in turn.waiting:
            return
        has_changed = (record.server, record.tool) in self._allowed_tools
        if has_changed:
            note(f"“{record.tool}” has changed since --allow allowed it.")
        elif record.changed:
            note(f"“{record.tool}” has changed since you allowed it.")
        if not self._asks and has_changed:
            note("Denied, because there is nobody to ask. To allow the tool as it is now, start the command again.")
        elif not self._asks:
            name = shlex.quote(f"{record.server}/{record.tool}")
            note("Denied, because there is nobody to ask. To allow the call, add this option:", f"--allow {name}")
        decision: Decision | None = None if self._asks else "deny"
        while decision is None:
            try:
                decision = _DECISIONS.get(ask("Allow? [o]nce, in this [c]hat, [a]lways, [d]eny › ").strip().lower())
            except EOFError:
                decision = "deny"
        turn.decide(record.call.id, decision)

    def _shown_result(self, record: CallRecord) -> str:
        """Return the beginning of what the model reads, or the pages of documents in it."""
        is_page = record.server in self._documents and record.state == "done"
        return pages_line(record.result) if is_page else record.result[:_LONGEST]

    def _call(self, record: CallRecord, tool: Tool, results: "queue.SimpleQueue[tuple[str, ToolResult]]") -> Callable[[], None]:
        return self._servers.call(tool, record.call.arguments, lambda result: results.put((record.call.id, result)))


def _tokens(client: EngineClient, tools: tuple[ToolSpec, ...]) -> int:
    for event in to_iter(client, CountTokens(GenerationRequest((Message("user", "Hi"),), tools=tools))):
        if isinstance(event, TokenCount):
            return event.tokens
    raise AssertionError("counting ends with a TokenCount")
