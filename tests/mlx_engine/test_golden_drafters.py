"""The drafters and pairs of tests/golden, and that their checker sees a mistake."""

import json
import shutil
from pathlib import Path

import pytest

from tests.golden.__main__ import HERE, check, check_case

DRAFTERS = (
    "01_v1_full",
    "02_v1_swa_mixed",
    "03_v1_yarn",
    "04_v1_yarn_bias",
    "05_v1_gemma",
    "06_dflash2",
    "07_dflash2_scales",
    "08_v1_rope_parameters",
    "09_v1_noncausal_swa",
)
PAIRS = ("e2e_gpt_oss", "e2e_qwen3", "e2e_qwen3_5")


@pytest.mark.parametrize("name", DRAFTERS)
def test_every_round_of_a_drafter_agrees_with_the_reference(name: str) -> None:
    result = check_case(HERE / name)
    assert not result.miss, result


@pytest.mark.parametrize("name", PAIRS)
def test_a_pair_gives_the_reference_text_and_rounds(name: str) -> None:
    result = check_case(HERE / name)
    assert not result.miss, result


@pytest.mark.parametrize(("field", "value"), [("rope_theta", 999_000), ("is_causal", True), ("rms_norm_eps", 1e-3)])
def test_the_checker_sees_a_drafter_that_is_read_wrongly(tmp_path: Path, field: str, value: object) -> None:
    folder = tmp_path / "01_v1_full"
    shutil.copytree(HERE / "01_v1_full", folder)
    path = folder / "drafter" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), field: value}), encoding="utf-8")
    assert check_case(folder).miss


def test_a_case_that_is_not_supported_is_a_miss_with_its_reason(tmp_path: Path) -> None:
    folder = tmp_path / "a_case"
    shutil.copytree(HERE / "01_v1_full", folder)
    path = folder / "drafter" / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**config, "architectures": ["SomethingElse"]}), encoding="utf-8")
    (result,) = check(tmp_path)
    assert "not supported" in result.miss
    assert "SomethingElse" in result.miss
