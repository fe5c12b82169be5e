"""The files that belong to the project, for tests that go over all of them."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def tracked() -> list[str]:
    """Their names, relative to the repository.

    Skips the test where git has no list of them: in an unpacked archive, where build products would be checked too.
    """
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False).stdout.decode()
    if not listed:
        # skipped: an unpacked archive has no list of tracked files
        pytest.skip("not a git checkout: what is tracked is not known")
    return [name for name in listed.split("\0") if name and (ROOT / name).is_file()]
