"""The likely cause of an acceptance near zero, from made-up rounds and from a drafter with random weights."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from mlx_engine.cli.main import main
from mlx_engine.decoding.low_acceptance import likely_cause
from mlx_engine.decoding.step import Step
from mlx_engine.drafters.registry import parse
from mlx_engine.engine.engine import Engine
from mlx_engine.models.files.checkpoint import read_config
from mlx_engine.models.library.pair import demo_pair
from tests.benchmarks.widths import random_drafter
from tests.mlx_engine.asking import question, reply
from tests.mlx_engine.conftest import loaded

FULL = parse(read_config(demo_pair()[1]))
WINDOWED = replace(FULL, windows=(2048,) * FULL.layers)


def rounds(tested: int, accepted: int, copies: int = 0) -> list[Step]:
    counts = {"copies_tested": copies, "copies_accepted": copies}
    return [Step((1,), ("target",), 8, 7, tested + copies, accepted + copies, **counts)]


@pytest.mark.parametrize(
    ("steps", "config", "weights", "context", "temperature", "code"),
    [
        (rounds(100, 5), FULL, "bfloat16", 1000, 0.0, "drafter_for_other_text"),
        (rounds(100, 5), FULL, "float16", 1000, 0.0, "drafter_in_float16"),
        (rounds(100, 5), WINDOWED, "bfloat16", 120_000, 0.0, "drafter_sees_window"),
        (rounds(100, 5), WINDOWED, "bfloat16", 90_000, 0.0, "drafter_for_other_text"),
        (rounds(100, 5), FULL, "bfloat16", 120_000, 0.0, "drafter_for_other_text"),
        (rounds(100, 5), FULL, "4 bit", 1000, 2.0, "temperature_too_high_to_draft"),
        (rounds(50, 5) + rounds(50, 0, copies=50), FULL, "4 bit", 1000, 1.0, "drafter_for_other_text"),
        (rounds(100, 10), FULL, "4 bit", 1000, 2.0, None),
        (rounds(19, 0), FULL, "float16", 1000, 0.0, None),
        ([], FULL, "float16", 1000, 0.0, None),
    ],
)
def test_the_likely_cause(steps, config, weights, context, temperature, code):
    cause = likely_cause(steps, config, weights, context, temperature)
    assert (cause and cause.code) == code


def test_the_cause_names_the_window():
    cause = likely_cause(rounds(100, 0), WINDOWED, "4 bit", 120_000, 0.0)
    assert str(cause) == "the context exceeds 100,000 tokens, and the drafter sees only the last 2,048"


@pytest.fixture(scope="module")
def useless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return random_drafter(demo_pair()[1], tmp_path_factory.mktemp("random"))


def test_replies_name_the_cause_only_if_almost_no_drafts_are_accepted(useless: Path, demo: Engine) -> None:
    asked = question("Write the 7 times table up to 10.", max_tokens=30, width=8)
    good, bad = reply(demo, asked), reply(loaded(demo_pair()[0], useless), asked)
    assert good.tokens == bad.tokens and good.stats.few_accepted is None
    assert bad.stats.few_accepted is not None and bad.stats.few_accepted.code == "drafter_for_other_text"


def test_doctor_warns_of_a_useless_drafter(useless: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--target", str(demo_pair()[0]), "--drafter", str(useless), "--json"], Engine) == 0
    found = next(one for one in json.loads(capsys.readouterr().out)["findings"] if one["name"] == "pair")
    assert found["state"] == "warn" and "probably because the drafter was trained for another target" in found["detail"]
