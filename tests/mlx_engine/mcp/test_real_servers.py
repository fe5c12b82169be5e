"""Published servers of tools, the SDK's own server over HTTP, and what is left of a server when the app is killed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from mcp.server.mcpserver import Context, MCPServer

from mlx_engine.mcp.config import ServerConfig
from tests.mlx_engine.mcp.real_servers import EVERYTHING, FILESYSTEM, GIT, from_npm, from_pypi
from tests.mlx_engine.mcp.running_servers import RunningServers, is_running, made, wait_until
from tests.mlx_engine.mcp.web_servers import listening, serving

pytestmark = pytest.mark.long
ROOT = Path(__file__).parents[3]


@contextmanager
def running(config: ServerConfig) -> Iterator[RunningServers]:
    servers = RunningServers(replace(config, name="real"))
    try:
        yield servers
    finally:
        servers.close()


def test_everything() -> None:
    with running(from_npm(EVERYTHING)) as servers:
        assert servers.ask(servers.tool("echo", "real"), '{"message": "Grüße"}').text == "Echo: Grüße"
        assert "42" in servers.ask(servers.tool("get-sum", "real"), '{"a": 40, "b": 2}').text
        assert servers.ask(servers.tool("get-tiny-image", "real")).images[0].data.startswith(b"\x89PNG")
        shown: list[str] = []
        slow = servers.tool("trigger-long-running-operation", "real")
        assert "completed" in servers.ask(slow, '{"duration": 1, "steps": 5}', shown.append).text
        assert shown
        call = servers.begin(slow, '{"duration": 600, "steps": 5}')
        call.cancel()
        assert call.result().error is not None
        assert servers.ask(servers.tool("get-sum", "real"), '{"a": "x"}').failed


def test_filesystem(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("Remember the milk.")
    with running(from_npm(FILESYSTEM, str(tmp_path))) as servers:
        read = servers.tool("read_text_file", "real")
        assert servers.ask(read, json.dumps({"path": str(tmp_path / "note.txt")})).text.strip() == "Remember the milk."
        refused = servers.ask(read, '{"path": "/etc/passwd"}')
        assert refused.failed and "denied" in refused.text


def test_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / "new.txt").write_text("new")
    with running(from_pypi(GIT)) as servers:
        assert "new.txt" in servers.ask(servers.tool("git_status", "real"), json.dumps({"repo_path": str(tmp_path)})).text


@pytest.mark.parametrize("stateless", [False, True])
def test_the_sdks_own_server_over_http(stateless: bool) -> None:
    server = MCPServer("own")

    @server.tool()
    async def count(to: int, context: Context) -> str:
        for number in range(to):
            await context.report_progress(number, to, f"at {number}")
        return "counted"

    @server.tool()
    async def learn(context: Context) -> str:
        server.add_tool(lambda: "new", name="new", description="A new tool.")
        await context.notify_tools_changed()
        return "learned"

    listener, origin = listening()
    with (
        serving(listener, server.streamable_http_app(stateless_http=stateless)),
        running(ServerConfig("real", url=f"{origin}/mcp")) as servers,
    ):
        shown: list[str] = []
        assert "counted" in servers.ask(servers.tool("count", "real"), '{"to": 3}', shown.append).text
        assert shown[0] == "at 0"
        assert "learned" in servers.ask(servers.tool("learn", "real")).text
        if not stateless:
            wait_until(lambda: "new" in [tool.name for tool in servers.of("real").tools])


def test_servers_end_when_the_app_is_killed() -> None:
    code = """
from tests.mlx_engine.mcp.running_servers import RunningServers, made
servers = RunningServers(made())
print(servers.ask("pid").text, flush=True)
input()
"""
    app = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert app.stdout
    pid = int(app.stdout.readline())
    assert is_running(pid)
    os.kill(app.pid, signal.SIGKILL)
    app.wait()
    wait_until(lambda: not is_running(pid))


def test_the_shells_path_is_used_for_programs_that_are_not_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "made-python").symlink_to(sys.executable)
    shell = tmp_path / "shell"
    shell.write_text(f'#!/bin/sh\necho "Welcome!"\nPATH="{tmp_path}/bin:$PATH"\neval "$2"\n')
    shell.chmod(0o755)
    monkeypatch.setenv("SHELL", str(shell))
    config = made()
    with running(replace(config, command="made-python")) as servers:
        assert servers.ask(servers.tool("echo", "real"), '{"text": "found"}').text == "found"
    shell.write_text("#!/bin/sh\nsleep 600\n")
    with running(replace(config, command="no-such-program")) as servers:
        servers.start(["real"])
        servers.wait("real", "failed")
