"""LoRA weights: what is saved is merged, and one that can't be used is ignored with a reason."""

import json
import shutil
from pathlib import Path

import mlx.core as mx
import pytest

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import PairInfo
from mlx_engine.drafters.parts.block_tensors import matrices
from mlx_engine.drafters.registry import parse
from mlx_engine.engine.engine import Engine
from mlx_engine.loading import lora
from mlx_engine.loading.drafter_files import read
from mlx_engine.models.files.checkpoint import weights_checksum
from mlx_engine.models.files.tuning_files import LoraRecord, lora_path, read_record, remove_lora
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.conftest import GOLDEN

EARLIER = Path(__file__).parents[2] / "earlier_files"
PROMPT = (73, 122, 51, 37, 73, 117, 82, 108)


@pytest.fixture(params=["e2e_qwen3", "e2e_qwen3_5"])
def pair(request, tmp_path) -> tuple[Path, Path]:
    """Folders of a target and a drafter: DFlash, and DFlash 2."""
    return tuple(Path(shutil.copytree(GOLDEN / request.param / part, tmp_path / part)) for part in ("target", "drafter"))


def save(target: Path, drafter: Path, scale: float = 0.3) -> Path:
    """Save random LoRA weights."""
    config = parse(json.loads((drafter / "config.json").read_text()))
    tensors = {}
    for name, (rows, columns) in matrices(config).items():
        tensors |= {f"{name}.lora_a": mx.random.normal((2, columns)), f"{name}.lora_b": scale * mx.random.normal((rows, 2))}
    record = LoraRecord(weights_checksum(drafter), weights_checksum(target), "2026-11-30", 2.0, 3.0, 4.0, 4.5)
    file = lora_path(drafter, target)
    lora.save(file, tensors, record)
    return file


def loaded(engine: Engine, *folders: Path, tuned: bool = True) -> PairInfo:
    info = list(engine.load(*folders, tuned=tuned))[-1]
    assert isinstance(info, PairInfo)
    return info


def test_a_record_is_read_as_it_was_saved(pair):
    record = read_record(save(*pair))
    assert (record.date, record.before, record.after, record.general_before, record.general_after) == (
        "2026-11-30",
        2.0,
        3.0,
        4.0,
        4.5,
    )


def test_lora_weights_of_an_earlier_version_are_used(tmp_path):
    target, drafter = (Path(shutil.copytree(GOLDEN / "e2e_qwen3" / part, tmp_path / part)) for part in ("target", "drafter"))
    shutil.copy(EARLIER / lora_path(drafter, target).name, drafter)
    assert loaded(Engine(), target, drafter).tuned


def test_merging_adds_the_product_of_both_matrices(pair):
    target, drafter = pair
    file = save(*pair)
    before, after, tensors = read(drafter), read(drafter), mx.load(str(file))
    lora.merge(after, file, drafter, target)
    assert before.keys() == after.keys()
    for name in before:
        expected = before[name]
        if f"{name.removesuffix('.weight')}.lora_a" in tensors:
            a, b = (tensors[f"{name.removesuffix('.weight')}.lora_{part}"] for part in "ab")
            assert not mx.array_equal(after[name], before[name])
            expected = (before[name].astype(mx.float32) + b @ a).astype(before[name].dtype)
        assert after[name].dtype == before[name].dtype and mx.array_equal(after[name], expected)


def test_a_quantized_drafter_stays_quantized():
    weight = mx.random.normal((8, 64))
    packed, scales, biases = mx.quantize(weight, group_size=32, bits=4)
    published = {"fc.weight": packed, "fc.scales": scales, "fc.biases": biases}
    a, b = mx.random.normal((2, 64)), mx.random.normal((8, 2))
    stored = parse(
        json.loads((GOLDEN / "e2e_qwen3" / "drafter" / "config.json").read_text()) | {"quantization": {"bits": 4, "group_size": 32}}
    )
    changed = lora.merged(published, {"fc.lora_a": a, "fc.lora_b": b}, stored.stored)
    expected = mx.quantize(mx.dequantize(packed, scales, biases, group_size=32, bits=4) + b @ a, group_size=32, bits=4)
    assert all(
        mx.array_equal(changed[f"fc.{part}"], array) for part, array in zip(("weight", "scales", "biases"), expected, strict=True)
    )


@pytest.mark.parametrize("temperature", [pytest.param(0.0, marks=pytest.mark.long), 1.0])
def test_text_is_the_same_with_and_without_lora_weights(pair, temperature):
    engine = Engine()
    assert not loaded(engine, *pair).tuned
    request = tokens(PROMPT, temperature, max_tokens=12 if temperature else 60, seed=4, ignore_eos=True, width=8)
    before = reply(engine, request)
    save(*pair)
    info = loaded(engine, *pair)
    assert info.tuned and info.why_not_tuned is None
    after = reply(engine, request)
    assert after.tokens == before.tokens and after.stats.tuned and not before.stats.tuned
    assert temperature or after.stats.accepted_per_round != before.stats.accepted_per_round
    assert not loaded(engine, *pair, tuned=False).tuned
    assert reply(engine, request).tokens == before.tokens


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def empty(file: Path) -> None:
    file.write_bytes(b"")


def change(file: Path, change_tensors) -> None:
    tensors, header = mx.load(str(file), return_metadata=True)
    mx.eval(tensors)
    change_tensors(tensors)
    mx.save_safetensors(str(file), tensors, metadata=header)


def not_finite(file: Path) -> None:
    change(file, lambda tensors: tensors.update({"fc.lora_a": tensors["fc.lora_a"] * mx.inf}))


def misshapen(file: Path) -> None:
    change(file, lambda tensors: tensors.update({"fc.lora_a": tensors["fc.lora_a"][:, :-1]}))


def half_missing(file: Path) -> None:
    change(file, lambda tensors: tensors.pop("fc.lora_a"))


def for_an_unknown_matrix(file: Path) -> None:
    change(file, lambda tensors: tensors.update({f"layers.99.{part}": tensors.pop(f"fc.{part}") for part in ("lora_a", "lora_b")}))


def flat(file: Path) -> None:
    change(file, lambda tensors: tensors.update({"fc.lora_a": tensors["fc.lora_a"][0]}))


def without_record(file: Path) -> None:
    mx.save_safetensors(str(file), {"fc.lora_a": mx.zeros((1, 1))})


DAMAGES = [cut_short, empty, not_finite, misshapen, flat, half_missing, for_an_unknown_matrix, without_record]


@pytest.mark.parametrize("pair", ["e2e_qwen3", pytest.param("e2e_qwen3_5", marks=pytest.mark.long)], indirect=True)
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_ignored_with_a_reason(pair, damage):
    damage(save(*pair))
    info = loaded(Engine(), *pair)
    assert not info.tuned
    assert str(info.why_not_tuned).startswith("The tuned drafter in tuned-") and "is damaged" in str(info.why_not_tuned)


def test_lora_weights_for_other_weights_are_not_used(pair):
    target, drafter = pair
    file = save(*pair)
    weights = mx.load(str(drafter / "model.safetensors"))
    mx.eval(weights)
    name = min(weights)
    mx.save_safetensors(str(drafter / "model.safetensors"), weights | {name: weights[name] + 1})
    assert "has changed" in str(loaded(Engine(), *pair).why_not_tuned)
    weights = mx.load(str(target / "model.safetensors"))
    mx.eval(weights)
    name = next(name for name in weights if name.endswith("model.norm.weight"))
    mx.save_safetensors(str(target / "model.safetensors"), weights | {name: weights[name] + 1})
    assert lora_path(drafter, target) != file  # the weights for another target aren't a problem of this one
    info = loaded(Engine(), *pair)
    assert not info.tuned and info.why_not_tuned is None


def test_removing_keeps_the_lora_weights_for_other_targets(pair):
    target, drafter = pair
    file = save(*pair)
    other = Path(shutil.copy(file, drafter / "tuned-0123456789ab.safetensors"))
    assert remove_lora(drafter, target) == file
    assert sorted(each.name for each in drafter.iterdir()) == ["config.json", "model.safetensors", other.name]
    assert remove_lora(drafter, target) is None


def test_a_full_disk_leaves_the_old_lora_weights(pair, monkeypatch):
    file = save(*pair)
    before = file.read_bytes()

    def full(path: str, *_: object, **__: object) -> None:
        Path(path).write_bytes(b"part")
        raise RuntimeError("No space left on device")

    monkeypatch.setattr(mx, "save_safetensors", full)
    with pytest.raises(UserError, match="No space left"):
        save(*pair)
    assert file.read_bytes() == before
    assert sorted(each.name for each in file.parent.iterdir()) == ["config.json", "model.safetensors", file.name]
