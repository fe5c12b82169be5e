"""Starting a coding agent, connected to the local server, in a terminal."""

import os
import shlex
import shutil
import sys
import tempfile
from pathlib import Path

from PySide6.QtCore import QProcess

from app.text.language import tr
from mlx_engine.cli.agents import AGENTS, AgentServer, shell

TERMINALS = (("x-terminal-emulator", "-e"), ("gnome-terminal", "--"), ("konsole", "-e"), ("xterm", "-e"))  # on Linux


def start_agent(name: str, server: AgentServer, folder: Path) -> bool:
    """Start an agent in a new terminal window. Return whether a terminal was found."""
    return open_terminal(write_script(name, server, folder))


def write_script(name: str, server: AgentServer, folder: Path) -> Path:
    """Write a script that starts an agent in `folder`.

    The script contains the API key, so it deletes itself first.
    """
    agent = AGENTS[name]
    missing = tr("{agent} isn't installed. To install it, run this command: {how}", agent=agent.title, how=agent.install)
    lines = [
        "#!/bin/sh",
        'rm -f -- "$0"',
        f"cd {shlex.quote(str(folder))} || exit",
        f"command -v {name} > /dev/null || {{ printf '%s\\n' {shlex.quote(missing)}; read -r _; exit 1; }}",
        shell(name, server),
    ]
    handle, path = tempfile.mkstemp(".command", "slipstream-")  # macOS opens this kind of file in a terminal
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")
    os.chmod(path, 0o700)
    return Path(path)


def open_terminal(script: Path) -> bool:
    """Run a script in a new terminal window. Return whether a terminal was found."""
    if sys.platform == "darwin":
        return QProcess.startDetached("/usr/bin/open", [str(script)])[0]
    for name, option in TERMINALS:
        if program := shutil.which(name):
            return QProcess.startDetached(program, [option, str(script)])[0]
    script.unlink()
    return False
