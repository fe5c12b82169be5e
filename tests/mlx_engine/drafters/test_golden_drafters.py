"""The drafters and pairs of tests/golden, and that their checker detects mistakes."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import mlx.core as mx
import pytest

from tests.examples import SAMPLE
from tests.golden.__main__ import HERE, check, check_case, main

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
    "10_v1_causal_head",
    "11_v1_from_anchor",
    "12_dflash2_from_anchor",
)
PAIRS = (
    "dspark_1", "dspark_2", "dspark_3", "e2e_gpt_oss", "e2e_qwen3", "e2e_qwen3_5", "eagle3_1", "eagle3_2", "gemma4_assistant_1",
    "gemma4_assistant_2", "mtp_1", "mtp_2",
)  # fmt: skip


@pytest.mark.parametrize("name", DRAFTERS)
def test_every_round_of_a_drafter_agrees_with_the_reference(name: str) -> None:
    result = check_case(HERE / name)
    assert not result.miss, result


@pytest.mark.parametrize("name", PAIRS)
def test_a_pair_gives_the_reference_text_and_rounds(name: str) -> None:
    result = check_case(HERE / name, thorough=not SAMPLE)
    assert not result.miss, result


@pytest.fixture
def copy(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that copies a case for a test to break."""

    def make(name: str) -> Path:
        return Path(shutil.copytree(HERE / name, tmp_path / name))

    return make


def change(path: Path, edit: Callable[[dict], None]) -> None:
    content = json.loads(path.read_text(encoding="utf-8"))
    edit(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def change_tensors(path: Path, edit: Callable[[dict[str, mx.array]], None]) -> None:
    tensors = dict(mx.load(str(path)))
    edit(tensors)
    mx.eval(tensors)
    mx.save_safetensors(str(path), tensors)


@pytest.mark.parametrize(("field", "value"), [("rope_theta", 999_000), ("is_causal", True), ("rms_norm_eps", 1e-3)])
def test_the_checker_detects_a_misread_drafter(copy: Callable[[str], Path], field: str, value: object) -> None:
    folder = copy("01_v1_full")
    change(folder / "drafter" / "config.json", lambda config: config.update({field: value}))
    assert check_case(folder).miss


def test_the_checker_detects_a_causal_drafter_read_as_another(copy: Callable[[str], Path]) -> None:
    folder = copy("10_v1_causal_head")
    change(folder / "drafter" / "config.json", lambda config: config["dflash_config"].update(causal_head=False))
    assert "hidden differ" in check_case(folder).miss


@pytest.mark.parametrize("name", ["11_v1_from_anchor", "12_dflash2_from_anchor"])
def test_the_checker_detects_that_another_row_proposes(copy: Callable[[str], Path], name: str) -> None:
    folder = copy(name)
    change(folder / "drafter" / "config.json", lambda config: config.update(sample_from_anchor=False))
    assert check_case(folder).miss


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("hidden", "hidden differ"),
        ("logits", "logits differ"),
        ("tokens", "other tokens"),
        ("candidates", "other candidates"),
        ("candidate_logits", "candidate_logits differ"),
        ("selector_scores", "selector_scores differ"),
        ("block_ids", "other masks"),
    ],
)
def test_the_checker_compares_every_field_of_every_round(copy: Callable[[str], Path], name: str, words: str) -> None:
    folder = copy("06_dflash2")

    def edit(tensors: dict[str, mx.array]) -> None:
        array = tensors[f"round_05.{name}"]
        last = mx.arange(array.size).reshape(array.shape) == array.size - 1
        amount = 1 if array.dtype == mx.int32 else 2e-3
        tensors[f"round_05.{name}"] = mx.where(last, array + amount, array).astype(array.dtype)

    change_tensors(folder / "rounds.safetensors", edit)
    assert f"round_05: {words}" in check_case(folder).miss


def test_the_checker_detects_swapped_codebooks(copy: Callable[[str], Path]) -> None:
    folder = copy("06_dflash2")
    a, b = "candidate_selector.predecessor_codebook", "candidate_selector.successor_codebook"
    change_tensors(folder / "drafter" / "model.safetensors", lambda tensors: tensors.update({a: tensors[b], b: tensors[a]}))
    assert "other tokens" in check_case(folder).miss


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda case: case["accepted"].__setitem__(-1, 6), "prompt 0: other accepted lengths"),
        (lambda case: case["rounds"][0]["draft"].__setitem__(3, 0), "prompt 0: other drafts"),
        (lambda case: case["output_ids"].append(1), "prompt 0, plain steps in between: other text"),
        (lambda case: case.update(smaller_blocks=[{"block_size": 3, "accepted": [9]}]), "prompt 0, blocks of 3"),
    ],
)
def test_the_checker_compares_everything_stored_for_a_prompt(
    copy: Callable[[str], Path], edit: Callable[[dict], None], words: str
) -> None:
    folder = copy("e2e_qwen3")

    def edit_one(described: dict) -> None:
        (case,) = described["cases"] = described["cases"][4:]  # the shortest
        edit(case)

    change(folder / "cases.json", edit_one)
    features, changed = folder / "features.safetensors", lambda tensors: tensors.update({"prompt_0.features": mx.zeros((15, 128))})
    change_tensors(features, changed)
    missed = check_case(folder).miss
    assert words in missed and "features differ" in missed


@pytest.mark.parametrize(
    "edit",
    [
        lambda folder: (folder / "rounds.json").write_text("{}"),
        lambda folder: (folder / "rounds.json").write_text("[1"),
        lambda folder: change(folder / "rounds.json", lambda described: described.update(rounds=[])),
        lambda folder: change(folder / "rounds.json", lambda described: described["rounds"].pop()),
        lambda folder: (folder / "rounds.json").unlink(),
        lambda folder: (folder / "rounds.safetensors").write_bytes(b""),
        lambda folder: (folder / "target.safetensors").unlink(),
        lambda folder: change_tensors(folder / "rounds.safetensors", lambda tensors: tensors.pop("round_03.candidates")),
        lambda folder: change(folder / "drafter" / "config.json", lambda config: config.update(architectures=["SomethingElse"])),
        lambda folder: shutil.rmtree(folder / "drafter"),
    ],
)
def test_a_case_that_cannot_be_checked_fails(copy: Callable[[str], Path], edit: Callable[[Path], None]) -> None:
    folder = copy("06_dflash2")
    edit(folder)
    (result,) = check(folder.parent)
    assert result.miss


def test_an_unsupported_case_fails_with_its_reason(copy: Callable[[str], Path]) -> None:
    folder = copy("01_v1_full")
    change(folder / "drafter" / "config.json", lambda config: config.update(architectures=["SomethingElse"]))
    assert "not supported" in check_case(folder).miss
    assert "SomethingElse" in check_case(folder).miss


def test_the_programs_exit_code(copy: Callable[[str], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = copy("09_v1_noncausal_swa")
    assert main([str(folder)]) == 0 and main([str(folder.parent)]) == 0
    assert "largest difference: hidden" in capsys.readouterr().out
    (tmp_path / "stray").mkdir()
    assert main([str(tmp_path)]) == 1
    assert "MISS  stray" in capsys.readouterr().out
    assert main([str(tmp_path / "stray")]) == 2
    assert main([str(tmp_path / "nowhere")]) == 2
    assert main([str(folder / "rounds.json")]) == 2
