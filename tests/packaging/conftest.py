"""The release tools in an environment of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging import ROOT


@pytest.fixture(scope="session")
def release_tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install packaging/release/requirements.txt from the package index, and return the folder of its commands."""
    folder = tmp_path_factory.mktemp("release-tools")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    install = [folder / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, "--requirement", ROOT / "packaging/release/requirements.txt"], check=True)
    return folder / "bin"


@pytest.fixture
def clean_environment() -> dict[str, str]:
    """Return the environment without variables that lead another Python to this checkout."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SLIPSTREAM", "VIRTUAL_ENV"))}
