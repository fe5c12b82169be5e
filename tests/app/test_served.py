"""The window's tests again, with all replies from Slipstream's own server."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.app.served_engine import LOCAL_ONLY

ROOT = Path(__file__).parents[2]


def test_the_tests_that_are_left_out_exist() -> None:
    for name in (name for names in LOCAL_ONLY.values() for name in names):
        file, _, test = name.partition("::")
        text = (ROOT / "tests/app" / file).read_text(encoding="utf-8")
        assert not test or re.search(rf"def {test}\(", text), name


@pytest.mark.long
def test_the_window_works_the_same_with_replies_from_a_server(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-m", "not long", "-p", "no:cacheprovider"]
    command += ["--basetemp", str(tmp_path / "served"), "tests/app"]
    environment = {**os.environ, "SLIPSTREAM_TEST_SERVED": "1", "HYPOTHESIS_PROFILE": "sample"}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout[-20_000:]
