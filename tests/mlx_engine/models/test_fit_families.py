"""The predicted memory of every family, compared with the peak of MLX's allocator."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mlx_engine.models.configs.families import FAMILIES

CONTEXTS = {name: (1024, 2048, 4096, 8192) for name in (*FAMILIES, "qwen3_5 with MTP")}
CONTEXTS["nemotron_h"] = (2048, 4096, 8192)  # shorter, its peak depends on how far MLX queues ahead
SAMPLE = {"glm_moe_dsa": (1024,)}
TOLERANCE = 0.07


def check(name: str, contexts: tuple[int, ...]) -> None:
    """Compare in a process of its own, whose allocator holds nothing else."""
    words = [sys.executable, "-m", "tests.benchmarks.fit_families", "--only", name, "--json"]
    words += [word for context in contexts for word in ("--context", str(context))]
    environment = {name: value for name, value in os.environ.items() if name != "SLIPSTREAM_BLAS"}  # the usual one
    done = subprocess.run(words, capture_output=True, text=True, cwd=Path(__file__).parents[3], env=environment, check=False)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["context"] for row in rows] == [*contexts]
    errors = {row["context"]: round(row["predicted"] / row["measured"] - 1, 3) for row in rows}
    assert all(abs(error) <= TOLERANCE for error in errors.values()), errors


@pytest.mark.parametrize("name", SAMPLE)
def test_the_peak_is_predicted(name: str) -> None:
    check(name, SAMPLE[name])


@pytest.mark.long
@pytest.mark.parametrize("name", CONTEXTS)
def test_the_peak_of_each_family_is_predicted_at_every_length(name: str) -> None:
    check(name, CONTEXTS[name])
