"""How a child process of ours starts: one of our own modules, in a bundle as well as in a virtual environment."""

import sys
from pathlib import Path


def command(module: str) -> tuple[str, list[str]]:
    """Program and arguments that run a module that `app.__main__` allows. In a bundle the program is the app itself."""
    inside = ["--child", module]
    if "python" in Path(sys.executable).name.lower():
        return sys.executable, ["-m", "app", *inside]
    return sys.executable, inside
