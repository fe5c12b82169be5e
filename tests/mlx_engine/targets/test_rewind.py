"""After a rewind, caches equal those of a run without the rejected tokens; unknown caches are refused by name."""

import json

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlx_lm.models.cache import ChunkedKVCache, KVCache

from mlx_engine.contract.errors import UserError
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
