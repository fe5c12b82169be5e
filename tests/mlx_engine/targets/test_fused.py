"""Fused layers compared with mlx-lm's: the same numbers bit for bit (with the wheel's BLAS), and no weight held twice."""

from dataclasses import replace
from functools import partial

import mlx.core as mx
import mlx.nn as nn
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlx.utils import tree_flatten
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.utils import quantize_model

from mlx_engine.kernels.operations import PLAIN
from mlx_engine.targets.fused import Fusion
from mlx_engine.targets.products import KernelLayers
from tests.examples import sampled
from tests.mlx_engine.tiny_families import VOCABULARY, build

# parts of three layers, or of four with one attention (qwen3_5) or two; experts are left as they are
JOINED = {"qwen3": 6, "qwen3_moe": 3, "qwen3_5": 5, "qwen3_next": 2}


def built(name: str, bits: int) -> nn.Module:
    model = build(name)
    if bits < 16:
        model, _ = quantize_model(model, {}, group_size=32, bits=bits)
    mx.eval(model.parameters())
    return model


def answers(model: nn.Module, passes: list[list[int]]) -> list[mx.array]:
    cache = make_prompt_cache(model)
    return [model(mx.array(tokens)[None], cache=cache) for tokens in passes]


@pytest.mark.parametrize("bits", [16, 8, 4])
@pytest.mark.parametrize("name", JOINED)
@sampled(4)
@given(passes=st.lists(st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=20), min_size=1, max_size=4))
def test_every_pass_equals_mlx_lms_bit_for_bit(name: str, bits: int, passes: list[list[int]]) -> None:
    model = built(name, bits)
    expected = answers(model, passes)
    fusion = Fusion(model)
    assert len(fusion.parts) == JOINED[name]
    for ours, own in zip(answers(model, passes), expected, strict=True):
        assert mx.array_equal(ours, own).item()


@pytest.mark.parametrize("bits", [16, 4])
def test_no_weight_is_held_twice(bits: int) -> None:
    model = built("qwen3", bits)
    mx.clear_cache()
    before = mx.get_active_memory()
    fusion = Fusion(model)
    mx.clear_cache()
    norms = sum(layer.self_attn._norms.nbytes + layer.self_attn._rotation[0].nbytes for layer in model.layers)
    assert mx.get_active_memory() - before <= norms + 64 * 1024  # small arrays are rounded up to pages
    assert fusion.parts


@pytest.mark.parametrize("name", JOINED)
def test_weights_keep_names_and_values_and_release_restores_the_layers(name: str) -> None:
    model = built(name, 4)
    own, inside = list(model.layers), [dict(layer) for layer in model.layers]
    before = numbers(model)
    fusion = Fusion(model)
    assert all(layer is not before for layer, before in zip(model.layers, own, strict=True))
    after = numbers(model)
    assert before.keys() == after.keys() and all(mx.array_equal(before[name], after[name]).item() for name in before)
    fusion.release()
    assert all(layer is before for layer, before in zip(model.layers, own, strict=True))
    assert [dict(layer) for layer in model.layers] == inside


def numbers(model: nn.Module) -> dict[str, mx.array]:
    return {name: mx.array(array) for name, array in tree_flatten(model.parameters())}


def test_parts_quantized_in_different_ways_are_not_joined() -> None:
    model = built("qwen3", 16)
    for layer in model.layers:
        layer.self_attn.q_proj = layer.self_attn.q_proj.to_quantized(group_size=32, bits=8)
        layer.mlp.up_proj = nn.Linear(64, 64, bias=True)
    passes = [[1, 2, 3], [4]]
    expected = answers(model, passes)
    assert Fusion(model).parts == []
    assert all(mx.array_equal(ours, own).item() for ours, own in zip(answers(model, passes), expected, strict=True))


def test_other_families_are_left_alone() -> None:
    model = build("gpt_oss")
    own = list(model.layers)
    assert Fusion(model).parts == [] and model.layers == own


@pytest.mark.parametrize("name", ["qwen3", "qwen3_5", "qwen3_next"])
@sampled(5)
@given(
    prompt=st.lists(st.integers(0, VOCABULARY - 1), min_size=17, max_size=20),
    passes=st.lists(st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=16), min_size=1, max_size=3),
)
def test_with_kernels_every_pass_equals_mlx_lms_within_rounding(name: str, prompt: list[int], passes: list[list[int]]) -> None:
    """The kernels are wrapped references here, which take the same code path."""
    model = built(name, 16)
    expected = answers(model, [prompt, *passes])
    fusion = Fusion(model)
    wrapped = {name: partial(getattr(PLAIN, name)) for name in ("attention_inputs", "verify_attention")}
    fusion.use(replace(PLAIN, **wrapped))
    products = KernelLayers([model], partial(PLAIN.verify_matmul))
    for ours, own in zip(answers(model, [prompt, *passes]), expected, strict=True):
        assert mx.allclose(ours, own, rtol=1e-4, atol=1e-4).item()
    products.release()
    fusion.use(PLAIN)
    for ours, own in zip(answers(model, [prompt, *passes]), expected, strict=True):
        assert mx.array_equal(ours, own).item()
