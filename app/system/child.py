"""Command lines that restart the app or run a module in a child process."""

import sys
from pathlib import Path


def command(module: str) -> tuple[str, list[str]]:
    """Return the program and arguments that run a module in a child process."""
    inside = ["--child", module]
    if "python" in Path(sys.executable).name.lower():
        return sys.executable, ["-m", "app", *inside]
    return sys.executable, inside


def app_command() -> tuple[str, list[str]]:
    """Return the program and arguments that start the app."""
    program = Path(sys.executable)
    if bundle := next((folder for folder in program.parents if folder.suffix == ".app"), None):
        return "/usr/bin/open", ["-n", str(bundle)]
    return sys.executable, ["-m", "app"] if "python" in program.name.lower() else []
