"""Generated tokens follow the target's own filtered distribution, plainly and with rounds: chi-square tests over many seeds.

A correct implementation fails such a test less than once in 10^6 runs. Wrong ones are shown to fail.
"""

import dataclasses
import functools
import itertools

import mlx.core as mx
import numpy as np
import pytest

from mlx_engine.contract.requests import Sampling
from mlx_engine.decoding import sampling as sampling_module
from mlx_engine.decoding.sampling import Chooser
from tests.mlx_engine.asking import reply, tokens
from tests.mlx_engine.decoding.exact_law import chi_square, law

LOGITS = (2.0, 1.6, 1.5, 1.1, 0.5, 0.4, 0.0, -0.3, -1.0, -1.2, -2.0, -3.0)
DRAWS = 20000
FEW = 100  # whole replies, where each costs a prefill and rounds
FILTERS = (
    Sampling(0.6),
    Sampling(1.0),
    Sampling(1.5),
    Sampling(1.0, top_p=0.8),
    Sampling(1.0, top_k=5),
    Sampling(1.0, min_p=0.1),
    Sampling(1.5, top_p=0.9, top_k=8, min_p=0.05),
)


def drawn(chooser, noise, logits=LOGITS):
    """Count how often each token is chosen, with a row of noise for each draw."""
    chosen = np.array(mx.argmax(chooser.scores(mx.broadcast_to(mx.array(logits), noise.shape), noise), axis=-1))
    return np.bincount(chosen, minlength=len(logits))


@functools.cache
def noise_of_many_seeds():
    """At one position, the same for all filters."""
    return mx.concatenate([Chooser(Sampling(1.0), seed).noise(7, 1, len(LOGITS)) for seed in range(1000)])


@pytest.mark.parametrize("by", ["position", "seed"])
@pytest.mark.parametrize("sampling", FILTERS, ids=str)
def test_choices_follow_the_filtered_distribution(sampling, by):
    """Draws at many positions with one seed, and at one position with many seeds."""
    want = law(LOGITS, sampling)
    if by == "position":
        counts = drawn(Chooser(sampling, 99), Chooser(sampling, 99).noise(5, DRAWS, len(LOGITS)))
    else:
        counts = drawn(Chooser(sampling, 0), noise_of_many_seeds())
    statistic, limit = chi_square(counts, want)
    assert statistic < limit


@pytest.mark.parametrize("sampling", [Sampling(1.0), Sampling(1.0, top_p=0.8)], ids=str)
def test_wrong_samplers_are_detected(sampling):
    want, chooser = law(LOGITS, sampling), Chooser(sampling, 99)
    right = chooser.noise(5, DRAWS, len(LOGITS))
    reused = mx.repeat(chooser.noise(5, DRAWS // 100, len(LOGITS)), 100, axis=0)
    assert exceeds(drawn(chooser, reused), want)  # one row of noise for many positions
    assert exceeds(drawn(Chooser(dataclasses.replace(sampling, temperature=0.9), 99), right), want)
    assert exceeds(drawn(chooser, right, LOGITS[:1] + (1.4,) + LOGITS[2:]), want)  # a logit is off by 0.2
    if sampling.top_p < 1:
        shares = np.sort(np.exp(LOGITS) / np.exp(LOGITS).sum())[::-1]
        fewer = float(np.cumsum(shares)[np.searchsorted(np.cumsum(shares), sampling.top_p) - 1])
        for top_p in (fewer - 1e-6, np.nextafter(sampling.top_p, 1) + shares[5]):  # the crossing token is lost, or one more is kept
            assert exceeds(drawn(Chooser(dataclasses.replace(sampling, top_p=float(top_p)), 99), right), want)


def exceeds(counts, want):
    statistic, limit = chi_square(counts, want)
    return statistic > limit


# The joint distribution of a reply's first three tokens. The first comes from prefill, the others from rounds: the second mostly as
# a draft that was accepted or rejected, the third from the same round or the next one.
SAMPLING = Sampling(1.5, top_k=4, top_p=0.97)
PROMPTS = {
    "tiny": (73, 122, 51, 37, 73, 117, 82, 108, 70, 73, 52),
    "tiny2": (9, 17, 77, 120, 31, 44),
    "dspark": (52, 22, 1, 57, 93, 9),
    "eagle3": (67, 4, 101, 62, 16, 49),
    "mtp": (91, 43, 77, 23, 111, 10),
}


def joint(engine, prompt, sampling=SAMPLING):
    """Return the probability of every three tokens [V, V, V], as a dict of those above 0."""

    @functools.cache
    def following(*so_far):
        whole = mx.array([*prompt, *so_far])
        logits = np.array(engine.pair.target.forward(whole, engine.pair.target.caches())[-1])
        return law(logits.astype(np.float64), sampling)

    out = {(): 1.0}
    for _ in range(3):
        out = {
            (*so_far, int(token)): chance * following(*so_far)[token]
            for so_far, chance in out.items()
            for token in np.flatnonzero(following(*so_far))
        }
    return out


def emitted(engine, prompt, mode, width, seeds, sampling=SAMPLING):
    """Count how often each three tokens were generated."""
    seen: dict[tuple[int, ...], int] = {}
    for seed in seeds:
        request = tokens(prompt, mode=mode, width=width, seed=seed, max_tokens=3, ignore_eos=True)
        got = reply(engine, dataclasses.replace(request, sampling=sampling)).tokens
        seen[got] = seen.get(got, 0) + 1
    return seen


def judged(seen, want):
    assert set(seen) <= set(want)
    cells = sorted(want)
    return chi_square(np.array([seen.get(cell, 0) for cell in cells]), np.array([want[cell] for cell in cells]))


@pytest.mark.parametrize(
    ("pair", "mode", "width"),
    [
        ("tiny", "dflash", 8),
        pytest.param("tiny", "plain", None, marks=pytest.mark.long),
        *(pytest.param(name, "dflash", 4, marks=pytest.mark.long) for name in ("tiny2", "eagle3", "mtp")),
    ],
)
def test_tokens_from_rounds_follow_the_exact_distribution(pair, mode, width, request):
    engine, prompt = request.getfixturevalue(pair), PROMPTS[pair]
    statistic, limit = judged(emitted(engine, prompt, mode, width, range(FEW)), joint(engine, prompt))
    assert statistic < limit


@pytest.mark.long
@pytest.mark.parametrize(
    ("pair", "mode", "width"),
    [
        ("tiny", "plain", None),
        *itertools.product(["tiny"], ["dflash"], [2, 8]),
        *itertools.product(["tiny2"], ["dflash"], [3, 8]),
        *itertools.product(["dspark", "eagle3", "mtp"], ["dflash"], [8]),
    ],
)
def test_many_tokens_follow_the_exact_distribution(pair, mode, width, request):
    engine, prompt = request.getfixturevalue(pair), PROMPTS[pair]
    statistic, limit = judged(emitted(engine, prompt, mode, width, range(DRAWS)), joint(engine, prompt))
    assert statistic < limit


def test_reusing_noise_at_the_next_position_is_detected(tiny, monkeypatch):
    """If all tokens are nearly equally likely, reused noise repeats a token; correct noise does so once in 128 times."""

    def repeats():
        hot = Sampling(50.0)
        seen = emitted(tiny, PROMPTS["tiny"], "dflash", 8, range(40), hot)
        return sum(count for (_, second, third), count in seen.items() if second == third)

    assert repeats() <= 6  # more than 6 of 40 has a probability of 1e-9
    right = sampling_module.gumbel
    monkeypatch.setattr(sampling_module, "gumbel", lambda seed, first, rows, size: mx.repeat(right(seed, 0, 1, size), rows, axis=0))
    assert repeats() > 20
