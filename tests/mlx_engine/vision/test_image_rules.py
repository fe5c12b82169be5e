"""Sizes, tokens and masks of images, from a target's files."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file
from transformers.models.gemma4.image_processing_pil_gemma4 import get_aspect_ratio_preserving_size
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import smart_resize

from mlx_engine.contract.errors import UserError
from mlx_engine.contract.requests import Detail
from mlx_engine.vision.gemma_rules import GemmaRules
from mlx_engine.vision.image_rules import ImageRules, PixelScale
from mlx_engine.vision.qwen_rules import QwenRules
from mlx_engine.vision.vision_checkpoint import read_rules, sees
from mlx_engine.vision.vision_fields import VisionFields
from tests.golden import vision_case
from tests.mlx_engine.conftest import GOLDEN

VISION = GOLDEN / "vision"
FAMILIES = ("qwen3_5", "qwen3_vl", "gemma4_bidirectional", "gemma4_causal", "gemma4_unified")
DETAILS: tuple[Detail, ...] = ("low", "auto", "high")
COMMON: dict[str, Any] = dict(token=3, start=1, end=2, hidden=64, packed=0, values=0)
# As published: the fields of these objects are the defaults
QWEN = QwenRules.read({**COMMON, "family": "qwen3_5"}, *[VisionFields("", {})] * 3)
GEMMA = GemmaRules.read({**COMMON, "family": "gemma4"}, *[VisionFields("", {})] * 3)
UNIFIED = GemmaRules.read({**COMMON, "family": "gemma4_unified"}, *[VisionFields("", {})] * 3)
SIDES = st.integers(1, 20_000)


def read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


def golden_rules(family: str) -> ImageRules:
    return read_rules(VISION / family, read(VISION / family / "config.json"))


@pytest.mark.parametrize("family", FAMILIES)
def test_pictures_get_the_reference_sizes_and_soft_tokens(family: str) -> None:
    rules, described = golden_rules(family), read(VISION / family / "cases.json")
    for name, picture in described["images"].items():
        size = rules.size(*picture["upright_size"])
        assert size == tuple(picture["resized_size"]), name
        assert rules.grid(*size) == vision_case.grid(picture)
        assert np.prod(rules.grid(*size)) == picture["soft_tokens"]


@pytest.mark.parametrize("family", FAMILIES)
def test_tokens_around_images_are_those_of_the_reference_prompts(family: str) -> None:
    rules, described = golden_rules(family), read(VISION / family / "cases.json")
    assert (rules.start, rules.token, rules.end) == tuple(described["special_ids"][text] for text in rules.texts)
    for prompt in vision_case.prompts(described):
        for span in prompt.spans:
            ids = prompt.described["input_ids"][span.start - 1 : span.end + 1]
            assert ids == [rules.start, *[rules.token] * (span.end - span.start), rules.end]
    for case in described["cases"]:
        written = case["rendered"].count(rules.texts[0])
        assert written == (0 if rules.wraps else len(case["images"]))


def test_a_folder_tells_whether_its_target_sees(tmp_path: Path) -> None:
    for family in FAMILIES:
        assert sees(VISION / family, read(VISION / family / "config.json"))
    config = read(VISION / "qwen3_5" / "config.json")
    assert not sees(tmp_path, config)  # without the tower
    assert not sees(VISION / "qwen3_5", {**config, "model_type": "qwen3"})


def test_masks_and_positions_follow_the_config() -> None:
    found = {family: (golden_rules(family).mask, golden_rules(family).sections) for family in FAMILIES}
    assert found == {
        "qwen3_5": ("causal", (4, 2, 2)),
        "qwen3_vl": ("causal", (6, 5, 5)),
        "gemma4_bidirectional": ("sliding", None),
        "gemma4_causal": ("causal", None),
        "gemma4_unified": ("all", None),
    }
    assert UNIFIED.mask == "all" and GEMMA.mask == "causal"
    off = VisionFields("", {"use_bidirectional_attention": None})
    assert GemmaRules.read({**COMMON, "family": "gemma4_unified"}, *[VisionFields("", {})] * 2, off).mask == "causal"


@given(SIDES, SIDES)
def test_published_sizes_keep_their_bounds(width: int, height: int) -> None:
    for rules, most in ((QWEN, (256, 2048, 4096)), (GEMMA, (70, 280, 1120)), (UNIFIED, (70, 280, 1120))):
        counts = []
        for detail in DETAILS:
            if rules is QWEN and max(width, height) > 200 * min(width, height):
                with pytest.raises(UserError, match="200 times"):
                    rules.size(width, height, detail)
                continue
            size = rules.size(width, height, detail)
            assert all(side > 0 and side % rules.side == 0 for side in size)
            counts.append(int(np.prod(rules.grid(*size))))
        # A row or column of tokens at least: the narrowest images exceed Qwen's smaller bounds
        assert all(count <= max(bound, 32 * 15) for count, bound in zip(counts, most, strict=False))
        assert counts == sorted(counts)


@given(SIDES, SIDES, st.sampled_from(DETAILS))
def test_sizes_equal_those_of_the_reference_processors(width: int, height: int, detail: Detail) -> None:
    tokens = {"low": 70, "auto": 280, "high": 1120}[detail]
    for rules in (GEMMA, UNIFIED):
        assert rules.size(width, height, detail) == get_aspect_ratio_preserving_size(height, width, 16, 9 * tokens, 3)[::-1]
    if max(width, height) <= 200 * min(width, height):
        most = {"low": 262_144, "auto": 2_097_152, "high": 4_194_304}[detail]
        assert QWEN.size(width, height, detail) == smart_resize(height, width, 32, 65_536, most)[::-1]


def test_images_of_another_budget() -> None:
    large = GemmaRules.read(
        {**COMMON, "family": "gemma4"}, VisionFields("", {}), VisionFields("", {"max_soft_tokens": 140}), VisionFields("", {})
    )
    assert [int(np.prod(large.grid(*large.size(1000, 1000, detail)))) for detail in DETAILS] == [64, 121, 529]
    # A tower has no positions beyond its table
    with pytest.raises(UserError, match=r"position_embedding_size” is 2 \(expected: 3 to "):
        GemmaRules.read(
            {**COMMON, "family": "gemma4"}, VisionFields("", {"position_embedding_size": 2}), *[VisionFields("", {})] * 2
        )
    short = GemmaRules.read(
        {**COMMON, "family": "gemma4"}, VisionFields("", {"position_embedding_size": 100}), *[VisionFields("", {})] * 2
    )
    assert short.size(10_000, 10, "high") == (33 * 48, 48)


HOSTILE = st.sampled_from(
    [
        None,
        True,
        False,
        -1,
        0,
        1,
        2,
        3,
        7,
        64,
        10**30,
        -0.5,
        0.5,
        1e300,
        float("nan"),
        float("inf"),
        "",
        "vision",
        [],
        [1],
        [0.5] * 3,
        {},
    ]
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Copies of the reference targets for tests to break."""
    base = tmp_path_factory.mktemp("vision")
    return {family: Path(shutil.copytree(VISION / family, base / family)) for family in FAMILIES}


@given(st.sampled_from(FAMILIES), st.data())
def test_any_settings_give_rules_or_a_reason(folders: dict[str, Path], family: str, data: st.DataObject) -> None:
    folder = folders[family]
    (name,) = {"preprocessor_config.json", "processor_config.json"} & {path.name for path in (VISION / family).iterdir()}
    config, processor = read(VISION / family / "config.json"), read(VISION / family / name)
    places = [
        config,
        config["text_config"],
        config["vision_config"],
        config["text_config"].get("rope_parameters", {}),
        processor,
        *(each for each in processor.values() if type(each) is dict),
    ]
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(places))
        field = data.draw(st.sampled_from([*place, "min_pixels", "max_pixels", "head_dim", "num_attention_heads"]))
        place[field] = data.draw(HOSTILE)
        if data.draw(st.booleans()):
            del place[field]
    (folder / name).write_text(json.dumps(processor), encoding="utf-8")
    try:
        rules = read_rules(folder, config)
        for detail in DETAILS:
            size = rules.size(data.draw(SIDES), data.draw(SIDES), detail)
            assert min(size) >= rules.side and not any(side % rules.side for side in size)
            assert rules.pass_bytes(rules.grid(*size), 4) > 0
    except UserError as error:
        assert error.text.code in ("vision_field_unusable", "family_without_images", "no_tower", "image_too_narrow")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model_type": "qwen3"}, "“qwen3” family"),
        ({"model_type": "kimi_k25"}, "“kimi_k25” family"),
        ({"model_type": None}, "“None” family"),
        ({"vision_config": None}, "lacks the vision part"),
        ({"vision_config": []}, "“vision_config” is []"),
        ({"image_token_id": 288}, "“config.json, image_token_id” is 288 (expected: 0 to 287)"),
        ({"image_token_id": 259}, "is 259 (expected: ≠ 259, 260)"),
        ({"image_token_id": True}, "is true"),
        ({"text_config": "none"}, "“text_config” is \"none\""),
        ({"vision_config": {"deepstack_visual_indexes": [5]}}, "“vision_config, deepstack_visual_indexes” is [5]"),
        ({"vision_config": {"out_hidden_size": 65}}, "out_hidden_size” is 65 (expected: 64)"),
        ({"vision_config": {"patch_size": 14}}, "“preprocessor_config.json, patch_size” is 16 (expected: 14)"),
        ({"vision_config": {"num_heads": 7}}, "num_heads” is 7"),
        ({"vision_config": {"num_position_embeddings": 65}}, "num_position_embeddings” is 65"),
        ({"vision_config": {"depth": 10**9}}, "depth” is 1000000000 (expected: 1 to 256)"),
    ],
)  # fmt: skip
def test_a_target_that_cannot_see_says_why(changes: dict[str, Any], words: str) -> None:
    config = read(VISION / "qwen3_5/config.json")
    with pytest.raises(UserError) as caught:
        read_rules(VISION / "qwen3_5", config | changes)
    assert words in str(caught.value)


@pytest.mark.parametrize("blocks", [[2, 0], [0, 0], [4], [-1], [0, 1, 2, 3, 4], [True], "0", 1])
def test_deepstack_that_does_not_fit_the_tower_is_refused(blocks: Any) -> None:
    config = read(VISION / "qwen3_vl/config.json")
    config["vision_config"]["deepstack_visual_indexes"] = blocks
    with pytest.raises(UserError, match="deepstack_visual_indexes"):
        read_rules(VISION / "qwen3_vl", config)


def test_deepstack_as_published() -> None:
    rules = QwenRules.read({**COMMON, "family": "qwen3_vl"}, *[VisionFields("", {})] * 2, VisionFields("", {"head_dim": 128}))
    assert (rules.deepstack, rules.sections) == ((8, 16, 24), (24, 20, 20))
    assert rules.token_bytes(2) == 4 * QWEN.token_bytes(2)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mrope_section": [4, 2, 1]}, "“rope_parameters, mrope_section” is [4, 2, 1] (expected: a + b + c = 8)"),
        ({"mrope_section": [4, 4]}, "is [4, 4]"),
        ({"mrope_section": [9, -2, 1]}, "is [9, -2, 1]"),
        ({"mrope_section": [4, 2, True]}, "is [4, 2, true]"),
        ({"mrope_section": 8}, "is 8"),
        ({"mrope_section": None}, "is [11, 11, 10]"),
        ({"partial_rotary_factor": 0.25}, "is [4, 2, 2] (expected: a + b + c = 4)"),
        ({"mrope_interleaved": False}, "mrope_interleaved” is false (expected: true)"),
    ],
)  # fmt: skip
def test_rows_of_positions_that_do_not_fit_a_head_are_refused(changes: dict[str, Any], words: str) -> None:
    config = read(VISION / "qwen3_5/config.json")
    config["text_config"]["rope_parameters"] |= changes
    with pytest.raises(UserError) as caught:
        read_rules(VISION / "qwen3_5", config)
    assert words in str(caught.value)


def test_a_processor_that_cannot_be_read_is_named(folders: dict[str, Path], tmp_path: Path) -> None:
    folder = Path(shutil.copytree(VISION / "qwen3_5", tmp_path / "copy"))
    config = read(folder / "config.json")
    without = read_rules(folder, config)
    (folder / "processor_config.json").write_text(
        json.dumps({"image_processor": {"size": {"shortest_edge": 8192, "longest_edge": 16_384}}})
    )
    preferred = read_rules(folder, config)
    assert isinstance(without, QwenRules) and (without.least, without.most) == (4096, 24_576)
    assert isinstance(preferred, QwenRules) and (preferred.least, preferred.most) == (8192, 16_384)
    for content in ("[", "[1]", "null"):
        (folder / "processor_config.json").write_text(content)
        with pytest.raises(UserError, match=r"“processor_config\.json” is"):
            read_rules(folder, config)
    for name in ("processor_config.json", "preprocessor_config.json"):
        (folder / name).unlink()
    usual = read_rules(folder, config)
    assert isinstance(usual, QwenRules) and (usual.least, usual.most) == (65_536, 16_777_216)


def test_weights_without_the_tower_are_named(tmp_path: Path) -> None:
    for family in FAMILIES:
        folder = Path(shutil.copytree(VISION / family, tmp_path / family))
        file = folder / "model.safetensors"
        save_file({name: array for name, array in load_file(file).items() if "language_model" in name}, file)
        with pytest.raises(UserError, match="lacks the vision part"):
            read_rules(folder, read(folder / "config.json"))
        file.write_bytes(b"\x08")
        with pytest.raises(UserError, match="can't be read"):
            read_rules(folder, read(folder / "config.json"))


def test_a_tensor_with_two_names_is_refused(tmp_path: Path) -> None:
    folder = Path(shutil.copytree(VISION / "qwen3_5", tmp_path / "copy"))
    config, bias = read(folder / "config.json"), load_file(folder / "model.safetensors")["model.visual.merger.norm.bias"]
    for names in (["visual.merger.norm.bias"], ["vision_tower.merger.norm.bias"]):
        save_file(dict.fromkeys(names, bias), folder / "model-extra.safetensors")
        with pytest.raises(UserError, match=r"merger\.norm\.bias.* stored twice"):
            read_rules(folder, config)


def test_weight_bytes_follow_the_number_format() -> None:
    rules = golden_rules("qwen3_5")
    tensors = load_file(VISION / "qwen3_5/model.safetensors")
    stored = sum(array.nbytes for name, array in tensors.items() if ".visual." in name)
    assert rules.weight_bytes(4) == stored and rules.weight_bytes(2) == stored // 2


def test_levels_become_numbers_channel_by_channel() -> None:
    scale = PixelScale(1 / 255, (0.5, 0.25, 0.0), (0.5, 1.0, 2.0))
    found = scale(np.array([[[0, 0, 0], [255, 255, 255]]], np.uint8))
    assert found.dtype == np.float32
    assert found.tolist() == [[[-1.0, -0.25, 0.0], [1.0, 0.75, 0.5]]]
