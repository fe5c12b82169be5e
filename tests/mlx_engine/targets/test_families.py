"""Every family on a tiny random model: taps, plain decoding, rewinds and copies against mlx-lm's own unwrapped model.

On the wheel's BLAS all of it is compared bit for bit, except where mlx-lm itself computes a row in another way when it is alone.
"""

from functools import cache

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlx_lm.generate import generate_step
from mlx_lm.models.cache import CacheList, KVCache, RotatingKVCache, make_prompt_cache
from mlx_lm.utils import MODEL_REMAPPING

from mlx_engine.decoding.prefill import prefill
from mlx_engine.models.configs import families
from mlx_engine.targets.caches import ADAPTERS
from mlx_engine.targets.target import Target
from tests.examples import SAMPLE, sampled
from tests.mlx_engine.targets.target_passes import fork
from tests.mlx_engine.tiny_families import CONFIGS, FAMILIES, SLIDING, TWO_FORMULAS, VOCABULARY, build, text

few = sampled(2)


@cache
def target_of(name: str) -> Target:
    """The wrapped target with all layers tapped."""
    family = families.FAMILIES[CONFIGS[name]["model_type"]]
    return Target(build(name), VOCABULARY, family, range(text(name)["num_hidden_layers"]))


@cache
def untouched(name: str) -> nn.Module:
    """mlx-lm's unwrapped model with the same weights."""
    return build(name)


def draw(count: int, seed: int) -> list[int]:
    return np.random.default_rng(seed).integers(3, VOCABULARY, count).tolist()


def alone(model: nn.Module, tokens: list[int], caches: list, in_block: bool) -> mx.array:
    """Run a pass with mlx-lm alone. With `in_block`, a rotating cache treats a single row like a block."""
    rotating = [part for part in parts(caches) if isinstance(part, RotatingKVCache)] if in_block else []
    for part in rotating:
        part.update_and_fetch = part._update_concat
    logits = model(mx.array(tokens)[None], cache=caches)[0]
    for part in rotating:
        del part.update_and_fetch
    return logits


def parts(caches: list) -> list:
    return [part for each in caches for part in (each.caches if isinstance(each, CacheList) else (each,))]


def contents(caches: list) -> list:
    """Everything that decoding reads from caches: numbers, and arrays without spare rows."""
    held = []
    for part in parts(caches):
        if isinstance(part, KVCache | RotatingKVCache):
            held += [part.offset, getattr(part, "_idx", None), *(part.keys_and_values() if part.keys is not None else ())]
        else:
            held += part.cache
    return held


def assert_same(name: str, ours: list, theirs: list) -> None:
    assert len(ours) == len(theirs)
    for mine, reference in zip(ours, theirs, strict=True):
        if not isinstance(reference, mx.array):
            assert mine == reference
        elif name in TWO_FORMULAS:
            assert mine.shape == reference.shape and mx.abs(mine - reference).max().item() < 1e-4
        else:
            assert np.array_equal(np.array(mine), np.array(reference))


@pytest.mark.parametrize("name", FAMILIES)
def test_the_table_lists_the_caches_of_every_family(name):
    family = families.FAMILIES[CONFIGS[name]["model_type"]]
    caches = make_prompt_cache(untouched(name))
    assert {type(each).__name__ for each in [*caches, *parts(caches)]} <= set(family.caches)
    assert set(family.caches) <= {kind.__name__ for kind in ADAPTERS}


def test_mlx_lm_knows_every_family_of_the_table_and_each_is_tested():
    from importlib.util import find_spec

    for model_type in families.FAMILIES:
        assert find_spec(f"mlx_lm.models.{MODEL_REMAPPING.get(model_type, model_type)}"), model_type
    alike = {"minimax": "minimax_m2", "kimi_k2": "deepseek_v3", "deepseek_v32": "glm_moe_dsa"}  # the same classes of mlx-lm
    tried = {config["model_type"] for config in CONFIGS.values()}
    assert {alike.get(model_type, model_type) for model_type in families.FAMILIES} == tried


@pytest.mark.parametrize("name", ["qwen3_5", "llama"])
def test_the_last_tap_is_the_final_norm(name):
    target = Target(build(name), VOCABULARY, families.FAMILIES[CONFIGS[name]["model_type"]], [text(name)["num_hidden_layers"]])
    logits, features = target.forward_tapped(mx.array(draw(9, 4)), target.caches())
    assert mx.allclose(target.head(features[None])[0], logits, atol=1e-5).item()
    target.release()
    assert isinstance(target._backbone.norm, nn.RMSNorm)


@pytest.mark.parametrize("name", FAMILIES)
def test_taps_equal_the_layer_outputs_of_an_unwrapped_model(name, monkeypatch):
    model, target = untouched(name), target_of(name)
    theirs, ours = make_prompt_cache(model), target.caches()
    layers = families.FAMILIES[CONFIGS[name]["model_type"]].backbone
    first = model
    for step in layers.split("."):
        first = getattr(first, step)
    layer = type(first.layers[0])
    original, outputs = layer.__call__, []

    def watched(self, *args, **kwargs):
        result = original(self, *args, **kwargs)
        outputs.append(result[0] if isinstance(result, tuple) else result)
        return result

    for rows, seed in ((13, 1), (5, 2), (1, 3)):
        tokens = draw(rows, seed)
        logits, features = target.forward_tapped(mx.array(tokens), ours)
        with monkeypatch.context() as patched:
            patched.setattr(layer, "__call__", watched)
            reference = model(mx.array(tokens)[None], cache=theirs)[0]
        assert np.array_equal(np.array(features), np.array(mx.concatenate(outputs, axis=-1)[0]))
        assert np.array_equal(np.array(logits), np.array(reference))
        outputs.clear()


@pytest.mark.parametrize("name", FAMILIES)
def test_plain_decoding_equals_mlx_lms_bit_for_bit(name):
    prompt, target = draw(21, 4), target_of(name)
    steps = generate_step(mx.array(prompt), untouched(name), max_tokens=10 if SAMPLE else 24)
    caches = target.caches()
    list(prefill(target, caches, prompt, None, None))
    logits = target.forward(mx.array(prompt[-1:]), caches)
    for token, theirs in steps:
        ours = logits[0] - mx.logsumexp(logits[0])
        assert np.array_equal(np.array(ours), np.array(theirs))
        assert mx.argmax(ours).item() == token
        logits = target.forward(mx.array([token]), caches)


# rows, how many of them are rejected, and plain steps after them
blocks = st.tuples(st.integers(2, 20), st.sampled_from((0, 0, 1, 2, 3, 5, 8, 19, 20)), st.integers(0, 3))


@pytest.mark.parametrize("name", FAMILIES)
@few
@given(
    prompt=st.integers(1, 30), rounds=st.lists(blocks, min_size=1, max_size=6), last=st.integers(1, 12), seed=st.integers(0, 999)
)
def test_rejected_rows_leave_no_trace_and_copies_are_independent(name, prompt, rounds, last, seed):
    target, model = target_of(name), untouched(name)
    caches, reference = target.caches(), make_prompt_cache(model)
    beginning = draw(prompt, seed)
    target.forward(mx.array(beginning), caches)
    caches.rewind(0)
    alone(model, beginning, reference, in_block=False)
    length = prompt
    passes = [each for wide, refused, steps in rounds for each in [(wide, min(refused, wide)), *[(1, 0)] * steps]]
    for rows, rejected in passes:
        tokens = draw(rows, seed + length)
        logits = target.forward(mx.array(tokens), caches)
        caches.rewind(rejected)
        if kept := rows - rejected:
            theirs = alone(model, tokens[:kept], reference, in_block=rows > 1)
            assert_same(name, [logits[:kept]], [theirs])
        length += kept
        assert caches.length == length
    assert_same(name, contents(caches.layers), contents(reference))

    spare, other = fork(target, caches), fork(target, caches)
    sizes = [sum(array.nbytes for array in each.state) for each in (caches, spare)]
    assert sizes == [sum(each.nbytes for each in caches.layers)] * 2
    for rows in (1, 1, 9, 1, 1):  # the other line of tokens
        target.forward(mx.array(draw(rows, seed + 5)), other)
        other.rewind(rows // 2)
    others = [np.array(each) if isinstance(each, mx.array) else each for each in contents(other.layers)]
    tokens = draw(last, seed + 6)
    assert_same(name, contents(caches.layers), contents(reference))
    logits = target.forward(mx.array(tokens), caches)
    assert_same(name, [logits], [alone(model, tokens, reference, in_block=False)])
    assert all(np.array_equal(now, then) for now, then in zip(contents(other.layers), others, strict=True))
    assert_same(name, [target.forward(mx.array(tokens), spare)], [logits])
    assert caches.length == spare.length == length + last


@pytest.mark.parametrize("name", TWO_FORMULAS)
def test_mlx_lm_itself_computes_a_single_row_with_another_formula(name):
    """So no wrapper can make passes of one row and of several rows agree bit for bit in these families."""
    model = untouched(name)
    ahead, tokens = draw(9, 7), draw(3, 8)
    one, many = make_prompt_cache(model), make_prompt_cache(model)
    for caches in (one, many):
        model(mx.array(ahead)[None], cache=caches)
    together = model(mx.array(tokens)[None], cache=many)[0]
    apart = mx.concatenate([model(mx.array([[token]]), cache=one)[0] for token in tokens])
    assert 0 < mx.abs(together - apart).max().item() < 1e-4


@pytest.mark.parametrize("name", SLIDING)
def test_a_ring_holds_the_same_rows_in_another_order(name):
    """One-row steps leave a ring, blocks leave temporal order, so the last bits of sums differ in mlx-lm itself."""
    model = untouched(name)
    one, many = make_prompt_cache(model), make_prompt_cache(model)
    tokens = draw(30, 9)
    together = model(mx.array(tokens)[None], cache=many)[0]
    apart = mx.concatenate([model(mx.array([[token]]), cache=one)[0] for token in tokens])
    assert mx.abs(together - apart).max().item() < 1e-4


@pytest.mark.parametrize("name", FAMILIES)
def test_release_restores_the_models_own_parts(name):
    model = build(name)
    before = sorted((path, id(module)) for path, module in model.named_modules())
    target = Target(model, VOCABULARY, families.FAMILIES[CONFIGS[name]["model_type"]], (0, 1))
    assert sorted((path, id(module)) for path, module in model.named_modules()) != before
    target.release()
    assert sorted((path, id(module)) for path, module in model.named_modules()) == before
    target.release()
