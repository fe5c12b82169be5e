"""A pass over the rows of several streams gives each stream what a pass of its own gives."""

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.hardware.device import DevicePosition
from mlx_engine.models.configs.families import FAMILIES as FACTS
from mlx_engine.targets import target as targets
from mlx_engine.targets.target import StreamRows, Target
from tests.examples import sampled
from tests.mlx_engine.targets.target_passes import fork
from tests.mlx_engine.tiny_families import FAMILIES, VOCABULARY, build

TAPS = (0, 1, 2)
ROWS = st.sampled_from([1, 1, 2, 3, 5, 8, 16])
# Streams' prompts, then the passes: (stream, rows, rows to drop) of the streams that take part
PROMPTS = st.lists(st.integers(1, 40), min_size=2, max_size=8)
PASSES = st.lists(
    st.lists(st.tuples(st.integers(0, 7), ROWS, st.integers(0, 15)), min_size=1, max_size=8, unique_by=lambda part: part[0]),
    min_size=1,
    max_size=4,
)


def made(name: str, bits: int | None) -> Target:
    model = build(name)
    if bits == 4:
        nn.quantize(model, 32, 4, class_predicate=lambda _, part: hasattr(part, "to_quantized") and part.weight.shape[-1] % 32 == 0)
    if bits:
        model.set_dtype(mx.bfloat16)
    mx.eval(model.parameters())
    return Target(model, VOCABULARY, FACTS[name], TAPS)


def ids(draw: np.random.Generator, count: int) -> mx.array:
    return mx.array(draw.integers(0, VOCABULARY, count), mx.uint32)


def check(target: Target, prompts: list[int], passes: list, seed: int, exact: bool) -> None:
    """Make passes together and alone, and compare logits and features of all rows."""
    draw = np.random.default_rng(seed)
    alone, together = [], []
    for count in prompts:
        caches = target.caches()
        mx.eval(target.forward(ids(draw, count), caches))
        alone.append(caches)
        together.append(fork(target, caches))
    for parts in passes:
        live = [(stream, ids(draw, rows), drop % rows) for stream, rows, drop in parts if stream < len(prompts)]
        if not live:
            continue
        found = target.forward_packed([StreamRows(tokens, together[stream]) for stream, tokens, _ in live], tapped=True)
        for (stream, tokens, drop), got in zip(live, found, strict=True):
            for ours, wanted in zip(got, target.forward_tapped(tokens, alone[stream]), strict=True):
                assert ours.shape == wanted.shape
                if exact:
                    assert mx.array_equal(ours, wanted)
                else:  # BLAS may sum a row in another order if there are others
                    scale = max(1.0, float(mx.abs(wanted).max()))
                    np.testing.assert_allclose(np.array(ours), np.array(wanted), rtol=0, atol=2e-4 * scale)
            if tokens.size > 1:
                alone[stream].rewind(drop)
                together[stream].rewind(drop)
            assert together[stream].length == alone[stream].length


@pytest.fixture(scope="module")
def target_of():
    known: dict[tuple[str, int | None], Target] = {}
    return lambda name, bits=None: known.get((name, bits)) or known.setdefault((name, bits), made(name, bits))


@pytest.mark.parametrize("name", FAMILIES)
@sampled(2)
@given(prompts=PROMPTS, passes=PASSES, seed=st.integers(0, 1 << 30))
def test_rows_are_equal_within_rounding_of_float32(name, target_of, prompts, passes, seed):
    check(target_of(name), prompts, passes, seed, exact=False)


# MLX's CPU multiplies experts in float32 only, unless they are quantized
DENSE = ("qwen3", "qwen3_5", "gemma4_unified", "gemma4_text", "llama", "muse_glimmer", "lfm2")


@pytest.mark.parametrize(("name", "bits"), [*((name, 16) for name in DENSE), *((name, 4) for name in FAMILIES)])
@sampled(2)
@given(prompts=PROMPTS, passes=PASSES, seed=st.integers(0, 1 << 30))
def test_rows_are_bit_equal_in_half_precision(name, bits, target_of, prompts, passes, seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(targets, "share_mask", lambda cache: None)  # a float32 mask, which bfloat16 can't have
        check(target_of(name, bits), prompts, passes, seed, exact=True)


@pytest.mark.parametrize("name", FAMILIES)
@sampled(2)
@given(
    streams=st.lists(st.tuples(st.integers(1, 30), st.integers(2, 8), st.integers(0, 7)), min_size=2, max_size=5),
    rows=st.integers(2, 6),  # a queued pass is a round, never a plain step
    seed=st.integers(0, 1 << 30),
)
def test_rows_after_an_unread_round_are_at_the_positions_on_the_device(name, target_of, streams, rows, seed):
    """Of each round, the host doesn't know yet how many rows are kept, but the device does."""
    target, draw = target_of(name), np.random.default_rng(seed)
    alone, together, rounds, after = [], [], [], []
    for count, width, dropped in streams:
        caches = target.caches()
        mx.eval(target.forward(ids(draw, count), caches))
        alone.append(caches)
        together.append(fork(target, caches))
        rounds.append(ids(draw, width))
        after.append((ids(draw, rows), width - dropped % width))
    first = [
        StreamRows(own, caches, DevicePosition.known(caches.length).span(own.size))
        for own, caches in zip(rounds, together, strict=True)
    ]
    mx.eval([logits for logits, _ in target.forward_packed(first, tapped=False)])
    second = []
    for (own, kept), caches, block in zip(after, together, rounds, strict=True):
        start = caches.length
        at = DevicePosition(mx.array([start + kept], mx.int32), start + 1, start + block.size, mx.array([kept], mx.int32))
        second.append(StreamRows(own, caches, at.span(rows)))
    found = target.forward_packed(second, tapped=False)
    for (logits, _), block, part, caches in zip(found, rounds, second, alone, strict=True):
        mx.eval(target.forward(block, caches, DevicePosition.known(caches.length).span(block.size)))
        wanted = target.forward(part.tokens, caches, part.span)
        scale = max(1.0, float(mx.abs(wanted).max()))
        np.testing.assert_allclose(np.array(logits), np.array(wanted), rtol=0, atol=2e-4 * scale)
