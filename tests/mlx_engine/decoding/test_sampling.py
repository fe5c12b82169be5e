"""Filters, penalties and temperature against a float64 reference, and proposals, which never change the choice."""

import mlx.core as mx
import numpy as np
from hypothesis import assume, example, given
from hypothesis import strategies as st

from mlx_engine.contract.requests import Sampling
from mlx_engine.decoding.sampling import Chooser, Penalties, choice_bytes
from tests.examples import sampled
from tests.mlx_engine.decoding.exact_law import boundaries, law, tempered

# in steps of 1/4: ties are common, and other differences exceed rounding
rows = st.lists(st.integers(-40, 40).map(lambda step: step / 4), min_size=2, max_size=40)
samplings = st.builds(
    Sampling,
    temperature=st.sampled_from([0.3, 0.6, 1.0, 1.5]),
    top_p=st.sampled_from([1.0, 0.95, 0.8, 0.5, 0.05]),
    top_k=st.sampled_from([0, 1, 3, 20, 1000]),
    min_p=st.sampled_from([0.0, 0.02, 0.3, 1.0]),
    repetition_penalty=st.sampled_from([1.0, 1.3, 0.8]),
    presence_penalty=st.sampled_from([0.0, 0.6, -0.3]),
    frequency_penalty=st.sampled_from([0.0, 0.35, -0.2]),
)


def scores(sampling, logits):
    """Return the scores of a choice without the noise."""
    logits = mx.array(np.atleast_2d(np.array(logits, np.float32)))
    return np.array(Chooser(sampling, 0).scores(logits, mx.zeros_like(logits)))


def kept(sampling, row):
    return set(np.flatnonzero(np.isfinite(scores(sampling, row)[0])))


@given(rows, samplings, st.data())
def test_the_filtered_distribution_is_the_references(row, sampling, data):
    """Penalties, temperature, top-k, top-p and min-p, in this order."""
    seen = st.lists(st.integers(0, len(row) - 1), max_size=6)
    prompt, reply = data.draw(seen), data.draw(seen)
    want = law(row, sampling, prompt, reply)
    assume(boundaries(row, sampling, prompt, reply) > 1e-5)  # else a token is at the very edge of a filter
    penalties = Penalties(sampling, prompt)
    penalties.add(reply)
    ours = scores(sampling, penalties.apply(mx.array([row])))[0].astype(np.float64)
    assert np.array_equal(np.isfinite(ours), want > 0)
    shares = np.exp(ours - ours.max())
    # scores reach 45, where a float32 rounding is 2e-6; penalties and temperature make up to four of them, all in an exponent
    assert np.allclose(shares / shares.sum(), want, atol=1e-5)


@given(st.lists(st.lists(st.integers(-40, 40).map(lambda step: step / 7), min_size=30, max_size=30), min_size=2, max_size=16),
       samplings, st.integers(0, 2**64 - 1))  # fmt: skip
def test_a_row_gives_the_same_choice_alone_and_in_a_block(block, sampling, seed):
    chooser, logits = Chooser(sampling, seed), mx.array(block)
    noise = chooser.noise(3, len(block), 30)
    together = np.array(chooser.scores(logits, noise))
    for at in range(len(block)):
        alone = np.array(chooser.scores(logits[at : at + 1], chooser.noise(3 + at, 1, 30)))
        assert np.array_equal(together[at], alone[0])


@sampled(8, 40)
@given(sampling=samplings, streams=st.integers(1, 4), seed=st.integers(0, 2**64 - 1))
def test_choosing_tokens_needs_no_more_memory_than_reserved(sampling, streams, seed):
    """With noise that exists already. On a CPU, whose noise isn't compiled, making it takes more."""
    rows, vocabulary = 16, 20_000
    chooser, drafts = Chooser(sampling, seed), mx.zeros((rows - 1,), mx.uint32)
    logits = [mx.random.normal((rows, vocabulary)) for _ in range(streams)]
    noise = [chooser.noise(9, rows, vocabulary) for _ in range(streams)]
    mx.eval(logits, noise, drafts)
    mx.clear_cache()
    held = mx.get_active_memory() - sum(array.nbytes for array in (*logits, *noise))
    mx.reset_peak_memory()
    verdicts = [chooser.verify(logits.pop(), drafts, 9, noise.pop()) for _ in range(streams)]
    mx.eval([(verdict.choices, verdict.count()) for verdict in verdicts])
    assert mx.get_peak_memory() - held <= choice_bytes(streams * rows * vocabulary, 4)


def test_filters_keep_the_expected_tokens():
    quarters = np.log([0.4, 0.3, 0.2, 0.1])
    assert kept(Sampling(1.0, top_k=2), quarters) == {0, 1}
    assert kept(Sampling(1.0, top_k=2), [3.0, 1.0, 1.0, 0.0]) == {0, 1, 2}  # all tokens of a tie at the boundary are kept
    assert kept(Sampling(1.0, top_p=0.69), quarters) == {0, 1}
    assert kept(Sampling(1.0, top_p=0.71), quarters) == {0, 1, 2}  # the token that crosses is kept
    assert kept(Sampling(1.0, top_p=0.01), quarters) == {0}
    assert kept(Sampling(1.0, min_p=0.45), quarters) == {0, 1, 2}  # 0.45 of the largest share, not of 1
    assert kept(Sampling(1.0, min_p=0.55), quarters) == {0, 1}
    assert kept(Sampling(0.5, min_p=0.45), quarters) == {0, 1}  # after the temperature
    assert kept(Sampling(1.0, top_k=3, top_p=0.75), quarters) == {0, 1}  # after top-k: 0.44, 0.33, 0.22
    assert kept(Sampling(1.0, top_k=3, top_p=0.79), quarters) == {0, 1, 2}
    assert kept(Sampling(1.0, top_k=10**9), quarters) == {0, 1, 2, 3}


@given(rows)
@example([1.0, 3.0, 3.0, 0.0])
def test_the_lowest_temperature_is_greedy(row):
    for temperature in (0.0, 1e-320, 1e-30, 9e-6):
        chooser = Chooser(Sampling(temperature, top_p=0.9), 5)
        assert mx.argmax(chooser.scores(mx.array([row]), chooser.noise(0, 1, len(row))), axis=-1).item() == int(np.argmax(row))
    chooser = Chooser(Sampling(1e-5, top_k=5, min_p=0.1), 5)  # 0.25 / 1e-5 is more than any noise
    assert row[mx.argmax(chooser.scores(mx.array([row]), chooser.noise(0, 1, len(row))), axis=-1).item()] == max(row)


def test_ties_go_to_the_lowest_id():
    chooser = Chooser(Sampling(), 0)
    assert mx.argmax(chooser.scores(mx.array([[1.0, 3.0, 3.0, 0.0]]), None), axis=-1).item() == 1


def test_equal_drafter_and_target_logits_give_the_same_random_token():
    mx.random.seed(1)
    logits = mx.random.normal((64, 50)) * 6  # peaked, so that the cooler proposal rarely differs
    chooser = Chooser(Sampling(temperature=0.6), seed=4)
    noise = chooser.noise(0, 64, 50)
    same = np.array(mx.argmax(chooser.scores(logits, noise), axis=-1)) == np.array(chooser.propose(logits, noise))
    assert same.mean() > 0.7


@given(
    st.lists(st.integers(0, 9), max_size=6),
    st.lists(st.integers(0, 9), max_size=6),
    st.lists(st.integers(0, 9), min_size=1, max_size=4),
)
def test_penalties_of_a_block_are_those_of_its_rows(prompt, reply, ahead):
    sampling = Sampling(1.0, repetition_penalty=1.4, presence_penalty=0.5, frequency_penalty=0.25)
    logits = mx.random.normal((len(ahead) + 1, 10), key=mx.random.key(len(prompt)))
    block = Penalties(sampling, prompt)
    block.add(reply)
    together = np.array(block.apply(logits, mx.array(ahead, dtype=mx.uint32)))
    for i in range(len(ahead) + 1):
        seen = [*reply, *ahead[:i]]
        alone = Penalties(sampling, prompt)
        alone.add(seen)
        assert np.array_equal(together[i], np.array(alone.apply(logits[i : i + 1]))[0])
        # up to three float32 roundings of numbers below 8
        assert np.allclose(together[i], tempered(logits[i].tolist(), sampling, prompt, seen), rtol=0, atol=3e-6)
