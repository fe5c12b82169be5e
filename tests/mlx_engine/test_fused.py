"""Joined products against mlx-lm's own layers: the same numbers bit for bit (on the wheel's BLAS), and no byte held twice."""

import mlx.core as mx
import mlx.nn as nn
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlx.utils import tree_flatten
from mlx_lm.models.cache import make_prompt_cache
from mlx_lm.utils import quantize_model

from mlx_engine.targets.fused import Fusion
from tests.mlx_engine.tiny_families import VOCABULARY, build

JOINED = {"qwen3": 6, "qwen3_moe": 3}  # parts of three layers; experts are left as they are


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
@given(passes=st.lists(st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=20), min_size=1, max_size=4))
def test_every_pass_is_the_models_own_bit_for_bit(name: str, bits: int, passes: list[list[int]]) -> None:
    model = built(name, bits)
    expected = answers(model, passes)
    fusion = Fusion(model.layers)
    assert len(fusion.parts) == JOINED[name]
    for ours, own in zip(answers(model, passes), expected, strict=True):
        assert mx.array_equal(ours, own).item()


@pytest.mark.parametrize("bits", [16, 4])
def test_no_weight_is_held_twice(bits: int) -> None:
    model = built("qwen3", bits)
    mx.clear_cache()
    before = mx.get_active_memory()
    fusion = Fusion(model.layers)
    mx.clear_cache()
    norms = sum(layer.self_attn._norms.nbytes for layer in model.layers)
    assert mx.get_active_memory() - before <= norms + 64 * 1024  # small arrays are rounded up to pages
    assert fusion.parts


def test_weights_keep_their_names_and_numbers_and_parts_come_back() -> None:
    model = built("qwen3", 4)
    own = [(layer.self_attn, layer.mlp) for layer in model.layers]
    before = numbers(model)
    fusion = Fusion(model.layers)
    assert all(layer.self_attn is not attention for layer, (attention, _) in zip(model.layers, own, strict=True))
    after = numbers(model)
    assert before.keys() == after.keys() and all(mx.array_equal(before[name], after[name]).item() for name in before)
    fusion.release()
    assert [(layer.self_attn, layer.mlp) for layer in model.layers] == own


def numbers(model: nn.Module) -> dict[str, mx.array]:
    return {name: mx.array(array) for name, array in tree_flatten(model.parameters())}


def test_parts_that_are_quantised_unlike_each_other_stay_as_they_are() -> None:
    model = built("qwen3", 16)
    for layer in model.layers:
        layer.self_attn.q_proj = layer.self_attn.q_proj.to_quantized(group_size=32, bits=8)
        layer.mlp.up_proj = nn.Linear(64, 64, bias=True)
    assert Fusion(model.layers).parts == []


def test_another_family_stays_as_it_is() -> None:
    model = build("gpt_oss")
    assert Fusion(model.layers).parts == []
