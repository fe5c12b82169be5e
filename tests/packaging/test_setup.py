"""Set-up on a machine that lacks something says what is missing and which command installs it."""

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.packaging import ROOT

TOOLS = "sh cat cksum dirname mkdir sleep rm cut grep sed tr find head tail chmod".split()
# The programs of other machines: the body of a shell script for each.
LINUX = {"uname": 'case "$1" in -s) echo Linux ;; -m) echo x86_64 ;; esac', "getconf": "echo glibc 2.36", "id": "echo 1000"}
MAC = {"uname": 'case "$1" in -s) echo Darwin ;; -m) echo arm64 ;; esac', "sw_vers": "echo 14.5", "id": "echo 501"}
INTEL = {**MAC, "uname": 'case "$1" in -s) echo Darwin ;; -m) echo x86_64 ;; esac'}
DEBIAN = {**LINUX, "apt-get": "exit 1"}
ALL_LIBRARIES = "cat libraries"
PYTHON_WITHOUT_VENV = 'case "$2" in *ensurepip*) exit 1 ;; esac'
# Creates .venv/ with a Python whose pip fails with this message.
PYTHON_WHOSE_PIP_SAYS = """if [ "$2" = venv ]; then
    mkdir -p .venv/bin
    printf '#!/bin/sh\\n[ "$2" != pip ] || {{ echo "{}" >&2; exit 1; }}\\n' >.venv/bin/python
    chmod +x .venv/bin/python
fi"""
SetUp = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def set_up(tmp_path: Path) -> SetUp:
    """Run packaging/setup.sh in a copy of the project, with only the usual shell tools and the given programs."""
    project, programs = tmp_path / "project", tmp_path / "programs"
    (project / "packaging").mkdir(parents=True)
    programs.mkdir()
    for name in ("packaging/setup.sh", "packaging/system.sh", "packaging/constraints.txt", "pyproject.toml"):
        shutil.copy(ROOT / name, project / name)
    for name in TOOLS:
        found = shutil.which(name)
        assert found is not None, name
        (programs / name).symlink_to(found)
    listed = (ROOT / "packaging/system.sh").read_text(encoding="utf-8").split('LIBRARIES="', 1)[1].split('"', 1)[0]
    (project / "libraries").write_text("".join(f"{row.split()[0]} (libc6,x86-64)\n" for row in listed.strip().splitlines()))

    def run(machine: dict[str, str], level: str = "run", **environment: str) -> subprocess.CompletedProcess[str]:
        for name, script in {"ldconfig": ALL_LIBRARIES, **machine}.items():
            (programs / name).write_text(f"#!/bin/sh\n{script}\n")
            (programs / name).chmod(0o755)
        result = subprocess.run(
            [str(project / "packaging/setup.sh"), level],
            env={"PATH": str(programs), "HOME": str(tmp_path / "home"), **environment},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert not (project / ".setup-lock").exists(), "the next set-up would wait forever"
        assert not (tmp_path / "home").exists(), "set-up changes nothing outside the project folder"
        return result

    return run


MACHINES: dict[str, tuple[dict[str, str], dict[str, str], str]] = {
    "an Intel Mac": ({**INTEL, "sysctl": "echo 0"}, {}, "needs a Mac with Apple silicon"),
    "a terminal under Rosetta": ({**INTEL, "sysctl": "echo 1"}, {}, "Open it without Rosetta"),
    "an old macOS": ({**MAC, "sw_vers": "echo 13.6.1"}, {}, "needs macOS 14 or later. This Mac has macOS 13.6.1"),
    "an old Linux": ({**LINUX, "getconf": "echo glibc 2.31"}, {}, "needs glibc 2.35 or later .* This system has 2.31"),
    "a Linux with another C library": ({**LINUX, "getconf": "exit 1"}, {}, "This system has another C library"),
    "another system": ({**LINUX, "uname": "echo FreeBSD"}, {}, "not on FreeBSD"),
    "a Mac without a Python": (MAC, {}, "brew install uv"),
    "no Python": (DEBIAN, {}, "sudo apt-get install -y --no-install-recommends python3 python3-venv"),
    "no Python, and no Debian": (LINUX, {}, "install your system's equivalents of these Debian packages: python3 python3-venv"),
    "no venv module": (
        {**DEBIAN, "python3": PYTHON_WITHOUT_VENV},
        {},
        "python3 cannot create virtual environments(.|\n)*sudo apt-get install -y --no-install-recommends python3-venv",
    ),
    "a PYTHON that does not exist": (
        DEBIAN,
        {"PYTHON": "/nowhere/python"},
        "PYTHON=/nowhere/python is not Python 3.11, 3.12 or 3.13",
    ),
    "no network": (
        {**LINUX, "python3": PYTHON_WHOSE_PIP_SAYS.format("Temporary failure in name resolution")},
        {},
        "Connect to the network and run the command again",
    ),
    "packages that cannot be installed": (
        {**LINUX, "python3": PYTHON_WHOSE_PIP_SAYS.format("No space left on device")},
        {},
        "No space left on device(.|\n)*in full in .venv/pip.log",
    ),
}


@pytest.mark.parametrize("what", MACHINES)
def test_the_message_says_what_is_missing_and_how_to_install_it(set_up: SetUp, what: str) -> None:
    machine, environment, words = MACHINES[what]
    result = set_up(machine, **environment)
    assert result.returncode == 1
    assert re.search(words, result.stderr), result.stderr
    assert "not found" not in result.stderr


@pytest.mark.parametrize("machine", [DEBIAN, {**DEBIAN, "sudo": "exit 1"}], ids=["no sudo", "sudo with a password"])
def test_without_an_administrator_the_command_for_system_packages_is_printed_and_set_up_continues(
    set_up: SetUp, machine: dict[str, str]
) -> None:
    result = set_up({**machine, "ldconfig": ""}, "test")
    assert "installing them requires an administrator" in result.stderr
    (command,) = (line.strip() for line in result.stderr.splitlines() if "libegl1" in line)
    assert command.startswith("sudo apt-get update && sudo apt-get install -y --no-install-recommends ")
    assert {"libegl1", "libopenblas0-pthread", "g++"} <= set(command.split())
    assert "none was found" in result.stderr, "it continued with Python"


def test_set_up_continues_if_system_packages_cannot_be_downloaded(set_up: SetUp) -> None:
    result = set_up({**DEBIAN, "ldconfig": "", "id": "echo 0", "apt-get": "echo E: no network >&2; exit 100"})
    assert "Continuing without them" in result.stderr and "E: no network" in result.stderr
    assert "libegl1" in result.stderr and "none was found" in result.stderr


@pytest.mark.parametrize(
    ("machine", "missing"),
    [
        ({}, True),
        ({"g++": "echo 12"}, False),
        ({"clang++": "echo 19.1.7"}, False),
        ({"clang++": "echo 14.0.6"}, True),
        ({"g++": "echo 12", "clang++": "echo 14.0.6"}, False),
    ],
    ids=["none", "g++", "clang 19", "clang 14", "g++ and clang 14"],
)
def test_a_compiler_is_missing_if_the_kernel_tests_could_not_use_it(set_up: SetUp, machine: dict[str, str], missing: bool) -> None:
    assert ("g++" in set_up({**DEBIAN, **machine}, "test").stderr) is missing
