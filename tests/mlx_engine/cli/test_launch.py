"""`slipstream launch`: what an agent is given, and that its own settings stay untouched."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mlx_engine.api_server import running
from mlx_engine.api_server.running import announced, running_server
from mlx_engine.cli.agents import AGENTS, AgentServer, shell
from mlx_engine.cli.main import main
from mlx_engine.contract.events import LoadProgress, PairInfo
from tests.mlx_engine.api_server.serving import serving
from tests.mlx_engine.scripted_engine import ScriptedEngine
from tests.mlx_engine.tiny_families import save

CONTEXT = 1 << 15
KEY = "sk-\"$x'\\0"
REPORT = """#!/bin/sh
env > "$REPORT/environment"
printf '%s\\n' "$@" > "$REPORT/arguments"
folder="${CLAUDE_CONFIG_DIR:-${CODEX_HOME:-${OPENCODE_CONFIG:-${PI_CODING_AGENT_DIR:-${QWEN_HOME:-$AIDER_MODEL_METADATA_FILE}}}}}"
cp -R "$folder" "$REPORT/folder"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for programs, first in PATH, where the reports of `REPORT` arrive too."""
    monkeypatch.setattr(running, "_file", lambda: tmp_path / "cache" / "server.json")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    monkeypatch.setenv("REPORT", str(tmp_path))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)  # read TMPDIR again
    for variable in {name for agent in AGENTS.values() for name in agent.environment}:
        monkeypatch.delenv(variable, raising=False)
    return tmp_path


class Roomy(ScriptedEngine):
    """A scripted engine with enough context for an agent."""

    def load(self, *folders: Any) -> Iterator[LoadProgress | PairInfo]:
        for event in super().load(*folders):
            yield replace(event, context_limit=CONTEXT) if isinstance(event, PairInfo) else event


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(Roomy, key=KEY) as server:
        yield server.url


def install(folder: Path, name: str, program: str = REPORT) -> None:
    (folder / name).write_text(program)
    (folder / name).chmod(0o755)


def reported(folder: Path) -> dict[str, str]:
    lines = (folder / "environment").read_text().splitlines()
    return dict(line.partition("=")[::2] for line in lines)  # type: ignore[misc]


def launch(name: str, url: str, *arguments: str) -> int:
    with announced(url):
        return main(["launch", name, "--key", KEY, *(["--", *arguments] if arguments else [])])


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_gets_the_address_the_key_and_a_folder_of_its_own(name: str, folder: Path, url: str) -> None:
    install(folder, name)
    assert launch(name, url, "--resume", "a b") == 0
    environment, arguments = reported(folder), (folder / "arguments").read_text().splitlines()
    assert arguments[-2:] == ["--resume", "a b"]
    files = "".join(path.read_text() for path in [folder / "folder", *folder.glob("folder/*")] if path.is_file())
    given = "\n".join([*(environment[variable] for variable in AGENTS[name].environment), *arguments, files])
    escaped = json.dumps(KEY)[1:-1]
    assert url in given and "tiny" in given and (KEY in given or escaped in given)
    assert "$" not in given.replace(KEY, "").replace(escaped, "")
    own = [value for variable, value in environment.items() if variable in AGENTS[name].environment and "slipstream-" in value]
    assert own and not any(Path(value).exists() for value in own)


@pytest.mark.parametrize("name", AGENTS)
def test_commands_to_copy_do_the_same(name: str, folder: Path, url: str) -> None:
    install(folder, name)
    assert launch(name, url) == 0
    variables = AGENTS[name].environment
    launched = {variable: reported(folder)[variable] for variable in variables}
    files = sorted(path.name for path in (folder / "folder").glob("*"))
    subprocess.run(["rm", "-r", str(folder / "folder")], check=True)
    script = shell(name, AgentServer(url, KEY, "tiny", CONTEXT))
    result = subprocess.run(["sh", "-c", script + "; echo $folder$ANTHROPIC_MODEL"], capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (0, "\n", "")
    copied = {variable: reported(folder)[variable] for variable in variables}
    assert copied == launched
    assert sorted(path.name for path in (folder / "folder").glob("*")) == files
    assert not [*folder.glob(f"slipstream-{name}-*")]


def test_agents_find_the_same_folder_in_each_session(folder: Path, url: str) -> None:
    """Their system prompts contain its path, and are read again if it changes."""
    install(folder, "claude")
    for busy in range(3):
        for start in (lambda: launch("claude", url), lambda: os.system(shell("claude", AgentServer(url, KEY, "tiny", CONTEXT)))):
            assert start() == 0
            assert reported(folder)["CLAUDE_CONFIG_DIR"] == str(folder / f"slipstream-claude-{busy + 1}")
            subprocess.run(["rm", "-r", str(folder / "folder")], check=True)
        (folder / f"slipstream-claude-{busy + 1}").mkdir()  # of another session


def test_files_are_valid_whatever_the_key(folder: Path) -> None:
    server = AgentServer("http://127.0.0.1:1", KEY, "tiny", 8192)
    for agent in AGENTS.values():
        for name, text in agent.files.items():
            (tomllib.loads if name.endswith(".toml") else json.loads)(server.fill_file(text))
    found = json.loads(server.fill_file(AGENTS["opencode"].files["opencode.json"]))
    assert found["provider"]["slipstream"]["options"]["apiKey"] == KEY
    assert found["provider"]["slipstream"]["models"]["tiny"]["limit"] == {"context": 8192, "output": 2048}


def test_print_prints_the_commands(folder: Path, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    with announced(url):
        assert main(["launch", "codex", "--print", "--key", KEY]) == 0
    assert capsys.readouterr().out == shell("codex", AgentServer(url, KEY, "tiny", CONTEXT)) + "\n"


def test_an_agent_that_is_missing_is_an_error(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(folder))
    assert main(["launch", "codex"]) == 1
    assert "Codex isn't installed. Run “npm install -g @openai/codex”" in capsys.readouterr().err


def test_another_key_is_an_error(folder: Path, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    install(folder, "codex")
    with announced(url):
        assert main(["launch", "codex", "--key", "another-key"]) == 1
    assert "uses a different API key. Pass it with --key." in capsys.readouterr().err


def test_a_short_context_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(folder, "codex")
    with serving(ScriptedEngine, key=KEY) as server, announced(server.url):
        assert main(["launch", "codex", "--key", KEY]) == 1
    assert "“tiny” has a context of 64 tokens. Agents need at least 8,192." in capsys.readouterr().err


def test_a_server_without_a_model_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(folder, "codex")
    with serving(ScriptedEngine, key=KEY) as server, announced(server.url):
        server.api.models.pair = None
        assert main(["launch", "codex", "--key", KEY]) == 1
    assert "has no loaded model. Load one there" in capsys.readouterr().err


def test_the_exit_code_is_the_agents(folder: Path, url: str) -> None:
    install(folder, "claude", "#!/bin/sh\nexit 7\n")
    assert launch("claude", url) == 7
    install(folder, "claude", "#!/bin/sh\nkill -9 $$\n")
    assert launch("claude", url) == 128 + 9


def test_ctrl_c_is_the_agents(folder: Path, url: str) -> None:
    install(folder, "claude", "#!/bin/sh\ntrap 'exit 5' INT\nkill -INT $PPID\nkill -INT $$\nsleep 60\n")
    assert launch("claude", url) == 5


@pytest.mark.parametrize("name", ["TERM", "HUP"])
def test_sigterm_and_a_closed_terminal_end_the_agent(folder: Path, url: str, name: str) -> None:
    install(folder, "claude", f"#!/bin/sh\ntrap 'exit 6' TERM\nkill -{name} $PPID\nwhile :; do sleep 0.1; done\n")
    assert launch("claude", url) == 6


def test_the_latest_server_that_still_runs_is_found(folder: Path) -> None:
    assert running_server() is None
    with announced("http://127.0.0.1:1"):
        with announced("http://127.0.0.1:2"):
            assert running_server() == "http://127.0.0.1:2"
        assert running_server() is None
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    for content in (json.dumps({"url": "http://127.0.0.1:1", "pid": process.pid}), "{", "[]", '{"pid": 99999999999999999999}'):
        (folder / "cache" / "server.json").write_text(content)
        assert running_server() is None


@pytest.mark.parametrize("by_option", [False, True])
def test_the_key_of_its_own_server_is_not_in_the_list_of_processes(
    by_option: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(folder, "claude", "#!/bin/sh\n")
    started = []

    def popen(command: list[str], env: dict[str, str] | None = None, **_: object) -> None:
        started.append((command, env or {}))
        raise KeyboardInterrupt

    monkeypatch.setattr(subprocess, "Popen", popen)
    if not by_option:
        monkeypatch.setenv("SLIPSTREAM_KEY", KEY)
    assert main(["launch", "claude", "--target", str(folder), *(["--key", KEY] if by_option else [])]) == 130
    ((command, environment),) = started
    assert environment["SLIPSTREAM_KEY"] == KEY
    assert not any(KEY in word for word in command)


@pytest.mark.long
def test_without_a_server_one_runs_as_long_as_the_agent(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    check = "import os, urllib.request as r; r.urlopen(os.environ['ANTHROPIC_BASE_URL'] + '/health'); print('healthy')"
    install(folder, "claude", f'#!/bin/sh\nenv > "$REPORT/environment"\n"{sys.executable}" -c "{check}" > "$REPORT/health"\n')
    target = save("qwen3", folder / "tiny" / "target")
    config = json.loads((target / "config.json").read_text())
    (target / "config.json").write_text(json.dumps(config | {"max_position_embeddings": CONTEXT}))
    assert main(["launch", "claude", "--target", str(target)]) == 0
    assert (folder / "health").read_text() == "healthy\n"
    environment = reported(folder)
    assert environment["ANTHROPIC_AUTH_TOKEN"].startswith("sk-slipstream-") and environment["ANTHROPIC_MODEL"] == "tiny"
    with pytest.raises(OSError):
        from urllib.request import urlopen

        urlopen(environment["ANTHROPIC_BASE_URL"] + "/health")


def test_a_server_of_its_own_ends_if_the_terminal_is_closed_early(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(folder, "claude")
    command = [sys.executable, "-c", f"import os, time; time.sleep(0.5); os.kill({os.getpid()}, {signal.SIGHUP:d}); time.sleep(60)"]
    real, started = subprocess.Popen, list[Any]()

    def popen(_: Any, **options: Any) -> Any:
        started.append(real(command, **options))
        return started[0]

    monkeypatch.setattr(subprocess, "Popen", popen)
    with pytest.raises(SystemExit) as ended:
        main(["launch", "claude"])
    assert ended.value.code == 128 + signal.SIGHUP and started[0].poll() is not None


@pytest.mark.long
def test_a_server_that_does_not_start_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    install(folder, "claude")
    assert main(["launch", "claude", "--target", str(folder / "missing")]) == 1
    assert "The server didn't start." in capsys.readouterr().err
