"""After a rewind, caches equal those of a run without the rejected tokens; unknown caches are refused by name."""

import json

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlx_lm.models.cache import ChunkedKVCache, KVCache

from mlx_engine.contract.errors import UserError
from mlx_engine.hardware.device import DevicePosition
from mlx_engine.targets import rotating
from mlx_engine.targets.caches import Caches, adapter
from mlx_engine.targets.target import _Tap
from tests.mlx_engine.conftest import GOLDEN, loaded

token_lists = st.lists(st.integers(3, 123), min_size=1, max_size=12)


@given(prompt=token_lists, rounds=st.lists(st.tuples(token_lists, st.integers(0, 12)), max_size=6), last=token_lists)
def test_rejected_tokens_leave_no_trace(tiny, prompt, rounds, last):
    target = tiny.pair.target
    caches, kept = target.caches(), list(prompt)
    target.forward(mx.array(prompt), caches)
    for block, rejected in rounds:
        rejected = min(rejected, len(block))
        target.forward(mx.array(block), caches)
        caches.rewind(rejected)
        kept += block[: len(block) - rejected]
    fresh = target.caches()
    target.forward(mx.array(kept), fresh)
    assert caches.length == fresh.length == len(kept)
    for ours, theirs in zip(caches.layers, fresh.layers, strict=True):
        assert ours.offset == theirs.offset == len(kept)
        for a, b in zip(ours.keys_and_values(), theirs.keys_and_values(), strict=True):
            assert np.array_equal(np.array(a), np.array(b))
    after = target.forward(mx.array(last), caches)
    assert np.array_equal(np.array(after), np.array(target.forward(mx.array(last), fresh)))


@pytest.mark.parametrize("length", [5, 16, 40])
@pytest.mark.parametrize(("rows", "kept"), [((4, 2, 5), 1), ((4, 2, 5), 4), ((8, 8, 2), 3)])
def test_two_queued_passes_can_be_discarded(monkeypatch, length, rows, kept):
    """A stream may be closed after others have made two passes for it. The sliding windows were moved in between."""
    monkeypatch.setattr(rotating, "_STEP", 1)
    target = loaded(GOLDEN / "e2e_gpt_oss" / "target", GOLDEN / "e2e_gpt_oss" / "drafter").pair.target
    tokens = [3 + number % 90 for number in range(length + sum(rows))]
    caches, fresh = target.caches(), target.caches()
    target.forward(mx.array(tokens[:length]), caches)
    first = DevicePosition.known(length)
    second = DevicePosition(mx.array([length + kept]), length + 1, length + rows[0], mx.array([kept]))
    third = DevicePosition(mx.array([length + kept + 1]), length + kept + 1, length + kept + rows[1], mx.array([1]))
    for start, count in zip((first, second, third), rows, strict=True):
        if start is third:
            caches.settle(length + kept)
        at = start.value.item()
        mx.eval(target.forward(mx.array(tokens[at : at + count]), caches, start.span(count)))
    caches.finish()
    target.forward(mx.array(tokens[: length + kept]), fresh)
    assert caches.length == fresh.length
    for at in range(length + kept, length + kept + 3):
        # The caches were filled in passes of other sizes, whose float32 sums differ by rounding
        row = mx.array(tokens[at : at + 1])
        np.testing.assert_allclose(*(np.array(target.forward(row, each)) for each in (caches, fresh)), rtol=0, atol=1e-4)


def test_a_growing_cache_never_drops_more_than_it_holds():
    cache = KVCache()
    cache.update_and_fetch(mx.zeros((1, 1, 3, 4)), mx.zeros((1, 1, 3, 4)))
    with pytest.raises(ValueError, match="with 3 rows"):
        adapter(cache).rewind(4, 4)


def test_a_cache_that_cannot_be_rewound_is_refused_by_name():
    with pytest.raises(UserError, match="ChunkedKVCache"):
        Caches([KVCache(), ChunkedKVCache(chunk_size=8)]).check()


def test_taps_return_layer_outputs_and_are_removed_on_release(tiny):
    target = tiny.pair.target
    reference = mx.load(str(GOLDEN / "e2e_qwen3" / "features.safetensors"))
    cases = json.loads((GOLDEN / "e2e_qwen3" / "cases.json").read_text())["cases"]
    prompt = mx.array(cases[0]["prompt_ids"])
    logits, features = target.forward_tapped(prompt, target.caches())
    # float32 compared with torch's float32: section 5 of tests/golden/README.md; a tenth of the logits' tolerance for features
    assert mx.abs(features - reference["prompt_0.features"]).max().item() < 1e-4
    assert mx.abs(logits[-1] - reference["prompt_0.last_logits"]).max().item() < 1e-3

    engine = loaded(GOLDEN / "e2e_qwen3" / "target", GOLDEN / "e2e_qwen3" / "drafter")
    model = engine.pair.target.model
    assert any(isinstance(layer, _Tap) for layer in model.layers)
    engine.unload()
    # the model's own parts, tapped or joined, are mlx-lm's again
    assert {type(part).__module__.split(".")[0] for part in model.modules()} <= {"mlx", "mlx_lm"}
    assert not any(isinstance(layer, _Tap) for layer in model.layers)
