"""DSpark drafters as LiquidAI and NVIDIA package them, made from the weights of a reference drafter."""

import json

import mlx.core as mx
import numpy as np
import pytest

from mlx_engine.contract.requests import Sampling
from mlx_engine.decoding.sampling import Chooser
from mlx_engine.drafters.registry import make, parse
from tests.golden import drafted_rounds
from tests.golden.drafter_case import Differences
from tests.mlx_engine.conftest import GOLDEN
from tests.mlx_engine.drafters.drafter_reference import Reference

FOLDER, DIM = GOLDEN / "dspark_1", 32
PLAIN = json.loads((FOLDER / "drafter" / "config.json").read_text(encoding="utf-8"))
NESTED = {name: PLAIN[name] for name in ("target_layer_ids", "mask_token_id", "num_target_layers")}
LFM = {
    **{name: value for name, value in PLAIN.items() if name not in NESTED},
    "architectures": ["Lfm2DSparkDraftModel"],
    "rope_is_neox_style": False,
    "dflash_config": NESTED,
}
NEMOTRON = {
    **PLAIN,
    "block_size": 6,
    "sample_from_anchor": False,
    "dflash_query_causal": True,
    "attention_sink_bias": True,
    "sliding_window": 16,
    "layer_types": None,
    "has_lm_head": False,
}


@pytest.fixture
def weights() -> dict[str, mx.array]:
    return dict(mx.load(str(FOLDER / "drafter" / "model.safetensors")))


def test_each_packaging_is_read():
    plain, lfm, nemotron = map(parse, (PLAIN, LFM, NEMOTRON))
    assert lfm.neighbors and not plain.neighbors
    assert (lfm.taps, lfm.mask_token, lfm.target_layers, lfm.first_row) == (plain.taps, plain.mask_token, plain.target_layers, 0)
    assert parse({**LFM, "markov_rank": None}).rank == 256
    assert nemotron.sinks and nemotron.causal == (True, True) and nemotron.windows == (16, 16)
    assert (nemotron.first_row, nemotron.block_size) == (1, 6)
    nested = {"causal": True, "use_swa": True, "swa_window_size": 16}
    moved = {**NEMOTRON, "dflash_query_causal": None, "sliding_window": None, "dflash_config": nested}
    assert parse(moved) == nemotron


def test_rope_over_neighboring_columns_gives_the_reference_rounds(weights):
    table, head = weights.pop("embed_tokens.weight"), weights.pop("lm_head.weight")
    order = mx.arange(DIM).reshape(2, -1).T.reshape(-1)
    for name in [name for name in weights if "q_" in name or "k_" in name]:
        array = weights[name]
        weights[name] = array.reshape(-1, DIM, *array.shape[1:])[:, order].reshape(array.shape)
    drafter = make(parse(LFM), weights, mx.float32, lambda tokens: table[tokens], lambda hidden: hidden @ head.T)
    found = Differences()
    drafted_rounds.check(found, "dspark", drafter, mx.load(str(FOLDER / "rounds.safetensors")))
    assert not found.wrong and found.largest["logits"] < 1e-4


def test_sinks_and_windows_agree_with_the_float64_reference(weights):
    """Also after rounds whose rejected tokens are dropped, in texts longer than the window."""
    rng, config = np.random.default_rng(4), parse(NEMOTRON)
    head = weights.pop("lm_head.weight")
    weights |= {f"layers.{i}.self_attn.attention_sink_bias": mx.array([1.5, -0.5]) + i for i in range(2)}
    w = {name: np.array(array, np.float64) for name, array in weights.items()}
    reference = Reference(
        w, config.heads, config.kv_heads, DIM, config.norm_eps, config.rope.theta, config.windows, config.causal, sinks=True
    )
    drafter = make(config, weights, mx.float32, lambda tokens: tokens, lambda hidden: hidden @ head.T)
    features = rng.normal(0, 2, (60, 96)).astype(np.float32)
    tokens, rows, context, at = rng.integers(0, 119, 61), config.block_size, drafter.context(), 5
    drafter.inject(context, mx.array(features[:at]))
    while at < 50:
        anchor = tokens[at : at + 1]
        block = w["embed_tokens.weight"][[*anchor, *[config.mask_token] * (rows - 1)]]
        expected = reference.hidden(features[:at], block)
        hidden = drafter.hidden(context, mx.array(anchor, mx.uint32), rows)
        assert np.abs(np.array(hidden) - expected).max() < 1e-4
        chain = [int(anchor[0])]
        for row in expected @ np.array(head, np.float64).T:
            chain.append(int((row + w["markov_head.markov_w2.weight"] @ w["markov_head.markov_w1.weight"][chain[-1]]).argmax()))
        got = drafter.propose(context, mx.array(anchor, mx.uint32), rows, Chooser(Sampling(), 0), None)
        assert got.tolist() == chain[1:]
        kept = int(rng.integers(1, rows + 1))
        drafter.inject(context, mx.array(features[at : at + rows]))
        context.drop(rows - kept)
        at += kept
