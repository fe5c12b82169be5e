"""Towers, compared with the reference, and weights that don't fit."""

import gc
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlx.utils import tree_flatten

from mlx_engine.contract.errors import UserError
from mlx_engine.vision import gemma_rules, qwen_rules
from mlx_engine.vision import tower as towers
from mlx_engine.vision.gemma_rules import GemmaRules
from mlx_engine.vision.gemma_tower import GemmaTower
from mlx_engine.vision.image_rules import ImageRules, PixelScale
from mlx_engine.vision.qwen_rules import QwenRules
from mlx_engine.vision.qwen_tower import QwenTower
from mlx_engine.vision.tower import Tower, attend
from mlx_engine.vision.tower_weights import load_tower
from tests.golden import vision_features
from tests.golden.drafter_case import Differences
from tests.mlx_engine.conftest import GOLDEN
from tests.mlx_engine.vision.test_image_rules import GEMMA, QWEN

VISION = GOLDEN / "vision"
FAMILIES = ("qwen3_5", "gemma4_bidirectional", "gemma4_causal", "gemma4_unified")
BLOCKS = 3
Tensors = dict[str, mx.array]


@pytest.mark.parametrize("family", FAMILIES)
def test_pixels_features_and_blocks_agree_with_the_reference(family: str) -> None:
    found, described = Differences(), json.loads((VISION / family / "cases.json").read_text(encoding="utf-8"))
    vision_features.check(found, VISION / family, described, mx.load(str(VISION / family / "arrays.safetensors")))
    assert not found.wrong
    blocks = {f"block {number}" for number in range(BLOCKS + 1)} if family != "gemma4_unified" else set()
    assert found.largest.keys() == {"tower's features"} | blocks


def picture(family: str, name: str = "tiny") -> np.ndarray:
    described = json.loads((VISION / family / "cases.json").read_text(encoding="utf-8"))
    return vision_features.pixels(VISION / family, name, described["images"][name])


def reordered(patches: np.ndarray, shape: tuple[int, ...], axes: tuple[int, ...]) -> np.ndarray:
    return np.ascontiguousarray(patches.reshape(shape).transpose(axes)).reshape(patches.shape)


def clip_scale(rules: ImageRules, tower: Tower) -> ImageRules:
    return replace(rules, scale=PixelScale(1 / 255, (0.48, 0.46, 0.41), (0.27, 0.26, 0.28)))


def without_learned_positions(rules: ImageRules, tower: Tower) -> None:
    tower.pos_embed.weight *= 0


def without_standardizing(rules: ImageRules, tower: Tower) -> None:
    tower.vision_tower.std_bias *= 0
    tower.vision_tower.std_scale = mx.ones_like(tower.vision_tower.std_scale)


def without_clipping(rules: ImageRules, tower: Tower) -> None:
    for _, module in tower.named_modules():
        if "input_max" in module:
            module._clips = False


def with_swapped_axes(rules: ImageRules, tower: Tower) -> None:
    if "vision_tower" in tower:
        embedder = tower.vision_tower.patch_embedder
        embedder.position_embedding_table = embedder.position_embedding_table[::-1]
    else:
        tower.vision_embedder.pos_embedding = tower.vision_embedder.pos_embedding[:, ::-1]


def with_blue_first(patches: np.ndarray) -> np.ndarray:
    return patches.reshape(-1, 3, 512)[:, ::-1].reshape(patches.shape)


def with_an_empty_frame(patches: np.ndarray) -> np.ndarray:
    frames = patches.reshape(-1, 3, 2, 256).copy()
    frames[:, :, 1] = 0
    return frames.reshape(patches.shape)


GEMMAS = FAMILIES[1:]
MISTAKES: list[tuple[str, Callable[..., Any], tuple[str, ...]]] = [
    ("tower", without_learned_positions, FAMILIES[:1]),
    ("tower", without_standardizing, GEMMAS[:1]),
    ("tower", without_clipping, GEMMAS[1:2]),
    ("tower", with_swapped_axes, GEMMAS),
    ("rules", clip_scale, FAMILIES[:1]),
    ("patches", with_blue_first, FAMILIES[:1]),
    ("patches", with_an_empty_frame, FAMILIES[:1]),
    # Row by row, not grouped; y, x, channel inside a patch
    ("patches", lambda patches: reordered(patches, (2, 2, 2, 2, -1), (0, 2, 1, 3, 4)), FAMILIES[:1]),
    ("patches", lambda patches: reordered(patches, (16, 6, 256), (0, 2, 1)), FAMILIES[:1]),
    # Blue first; channel, y, x inside a patch; not from -1 to 1
    ("patches", lambda patches: patches.reshape(-1, 3)[:, ::-1].reshape(patches.shape), GEMMAS),
    ("patches", lambda patches: reordered(patches, (len(patches), -1, 3), (0, 2, 1)), GEMMAS[:2]),
    ("patches", lambda patches: patches / 2 + 0.5, GEMMAS[:2]),
    # Nine patches of 16 pixels one after another
    ("patches", lambda patches: reordered(patches, (-1, 3, 16, 3, 16, 3), (0, 1, 3, 2, 4, 5)), GEMMAS[2:]),
]  # fmt: skip


@pytest.mark.parametrize(
    ("place", "mistake", "family"), [(place, mistake, family) for place, mistake, families in MISTAKES for family in families]
)
def test_mistakes_exceed_the_tolerance(place: str, mistake: Callable[..., Any], family: str) -> None:
    rules, tower = vision_features.load(VISION / family)
    if place != "patches":
        rules = mistake(rules, tower) or rules
    image = rules.prepare(picture(family))
    if place == "patches":
        image = replace(image, patches=mistake(image.patches))
    stored = mx.load(str(VISION / family / "arrays.safetensors"))["image.tiny.features"]
    assert mx.abs(tower(image) - stored).max().item() > 10 * vision_features.FLAT


@pytest.fixture
def copy(tmp_path: Path) -> Callable[[str, Callable[[Tensors], Any]], Path]:
    """Return a function that copies a target and changes its tensors."""

    def make(family: str, edit: Callable[[Tensors], Any]) -> Path:
        folder = Path(shutil.copytree(VISION / family, tmp_path / family, dirs_exist_ok=True))
        tensors = dict(mx.load(str(VISION / family / "model.safetensors")))
        edit(tensors)
        mx.eval(tensors)
        mx.save_safetensors(str(folder / "model.safetensors"), tensors)
        return folder

    return make


def as_mlx_vlm(tensors: Tensors) -> None:
    """Rename tensors as mlx-vlm does, and put the channels of the convolution last."""
    for name, array in [*tensors.items()]:
        del tensors[name]
        if name.endswith("patch_embed.proj.weight"):
            array = array.moveaxis(1, -1)
        tensors[name.removeprefix("model.").replace("visual.", "vision_tower.")] = array


@pytest.mark.parametrize("family", FAMILIES)
def test_names_and_layouts_of_mlx_vlm_give_the_same_features(family: str, copy: Callable[..., Path]) -> None:
    (rules, tower), (other_rules, other) = (vision_features.load(folder) for folder in (VISION / family, copy(family, as_mlx_vlm)))
    assert other_rules == rules
    image = rules.prepare(picture(family))
    assert mx.array_equal(tower(image), other(image))


@pytest.mark.parametrize(("mode", "bits"), [("affine", 4), ("affine", 8), ("mxfp4", 4)])
@pytest.mark.parametrize("family", FAMILIES)
def test_quantized_towers_equal_their_dequantized_weights(family: str, mode: str, bits: int, copy: Callable[..., Path]) -> None:
    changed: set[str] = set()

    def quantize(tensors: Tensors, keep: bool = True) -> None:
        for name, array in [*tensors.items()]:
            fits = (
                array.ndim == 2
                and array.shape[1] % 32 == 0
                and "language_model" not in name
                and "lm_head" not in name
                and name.endswith(".weight")
            )
            if fits:
                parts = mx.quantize(array, group_size=32, bits=bits, mode=mode)
                if keep:
                    tensors |= {
                        name.replace("weight", part): each
                        for part, each in zip(("weight", "scales", "biases"), parts, strict=False)
                    }
                else:
                    tensors[name] = mx.dequantize(*parts, group_size=32, bits=bits, mode=mode, dtype=mx.float32)
                changed.add(name)

    floating = vision_features.load(copy(family, lambda tensors: quantize(tensors, keep=False)))[1]
    rules, tower = vision_features.load(copy(family, quantize))
    image = rules.prepare(picture(family))
    assert len(changed) == (12 if family == "qwen3_5" else 20 if family != "gemma4_unified" else 1)
    assert mx.abs(tower(image) - floating(image)).max().item() < 1e-4
    arrays = [array for _, array in tree_flatten(tower.parameters())]
    assert rules.weight_bytes(4) >= sum(array.nbytes for array in arrays)


def test_a_tower_computes_in_the_given_format() -> None:
    for family in FAMILIES:
        rules, exact = vision_features.load(VISION / family)
        tower = load_tower(VISION / family, rules, mx.bfloat16)
        image = rules.prepare(picture(family))
        features = tower(image)
        assert features.dtype == mx.bfloat16
        assert {array.dtype for _, array in tree_flatten(tower.parameters())} == {mx.bfloat16}
        expected = exact(image)
        assert mx.abs(features - expected).mean().item() < 0.03 * mx.abs(expected).max().item()


def test_the_tower_of_a_float16_target_keeps_values_beyond_its_range(copy: Callable[..., Path]) -> None:
    for family, name in (("qwen3_5", "visual.blocks.1.mlp.linear_fc2.bias"), ("gemma4_bidirectional", "vision_tower.std_bias")):
        folder = copy(family, lambda tensors, name=name: tensors.update({f"model.{name}": mx.full((32,), 1e5).astype(mx.bfloat16)}))
        rules = vision_features.load(folder)[0]
        features = load_tower(folder, rules, mx.float16)(rules.prepare(picture(family)))
        assert features.dtype == mx.bfloat16 and mx.isfinite(features).all().item()


FAULTS: list[tuple[Callable[[mx.array], mx.array | None], str]] = [
    (lambda array: None, "is missing"),
    (lambda array: array[:-1], "has shape"),
    (lambda array: array[:, :-1] if array.ndim > 1 else array[None], "has shape"),
    (lambda array: mx.zeros((0,)), "has shape"),
    (lambda array: array.astype(mx.int32), "is stored as int32"),
    (lambda array: array.at[0].add(float("nan")), "NaN or infinity"),
    (lambda array: array.at[-1].add(float("inf")), "NaN or infinity"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault[1])
@pytest.mark.parametrize("family", FAMILIES)
def test_tensors_that_do_not_fit_are_named(family: str, fault: tuple[Callable[..., Any], str], copy: Callable[..., Path]) -> None:
    rules = vision_features.load(VISION / family)[0]
    names = {
        "qwen3_5": ("pos_embed.weight", "blocks.2.attn.qkv.weight", "merger.norm.bias", "patch_embed.proj.weight"),
        "gemma4_unified": ("vision_embedder.pos_embedding", "embed_vision.embedding_projection.weight"),
    }.get(family, ("vision_tower.encoder.layers.1.self_attn.q_norm.weight", "vision_tower.patch_embedder.position_embedding_table"))
    for name in names:

        def break_one(tensors: Tensors, name: str = name) -> None:
            published = f"model.visual.{name}" if family == "qwen3_5" else f"model.{name}"
            broken = fault[0](tensors.pop(published))
            if broken is not None:
                tensors[published] = broken

        with pytest.raises(UserError) as caught:
            load_tower(copy(family, break_one), rules, mx.float32)
        assert name in str(caught.value) and fault[1] in str(caught.value)


def test_bounds_of_clipped_products_may_be_infinite_but_not_missing(copy: Callable[..., Path]) -> None:
    name = "model.vision_tower.encoder.layers.0.mlp.up_proj.output_max"
    rules = vision_features.load(copy("gemma4_causal", lambda tensors: tensors.update({name: mx.array([float("inf")])})))[0]
    for broken, words in ((mx.array(float("nan")), "NaN"), (mx.zeros((2,)), "has shape")):
        with pytest.raises(UserError, match=words):
            load_tower(copy("gemma4_causal", lambda tensors, broken=broken: tensors.update({name: broken})), rules, mx.float32)
    with pytest.raises(UserError, match="output_max” is missing"):
        load_tower(copy("gemma4_causal", lambda tensors: tensors.pop(name)), rules, mx.float32)


@pytest.mark.parametrize(
    ("part", "shape"),
    [("scales", (96, 0)), ("scales", (96, 3)), ("scales", (96,)), ("weight", (96, 0)), ("weight", ()), ("biases", (1, 1))],
)
def test_quantized_tensors_that_do_not_fit_are_named(part: str, shape: tuple[int, ...], copy: Callable[..., Path]) -> None:
    rules, path = vision_features.load(VISION / "qwen3_5")[0], "model.visual.blocks.0.attn.qkv"

    def edit(tensors: Tensors) -> None:
        packed = zip(("weight", "scales", "biases"), mx.quantize(tensors[f"{path}.weight"], group_size=32), strict=True)
        tensors.update({f"{path}.{name}": array for name, array in packed})
        tensors[f"{path}.{part}"] = mx.zeros(shape, tensors[f"{path}.{part}"].dtype)

    with pytest.raises(UserError, match=r"blocks\.0\.attn\.qkv"):
        load_tower(copy("qwen3_5", edit), rules, mx.float32)


def attention(queries: np.ndarray, keys: np.ndarray, values: np.ndarray, scale: float) -> np.ndarray:
    repeats = queries.shape[1] // keys.shape[1]
    keys, values = (each.repeat(repeats, axis=1).astype(np.float64) for each in (keys, values))
    scores = np.einsum("qhd,khd->hqk", queries.astype(np.float64), keys) * scale
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("hqk,khd->qhd", shares / shares.sum(-1, keepdims=True), values).reshape(len(queries), -1)


@given(
    st.integers(1, 40), st.sampled_from([(1, 1), (2, 2), (4, 2)]), st.sampled_from([4, 16, 72]), st.integers(1, 500), st.booleans()
)
def test_attention_in_chunks_or_padded_equals_attention_at_once(
    patches: int, heads: tuple[int, int], size: int, scores: int, padded: bool
) -> None:
    random = np.random.default_rng(patches)
    queries, keys, values = (
        random.normal(size=(patches, count, size)).astype(np.float32) for count in (heads[0], heads[1], heads[1])
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(towers, "SCORES", scores)
        patch.setattr(towers, "fused_size", lambda size: 80 if padded else None)
        found = attend(*map(mx.array, (queries, keys, values)), 0.3)
    assert found.shape == (patches, heads[0] * size)
    assert np.abs(np.array(found) - attention(queries, keys, values, 0.3)).max() < 1e-5


def test_a_gpu_never_stores_the_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    """Metal's attention without scores exists for some sizes of heads: 72, of most towers, isn't one."""
    assert towers.fused_size(72) is None
    monkeypatch.setattr(mx, "default_device", lambda: mx.gpu)
    assert [towers.fused_size(size) for size in (16, 64, 72, 80, 96, 128, 129)] == [64, 64, 80, 80, 128, 128, None]


@pytest.mark.parametrize("kind", ["qwen", "gemma"])
def test_large_images_need_the_predicted_memory(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (towers, qwen_rules, gemma_rules):
        monkeypatch.setattr(module, "SCORES", 1 << 20)
    rules: ImageRules
    sizes: dict[str, Any] = dict(width=128, heads=16, feed_forward=256, depth=2, hidden=64)
    if kind == "qwen":
        assert isinstance(QWEN, QwenRules)
        rules = replace(QWEN, table=8, **sizes)
        tower: Tower = QwenTower(rules)
    else:
        assert isinstance(GEMMA, GemmaRules)
        rules = replace(GEMMA, table=200, kv_heads=16, head=8, **sizes)
        tower = GemmaTower(rules)
    mx.eval(tower.parameters())
    gc.collect()  # towers of other tests
    grid = (16, 16) if kind == "qwen" else (11, 11)
    image = rules.prepare(np.zeros((grid[0] * rules.side, grid[1] * rules.side, 3), np.uint8))
    needed = rules.heads * len(image.patches) ** 2 * 4
    before = mx.get_active_memory()
    mx.reset_peak_memory()
    mx.eval(tower(image))
    used = mx.get_peak_memory() - before + image.patches.nbytes
    predicted = rules.pass_bytes(grid, 4)
    assert needed > predicted, "the test's images are too small to show anything"
    assert 0.5 * predicted < used <= predicted
