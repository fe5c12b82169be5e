"""The sampler's law is the target's, filters keep what they should, and proposals never change what is chosen."""

import mlx.core as mx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlx_lm.sample_utils import apply_min_p, apply_top_p

from mlx_engine.decoding.sampling import Chooser, Penalties
from mlx_engine.events import Sampling

logit_rows = st.lists(st.floats(-8, 8, width=32), min_size=4, max_size=40, unique=True)


@pytest.mark.parametrize("temperature", [0.6, 1.0])
def test_choices_follow_the_softmax_law(temperature):
    logits = mx.array([2.0, 1.0, 0.5, 0.0, -1.0, -3.0])
    law = np.array(mx.softmax(logits / temperature))
    draws, counts = 20000, np.zeros(6)
    chooser = Chooser(Sampling(temperature=temperature), seed=99)
    rows = mx.broadcast_to(logits, (draws, 6))
    for choice in np.array(chooser.pick(rows, chooser.noise(5, draws, 6))):
        counts[choice] += 1
    chi_square = ((counts - draws * law) ** 2 / (draws * law)).sum()
    assert chi_square < 20.5  # 5 degrees of freedom, 0.1 %


@given(logit_rows, st.floats(0.05, 1.0))
def test_top_p_keeps_what_mlx_lm_keeps(row, top_p):
    logits = mx.array([row])
    ours = Chooser(Sampling(temperature=1.0, top_p=top_p), 0).scores(logits, mx.zeros_like(logits))
    shares = np.sort(np.array(mx.softmax(logits, axis=-1))[0].astype(np.float64))[::-1]
    before = np.cumsum(shares) - shares
    if top_p < 1 and np.abs(before - top_p).min() < 1e-5:
        return  # the boundary falls on a rounding
    theirs = apply_top_p(logits - mx.logsumexp(logits), top_p) if top_p < 1 else logits
    assert np.array_equal(np.isinf(np.array(ours)), np.isinf(np.array(theirs)))


@given(logit_rows, st.floats(0.01, 0.9))
def test_min_p_keeps_what_mlx_lm_keeps(row, min_p):
    logits = mx.array([row])
    shares = np.array(mx.softmax(logits, axis=-1))[0]
    if np.abs(shares / shares.max() - min_p).min() < 1e-5:
        return
    ours = Chooser(Sampling(temperature=1.0, min_p=min_p), 0).scores(logits, mx.zeros_like(logits))
    theirs = apply_min_p(logits - mx.logsumexp(logits), min_p)
    assert np.array_equal(np.isinf(np.array(ours)), np.isinf(np.array(theirs)))


@given(logit_rows, st.integers(1, 45))
def test_top_k_keeps_the_k_largest(row, top_k):
    logits = mx.array([row])
    ours = np.array(Chooser(Sampling(temperature=1.0, top_k=top_k), 0).scores(logits, mx.zeros_like(logits)))[0]
    assert set(np.flatnonzero(~np.isinf(ours))) == set(np.argsort(-np.array(row))[:top_k])


def test_ties_go_to_the_lowest_id():
    chooser = Chooser(Sampling(), 0)
    assert chooser.pick(mx.array([[1.0, 3.0, 3.0, 0.0]]), None).item() == 1


def test_drafter_and_target_of_one_mind_pick_the_same_random_token():
    mx.random.seed(1)
    logits = mx.random.normal((64, 50)) * 6  # peaked, so that the cooler proposal rarely differs
    chooser = Chooser(Sampling(temperature=0.6), seed=4)
    noise = chooser.noise(0, 64, 50)
    same = np.array(chooser.pick(logits, noise)) == np.array(chooser.propose(logits, noise))
    assert same.mean() > 0.7


@given(
    st.lists(st.integers(0, 9), max_size=6),
    st.lists(st.integers(0, 9), max_size=6),
    st.lists(st.integers(0, 9), min_size=1, max_size=4),
)
def test_penalties_of_a_block_are_those_of_its_rows_one_by_one(prompt, reply, ahead):
    sampling = Sampling(repetition_penalty=1.4, presence_penalty=0.5, frequency_penalty=0.25)
    logits = mx.random.normal((len(ahead) + 1, 10), key=mx.random.key(len(prompt)))
    block = Penalties(sampling, prompt, 10)
    block.add(reply)
    together = np.array(block.apply(logits, mx.array(ahead, dtype=mx.uint32)))
    for i in range(len(ahead) + 1):
        alone = Penalties(sampling, prompt, 10)
        alone.add([*reply, *ahead[:i]])
        assert np.array_equal(together[i], np.array(alone.apply(logits[i : i + 1]))[0])
