"""Tools in `slipstream chat`: approval, results, and Ctrl-C."""

import io
import json
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mlx_engine.cli import tools
from mlx_engine.cli.main import main
from mlx_engine.cli.tools import TerminalTools
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import Commit, Event, Failed, Finished, StopReason
from mlx_engine.contract.requests import GenerationRequest, Message, ToolCall
from mlx_engine.mcp.config import ServerConfig
from mlx_engine.mcp.record import DENIED, STOPPED
from mlx_engine.mcp.server_status import ServerStatus
from mlx_engine.mcp.servers import ToolServers
from mlx_engine.mcp.tool import Tool, ToolResult
from tests.mlx_engine.scripted_engine import ScriptedEngine, stats

EXPRESSION = ToolCall("a", "calculator", '{"expression": "2 + 2"}')


class CallingEngine(ScriptedEngine):
    """Answers each request with the next text and calls, then with “Done.”."""

    def __init__(self, *steps: tuple[str, tuple[ToolCall, ...]], reason: StopReason = "tool_calls") -> None:
        super().__init__()
        self._steps, self._reason = list(steps), reason

    def generate(self, request: GenerationRequest, cancel: threading.Event | None = None) -> Iterator[Event]:
        self.requests.append(request)
        text, calls = self._steps.pop(0) if self._steps else ("Done.", ())
        if text == "fail":
            yield Failed("error", "Out of memory.")
            return
        yield Commit(text, "answer", (0,), ("drafter",))
        yield from calls
        yield Finished(self._reason if calls else "eos", stats(request.mode))


class OneServer:
    """A server whose calculator always finds 4, or waits for Ctrl-C."""

    tool = Tool("Calculator", "calculator", description="Calculate.\u202e\n")
    presses_ctrl_c = False
    called: list[str]
    canceled: list[str]

    def __init__(self, changed: Callable[[], None] = lambda: None) -> None:
        type(self).called, type(self).canceled = [], []
        self._configs: tuple[ServerConfig, ...] = ()

    def configure(self, configs) -> None:
        self._configs = tuple(configs)

    def start(self, names) -> None:
        pass

    def status(self) -> tuple[ServerStatus, ...]:
        failed = ServerStatus("broken", "failed", EngineText("", "it crashed"))
        return tuple(
            failed if config.name == "broken" else ServerStatus(config.name, "ready", tools=(self.tool,))
            for config in self._configs
        )

    def call(self, tool: Tool, arguments: str, done, progress=None) -> Callable[[], None]:
        self.called.append(arguments)
        if self.presses_ctrl_c:
            threading.Timer(0.05, os.kill, [os.getpid(), signal.SIGINT]).start()
        else:
            threading.Timer(0.01, done, [ToolResult("4")]).start()
        return lambda: self.canceled.append(arguments)

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def one_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tools, "ToolServers", OneServer)
    monkeypatch.setattr(tools, "data_folder", lambda: tmp_path / "data")


def chat(monkeypatch: pytest.MonkeyPatch, engine: ScriptedEngine, *lines: str, options: str = "", terminal: bool = True) -> None:
    stdin = io.StringIO("".join(line + "\n" for line in lines))
    monkeypatch.setattr(stdin, "isatty", lambda: terminal)
    monkeypatch.setattr(sys, "stdin", stdin)
    assert main(["chat", "--calculator", *options.split()], lambda: engine) == 0


def test_a_call_is_shown_asked_and_its_result_goes_to_the_model(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = CallingEngine(("Let me see.", (EXPRESSION,)))
    chat(monkeypatch, engine, "What is 2 + 2?", "what", "o", "And now?")
    first, second, third = engine.requests
    assert first.tools[0].name == "calculator"
    assert second.messages[1:] == (
        Message("assistant", "Let me see.", calls=(EXPRESSION,)),
        Message("tool", "4", call_id="a"),
    )
    assert third.messages[1:-1] == (*second.messages[1:], Message("assistant", "Done."))
    shown = capsys.readouterr()
    assert shown.out.count("Allow?") == 2 and "Done.\n" in shown.out
    assert 'Calculator · calculator\n{\n  "expression": "2 + 2"\n}\n' in shown.err
    assert "calculator: done · 0." in shown.err and "· 4\n" in shown.err
    assert shown.err.count("DFlash · 300 tok/s") == 3


@pytest.mark.parametrize(("decision", "asked"), [("o", 3), ("c", 2), ("a", 1), ("d", 3)])
def test_how_long_an_approval_holds(
    decision: str, asked: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    step = ("", (EXPRESSION,))
    engine = CallingEngine(step, ("Done.", ()), step, ("Done.", ()), step)
    lines = ["One", *[decision] * (asked > 0), "Two", *[decision] * (asked > 2), "/new", "Three", *[decision] * (asked > 1)]
    chat(monkeypatch, engine, *lines)
    assert len(engine.requests) == 6
    assert capsys.readouterr().out.count("Allow?") == asked
    assert len(OneServer.called) == (0 if decision == "d" else 3)


@pytest.mark.parametrize(
    ("options", "runs"),
    [("", False), ("--allow calculator", True), ("--allow Calculator/calculator", True), ("--allow calc", False)],
)
def test_without_a_terminal_only_allowed_tools_run(
    options: str, runs: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = CallingEngine(("", (EXPRESSION,)))
    chat(monkeypatch, engine, "What is 2 + 2?", options=options, terminal=False)
    assert engine.requests[1].messages[-1].content == ("4" if runs else DENIED)
    shown = capsys.readouterr()
    assert "Allow?" not in shown.out
    assert ("--allow Calculator/calculator" in shown.err.splitlines()) == (not runs) and "user denied" not in shown.err
    assert ("there is no tool “calc”" in shown.err) == options.endswith("calc")


@pytest.mark.parametrize("between", [(), ("/new",)])
@pytest.mark.parametrize("change", [{"description": "Send."}, {"title": "T"}, {"schema": "{}"}, {"origin": "other"}])
def test_an_option_allows_a_tool_only_as_it_was_first_listed(
    change: dict[str, str],
    between: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    class Changing(OneServer):
        def call(self, tool: Tool, arguments: str, done, progress=None) -> Callable[[], None]:
            type(self).tool = replace(tool, **change)
            return super().call(tool, arguments, done)

    step = ("", (EXPRESSION,))
    for terminal, answers in ((False, ()), (True, ("d",))):
        monkeypatch.setattr(Changing, "tool", OneServer.tool)
        monkeypatch.setattr(tools, "ToolServers", Changing)
        engine = CallingEngine(step, ("Done.", ()), step)
        chat(monkeypatch, engine, "One", *between, "Two", *answers, options="--allow calculator", terminal=terminal)
        shown = capsys.readouterr()
        assert len(Changing.called) == 1 and engine.requests[3].messages[-1].content == DENIED
        assert shown.out.count("Allow?") == len(answers)
        assert shown.err.count("“calculator” has changed since --allow allowed it.") == 1
        assert ("nobody to ask" in shown.err) == (not terminal) and "add this option" not in shown.err


@pytest.mark.parametrize(("decision", "asked"), [("o", 2), ("c", 1)])
def test_a_changed_tool_can_be_allowed_again(
    decision: str, asked: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    step = ("", (EXPRESSION,))
    engine = CallingEngine(("Hi.", ()), step, ("Done.", ()), step)
    connected = TerminalTools.connect

    def change(self: TerminalTools) -> None:
        connected(self)
        monkeypatch.setattr(OneServer, "tool", replace(OneServer.tool, title="Another"))

    monkeypatch.setattr(TerminalTools, "connect", change)
    chat(monkeypatch, engine, "One", "Two", decision, "Three", *[decision] * (asked - 1), options="--allow calculator")
    assert capsys.readouterr().out.count("Allow?") == asked and len(OneServer.called) == 2


def test_the_hint_can_be_pasted_into_a_shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(OneServer, "tool", replace(OneServer.tool, server="Bob's $HOME"))
    chat(monkeypatch, CallingEngine(("", (EXPRESSION,))), "What is 2 + 2?", terminal=False)
    (hint,) = (line for line in capsys.readouterr().err.splitlines() if line.startswith("--allow"))
    assert shlex.split(hint) == ["--allow", "Bob's $HOME/calculator"]


@pytest.mark.parametrize(("steps", "offered"), [(2, [True, False]), (3, [True, True, False])])
def test_the_last_step_cannot_call_tools(steps: int, offered: list[bool], monkeypatch: pytest.MonkeyPatch) -> None:
    engine = CallingEngine(*(("", (replace(EXPRESSION, id=id),)) for id in "abc"[: steps - 1]))
    chat(monkeypatch, engine, "What is 2 + 2?", options=f"--allow calculator --steps {steps}", terminal=False)
    assert [request.tool_choice == "auto" for request in engine.requests] == offered


def test_with_several_servers_a_tool_is_allowed_with_its_server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A second server can't take the name of an allowed tool."""
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"other": {"command": "x"}}}')
    engine = CallingEngine(("", (EXPRESSION,)))
    chat(monkeypatch, engine, "Hi", options=f"--mcp {file} --allow calculator", terminal=False)
    assert engine.requests[1].messages[-1].content == DENIED


def test_hidden_characters_of_arguments_are_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = json.dumps({"to": "a\u202eb\x1b[2J\u200b\x9b"}, ensure_ascii=False)
    chat(monkeypatch, CallingEngine(("", (ToolCall("a", "calculator", arguments),))), "Hi", "d")
    assert '"to": "a<U+202E>b\\u001b[2J<U+200B>␛["' in capsys.readouterr().err


def test_the_built_in_servers_answer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    monkeypatch.setattr(tools, "ToolServers", ToolServers)
    (tmp_path / "Notes").mkdir()
    (tmp_path / "Notes" / "a.txt").write_text("Four")
    read = ToolCall("b", "read_file", '{"path": "Notes/a.txt"}')
    engine = CallingEngine(("", (EXPRESSION, read)))
    options = f"--files {tmp_path / 'Notes'} --allow Calculator/calculator --allow Files/read_file"
    chat(monkeypatch, engine, "Hi", "/tools", options=options, terminal=False)
    assert [message.content for message in engine.requests[1].messages[-2:]] == ["4", "Four"]
    shown = capsys.readouterr().err
    assert "calculator · Calculator · 0 tokens · Calculate an arithmetic expression." in shown
    assert "search_files · Files" in shown


def test_ctrl_c_stops_a_call_and_not_the_chat(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OneServer, "presses_ctrl_c", True)
    engine = CallingEngine(("Let me see.", (EXPRESSION,)))
    chat(monkeypatch, engine, "What is 2 + 2?", "o", "Two")
    assert OneServer.canceled == [EXPRESSION.arguments]
    last = engine.requests[1].messages
    assert [message.content for message in last] == ["What is 2 + 2?", "Let me see.", STOPPED, "Two"]


@pytest.mark.parametrize("reason", ["length", "stop_string", "cancelled"])
def test_calls_of_a_step_that_was_cut_off_are_stopped(
    reason: StopReason, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = CallingEngine(("Let me see.", (EXPRESSION,)), reason=reason)
    chat(monkeypatch, engine, "One", "Two", options="--allow calculator", terminal=False)
    assert [message.content for message in engine.requests[1].messages] == ["One", "Let me see.", STOPPED, "Two"]
    assert not OneServer.called and "calculator: stopped" in capsys.readouterr().err


def test_calls_stay_in_the_chat_after_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = CallingEngine(("Let me see.", (EXPRESSION,)), ("fail", ()))
    chat(monkeypatch, engine, "One", "o", "Two")
    assert [message.content for message in engine.requests[2].messages] == ["One", "Let me see.", "4", "Two"]


def test_tools_lists_the_tools(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text('{"mcpServers": {"broken": {"command": "x"}, "off": {"command": "x", "disabled": true}}}')
    chat(monkeypatch, CallingEngine(), "/tools", options=f"--mcp {file}")
    shown = capsys.readouterr().err
    assert "“broken” can't be used: it crashed" in shown
    assert "calculator · Calculator · 0 tokens · Calculate.<U+202E>␊\n" in shown


@pytest.mark.parametrize("option", ["--mcp missing.json", "--files missing"])
def test_missing_files_are_usage_errors(option: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["chat", *option.split()], ScriptedEngine)
    assert ended.value.code == 2
