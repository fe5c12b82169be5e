"""Layers that share a compiled function: the same numbers bit for bit, traced once for every set of shapes."""

import gc
from dataclasses import replace
from functools import cache, partial
from itertools import product

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mlx_lm.utils import quantize_model

from mlx_engine.hardware.device import DevicePosition
from mlx_engine.kernels.agreement import CheckedKernel
from mlx_engine.kernels.operations import PLAIN, Operations, with_kernels
from mlx_engine.models.configs import families
from mlx_engine.targets import compiled, fused
from mlx_engine.targets.target import Target
from tests.mlx_engine.kernels.test_operations import asked
from tests.mlx_engine.targets.test_families import contents, draw
from tests.mlx_engine.tiny_families import CONFIGS, VOCABULARY, build

# how many kinds of layers each has: with a delta net or with attention, with experts or without
KINDS = {"qwen3": 1, "qwen3_moe": 1, "qwen3_5": 2, "qwen3_5_moe": 2, "qwen3_next": 2}
# told apart from the table's, so that the way of the kernels is taken, but what runs is plain MLX
LIKE_KERNELS = replace(
    PLAIN,
    **{name: partial(getattr(PLAIN, name)) for name in ("attention_inputs", "delta_inputs", "verify_attention", "verify_matmul")},
)
WAYS = {"plain": PLAIN, "as with kernels": LIKE_KERNELS}
SAMPLED = {
    ("qwen3", 16, "plain"),
    ("qwen3_moe", 16, "as with kernels"),
    ("qwen3_5_moe", 16, "plain"),
    ("qwen3_next", 16, "as with kernels"),
}
SAMPLED |= {("qwen3_5", 16, "plain"), ("qwen3_5", 4, "as with kernels")}
POINTS = [pytest.param(*at, marks=[] if at in SAMPLED else [pytest.mark.long]) for at in product(KINDS, (16, 4), WAYS)]


@cache
def target_of(name: str, bits: int = 16) -> Target:
    model = build(name)
    if bits < 16:
        model, _ = quantize_model(model, {}, group_size=32, bits=bits)
    mx.eval(model.parameters())
    return Target(model, VOCABULARY, families.FAMILIES[CONFIGS[name]["model_type"]], (0,))


def own_layers(target: Target) -> list:
    return target._fusion._layers


def kinds(target: Target) -> int:
    return len({compiled.layer_key(layer) for layer in own_layers(target)})


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("bits", [16, 4])
@pytest.mark.parametrize("name", KINDS)
def test_layers_that_differ_only_in_weights_share_a_function(name: str, bits: int, way: str) -> None:
    target = target_of(name, bits)
    target.use(WAYS[way], compiled=True)
    assert len(own_layers(target)) == CONFIGS[name].get("text_config", CONFIGS[name])["num_hidden_layers"]
    assert kinds(target) == KINDS[name] < len(own_layers(target))


@pytest.mark.parametrize(
    "change",
    [
        lambda layer: setattr(layer.input_layernorm, "eps", 1e-3),
        lambda layer: setattr(layer.self_attn, "scale", 2.0),
        lambda layer: setattr(layer.self_attn.rope, "base", 5.0),
        lambda layer: setattr(layer.self_attn, "_rotation", (layer.self_attn._rotation[0] * 2, 1.0)),
        lambda layer: setattr(layer.mlp.down_proj, "bias", mx.zeros(64)),
        lambda layer: setattr(layer.input_layernorm, "weight", layer.input_layernorm.weight.astype(mx.float16)),
        lambda layer: setattr(layer.self_attn, "attend", print),
        lambda layer: setattr(layer.post_attention_layernorm, "weight", layer.input_layernorm.weight),
    ],
    ids=["eps", "scale", "base", "frequencies", "bias", "dtype", "operation", "one array for two"],
)
def test_layers_that_differ_in_anything_else_do_not(change) -> None:  # type: ignore[no-untyped-def]
    target = Target(build("qwen3"), VOCABULARY, families.FAMILIES["qwen3"], (0,))
    assert kinds(target) == 1
    change(own_layers(target)[1])
    assert kinds(target) == 2


def passes(target: Target, way: Operations, whether: bool, before: int, rows: list[tuple[int, int]]) -> tuple[list, list]:
    """Run a prompt, then passes of (rows, kept rows), each queued behind the previous one; return outputs and caches."""
    target.use(way, compiled=whether)
    caches = target.caches()
    found = [target.forward(mx.array(draw(before, 3)), caches)]
    held, last = before, None
    for index, (count, kept) in enumerate(rows):
        kept = min(kept, count)
        place = DevicePosition.known(held)
        if last is not None:
            place = DevicePosition(mx.array([held]), held - last[1] + 1, held - last[1] + last[0], mx.array([last[1]]))
        found += target.forward_tapped(mx.array(draw(count, index)), caches, place.span(count))
        if last is not None:
            caches.settle(held)
        held, last = held + kept, (count, kept)
    caches.settle(held)
    caches.finish()
    found.append(target.forward(mx.array(draw(4, 1)), caches))
    target.use(PLAIN)
    return found, contents(caches.layers)


def same(ours: list, theirs: list) -> None:
    for found, wanted in zip(ours, theirs, strict=True):
        if isinstance(wanted, mx.array):
            assert found.dtype == wanted.dtype and np.array_equal(np.array(found), np.array(wanted))
        else:
            assert found == wanted


@given(
    before=st.one_of(st.integers(1, 30), st.integers(220, 270)),  # a buffer grows at 256
    rows=st.lists(st.tuples(st.integers(2, 16), st.integers(1, 16)), min_size=1, max_size=6),
)
@settings(max_examples=max(3, settings.default.max_examples // 4))
@pytest.mark.parametrize(("name", "bits", "way"), POINTS)
def test_compiled_layers_compute_the_same_as_single_operations(name, bits, way, before, rows) -> None:  # type: ignore[no-untyped-def]
    target = target_of(name, bits)
    ours, theirs = (passes(target, WAYS[way], whether, before, rows) for whether in (True, False))
    same(ours[0], theirs[0])
    same(ours[1], theirs[1])


@pytest.fixture
def traced(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The row counts of all passes for which a layer ran its operations one by one or was traced."""
    seen: list[int] = []
    forward = fused._Layer.forward
    monkeypatch.setattr(fused._Layer, "forward", lambda self, x, *args: seen.append(x.shape[1]) or forward(self, x, *args))
    return seen


@pytest.mark.parametrize("name", ["qwen3", "qwen3_5"])
def test_alike_layers_are_traced_once_for_every_set_of_shapes(name: str, traced: list[int]) -> None:
    target = target_of(name)
    passes(target, PLAIN, True, 7, [(8, 3)] * 6)
    others = 2 * len(own_layers(target))  # prompt and last pass
    once = {"qwen3": 1, "qwen3_5": 3}[name]  # a delta net's first block begins with less than the later ones do
    assert len(traced) - others == once
    traced.clear()
    passes(target, PLAIN, True, 7, [(8, 3), (5, 5), (8, 3), (5, 5), (8, 3), (5, 5)])
    assert traced.count(5) < len(own_layers(target))  # of a kind with attention one, of a delta net one after each width
    traced.clear()
    passes(target, PLAIN, False, 7, [(8, 3)] * 6)
    assert len(traced) == 8 * len(own_layers(target))


def test_a_longer_buffer_is_traced_again(traced: list[int]) -> None:
    target = target_of("qwen3")
    passes(target, PLAIN, True, 236, [(16, 16)] * 4)
    assert traced.count(16) == 2


def test_a_failed_trace_restores_the_weights_and_the_next_trace_works(monkeypatch: pytest.MonkeyPatch) -> None:
    target = target_of("qwen3_5")
    target.use(PLAIN)
    before = [compiled.weights(layer) for layer in own_layers(target)]
    wanted = passes(target, PLAIN, False, 3, [(2, 2)])
    target.use(PLAIN, compiled=True)  # nothing is traced yet

    def placed() -> mx.array:
        caches = target.caches()
        target.forward(mx.array(draw(3, 3)), caches)
        return target.forward(mx.array(draw(2, 0)), caches, DevicePosition.known(3).span(2))

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("in the midst of a trace")

    with monkeypatch.context() as broken:
        broken.setattr(fused._FeedForward, "__call__", fail)
        with pytest.raises(RuntimeError, match="in the midst"):
            placed()
    found = placed()
    assert np.array_equal(np.array(found), np.array(wanted[0][1]))
    after = [compiled.weights(layer) for layer in own_layers(target)]
    assert all(a is b for one, other in zip(before, after, strict=True) for a, b in zip(one, other, strict=True))


def test_layers_are_compiled_only_on_a_gpu_with_traceable_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    target = target_of("qwen3")

    def now(operations: Operations) -> set[bool]:
        target.use(operations)
        return {layer.compiled is not None for layer in own_layers(target)}

    assert now(PLAIN) == {False}
    monkeypatch.setattr(mx, "default_device", lambda: mx.Device(mx.gpu))
    assert now(PLAIN) == {True} and now(LIKE_KERNELS) == {True}
    assert now(CheckedKernel("verify_matmul").operations()) == {False}
    monkeypatch.undo()
    assert now(PLAIN) == {False}


@pytest.mark.parametrize("whether", [True, False])
def test_caches_are_written_in_place(whether: bool) -> None:
    target = target_of("qwen3")
    target.use(PLAIN, compiled=whether)
    caches, held, needed = target.caches(), 20_000, []
    target.forward(mx.array(draw(3, 3)), caches)
    for layer in caches.layers:
        _, heads, _, dim = layer.keys.shape
        layer.update_and_fetch(*(mx.random.normal((1, heads, held - 3, dim)) for _ in range(2)))
    mx.eval(caches.state)
    place = DevicePosition.known(held)
    for kept in (1, 2, 1, 2) * 3:
        mx.reset_peak_memory()
        before = mx.get_active_memory()
        mx.eval(target.forward(mx.array(draw(2, kept)), caches, place.span(2)), caches.state)
        needed.append(mx.get_peak_memory() - before)
        if place.kept is not None:
            caches.settle(held)
        held += kept
        place = DevicePosition(mx.array([held]), held - kept + 1, held - kept + 2, mx.array([kept]))
    target.use(PLAIN)
    assert max(needed[1:]) < caches.layers[0].keys.nbytes * 0.75  # what there is are the scores of few rows


def test_switching_kernels_on_and_off_needs_no_new_traces(traced: list[int]) -> None:
    """Kernel trials switch them for every reply."""
    target = target_of("qwen3")
    for way in (PLAIN, LIKE_KERNELS):
        passes(target, way, True, 7, [(8, 3)] * 2)
    traced.clear()
    for way in (PLAIN, LIKE_KERNELS, PLAIN):
        passes(target, way, True, 7, [(8, 3)] * 2)
    assert 8 not in traced


def test_compiled_kernels_run_inside_compiled_layers() -> None:
    target = target_of("qwen3", 4)
    with asked() as seen:
        operations, rows = with_kernels(), [(8, 3), (5, 5), (8, 8)]
        ours, theirs = (passes(target, operations, whether, 250, rows) for whether in (True, False))
        same(ours[0], theirs[0])
        same(ours[1], theirs[1])
    assert {"verify_matmul", "attention_inputs"} <= set(seen)


@pytest.mark.parametrize("name", ["qwen3", "qwen3_5"])
def test_a_target_is_freed_completely(name: str) -> None:
    """Without the garbage collector, which counts objects and would run too late for a model."""

    def run() -> None:
        model = build(name)
        target = Target(model, VOCABULARY, families.FAMILIES[CONFIGS[name]["model_type"]], (0,))
        passes(target, PLAIN, True, 7, [(8, 3)] * 2)
        passes(target, LIKE_KERNELS, True, 7, [(8, 3)] * 2)
        target.use(PLAIN, compiled=True)

    run()
    gc.collect()
    before = mx.get_active_memory()
    gc.disable()
    try:
        for _ in range(3):
            run()
        assert mx.get_active_memory() <= before + 4096
    finally:
        gc.enable()
