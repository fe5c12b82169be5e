"""A pair with any mutation of its JSON files, and a request with any texts, run or are refused in words of our own.

The process lives on.
"""

import os
import random
import signal
import subprocess
import sys

import pytest

from tests.examples import SAMPLE
from tests.mlx_engine.loading import mutations

CHUNK = 24 if SAMPLE else 100
CHUNKS = 1 if SAMPLE else 20
# `make test` always tries the same mutations, `make test-all` fresh ones
FIRST = 0 if CHUNKS == 1 else random.SystemRandom().randrange(10**9)
SILENCE_S = 300  # a mutation takes milliseconds


def failures(first: int, last: int, folder) -> list[str]:
    """Run mutations in child processes: a new one after each that a signal ended."""
    environment = {**os.environ, "MUTATIONS": str(folder)}
    found: list[str] = []
    while first < last:
        command = [sys.executable, "-m", "tests.mlx_engine.loading.mutations", str(first), str(last)]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
            try:
                output, errors = child.communicate(timeout=SILENCE_S)
            except subprocess.TimeoutExpired:
                child.kill()
                output, errors = child.communicate()
        header = ""
        for line in output.splitlines():
            if line[:1].isdigit():
                header = line
            elif line.startswith("FAILED"):
                found.append(f"{header}\n{line}")
        if child.returncode == 0:
            break
        ended = signal.Signals(-child.returncode).name if child.returncode < 0 else f"exit code {child.returncode}"
        found.append(f"{header}\n{ended}\n{errors[-2000:]}")
        first = int(header.split(":")[0]) + 1
    return found


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_a_mutated_pair_runs_or_is_refused(tmp_path, chunk):
    first = FIRST + chunk * CHUNK
    assert not (found := failures(first, first + CHUNK, tmp_path)), "\n\n".join(found)


def test_an_unchanged_pair_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("MUTATIONS", str(tmp_path))
    pair = mutations.base("qwen3", None)
    assert mutations.outcome(pair, pair / "drafter") == "ran"


def test_a_signal_is_reported_with_its_mutation(tmp_path, monkeypatch):
    monkeypatch.setenv("MUTATIONS_CRASH", "0")
    (found,) = failures(0, 1, tmp_path)
    assert found.startswith("0: ") and "SIGSEGV" in found
