"""Coding agents from npm and PyPI, installed into build/agents on first use."""

import fcntl
import functools
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "build" / "agents"
_SYSTEM = {"Darwin": "darwin"}.get(platform.system(), "linux")
_MACHINE = "arm64" if platform.machine() in ("arm64", "aarch64") else "x64"
# npm package, and the program in its folder
_NPM = {
    "node": (f"node-{_SYSTEM}-{_MACHINE}@22", f"node_modules/node-{_SYSTEM}-{_MACHINE}/bin/node"),
    "claude": (
        "@anthropic-ai/claude-code@2.1.330",
        f"node_modules/@anthropic-ai/claude-code-{_SYSTEM}-{_MACHINE}/claude",
    ),
    "codex": ("@openai/codex@0.169.0", "node_modules/.bin/codex"),
    "opencode": ("opencode-ai@1.18.33", f"node_modules/opencode-{_SYSTEM}-{_MACHINE}/bin/opencode"),
    "pi": ("@earendil-works/pi-coding-agent@1.5.2", "package/dist/bundle/cli.js"),
    "qwen": ("@qwen-code/qwen-code@0.24.4", "node_modules/.bin/qwen"),
}
_ON_NODE = ("codex", "pi", "qwen")
_AIDER = "aider-chat==0.86.2"


class _NotInstalled(Exception): ...


def folder_of(name: str) -> Path:
    """Return a folder whose only programs are the agent and what it needs. Skips the test if it can't be installed."""
    found = _installed(name)
    if isinstance(found, _NotInstalled):
        pytest.skip(str(found))  # the agents aren't ours, and can't be installed where no package registry is reachable
    return found


@functools.cache
def _installed(name: str) -> Path | _NotInstalled:
    try:
        return _install(name)
    except _NotInstalled as error:
        return error


def _install(name: str) -> Path:
    FOLDER.mkdir(parents=True, exist_ok=True)
    programs = FOLDER / "bin" / name
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if name == "aider":
            program = FOLDER / "aider" / "bin" / "aider"
            if not program.exists():
                _run([sys.executable, "-m", "venv", str(FOLDER / "aider")])
                _run([str(FOLDER / "aider" / "bin" / "python"), "-m", "pip", "install", "--quiet", _AIDER])
        else:
            program = _from_npm(name)
        programs.mkdir(parents=True, exist_ok=True)
        links = {name: program, **({"node": _node()} if name in _ON_NODE else {})}
        for link, target in links.items():
            (programs / link).unlink(missing_ok=True)
            (programs / link).symlink_to(target)
        program.resolve().chmod(0o755)
    return programs


def _from_npm(name: str) -> Path:
    package, program = _NPM[name]
    folder = FOLDER / name
    if not (folder / program).exists():
        folder.mkdir(exist_ok=True)
        (folder / "package.json").write_text('{"private": true}')
        if name == "pi":  # the published bundle has no dependencies, unlike its package.json
            _run(["npm", "pack", "--fetch-retries=1", package], folder)
            _run(["tar", "xzf", *map(str, folder.glob("*.tgz"))], folder)
        else:
            _run(["npm", "install", "--no-fund", "--no-audit", "--fetch-retries=1", "--ignore-scripts", package], folder)
    return folder / program


def _node() -> Path:
    """Return Node.js 22 or later."""
    found = shutil.which("node")
    if found and int(subprocess.run([found, "--version"], capture_output=True, text=True).stdout[1:].split(".")[0]) >= 22:
        return Path(found)
    return _from_npm("node")


def _run(command: list[str], folder: Path | None = None) -> None:
    shown = " ".join(command)
    try:
        subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=1200)
    except subprocess.CalledProcessError as error:
        raise _NotInstalled(f"“{shown}” failed: {(error.stderr or error.stdout).strip()[-300:]}") from None
    except (OSError, subprocess.TimeoutExpired) as error:
        raise _NotInstalled(f"“{shown}” failed: {error}") from None
