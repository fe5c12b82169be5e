"""Programs of tool servers are the ones that the user's terminal would start."""

import asyncio
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from mlx_engine.contract.errors import UserError
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


def test_the_shell_is_asked_once_per_process(folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By servers that start at the same time or later, even if their start is canceled."""
    chosen, asked, shell = folder("chosen"), tmp_path / "asked", tmp_path / "shell"
    shell.write_text(f'#!/bin/sh\necho once >> "{asked}"\nPATH="{chosen}"\neval "$2"\n')
    shell.chmod(0o755)
    monkeypatch.setenv("SHELL", str(shell))
    monkeypatch.delenv("SHLVL", raising=False)
    config = ServerConfig("made", command="no-such-program")

    async def start_three() -> None:
        first = asyncio.create_task(transports.search_path(config))
        await asyncio.sleep(0)
        first.cancel()
        assert all(path.startswith(chosen) for path in await asyncio.gather(*(transports.search_path(config) for _ in range(2))))

    threads = [threading.Thread(target=asyncio.run, args=(start_three(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with pytest.raises(UserError, match="Can't find"):  # which looks for the program twice
        asyncio.run(transports._started(config))
    assert asked.read_text().split() == ["once"]


def test_a_shell_whose_profile_leaves_a_program_running_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program holds the shell's output open."""
    shell, asked = tmp_path / "shell", tmp_path / "asked"
    shell.write_text(f'#!/bin/sh\necho once >> "{asked}"\nsleep 600 &\nPATH=/found\neval "$2"\n')
    shell.chmod(0o755)
    monkeypatch.setenv("SHELL", str(shell))
    monkeypatch.setattr(transports, "_shell_paths", {})
    assert [asyncio.run(transports._shell_path()) for _ in range(2)] == ["/found"] * 2
    assert asked.read_text().split() == ["once"]


def test_a_shell_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shell, hanging = tmp_path / "shell", tmp_path / "pid"
    shell.write_text(f'#!/bin/sh\necho $$ > "{hanging}"\nexec sleep 600\n')
    shell.chmod(0o755)
    monkeypatch.setattr(transports, "_SHELL_S", 0.5)
    monkeypatch.setenv("SHELL", str(shell))
    monkeypatch.setattr(transports, "_shell_paths", {})
    assert asyncio.run(transports._shell_path()) == ""
    if hanging.exists():  # the machine may be too busy to start it in time
        with pytest.raises(ProcessLookupError):
            os.kill(int(hanging.read_text()), 0)
    shell.write_text('#!/bin/sh\nPATH=/found\neval "$2"\n')
    monkeypatch.setattr(transports, "_SHELL_S", 60.0)
    assert asyncio.run(transports._shell_path()) == "/found", "the shell is asked again"
