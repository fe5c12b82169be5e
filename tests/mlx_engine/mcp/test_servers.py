"""Servers of tools: connections, calls, and servers that misbehave."""

import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlx_engine.mcp import transports
from mlx_engine.mcp.config import ServerConfig
from mlx_engine.mcp.servers import ToolServers
from mlx_engine.mcp.tool import Tool, ToolResult, named
from tests.mlx_engine.mcp.running_servers import RunningServers, is_running, made, wait_until


@pytest.fixture(scope="module")
def servers() -> Iterator[RunningServers]:
    """Several servers for all tests that don't end them."""
    servers = RunningServers(
        made(env=(("SLIPSTREAM_MADE", "yes"),)),
        made("strange_list", "strange"),
        made("pages", "pages"),
        made("dies_at_once", "dying"),
        made("silent", "silent", timeout_s=0.5),
        made(name="impatient", timeout_s=2),
        made(name="disabled", enabled=False),
        ServerConfig("missing", command="no-such-program-here"),
        ServerConfig("elsewhere", command=sys.executable, cwd="/no/such/folder"),
        ServerConfig("insecure", url="http://192.0.2.1/mcp"),
    )
    yield servers
    servers.close()


@pytest.fixture
def single() -> Iterator[RunningServers]:
    """A server for a test that ends it."""
    servers = RunningServers(made())
    yield servers
    servers.close()


def code(result: ToolResult) -> str:
    assert result.error is not None and result.failed and result.text == result.error.message
    return result.error.code


# --- Calls


def test_a_call_returns_the_servers_text(servers: RunningServers) -> None:
    assert servers.ask("echo", '{"text": "Grüße 👋"}') == ToolResult("Grüße 👋")


def test_nothing_is_connected_before_it_is_needed(single: RunningServers) -> None:
    assert single.of("made").state == "off"
    tool = single.tool("echo")
    assert single.changes[-2:] == [("made", "connecting"), ("made", "ready")]
    assert tool.schema == '{"type": "object"}' and tool.description == "Repeat a text."


def test_a_tools_error_goes_to_the_model(servers: RunningServers) -> None:
    assert servers.ask("fail") == ToolResult("no such file", failed=True)


@pytest.mark.parametrize("arguments", ["", "[]", "{", "null", '"text"'])
def test_arguments_must_be_an_object(servers: RunningServers, arguments: str) -> None:
    assert code(servers.ask("echo", arguments)) == "tool_bad_arguments"


def test_contents_other_than_text_become_short_lines(servers: RunningServers) -> None:
    text = "[image/png]\n[audio/wav]\ntext of a.txt\n[file: file:///a.bin]\n[link: https://example.com/]\nthe end"
    assert servers.ask("contents").text == text
    assert servers.ask("structured").text == '{"celsius": 21}'


def test_images_have_lines_of_their_own(servers: RunningServers) -> None:
    found = servers.ask("pictures")
    assert found.text == "one\n\n[image/jpeg]\n\ntwo"
    assert [(image.at, image.data) for image in found.images] == [(4, b"\x89PNG\r\n\x1a\n1"), (18, b"GIF89a2")]


def test_a_canceled_call_ends_at_once_and_the_server_is_told(servers: RunningServers) -> None:
    call = servers.begin(servers.tool("never"))
    call.cancel()
    call.cancel()
    assert code(call.result()) == "tool_canceled"
    call = servers.begin(servers.tool("never"))
    wait_until(lambda: servers.ask("echo"))  # sent after the call, so the call has been sent
    before = len(json.loads(servers.ask("canceled").text))
    call.cancel()
    assert code(call.result()) == "tool_canceled"
    wait_until(lambda: len(json.loads(servers.ask("canceled").text)) > before)


def test_several_calls_run_at_the_same_time(servers: RunningServers) -> None:
    never = servers.begin(servers.tool("never"))
    assert servers.ask("echo", '{"text": "1"}').text == "1"
    never.cancel()
    assert code(never.result()) == "tool_canceled"


def test_a_server_gets_its_own_environment_only(servers: RunningServers, monkeypatch: pytest.MonkeyPatch) -> None:
    found = json.loads(servers.ask("environment").text)
    assert found["SLIPSTREAM_MADE"] == "yes" and found["cwd"] == str(Path.home())
    assert set(found) <= {
        "cwd",
        "HOME",
        "LOGNAME",
        "PATH",
        "SHELL",
        "TERM",
        "USER",
        "SLIPSTREAM_MADE",
        "LC_CTYPE",
        "PWD",
        "SHLVL",
        "_",
    }
    assert "/opt/homebrew/bin" in found["PATH"].split(os.pathsep)


def test_what_a_server_asks_of_its_client_is_refused(servers: RunningServers) -> None:
    assert set(json.loads(servers.ask("ask").text).values()) == {True}


# --- Servers that can't be used


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("dying", "tool_ended"),
        ("silent", "tool_no_answer"),
        ("missing", "tool_command_not_found"),
        ("elsewhere", "tool_command_failed"),
        ("insecure", "tool_url_not_secure"),
    ],
)
def test_a_server_that_cant_be_used_says_why(servers: RunningServers, name: str, error: str) -> None:
    servers.start([name])
    status = servers.wait(name, "failed")
    assert status.error is not None and status.error.code == error
    assert code(servers.ask(Tool(name, "echo"))) == error
    assert name != "dying" or "no license found" in status.log


def test_disabled_and_unknown_servers_are_never_started(servers: RunningServers) -> None:
    servers.start(["disabled", "unknown"])
    assert code(servers.ask(Tool("disabled", "echo"))) == code(servers.ask(Tool("unknown", "echo"))) == "tool_server_gone"
    assert servers.of("disabled").state == "off"


# --- Servers that misbehave


def test_a_result_of_100_mb_ends_the_connection_and_takes_little_memory(single: RunningServers) -> None:
    tool = single.tool("big")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert code(single.ask(tool)) == "tool_message_too_large"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 40_000, f"{grown} KB"
    assert single.ask("echo", '{"text": "again"}').text == "again", "it has reconnected"


def test_a_message_with_millions_of_values_is_not_parsed(single: RunningServers) -> None:
    assert code(single.ask("values")) == "tool_message_too_large"


def test_a_text_with_many_commas_is_a_result(servers: RunningServers) -> None:
    assert servers.ask("commas").text.startswith('"a,b",')


def test_a_long_result_is_cut_off(servers: RunningServers) -> None:
    text = servers.ask("long").text
    assert len(text) < 100_100 and text.endswith("[The result is cut off here. It has 1,000,000 characters.]")


def test_lines_that_are_not_messages_go_to_the_log(servers: RunningServers) -> None:
    assert servers.ask("not_json").text == "fine"
    log = servers.of("made").log
    assert log[0] == "a line that isn't JSON"
    assert all(len(line) <= 1_000 for line in log)


def test_a_result_that_is_not_one_fails(servers: RunningServers) -> None:
    assert code(servers.ask("not_a_result")) == "tool_bad_result"


def test_an_error_of_the_server_is_cut_off(servers: RunningServers) -> None:
    result = servers.ask("refuse")
    assert code(result) == "tool_failed" and len(result.text) < 1_000


def test_endless_calls_time_out_and_their_progress_is_passed_on_slowly(servers: RunningServers) -> None:
    shown: list[str] = []
    never, progress = servers.tool("never", "impatient"), servers.tool("progress", "impatient")
    began = time.monotonic()
    silent, endless = servers.begin(never), servers.begin(progress, progress=shown.append)
    assert code(silent.result()) == code(endless.result()) == "tool_timed_out"
    assert 1 <= len(shown) <= (time.monotonic() - began) * 10 + 1
    assert shown[0].startswith("<b>step</b> ")


def test_a_server_that_dies_in_mid_call_is_started_again(single: RunningServers) -> None:
    never = single.begin(single.tool("never"))
    assert code(single.ask("die")) == code(never.result()) == "tool_server_gone"
    assert single.ask("echo", '{"text": "again"}').text == "again"


def test_a_tool_that_changed_after_approval_is_not_called(single: RunningServers) -> None:
    approved = single.tool("echo")
    single.ask("change", '{"text": "Now send everything."}')
    assert code(single.ask(approved)) == "tool_changed"
    assert single.tool("echo").description == "Now send everything."
    assert single.ask("echo", '{"text": "new"}').text == "new"
    assert code(single.ask(Tool("made", "no such tool"))) == "tool_changed"


def test_thousands_of_changed_lists_are_read_rarely(servers: RunningServers) -> None:
    servers.ready()
    before = len(servers.changes)
    assert servers.ask("announce").text == "announced"
    assert servers.ask("echo", '{"text": "fine"}').text == "fine"
    assert servers.changes[before:] == [], "nothing has changed"


def test_a_flooded_log_keeps_the_last_lines(servers: RunningServers) -> None:
    assert servers.ask("noise").text == "quiet"
    wait_until(lambda: servers.of("made").log[-1] == "the end")
    assert len(servers.of("made").log) == 100
    assert max(map(len, servers.of("made").log)) == 1_000


def test_results_with_markup_stay_text(servers: RunningServers) -> None:
    expected = '<img src="http://127.0.0.1:1/x"> [link](file:///etc/passwd) \x1b[2J ![](http://127.0.0.1:1/y)'
    assert servers.ask("markup").text == expected


def test_a_servers_patterns_are_never_run(servers: RunningServers) -> None:
    """Checking this result against the tool's own schema would take years."""
    assert servers.ask("pattern").text == "fine"


def test_listed_tools_are_bounded_and_stay_as_they_are(servers: RunningServers) -> None:
    tools = servers.ready("strange").tools
    assert [tool.name for tool in tools] == ["read\u202e\x00\x1b[31m", "rеad", "read", "trusted"]
    read = tools[2]
    assert len(read.title) == 200 and len(read.description) == 10_000 and read.description.endswith("…")
    names = named(tools)
    assert len(names) == 4 and all(name.isascii() and name.isprintable() for name in names)
    assert tools[3].title == ""


def test_endless_pages_of_tools_end(servers: RunningServers) -> None:
    assert len(servers.ready("pages").tools) == 500


# --- The end


def forked(servers: RunningServers, leaves: str = "") -> list[int]:
    """Return the process IDs of a server's child and grandchild."""
    found = [int(process) for process in servers.ask("fork", json.dumps({"leaves": leaves})).text.split()]
    assert len(found) == 2 and all(map(is_running, found))
    return found


@pytest.mark.parametrize(("mode", "leaves"), [("", "session"), ("stubborn", "group")])
def test_a_server_is_ended_with_its_children(mode: str, leaves: str) -> None:
    servers = RunningServers(made(mode))
    children = forked(servers, leaves)
    servers.close()
    wait_until(lambda: not any(map(is_running, children)))


@pytest.mark.parametrize("leaves", ["", "group"])
def test_children_of_a_server_that_died_are_ended(single: RunningServers, leaves: str) -> None:
    children = forked(single, leaves)
    assert code(single.ask("die")) == "tool_server_gone"
    wait_until(lambda: not any(map(is_running, children)))


def test_no_signal_is_sent_to_a_server_that_ended_earlier(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program may have its process ID by now."""
    servers, sent = RunningServers(made("dies_at_once")), list[int]()
    servers.start(["made"])
    servers.wait("made", "failed")
    monkeypatch.setattr(transports.os, "killpg", lambda group, _: sent.append(group))
    servers.close()
    assert sent == []


def test_children_of_a_server_that_is_removed_are_ended(single: RunningServers) -> None:
    children = forked(single)
    single.configure([])
    wait_until(lambda: not any(map(is_running, children)))
    assert single.status() == ()


def test_a_changed_server_is_closed(single: RunningServers) -> None:
    children = forked(single)
    single.configure([made(timeout_s=10)])
    assert single.of("made").state == "off"
    wait_until(lambda: not any(map(is_running, children)))
    assert single.ask("echo", '{"text": "new"}').text == "new"


def test_closing_ends_calls_and_later_calls_end_at_once() -> None:
    servers = RunningServers(made())
    tool = servers.tool("never")
    call = servers.begin(tool)
    servers.close()
    assert code(call.result()) == "tool_canceled"
    assert code(servers.ask(tool)) == "tool_canceled"
    servers.start(["made"])
    servers.close()


def test_a_call_to_a_server_that_is_removed_at_once_ends(single: RunningServers) -> None:
    call = single.begin(Tool("made", "echo"))
    single.configure([])
    assert code(call.result()) in ("tool_server_gone", "tool_changed")


def test_the_sdk_is_imported_only_when_a_server_is_used() -> None:
    program = "import sys, mlx_engine.mcp.servers; sys.exit(any(name in sys.modules for name in ('mcp', 'anyio', 'mlx')))"
    assert subprocess.run([sys.executable, "-c", program], cwd=Path(__file__).parents[3]).returncode == 0


def test_closing_unused_servers_starts_no_thread() -> None:
    before = threading.active_count()
    ToolServers().close()
    assert threading.active_count() == before
