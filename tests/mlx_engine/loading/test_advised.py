"""Sampling as a target's makers advise it."""

import json
from pathlib import Path

import pytest

from mlx_engine.contract.requests import Sampling
from mlx_engine.models.files.checkpoint import recommended_sampling


@pytest.mark.parametrize(
    ("content", "advised"),
    [
        (None, Sampling()),
        ("{", Sampling()),
        ("[1]", Sampling()),
        ('{"temperature": 0.7}', Sampling()),
        ('{"do_sample": false, "temperature": 0.7}', Sampling()),
        ('{"do_sample": true}', Sampling(temperature=1.0)),
        (
            '{"do_sample": true, "temperature": 0.6, "top_p": 0.95, "top_k": 20, "min_p": 0.0}',
            Sampling(temperature=0.6, top_p=0.95, top_k=20),
        ),
        (
            '{"do_sample": true, "temperature": "hot", "top_p": 7, "top_k": -1, "repetition_penalty": 1.05}',
            Sampling(temperature=1.0, repetition_penalty=1.05),
        ),
        ('{"do_sample": true, "temperature": NaN}', Sampling(temperature=1.0)),
        ('{"do_sample": true, "temperature": Infinity, "top_p": -Infinity}', Sampling(temperature=1.0)),
        ('{"do_sample": true, "temperature": 1%s, "top_k": 20}' % ("0" * 400), Sampling(temperature=1.0, top_k=20)),
    ],
)
def test_what_makes_sense_is_taken(tmp_path: Path, content: str | None, advised: Sampling) -> None:
    if content is not None:
        (tmp_path / "generation_config.json").write_text(content)
    assert recommended_sampling(tmp_path) == advised


def test_the_demo_pair_is_greedy() -> None:
    folder = Path(__file__).parents[3] / "resources" / "demo_pair" / "target"
    assert json.loads((folder / "generation_config.json").read_text())["do_sample"] is False
    assert recommended_sampling(folder) == Sampling()
