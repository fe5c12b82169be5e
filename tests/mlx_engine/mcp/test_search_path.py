"""Programs of tool servers are the ones that the user's terminal would start."""

import asyncio
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mlx_engine.mcp import transports
from mlx_engine.mcp.config import ServerConfig

Folder = Callable[[str], str]
LOGIN_SHELL = '#!/bin/sh\necho "Welcome!"\nPATH="{path}"\neval "$2"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """Create a folder with a program python3, and return its path."""

    def create(name: str) -> str:
        (tmp_path / name).mkdir()
        (tmp_path / name / "python3").touch(0o755)
        return str(tmp_path / name)

    return create


def found(config: ServerConfig) -> str:
    """Return the name of the folder from which python3 would start."""
    program = shutil.which("python3", path=asyncio.run(transports.search_path(config)))
    assert program is not None
    return Path(program).parent.name


@pytest.mark.parametrize("shell_answers", [True, False])
@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("own", [True, False])
def test_a_program_is_found_as_in_the_users_shell(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shell_answers: bool, terminal: bool, own: bool
) -> None:
    system, homebrew, pyenv, chosen = map(folder, ("system", "homebrew", "pyenv", "chosen"))
    shell = tmp_path / "shell"
    shell.write_text(LOGIN_SHELL.format(path=f"{pyenv}:{homebrew}:$PATH") if shell_answers else "#!/bin/sh\nexit 1\n")
    shell.chmod(0o755)
    monkeypatch.setattr(transports, "_FOLDERS", (homebrew,))
    monkeypatch.setenv("SHELL", str(shell))
    monkeypatch.setenv("PATH", os.pathsep.join(([pyenv] if terminal else []) + [system, "/usr/bin", "/bin"]))
    if terminal:
        monkeypatch.setenv("SHLVL", "1")
    else:
        monkeypatch.delenv("SHLVL", raising=False)
    config = ServerConfig("made", command="python3", env=(("PATH", chosen),) if own else ())
    expected = "chosen" if own else "pyenv" if terminal or shell_answers else "homebrew"
    assert found(config) == expected


def test_folders_of_macos_come_last_but_are_searched(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    system = folder("system")
    monkeypatch.setattr(transports, "_FOLDERS", ("/no/such/folder",))
    monkeypatch.setenv("SHELL", "/no/such/shell")
    monkeypatch.setenv("PATH", system)
    monkeypatch.delenv("SHLVL", raising=False)
    assert found(ServerConfig("made", command="python3")) == "system"
