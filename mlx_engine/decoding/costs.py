"""Pass costs on this machine: a table, corrected by observed times.

The table is calibrated or assumed. A small Kalman filter over log(observed / tabulated seconds) corrects it, with one entry per
kind of pass and sizes of shared passes. The entries are correlated because the costs are: a busy machine slows all passes alike,
and neighboring widths cost about the same. A few rounds therefore suffice to correct an assumed table or to notice that the machine
has slowed down.
"""

from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from math import exp, inf, log, log2, sqrt
from typing import NamedTuple

from mlx_engine.contract.events import Source
from mlx_engine.contract.limits import MAX_COPY_ROWS

LADDER = (1, 2, 3, 4, 5, 6, 8, 12, 16)  # automatic widths; few, to limit the number of compiled shapes
SHARED_ROWS = (12, 16, 24, 32)  # rows of passes to measure beyond the drafter's block: of shared passes and of copies
COPY_WIDTHS = (*LADDER, 24, MAX_COPY_ROWS)  # automatic widths of lookup rounds, which no drafter's block limits
_SCATTER = 0.08  # standard deviation of a pass's log time on a quiet machine
_MAX_SCATTER = 2.0  # on a very busy machine
_SCATTER_MEMORY = 16.0  # in passes
_DRIFT = 0.06  # of relative costs per pass, as a multiple of the scatter: a busy machine also drifts more
_SHARED_DRIFT = 0.25  # of all costs together, as a multiple of the scatter
_UNRELIABLE_SCATTER = 0.3  # scatter from which a table isn't saved
_MAX_DEVIATIONS = 3.0  # limit of an outlier's effect, in standard deviations
_DEPTH_STEP = 64  # depths are rounded down to a multiple of this many tokens
_OUTLIERS = 3  # consecutive outliers after which the machine's speed has changed
_MAX_SHARED = 4096  # tabulated times of shared passes, which differ in rows, streams, and depth
_SIZES = (2, 4, 8, 16, 32, 64)  # rows of shared passes, which are corrected separately


class PassKind(NamedTuple):
    """A plain step (`target`, width 1), or a round of `width` rows from a proposer.

    The last `copied` rows of a drafter round are copies behind its drafts.
    """

    proposer: Source
    width: int
    copied: int = 0

    @property
    def block(self) -> int:
        """Rows of the drafter's block, with the anchor; 0 without one."""
        return self.width - self.copied if self.proposer == "drafter" else 0


PLAIN_STEP = PassKind("target", 1)


class PassLoad(NamedTuple):
    """What streams bring to a pass.

    Attributes:
        rows: rows of the target.
        drafted: rows of blocks that a drafter drafts for it.
        streams: number of streams.
        depth: their cached tokens, together.
    """

    rows: int = 0
    drafted: int = 0
    streams: int = 0
    depth: int = 0

    @classmethod
    def of(cls, kind: PassKind, depth: int, block: int = 0) -> "PassLoad":
        """Return the load of one stream with `depth` cached tokens.

        Args:
            block: rows of each draft, if confidence narrows the pass afterwards; otherwise 0.
        """
        return cls(kind.width, (block or kind.block) if kind.block else 0, 1, depth)

    def plus(self, other: "PassLoad") -> "PassLoad":
        return PassLoad(*(a + b for a, b in zip(self, other, strict=True)))

    def minus(self, other: "PassLoad") -> "PassLoad":
        return PassLoad(*(a - b for a, b in zip(self, other, strict=True)))


NOTHING = PassLoad()


@dataclass(frozen=True)
class CostTable:
    """Measured or assumed pass times in seconds, by depth and width."""

    depths: tuple[int, ...]  # numbers of cached tokens
    widths: tuple[int, ...]
    plain: tuple[float, ...]  # [depths]
    verify: tuple[tuple[float, ...], ...]  # [depths][widths]
    draft: tuple[tuple[float, ...], ...]  # [depths][widths]
    measured: bool = True  # if False, the unit of time is arbitrary
    scatter: float = 0.0  # standard deviation of the log of the measured times
    queued: bool = False  # whether queuing a round before reading the previous one was faster

    @property
    def reliable(self) -> bool:
        """Whether the machine was quiet enough to keep the table for later starts."""
        return self.measured and self.scatter < _UNRELIABLE_SCATTER

    def seconds(self, kind: PassKind, depth: int) -> float:
        """Return a pass's time after `depth` tokens, by linear interpolation."""
        if kind.proposer == "target":
            return max(_interpolate(self.depths, self.plain, depth), 1e-9)
        seconds = [_interpolate(self.widths, row, kind.width) for row in self.verify]
        if kind.block:
            drafts = [_interpolate(self.widths, row, kind.block) for row in self.draft]
            seconds = [verify + draft for verify, draft in zip(seconds, drafts, strict=True)]
        return max(_interpolate(self.depths, seconds, depth), 1e-9)

    def shared_seconds(self, load: PassLoad) -> float:
        """Return the time of a pass that streams share.

        It takes as long as a pass of one stream with so many rows, and reads the other streams' caches, too. It takes no longer
        than a pass for each stream, one after the other.
        """
        each = load.depth / load.streams

        def at_depth(table: tuple[tuple[float, ...], ...], rows: float) -> float:
            return _interpolate(self.depths, [_at_rows(self.widths, row, rows) for row in table], each)

        plain = _interpolate(self.depths, self.plain, each)
        shared = at_depth(self.verify, load.rows) + _interpolate(self.depths, self.plain, load.depth) - plain
        rows = load.rows / load.streams
        alone = load.streams * (plain if rows == 1 else at_depth(self.verify, rows))
        if load.drafted:
            shared += at_depth(self.draft, load.drafted)
            alone += load.streams * at_depth(self.draft, load.drafted / load.streams)
        return max(min(shared, alone), 1e-9)


# In plain steps: between a fast GPU, where rows are nearly free, and published 4-bit figures (2 to 6 for 16 rows)
ASSUMED = CostTable((0,), (1, 16), (1.0,), ((1.05, 2.4),), ((0.25, 0.45),), measured=False)


def _interpolate(xs: tuple[int, ...], ys: "tuple[float, ...] | list[float]", x: float) -> float:
    """Interpolate linearly, and extrapolate beyond the outer points."""
    if len(xs) == 1:
        return ys[0]
    i = min(max(bisect_left(xs, x), 1), len(xs) - 1)
    share = (x - xs[i - 1]) / (xs[i] - xs[i - 1])
    return ys[i - 1] + share * (ys[i] - ys[i - 1])


def _at_rows(widths: tuple[int, ...], seconds: tuple[float, ...], rows: float) -> float:
    """Interpolate between measured widths. Beyond, no row costs less than on average.

    The two largest widths may cost the same, because their rows are padded to the same number.
    """
    if rows <= widths[-1] or len(widths) == 1:
        return _interpolate(widths, seconds, rows)
    slope = max((seconds[-1] - seconds[i]) / (widths[-1] - widths[i]) for i in (0, -2))
    return seconds[-1] + slope * (rows - widths[-1])


class PassCosts:
    """A cost table for one pair and machine, corrected by observed passes.

    Lookup rounds share the correction of drafter rounds with the same width, because the verify dominates both. The first time of a
    copy beyond the block isn't counted: that pass may compile kernels and allocate buffers, and after a slow one, copies would
    be rare.

    Args:
        table: calibrated or assumed.
        block: the drafter's block size, which is its largest width.
        drafts_blocks: whether each draft has a whole block; see `PassLoad.of`.
    """

    def __init__(self, table: CostTable, block: int, drafts_blocks: bool = False) -> None:
        self.table, self.block = table, block if drafts_blocks else 0
        self.kinds = (PLAIN_STEP, *(PassKind("drafter", width) for width in LADDER if 1 < width <= block))
        self._index = {kind.width: i for i, kind in enumerate(self.kinds)}
        self._entries = [
            *(_Entry(kind.width, kind.proposer == "drafter") for kind in self.kinds),
            *(_Entry(n, shared=True) for n in _SIZES),
        ]
        for width in COPY_WIDTHS:
            if width not in self._index:  # also below a block that is wider than the ladder
                self._index[width] = len(self._entries)
                self._entries.append(_Entry(width))
        self._mean = [0.0] * len(self._entries)
        shared, shape, draft = (0.3, max(0.06, table.scatter), 0.06) if table.measured else (3.0, 0.45, 0.3)
        self._covariance = [[_prior(a, b, shared, shape, draft) for b in self._entries] for a in self._entries]
        self.counts = Counter[PassKind]()
        self._scatter = min(max(_SCATTER, table.scatter), _MAX_SCATTER)
        self._outliers = 0
        self._tabulated: dict[tuple[PassKind, int], float] = {}
        self._shared: dict[PassLoad, float] = {}
        self._rows: dict[tuple[tuple[PassKind, ...], int], list[tuple[float, int, float]]] = {}

    def seconds(self, kind: PassKind, depth: int, others: PassLoad = NOTHING) -> float:
        """Return the expected time of a pass after `depth` tokens.

        Args:
            kind: the pass of one stream.
            depth: number of the stream's cached tokens.
            others: what other streams bring to the pass.
        """
        if others.streams:
            return self.shared_seconds(others.plus(PassLoad.of(kind, depth, self.block)))
        plain = self._table(PLAIN_STEP, depth) * exp(self._mean[0])
        seconds = self._table(kind, depth) * exp(self._mean[self._index[kind.width]])
        return min(seconds, _max_plain_steps(kind) * plain)

    def is_less_known(self, load: PassLoad, other: PassLoad, limit: float) -> bool:
        """Return whether `load` was timed less than `other`, and their ratio is uncertain.

        Args:
            limit: standard deviation of the log of the ratio.
        """
        a, b = self._size(load), self._size(other)
        return self._covariance[a][a] > self._covariance[b][b] and self._deviation(a, b) > limit

    def shared_seconds(self, load: PassLoad) -> float:
        """Return the expected time of a pass that streams share."""
        at = log2(min(max(load.rows, _SIZES[0]), _SIZES[-1])) - 1  # sizes double
        low = min(int(at), len(_SIZES) - 2)
        first = len(self.kinds) + low
        mean = self._mean[first] + (at - low) * (self._mean[first + 1] - self._mean[first])
        return self._shared_table(load) * exp(mean)

    def all_seconds(
        self, kinds: tuple[PassKind, ...], depth: int, others: PassLoad = NOTHING, like: PassKind | None = None
    ) -> list[float]:
        """Return the expected time of each of these passes; see `seconds`.

        Args:
            like: a pass that is timed more often. If given, the others take at most what the table says, corrected as this one.
        """
        if others.streams:
            return [self.seconds(kind, depth, others) for kind in kinds]
        key = kinds, depth // _DEPTH_STEP
        if key not in self._rows:
            self._rows[key] = [(self._table(kind, depth), self._index[kind.width], _max_plain_steps(kind)) for kind in kinds]
        mean = self._mean
        plain, most = self._table(PLAIN_STEP, depth) * exp(mean[0]), inf if like is None else mean[self._index[like.width]]
        return [min(seconds * exp(min(mean[i], most)), cap * plain) for seconds, i, cap in self._rows[key]]

    def uncertainty(self, kind: PassKind, other: PassKind) -> float:
        """Return the standard deviation of log(cost of `kind` / cost of `other`)."""
        return self._deviation(self._index[kind.width], self._index[other.width])

    def record(self, kind: PassKind, depth: int, seconds: float, times: int = 1) -> None:
        """Record a pass's time in seconds, or the average time of `times` passes."""
        k = self._index.get(kind.width)
        if k is None or seconds <= 0:
            return  # not on the ladder: the end of the reply cut the round short
        self.counts[kind] += times
        if k < len(self.kinds) or self.counts[kind] > times:
            self._correct(k, log(seconds / self._table(kind, depth)), times)

    def record_shared(self, load: PassLoad, seconds: float) -> None:
        """Record the time of a pass that streams shared, in seconds."""
        if seconds > 0:
            self._correct(self._size(load), log(seconds / self._shared_table(load)), 1)

    def _size(self, load: PassLoad) -> int:
        """Return the entry of a shared pass."""
        return len(self.kinds) + min(range(len(_SIZES)), key=lambda i: abs(log2(load.rows / _SIZES[i])))

    def _deviation(self, a: int, b: int) -> float:
        c = self._covariance
        return sqrt(max(c[a][a] + c[b][b] - 2 * c[a][b], 0.0))

    def _correct(self, k: int, observed: float, times: int) -> None:
        """Correct entry `k`, and those that are correlated with it."""
        mean, covariance = self._mean, self._covariance
        error = observed - mean[k]
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
        if key not in self._tabulated:
            self._tabulated[key] = self.table.seconds(kind, depth // _DEPTH_STEP * _DEPTH_STEP)
        return self._tabulated[key]

    def _shared_table(self, load: PassLoad) -> float:
        step = _DEPTH_STEP * load.streams
        load = load._replace(depth=load.depth // step * step)
        if load not in self._shared:
            if len(self._shared) >= _MAX_SHARED:
                self._shared.clear()
            self._shared[load] = self.table.shared_seconds(load)
        return self._shared[load]

    def _update_scatter(self, error: float, variance: float) -> None:
        """Update the scatter with the part of an error that exceeds the uncertainty."""
        excess = min(1.25 * max(abs(error) - sqrt(variance), 0.0), _MAX_SCATTER)
        self._scatter = max(self._scatter + (excess - self._scatter) / _SCATTER_MEMORY, _SCATTER)

    def _widen(self) -> None:
        """Raise the uncertainty of all costs after a change of the machine's speed."""
        for i, a in enumerate(self._entries):
            for j, b in enumerate(self._entries):
                self._covariance[i][j] += _prior(a, b, 0.5, 0.2, 0.2)


def _max_plain_steps(kind: PassKind) -> float:
    """Return the largest plausible cost of a round, in plain steps.

    Each row and the draft cost at most one plain step. Rounds and plain steps may be timed minutes apart, so without this bound,
    another program's load would count as a cost of rounds.
    """
    return kind.width + 1.0


class _Entry(NamedTuple):
    """A correction, of passes with so many rows."""

    rows: int
    drafts: bool = False
    shared: bool = False


def _prior(a: _Entry, b: _Entry, shared: float, shape: float, draft: float) -> float:
    """Return the prior covariance of two log costs, which share random factors.

    The factors' standard deviations are `shared` (all passes), `shape` (passes of similar width), and `draft` (drafter rounds, and
    shared passes).
    """
    distance = log2(a.rows) - log2(b.rows)
    both = draft**2 if (a.drafts and b.drafts) or (a.shared and b.shared) else 0.0
    own = 0.03**2 if a == b else 0.0
    return shared**2 + shape**2 * exp(-(distance**2) / 4.5) + both + own
