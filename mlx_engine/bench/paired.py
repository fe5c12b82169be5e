"""Ratios that are robust on a noisy machine: neighboring runs are compared, and the interval comes from resampling prompts."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, median

_RESAMPLES = 2000


@dataclass(frozen=True)
class PairedRatio:
    """Geometric mean of paired ratios, with a 95% interval."""

    value: float
    low: float
    high: float
    pairs: int


def paired_ratio(ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]]) -> PairedRatio:
    """Return ours / theirs from rates [prompts][runs], in which the k-th runs of a prompt are neighbors in time.

    Each prompt contributes the median of its runs' ratios, so that one disturbed run matters little. Then prompts are resampled
    (percentile bootstrap, fixed seed), because the result should hold for other prompts.
    """
    logs = [median(math.log(a / b) for a, b in zip(x, y, strict=True)) for x, y in zip(ours, theirs, strict=True)]
    draw = random.Random(0)
    means = sorted(mean(draw.choices(logs, k=len(logs))) for _ in range(_RESAMPLES))
    low, high = means[int(0.025 * _RESAMPLES)], means[int(0.975 * _RESAMPLES)]
    return PairedRatio(math.exp(mean(logs)), math.exp(low), math.exp(high), len(logs))
