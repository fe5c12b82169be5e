"""What a pass costs on this machine, by proposer, width and context depth: a table, and what the clock says since.

The table is measured (calibration) or assumed. On top of it stands a small Kalman filter over the logarithms of real / tabled
seconds, one entry a kind of pass. Its entries are correlated as costs are: a machine that is busy slows every pass alike, and what
is learnt of one width says something of its neighbours. So a few rounds of a reply are enough to correct a table that was assumed,
and a machine that has become slower is noticed.
"""

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from math import exp, log, log2, sqrt
from typing import NamedTuple

from mlx_engine.events import Source

LADDER = (1, 2, 3, 4, 5, 6, 8, 12, 16)  # automatic widths, so that a compiled loop needs few shapes
_NOISE = 0.08  # of one measured pass on a quiet machine: a scatter of 8 %
_MOST_NOISE = 2.0  # on the busiest
_NOISE_MEMORY = 16.0  # passes by which scatter is judged
_DRIFT = 0.06  # that relative costs may drift from pass to pass, in scatters: a busy machine changes more, too
_SHARED_DRIFT = 0.25  # that all costs may drift together, in scatters
_TOO_UNEVEN = 0.3  # scatter of a table's times
_BELIEVED = 3.0  # standard deviations; a stray time counts as no more than this
_NEAR = 64  # tokens of depth that are held to cost the same
_STRAYS = 3  # so many strays in a row mean that the machine has changed


class Pass(NamedTuple):
    """A kind of pass: a plain step of the target (width 1), or a round of `width` rows with drafts of this proposer."""

    proposer: Source
    width: int


PLAIN = Pass("target", 1)


@dataclass(frozen=True)
class Table:
    """Seconds of a plain step [depths], and of a verify and a draft [depths][widths], at these depths and widths, both rising.

    Depth is the number of tokens in the caches. `measured` is False for one that is only assumed, whose unit means nothing;
    `scatter` is the standard deviation of the logarithms of the times that it is made of. `queued` says whether rounds that are
    queued before the one before them is read were the quicker ones.
    """

    depths: tuple[int, ...]
    widths: tuple[int, ...]
    plain: tuple[float, ...]
    verify: tuple[tuple[float, ...], ...]
    draft: tuple[tuple[float, ...], ...]
    measured: bool = True
    scatter: float = 0.0
    queued: bool = False

    @property
    def settled(self) -> bool:
        """Whether it was measured, and while the machine was not so busy that it were better measured again at the next start."""
        return self.measured and self.scatter < _TOO_UNEVEN

    def seconds(self, kind: Pass, depth: int) -> float:
        """What a pass costs after `depth` tokens: interpolated, and continued in a straight line beyond what the table holds."""
        if kind.proposer == "target":
            return max(_between(self.depths, self.plain, depth), 1e-9)
        at = [_between(self.widths, row, kind.width) for row in self.verify]
        if kind.proposer == "drafter":
            at = [verify + _between(self.widths, row, kind.width) for verify, row in zip(at, self.draft, strict=True)]
        return max(_between(self.depths, at, depth), 1e-9)


# In plain steps. Between a fast graphics processor, where rows are nearly free, and published 4-bit figures (2 to 6 for 16 rows).
ASSUMED = Table((0,), (1, 16), (1.0,), ((1.05, 2.4),), ((0.25, 0.45),), measured=False)


def _between(xs: tuple[int, ...], ys: "tuple[float, ...] | list[float]", x: int) -> float:
    """Piecewise linear through the points, continued by the outer pieces."""
    if len(xs) == 1:
        return ys[0]
    i = min(max(bisect_left(xs, x), 1), len(xs) - 1)
    share = (x - xs[i - 1]) / (xs[i] - xs[i - 1])
    return ys[i - 1] + share * (ys[i] - ys[i - 1])


class Costs:
    """The table for one pair and machine, corrected by what passes are seen to cost.

    Lookup's rounds are corrected with the drafter's of the same width: both are mostly the verify.

    Args:
        table: measured or assumed.
        block: the drafter's block size, the widest pass.
    """

    def __init__(self, table: Table, block: int) -> None:
        self.table = table
        self.kinds = [PLAIN, *(Pass("drafter", width) for width in LADDER if 1 < width <= block)]
        self._index = {kind.width: i for i, kind in enumerate(self.kinds)}
        self._mosts = [_most(kind) for kind in self.kinds[1:]]
        self._mean = [0.0] * len(self.kinds)
        shared, shape, draft = (0.3, max(0.06, table.scatter), 0.06) if table.measured else (3.0, 0.45, 0.3)
        self._covariance = [[_prior(a, b, shared, shape, draft) for b in self.kinds] for a in self.kinds]
        self.seen = Counter[Pass]()
        self._scatter = min(max(_NOISE, table.scatter), _MOST_NOISE)
        self._strays = 0
        self._tabled: dict[tuple[Pass, int], float] = {}
        self._rows: dict[int, list[float]] = {}

    def seconds(self, kind: Pass, depth: int) -> float:
        """What this pass is expected to cost after `depth` tokens; of the ladder's widths."""
        plain = self._table(PLAIN, depth) * exp(self._mean[0])
        if kind == PLAIN:
            return plain
        return min(self._table(kind, depth) * exp(self._mean[self._index[kind.width]]), _most(kind) * plain)

    def all_seconds(self, depth: int) -> list[float]:
        """What a pass of each of `kinds` is expected to cost after `depth` tokens."""
        near = depth // _NEAR
        if near not in self._rows:
            self._rows[near] = [self._table(kind, depth) for kind in self.kinds]
        plain, *rounds = (tabled * exp(mean) for tabled, mean in zip(self._rows[near], self._mean, strict=True))
        return [plain, *(min(each, most * plain) for each, most in zip(rounds, self._mosts, strict=True))]

    def doubt(self, kind: Pass, beside: Pass) -> float:
        """Standard deviation of log(cost of one / cost of the other)."""
        a, b, c = self._index[kind.width], self._index[beside.width], self._covariance
        return sqrt(max(c[a][a] + c[b][b] - 2 * c[a][b], 0.0))

    def saw(self, kind: Pass, depth: int, seconds: float, times: int = 1) -> None:
        """A pass of this kind took so long; or `times` passes took so long in the mean."""
        k = self._index.get(kind.width)
        if k is None or seconds <= 0:
            return  # a width that is not on the ladder, at the end of a reply
        self.seen[kind] += times
        mean, covariance = self._mean, self._covariance
        error = log(seconds / self._table(kind, depth)) - mean[k]
        noise = self._scatter**2 / times
        most = _BELIEVED * sqrt(covariance[k][k] + noise)
        self._strays = self._strays + 1 if abs(error) > most else 0
        if self._strays >= _STRAYS:
            self._strays = 0
            self._open()
            most = _BELIEVED * sqrt(covariance[k][k] + noise)
        self._judge(error, covariance[k][k])
        error = min(max(error, -most), most)
        row_k = covariance[k]
        variance = row_k[k] + noise
        shared, own = (_SHARED_DRIFT * self._scatter) ** 2 * times, (_DRIFT * self._scatter) ** 2 * times
        drifted = []
        for i, row in enumerate(covariance):
            gain = row[k] / variance
            mean[i] += gain * error
            drifted.append([value + shared - gain * at_k for value, at_k in zip(row, row_k, strict=True)])
            drifted[i][i] += own
        self._covariance = drifted

    def _table(self, kind: Pass, depth: int) -> float:
        near = (kind, depth // _NEAR)
        if near not in self._tabled:
            self._tabled[near] = self.table.seconds(kind, depth // _NEAR * _NEAR)
        return self._tabled[near]

    def _judge(self, error: float, variance: float) -> None:
        """What a time was off by, beyond what was not known of its cost, is scatter; 1.25 mean deviations are a standard one."""
        off = min(1.25 * max(abs(error) - sqrt(variance), 0.0), _MOST_NOISE)
        self._scatter = max(self._scatter + (off - self._scatter) / _NOISE_MEMORY, _NOISE)

    def _open(self) -> None:
        """Forget part of what was known: the machine has changed."""
        for i, a in enumerate(self.kinds):
            for j, b in enumerate(self.kinds):
                self._covariance[i][j] += _prior(a, b, 0.5, 0.2, 0.2)


def _most(kind: Pass) -> float:
    """Plain steps that a round is held to cost at the most: rows can be checked one by one, and a draft costs less than a step.

    Rounds and plain steps are timed minutes apart, and what the machine did besides is soon taken for what they cost.
    """
    return kind.width + 1.0


def _prior(a: Pass, b: Pass, shared: float, shape: float, draft: float) -> float:
    """Covariance of two log costs: all passes alike, near widths alike (on a log scale), all drafts alike."""
    apart = log2(a.width) - log2(b.width)
    both = draft**2 if a.proposer == b.proposer == "drafter" else 0.0
    own = 0.03**2 if a == b else 0.0
    return shared**2 + shape**2 * exp(-(apart**2) / 4.5) + both + own
