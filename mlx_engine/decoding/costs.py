"""What a pass costs on this machine: a table, corrected by observed times.

The table is calibrated or assumed. A small Kalman filter over the logarithms of observed / tabled seconds corrects it, with one
entry per kind of pass. The entries are correlated as the costs are: a busy machine slows every pass alike, and one width says
something about its neighbors. A few rounds of a reply therefore correct an assumed table, and a slowdown of the machine is
noticed.
"""

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from math import exp, log, log2, sqrt
from typing import NamedTuple

from mlx_engine.events import Source

LADDER = (1, 2, 3, 4, 5, 6, 8, 12, 16)  # automatic widths; few, so that a compiled loop needs few shapes
_SCATTER = 0.08  # of one measured pass on a quiet machine, as a standard deviation of its logarithm
_MAX_SCATTER = 2.0  # on the busiest machine
_SCATTER_MEMORY = 16.0  # passes
_DRIFT = 0.06  # of relative costs from pass to pass, in scatters: a busy machine also drifts more
_SHARED_DRIFT = 0.25  # of all costs together, in scatters
_UNRELIABLE_SCATTER = 0.3  # of a table's times
_MAX_DEVIATIONS = 3.0  # standard deviations that an outlier counts for
_DEPTH_STEP = 64  # tokens of depth that are taken to cost the same
_OUTLIERS = 3  # this many in a row mean that the machine has changed


class PassKind(NamedTuple):
    """A plain step of the target (width 1), or a round of `width` rows of this proposer."""

    proposer: Source
    width: int


PLAIN_STEP = PassKind("target", 1)


@dataclass(frozen=True)
class CostTable:
    """Seconds of a plain step [depths], and of a verify and a draft [depths][widths].

    Depth is the number of tokens in the caches. `measured` is False for an assumed table, whose unit is arbitrary. `scatter` is
    the standard deviation of the logarithms of the measured times. `queued` says whether queuing a round before the one before it
    is read was faster.
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
    def reliable(self) -> bool:
        """Whether the machine was quiet enough for the table to be kept at the next start."""
        return self.measured and self.scatter < _UNRELIABLE_SCATTER

    def seconds(self, kind: PassKind, depth: int) -> float:
        """Return a pass's seconds after `depth` tokens, interpolated or extrapolated linearly."""
        if kind.proposer == "target":
            return max(_interpolate(self.depths, self.plain, depth), 1e-9)
        seconds = [_interpolate(self.widths, row, kind.width) for row in self.verify]
        if kind.proposer == "drafter":
            seconds = [verify + _interpolate(self.widths, row, kind.width) for verify, row in zip(seconds, self.draft, strict=True)]
        return max(_interpolate(self.depths, seconds, depth), 1e-9)


# In plain steps. Between a fast GPU, where rows are nearly free, and published 4-bit figures (2 to 6 for 16 rows).
ASSUMED = CostTable((0,), (1, 16), (1.0,), ((1.05, 2.4),), ((0.25, 0.45),), measured=False)


def _interpolate(xs: tuple[int, ...], ys: "tuple[float, ...] | list[float]", x: int) -> float:
    """Interpolate linearly between the points, and extend the outer pieces."""
    if len(xs) == 1:
        return ys[0]
    i = min(max(bisect_left(xs, x), 1), len(xs) - 1)
    share = (x - xs[i - 1]) / (xs[i] - xs[i - 1])
    return ys[i - 1] + share * (ys[i] - ys[i - 1])


class PassCosts:
    """A cost table for one pair and machine, corrected by observed passes.

    Lookup rounds share the correction of drafter rounds of the same width: both are mostly the verify.

    Args:
        table: calibrated or assumed.
        block: the drafter's block size, the widest pass.
    """

    def __init__(self, table: CostTable, block: int) -> None:
        self.table = table
        self.kinds = [PLAIN_STEP, *(PassKind("drafter", width) for width in LADDER if 1 < width <= block)]
        self._index = {kind.width: i for i, kind in enumerate(self.kinds)}
        self._caps = [_max_plain_steps(kind) for kind in self.kinds[1:]]
        self._mean = [0.0] * len(self.kinds)
        shared, shape, draft = (0.3, max(0.06, table.scatter), 0.06) if table.measured else (3.0, 0.45, 0.3)
        self._covariance = [[_prior(a, b, shared, shape, draft) for b in self.kinds] for a in self.kinds]
        self.counts = Counter[PassKind]()
        self._scatter = min(max(_SCATTER, table.scatter), _MAX_SCATTER)
        self._outliers = 0
        self._tabled: dict[tuple[PassKind, int], float] = {}
        self._rows: dict[int, list[float]] = {}

    def seconds(self, kind: PassKind, depth: int) -> float:
        """Return the expected cost of a pass after `depth` tokens."""
        plain = self._table(PLAIN_STEP, depth) * exp(self._mean[0])
        if kind == PLAIN_STEP:
            return plain
        return min(self._table(kind, depth) * exp(self._mean[self._index[kind.width]]), _max_plain_steps(kind) * plain)

    def all_seconds(self, depth: int) -> list[float]:
        """Return the expected cost of each of `kinds` after `depth` tokens."""
        step = depth // _DEPTH_STEP
        if step not in self._rows:
            self._rows[step] = [self._table(kind, depth) for kind in self.kinds]
        plain, *rounds = (tabled * exp(mean) for tabled, mean in zip(self._rows[step], self._mean, strict=True))
        return [plain, *(min(seconds, cap * plain) for seconds, cap in zip(rounds, self._caps, strict=True))]

    def uncertainty(self, kind: PassKind, other: PassKind) -> float:
        """Return the standard deviation of log(cost of one / cost of the other)."""
        a, b, c = self._index[kind.width], self._index[other.width], self._covariance
        return sqrt(max(c[a][a] + c[b][b] - 2 * c[a][b], 0.0))

    def record(self, kind: PassKind, depth: int, seconds: float, times: int = 1) -> None:
        """Record a pass's time, or the average time of `times` passes."""
        k = self._index.get(kind.width)
        if k is None or seconds <= 0:
            return  # a width between the ladder's, at the end of a reply
        self.counts[kind] += times
        mean, covariance = self._mean, self._covariance
        error = log(seconds / self._table(kind, depth)) - mean[k]
        noise = self._scatter**2 / times
        limit = _MAX_DEVIATIONS * sqrt(covariance[k][k] + noise)
        self._outliers = self._outliers + 1 if abs(error) > limit else 0
        if self._outliers >= _OUTLIERS:
            self._outliers = 0
            self._widen()
            limit = _MAX_DEVIATIONS * sqrt(covariance[k][k] + noise)
        self._update_scatter(error, covariance[k][k])
        error = min(max(error, -limit), limit)
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

    def _table(self, kind: PassKind, depth: int) -> float:
        key = (kind, depth // _DEPTH_STEP)
        if key not in self._tabled:
            self._tabled[key] = self.table.seconds(kind, depth // _DEPTH_STEP * _DEPTH_STEP)
        return self._tabled[key]

    def _update_scatter(self, error: float, variance: float) -> None:
        """Update the scatter by an error beyond the cost's own uncertainty."""
        excess = min(1.25 * max(abs(error) - sqrt(variance), 0.0), _MAX_SCATTER)
        self._scatter = max(self._scatter + (excess - self._scatter) / _SCATTER_MEMORY, _SCATTER)

    def _widen(self) -> None:
        """Forget part of what was learned, because the machine has changed."""
        for i, a in enumerate(self.kinds):
            for j, b in enumerate(self.kinds):
                self._covariance[i][j] += _prior(a, b, 0.5, 0.2, 0.2)


def _max_plain_steps(kind: PassKind) -> float:
    """Return how many plain steps a round can cost: one per row, and one for the draft.

    Rounds and plain steps are timed minutes apart, so another program's load is easily mistaken for their cost.
    """
    return kind.width + 1.0


def _prior(a: PassKind, b: PassKind, shared: float, shape: float, draft: float) -> float:
    """Return the covariance of two log costs: of all passes, of near widths, of all drafts."""
    distance = log2(a.width) - log2(b.width)
    both = draft**2 if a.proposer == b.proposer == "drafter" else 0.0
    own = 0.03**2 if a == b else 0.0
    return shared**2 + shape**2 * exp(-(distance**2) / 4.5) + both + own
