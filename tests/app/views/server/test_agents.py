"""Coding agents that the Local Server window starts."""

import os
import subprocess
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from app.session import server_agents
from app.session.server_agents import open_terminal, write_script
from mlx_engine.cli.agents import AGENTS, AgentServer
from tests.app.conftest import Start
from tests.app.views.server.conftest import page_of, turn_on

SERVER = AgentServer("http://127.0.0.1:8484", "a-secret-key", "demo-pair", 2048)


def run(script: Path, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": f"{home / 'bin'}:{os.defpath}", "HOME": str(home)}
    return subprocess.run([str(script)], env=environment, text=True, input="\n", capture_output=True, timeout=120)


def test_the_script_starts_the_agent_in_the_folder_and_deletes_itself(tmp_path: Path) -> None:
    folder = tmp_path / "a user's project"
    program = tmp_path / "bin" / "claude"
    for made in (folder, program.parent):
        made.mkdir()
    program.write_text('#!/bin/sh\npwd\necho "$ANTHROPIC_BASE_URL $ANTHROPIC_AUTH_TOKEN $ANTHROPIC_MODEL"\n')
    program.chmod(0o755)
    script = write_script("claude", SERVER, folder)
    assert script.stat().st_mode & 0o777 == 0o700, "the key in it is the user's"
    ended = run(script, tmp_path)
    assert ended.stdout.splitlines() == [str(folder), "http://127.0.0.1:8484 a-secret-key demo-pair"] and not ended.stderr
    assert not script.exists()


def test_the_script_tells_how_to_install_a_missing_agent(tmp_path: Path) -> None:
    ended = run(write_script("codex", SERVER, tmp_path), tmp_path)
    assert ended.returncode == 1 and "Codex isn't installed" in ended.stdout and AGENTS["codex"].install in ended.stdout


def test_without_a_terminal_the_script_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr("shutil.which", lambda name: None)
    script = write_script("claude", SERVER, tmp_path)
    assert not open_terminal(script) and not script.exists()


@pytest.mark.parametrize(("platform", "command"), [("darwin", "/usr/bin/open"), ("linux", "/usr/bin/xterm")])
def test_the_script_runs_in_the_systems_terminal(
    platform: str, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[tuple[str, list[str]]] = []

    def start(program: str, arguments: list[str]) -> tuple[bool, int]:
        started.append((program, arguments))
        return True, 1

    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}" if name == "xterm" else None)
    monkeypatch.setattr(server_agents.QProcess, "startDetached", start)
    assert open_terminal(tmp_path / "a.command")
    assert started[0][0] == command and started[0][1][-1] == str(tmp_path / "a.command")


def test_an_agent_is_started_in_the_chosen_folder_once_the_server_is_on(
    begin: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = begin()
    page = page_of(app)
    assert not page.start_agent.isEnabled() and not page.copy_commands.isEnabled()
    server = turn_on(app)
    assert server.for_agents == AgentServer(server.url, server.key, "demo-pair", 2048)
    started: list[tuple[str, AgentServer, Path]] = []
    monkeypatch.setattr("app.views.server.server_dialog.start_agent", lambda *given: started.append(given) or len(started) > 1)
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: "")
    page.start_agent.click()
    assert not started, "the user canceled"
    monkeypatch.setattr(QFileDialog, "getExistingDirectory", lambda *_: str(tmp_path))
    page.agent.setCurrentText("OpenCode")
    page.start_agent.click()
    assert started == [("opencode", server.for_agents, tmp_path)]
    assert page.not_started.isVisible() and "OpenCode" in page.not_started.text()
    page.start_agent.click()
    assert page.not_started.isHidden()


def test_commands_to_copy_contain_the_address_and_the_key(begin: Start) -> None:
    app = begin()
    page, server = page_of(app), turn_on(app)
    assert page.agent.count() == len(AGENTS)
    for name in AGENTS:
        page.agent.setCurrentText(AGENTS[name].title)
        page.copy_commands.click()
        copied = QGuiApplication.clipboard().text()
        assert server.url in copied and server.key in copied and name in copied
