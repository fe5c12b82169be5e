"""Ratios that survive a noisy machine: every pair of runs is compared with itself, and the interval comes from resampling pairs."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median

_RESAMPLES = 2000


@dataclass(frozen=True)
class Ratio:
    """Geometric mean of paired ratios, with a 95 % interval."""

    value: float
    low: float
    high: float
    pairs: int


def paired_ratio(ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]]) -> Ratio:
    """Ours / theirs from rates by prompt and run, [prompts][runs], the k-th runs of a prompt being neighbours in time.

    A prompt's runs are first brought down to the median of their ratios, so that a disturbed run weighs little; then prompts are
    resampled (percentile bootstrap, fixed seed), since it is other prompts that the figure is to hold for.
    """
    logs = [median(math.log(a / b) for a, b in zip(x, y, strict=True)) for x, y in zip(ours, theirs, strict=True)]
    draw = random.Random(0)
    means = sorted(mean(draw.choices(logs, k=len(logs))) for _ in range(_RESAMPLES))
    low, high = means[int(0.025 * _RESAMPLES)], means[int(0.975 * _RESAMPLES)]
    return Ratio(math.exp(mean(logs)), math.exp(low), math.exp(high), len(logs))
