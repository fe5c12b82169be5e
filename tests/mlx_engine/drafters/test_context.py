"""A context built in pieces gives the same drafts as one built in one piece; sliding layers stay bounded."""

import json

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlx_engine.drafters.dflash.model import DFlashDrafter
from mlx_engine.drafters.parts.context import DraftContext, LayerContext
from mlx_engine.hardware.device import DevicePosition
from mlx_engine.loading.drafter_files import load
from tests.mlx_engine.conftest import GOLDEN
from tests.mlx_engine.drafters.drafter_cases import block_logits


def drafter(case: str) -> DFlashDrafter:
    tensors = mx.load(str(GOLDEN / case / "target.safetensors"))
    table = tensors["embed_tokens.weight"]
    head = tensors.get("lm_head.weight", table)
    return load(GOLDEN / case / "drafter", mx.float32, lambda ids: table[ids], lambda hidden: hidden @ head.T)


SLIDING, FULL = drafter("02_v1_swa_mixed"), drafter("01_v1_full")


@given(data=st.data(), total=st.integers(1, 90), seed=st.integers(0, 1000), width=st.integers(2, 12))
@pytest.mark.parametrize("which", [SLIDING, FULL], ids=["sliding", "full"])
def test_a_context_built_in_pieces_gives_the_same_drafts(which, data, total, seed, width):
    mx.random.seed(seed)
    features = mx.random.normal((total, len(which.config.taps) * which.config.hidden_size))
    whole, pieces = which.context(), which.context()
    which.inject(whole, features)
    done = 0
    while done < total:
        size = data.draw(st.integers(1, total - done))
        which.inject(pieces, features[done : done + size])
        done += size
    anchor = mx.array([seed % which.config.vocab_size])
    assert pieces.position == whole.position == total
    # passes of different row counts may use different float32 kernels, so bits may differ
    assert mx.abs(block_logits(which, pieces, anchor, width) - block_logits(which, whole, anchor, width)).max().item() < 1e-3


def test_a_sliding_context_does_not_grow():
    context = SLIDING.context()
    size = len(SLIDING.config.taps) * SLIDING.config.hidden_size
    for _ in range(40):
        SLIDING.inject(context, mx.zeros((37, size)))
        mx.eval(context.state)
    window = SLIDING.config.windows[0]
    assert window is not None
    sizes = {kind: sum(array.nbytes for array in context.kinds[kind].state) for kind in (window, None)}
    assert sizes[window] < sizes[None] / 2
    assert context.kinds[window].first + context.kinds[window].rows == context.position == 40 * 37


def test_a_slice_update_writes_in_place():
    """It does so only while nothing else holds the array; checked by memory use."""
    context = FULL.context()
    size = len(FULL.config.taps) * FULL.config.hidden_size
    FULL.inject(context, mx.zeros((4000, size)))
    mx.eval(context.state)
    mx.reset_peak_memory()
    before = mx.get_active_memory()
    for _ in range(8):
        FULL.inject(context, mx.zeros((8, size)))
        mx.eval(context.state)
    assert mx.get_peak_memory() - before < sum(array.nbytes for array in context.state) / 2


def test_drafts_depend_on_distances_not_positions():
    """Adding a constant to all positions changes only float32 rounding of angles, up to 1e-3 for 1000."""
    features = mx.random.normal((20, len(FULL.config.taps) * FULL.config.hidden_size), key=mx.random.key(3))
    near, far = FULL.context(), FULL.context()
    far.position = 1000
    FULL.inject(near, features)
    FULL.inject(far, features)
    anchor = mx.array([5])
    assert np.abs(np.array(block_logits(FULL, near, anchor, 8)) - np.array(block_logits(FULL, far, anchor, 8))).max() < 1e-2


@given(data=st.data(), queued=st.lists(st.integers(1, 8), max_size=4))
def test_each_token_is_paired_with_the_features_of_the_position_before(data, queued):
    """Through rewinds, cuts, copies, marks, and queued rounds; the features of position p are p + 1."""
    context, marks = DraftContext((None,), 8), {}

    def inject(rows, start):
        found = context.pair((start + 1 + mx.arange(rows, dtype=mx.float32))[:, None] * mx.ones((1, 3)))
        context.kinds[None].append(mx.broadcast_to(found, (2, 1, 1, rows, 3)))
        if context.span is None:
            context.position += rows

    inject(data.draw(st.integers(1, 40)), 0)
    for _ in range(data.draw(st.integers(0, 12))):
        rows = data.draw(st.integers(1, 8))
        inject(rows, context.position)
        context.drop(data.draw(st.integers(0, rows - 1)))
        match data.draw(st.sampled_from(["go on", "cut", "copy", "mark", "thaw"])):
            case "cut" if reach := context.reach(data.draw(st.integers(1, context.position)), 99):
                context.cut(reach)
            case "copy":
                context = context.copy()
            case "mark":
                marks[context.position] = context.freeze()
            case "thaw" if usable := [at for at in marks if at <= context.position]:
                context.cut(usable[-1])
                context.thaw(marks[usable[-1]])
        marks = {at: mark for at, mark in marks.items() if at <= context.position}
        assert context.before(3).tolist() == [[context.position] * 3]
    for kept in queued:
        start = DevicePosition(mx.array([context.position], mx.int32), max(context.position - 2, 1), context.position + 2)
        context.place(start.span(8))
        assert context.before(3).tolist() == [[context.position] * 3]
        inject(8, context.position)
        context.settle(context.position + kept)
    rows = context.rows(0, context.position)[0][0, 0, 0, :, 0].tolist()
    assert rows == [*range(context.position)]


@pytest.mark.parametrize("window", [8, 24, 100])
def test_rows_of_a_copy_that_is_wider_than_the_window_can_be_dropped(window):
    context = LayerContext(window)
    for first, rows in ((0, 40), (40, 32)):
        context.append(mx.broadcast_to(mx.arange(first, first + rows, dtype=mx.float32)[:, None], (2, 1, 1, rows, 3)))
    context.rows -= 31
    found = context.rows_between(41 - min(window, 40), 41)
    assert found is not None and found[0, 0, 0, :, 0].tolist() == [*range(41 - min(window, 40), 41)]


def test_the_config_gives_the_mask_rule_of_the_reference_cases():
    for case in sorted(GOLDEN.glob("0*_v1_*")):
        config = drafter(case.name).config
        for layer in json.loads((case / "rounds.json").read_text())["resolved_layers"]:
            assert config.causal[layer["layer"]] == layer["causal"]
            assert config.windows[layer["layer"]] == layer["window"]
