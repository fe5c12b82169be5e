"""The distribution of a choice, computed in float64 from its definition, and a test whether draws follow it."""

import math
from collections.abc import Sequence

import numpy as np

from mlx_engine.contract.requests import Sampling


def tempered(logits: Sequence[float], sampling: Sampling, prompt: Sequence[int] = (), reply: Sequence[int] = ()) -> np.ndarray:
    """Return logits after penalties and temperature."""
    out = np.array(logits, np.float64)
    for token in {*prompt, *reply}:
        out[token] *= 1 / sampling.repetition_penalty if out[token] > 0 else sampling.repetition_penalty
    for token in set(reply):
        out[token] -= sampling.presence_penalty + sampling.frequency_penalty * list(reply).count(token)
    return out / sampling.temperature


def _shares(logits: np.ndarray, keep: np.ndarray) -> np.ndarray:
    shares = np.where(keep, np.exp(logits - logits.max()), 0.0)
    return shares / shares.sum()


def law(logits: Sequence[float], sampling: Sampling, prompt: Sequence[int] = (), reply: Sequence[int] = ()) -> np.ndarray:
    """Return the probability of every token after penalties, temperature, top-k, top-p and min-p."""
    z = tempered(logits, sampling, prompt, reply)
    keep = np.ones(len(z), bool)
    if 0 < sampling.top_k < len(z):
        keep &= z >= np.sort(z)[-sampling.top_k]
    shares = _shares(z, keep)
    keep &= np.array([shares[z > each].sum() < sampling.top_p for each in z]) | (sampling.top_p >= 1)
    shares = _shares(z, keep)
    keep &= shares >= sampling.min_p * shares.max() * (1 - 1e-12)
    return _shares(z, keep)


def boundaries(logits: Sequence[float], sampling: Sampling, prompt: Sequence[int] = (), reply: Sequence[int] = ()) -> float:
    """Return how close a token is to the edge of a filter; closer than a rounding, it may be on either side."""
    z = tempered(logits, sampling, prompt, reply)
    gaps = np.diff(np.unique(z))
    near = [gaps[gaps < 1e-4].min(initial=np.inf) * 1e-3]  # a tie made by penalties in one precision only
    keep = np.ones(len(z), bool)
    if 0 < sampling.top_k < len(z):
        keep = z >= np.sort(z)[-sampling.top_k]
    shares = _shares(z, keep)
    if sampling.top_p < 1:
        near += [abs(shares[z > each].sum() - sampling.top_p) for each in z]
    if 0 < sampling.min_p < 1:
        near += [abs(share / shares.max() - sampling.min_p) for share in shares]
    return float(min(near))


def chi_square(counts: np.ndarray, law: np.ndarray) -> tuple[float, float]:
    """Return the statistic of draws against a distribution, and what it exceeds once in 10^7 times if they follow it.

    Cells with fewer than 5 draws to be expected are counted together. The limit is Wilson and Hilferty's, with z = 5.2.
    """
    draws = counts.sum()
    rare = law * draws < 5
    observed = np.append(counts[~rare], counts[rare].sum())
    expected = np.append(law[~rare], law[rare].sum()) * draws
    if expected[-1] == 0:
        if observed[-1]:
            return math.inf, 0.0
        observed, expected = observed[:-1], expected[:-1]
    freedom = len(observed) - 1
    if freedom < 1:
        return 0.0, 1.0
    statistic = float(((observed - expected) ** 2 / expected).sum())
    part = 2 / (9 * freedom)
    return statistic, freedom * (1 - part + 5.2 * math.sqrt(part)) ** 3
