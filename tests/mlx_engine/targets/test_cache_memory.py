"""Caches are written in place, and what is kept for a rewind is freed."""

import gc

import mlx.core as mx
import pytest
from mlx_lm.models.cache import KVCache, RotatingKVCache

from mlx_engine.hardware.device import DevicePosition
from mlx_engine.targets.caches import Caches
from tests.mlx_engine.targets.test_families import draw, target_of

HEADS, DIM = 4, 64
ROW = 2 * HEADS * DIM * 4  # bytes of a row's keys and values


def rows(count: int) -> mx.array:
    made = mx.random.normal((1, HEADS, count, DIM))
    mx.eval(made)
    return made


def write(caches: Caches, new: mx.array) -> int:
    """Run one pass; return the peak number of bytes beyond those held before."""
    mx.reset_peak_memory()
    before = mx.get_active_memory()
    caches.begin(new.shape[2])
    for layer in caches.layers:
        layer.update_and_fetch(new, new)
    mx.eval(caches.state)
    return mx.get_peak_memory() - before


@pytest.mark.parametrize("layer", [KVCache(), RotatingKVCache(3000)], ids=["growing", "rotating"])
def test_a_pass_queued_behind_an_unread_one_is_written_in_place(layer):
    """Except when the buffer is full: in the first pass here, and perhaps in one more."""
    caches, new, held = Caches([layer]), rows(8), 4000
    write(caches, rows(held))
    caches.length, needed = held, []
    place = DevicePosition.known(held)
    for kept in (1, 8, 3, 5) * 15:
        mx.reset_peak_memory()
        before = mx.get_active_memory()
        mx.eval(caches.begin(8, place.span(8))[0].update_and_fetch(new, new))
        needed.append(mx.get_peak_memory() - before)
        if place.kept is not None:
            caches.settle(held)
        held += kept
        place = DevicePosition(mx.array([held]), held - kept + 1, held - kept + 8, mx.array([kept]))
    assert sum(each > 100 * ROW for each in needed) <= 2
    caches.settle(held)
    assert layer.offset == held


def test_a_growing_cache_is_written_in_place_every_round():
    caches = Caches([KVCache()])
    write(caches, rows(4000))
    new = rows(8)
    for rejected in (7, 0, 5, 8, 3) * 4:
        assert write(caches, new) < 100 * ROW
        caches.rewind(rejected)
    assert sum(array.nbytes for array in caches.state) == 4096 * ROW
    spare = Caches([KVCache()])
    spare.adapters[0].thaw(caches.adapters[0].freeze())
    assert write(caches, new) > 4000 * ROW  # somebody else holds the buffers: now they are copied, so this test would notice
    assert write(caches, new) < 100 * ROW
    assert write(spare, new) < 100 * ROW


def test_a_ring_is_written_in_place_and_a_block_leaves_nothing_behind():
    window = 2000
    caches = Caches([RotatingKVCache(max_size=window)])
    write(caches, rows(3000))
    one, block = rows(1), rows(8)
    held = []
    for turn in range(6):
        assert write(caches, block) < (2 * window + 100) * ROW  # temporal order is a new buffer, once
        caches.rewind(turn + 1)
        mx.eval(caches.state)
        write(caches, one)  # the first step after a block cuts the buffer to the window
        caches.rewind(0)
        for _ in range(5):
            assert write(caches, one) < 100 * ROW
            caches.rewind(0)
        assert sum(array.nbytes for array in caches.state) == window * ROW
        held.append(mx.get_active_memory())
    assert max(held) - min(held) < 100 * ROW


@pytest.mark.parametrize("name", ["qwen3", "llama", "qwen3_next", "qwen3_5", "glm_moe_dsa"])
def test_rounds_hold_no_more_memory_than_the_caches(name):
    target = target_of(name)
    gc.collect()
    gc.disable()  # what other tests leave in circles must not go in the middle of this one
    caches = target.caches()
    mx.eval(target.forward(mx.array(draw(30, 1)), caches), caches.state)
    held = []
    for turn in range(30):
        logits, features = target.forward_tapped(mx.array(draw(6, turn)), caches)
        mx.eval(logits, features)
        del logits, features
        caches.rewind((0, 5, 3)[turn % 3])
        mx.eval(caches.state)
        if turn % 4 == 3:
            mx.eval(target.forward(mx.array(draw(1, turn)), caches), caches.state)
            caches.rewind(0)
        held.append(mx.get_active_memory())
    gc.enable()
    # A round's inputs or buffers left behind would be 100 KB and more by now. Some KB come and go: MLX reuses buffers that are a
    # little larger, and lets a slice fit into it.
    assert max(held[18:]) < max(held[6:18]) + 32_768


@pytest.mark.parametrize("name", ["qwen3", "llama", "qwen3_next", "qwen3_5", "glm_moe_dsa"])
def test_memory_stays_flat_over_queued_passes(name):
    target = target_of(name)
    gc.collect()
    gc.disable()  # what other tests leave in circles must not go in the middle of this one
    caches, held = target.caches(), 30
    mx.eval(target.forward(mx.array(draw(held, 1)), caches), caches.state)
    place, active = DevicePosition.known(held), []
    for turn in range(50):
        logits, features = target.forward_tapped(mx.array(draw(6, turn)), caches, place.span(6))
        mx.eval(logits, features)
        del logits, features
        if place.kept is not None:
            caches.settle(held)
        kept = 1 + turn % 3
        held += kept
        place = DevicePosition(mx.array([held]), held - kept + 1, held - kept + 6, mx.array([kept]))
        active.append(mx.get_active_memory())
    gc.enable()
    # as above: a pass that stayed would make its rows, and a recurrent state, more every time
    assert max(active[30:]) < max(active[10:30]) + 32_768
