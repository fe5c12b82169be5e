"""Headless sessions of coding agents that `slipstream launch` starts, in a scratch folder, with a scripted model."""

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from mlx_engine.api_server import running
from mlx_engine.api_server.running import announced
from mlx_engine.contract.requests import GenerationRequest
from tests.agents.clients import folder_of
from tests.agents.scripted_model import ScriptedModel, Step, call
from tests.mlx_engine.api_server.serving import serving

ROOT = Path(__file__).parents[2]
KEY = "a-secret-key"
PROMPT = "Write a note, then read hello.py and say what is in it."
FINAL = "The file greets the reader."
FOUND = "print('good morning')"
_NOTE = "printf 'caf\\303\\251 <1>' > note.txt"
_LAUNCH = """\
import sys
from pathlib import Path
from mlx_engine.cli.main import main
from mlx_engine.api_server import running
running._file = lambda: Path(sys.argv[1])
sys.exit(main(["launch", *sys.argv[2:]]))
"""


def _steps(shell: dict[str, str], read: dict[str, str]) -> list[Step]:
    return [
        Step("I write the note.", **shell, thinking="The note comes first."),
        Step("", **read, thinking="Now the file.\n\nIt is short."),
        Step(FINAL),
    ]


@dataclass(frozen=True)
class Headless:
    """How an agent runs without a user.

    Attributes:
        arguments: its arguments, before the prompt.
        steps: replies of the model for a folder.
    """

    arguments: tuple[str, ...]
    steps: Callable[[Path], Sequence[Step]]


HEADLESS = {
    "claude": Headless(
        ("--allowedTools", "Bash,Read", "-p"),
        lambda folder: _steps(
            call("Bash", description="Write the note", timeout=60000.0, command=_NOTE),
            call("Read", file_path=str(folder / "hello.py")),
        ),
    ),
    "codex": Headless(
        ("exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"),
        lambda folder: _steps(call("exec_command", cmd=_NOTE), call("exec_command", cmd="cat hello.py")),
    ),
    "opencode": Headless(
        ("run",),
        lambda folder: _steps(
            call("bash", description="Write the note", timeout=60000.0, command=_NOTE),
            call("read", filePath=str(folder / "hello.py")),
        ),
    ),
    "pi": Headless(("-p",), lambda folder: _steps(call("bash", timeout=60.0, command=_NOTE), call("read", path="hello.py"))),
    "qwen": Headless(
        ("--yolo", "-p"),
        lambda folder: _steps(
            call("run_shell_command", description="Write the note", command=_NOTE, is_background=False, timeout=60000.0),
            call("read_file", file_path=str(folder / "hello.py")),
        ),
    ),
    "aider": Headless(
        (
            "--yes-always",
            "--no-git",
            "--no-gitignore",
            "--no-pretty",
            "--no-show-release-notes",
            "--edit-format",
            "whole",
            "hello.py",
            "--message",
        ),
        lambda folder: [Step(f"hello.py\n```\nprint('good evening')\n```\n{FINAL}")],
    ),
}


@dataclass(frozen=True)
class Session:
    """What an agent did.

    Attributes:
        steps: replies of the model.
        requests: what the engine was asked, without titles and summaries.
        asides: all other requests.
        refused: the requests that were too long.
        folder: the project's folder.
        home: the user's home folder.
    """

    code: int
    output: str
    errors: str
    steps: Sequence[Step]
    requests: Sequence[GenerationRequest]
    asides: Sequence[GenerationRequest]
    refused: Sequence[GenerationRequest]
    folder: Path
    home: Path


def session(
    name: str,
    folder: Path,
    model: Callable[[Path], ScriptedModel] | None = None,
    arguments: Sequence[str] = (),
    prompt: str = PROMPT,
) -> Session:
    """Run an agent until it ends.

    Args:
        folder: where the project and the user's home folder are.
        model: makes the model for the project's folder. By default, it takes the agent's steps.
        arguments: the agent's arguments, instead of those that allow its tools.
        prompt: what the user asks for.
    """
    program = folder_of(name)
    scratch, home, state = folder / "scratch", folder / "home", folder / "server.json"
    temporary = folder / "temporary"  # agents mention their folders in it, which other sessions mustn't take
    for each in (scratch, home, temporary):
        each.mkdir(parents=True, exist_ok=True)
    (scratch / "hello.py").write_text(FOUND + "\n")
    engine = model(scratch) if model else ScriptedModel(HEADLESS[name].steps(scratch))
    environment = {
        "PATH": f"{program}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
        # Nothing beyond this computer is reachable
        **dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"), "http://127.0.0.1:9"),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), "127.0.0.1,localhost"),
    }
    command = [
        sys.executable,
        "-c",
        _LAUNCH,
        str(state),
        name,
        "--key",
        KEY,
        "--",
        *(arguments or HEADLESS[name].arguments),
        prompt,
    ]
    with pytest.MonkeyPatch.context() as patch, serving(lambda: engine, key=KEY) as server:
        patch.setattr(running, "_file", lambda: state)
        with announced(server.url):
            result = subprocess.run(
                command, cwd=scratch, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
            )
    return Session(
        result.returncode,
        result.stdout,
        result.stderr,
        engine.script,
        engine.requests,
        engine.asides,
        engine.refused,
        scratch,
        home,
    )
