"""Published servers of tools from npm and PyPI, installed into build/tools on first use."""

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mlx_engine.mcp.config import ServerConfig

FOLDER = Path(__file__).parents[3] / "build" / "tools"
EVERYTHING = "@modelcontextprotocol/server-everything@2026.8.31"
FILESYSTEM = "@modelcontextprotocol/server-filesystem@2026.8.31"
GIT = "mcp-server-git"


def from_npm(package: str, *arguments: str) -> ServerConfig:
    """Return a server that runs with Node.js. Skips the test if it can't be installed."""
    name = package.rpartition("/")[2].partition("@")[0]
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js isn't installed")  # the servers aren't ours
    program = FOLDER / name / "node_modules" / "@modelcontextprotocol" / name / "dist" / "index.js"
    install = [
        "npm",
        "install",
        "--no-fund",
        "--no-audit",
        "--fetch-retries=1",
        "--ignore-scripts",
        "--prefix",
        str(FOLDER / name),
        package,
    ]
    installed(FOLDER, program, [install])
    return ServerConfig(name, command=node, args=(str(program), *arguments))


def from_pypi(package: str, *arguments: str) -> ServerConfig:
    """Return a server that runs with Python. Skips the test if it can't be installed."""
    folder = FOLDER / package
    program = folder / "bin" / package
    install = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", package]
    installed(FOLDER, program, [[sys.executable, "-m", "venv", str(folder)], install])
    return ServerConfig(package, command=str(program), args=arguments)


def installed(folder: Path, program: Path, commands: list[list[str]], timeout_s: float = 600) -> None:
    """Install a program into a folder unless it exists. Skips the test if one of the commands fails."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for command in commands if not program.exists() else ():
            try:
                subprocess.run(command, capture_output=True, text=True, check=True, timeout=timeout_s)
            except subprocess.CalledProcessError as error:
                _skip(command, (error.stderr or error.stdout).strip()[-300:])
            except (OSError, subprocess.TimeoutExpired) as error:
                _skip(command, str(error))


def _skip(command: list[str], reason: str) -> None:
    pytest.skip(f"“{' '.join(command)}” failed: {reason}")  # no package registry is reachable
