"""Find the Metal kernels that save time: drop one at a time from all correct ones.

Plans, which say what runs in each band of rows, are timed in turns, so that a disturbance affects all plans alike. A kernel is kept
in a band if the turns agree that it saves time there, however little.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import replace
from math import sqrt
from statistics import mean, median, quantiles

from mlx_engine.calibration.kernel_trials import Band, PairTrials, Plan, TrialRecord, Turn, band_rows, failure
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import WorkProgress
from mlx_engine.contract.machine_events import KernelRows, KernelSaving, KernelsSelected, KernelTrial, row_ranges
from mlx_engine.decoding.acceptance import tokens_by_width
from mlx_engine.hardware import memory
from mlx_engine.kernels.operations import KERNELS

_ACCEPTANCES = (0.5, 0.7, 0.9)  # acceptance rates in texts of high, medium, and low difficulty
_TURNS = (8, 20)  # of each band, at least and at most
_GROUPS = 4  # bands are timed in so many groups, which take turns: a turn over all bands would take long on a slow Mac
_ENOUGH_S = 10.0  # timed seconds after which the minimum of turns suffices
_SURE = 2.5  # standard errors from which a difference is significant
_CHECKED = 0.2  # share of the progress for checks
_CHECKING = EngineText.of("checking_kernels", "Checking the kernels")


def try_kernels(trials: PairTrials, record: TrialRecord) -> Iterator[WorkProgress | KernelsSelected]:
    """Check all kernels, and find those that save time in each band at each depth.

    Args:
        record: filled here, so that a canceled run can continue.

    Yields:
        Progress, at least once per pass, then the result.
    """
    checks = record.checks
    for _ in trials.check(checks):
        yield WorkProgress(_CHECKED * len(checks) / (len(KERNELS) * (1 + len(trials.widths))), _CHECKING)
    excluded = {name: trials.excluded(name, checks) for name in KERNELS}
    right: Plan = tuple(tuple(name for name in KERNELS if excluded[name].keys().isdisjoint(band)) for band in trials.bands)
    kept, savings, slow = dict[int, Plan](), dict[str, dict[KernelRows, KernelSaving]](), set[str]()
    failed: EngineText | None = None
    try:
        for index, depth in enumerate(trials.depths if any(right) else ()):
            step = EngineText.of("timing_kernels", "Timing kernels at {depth:,} tokens", depth=depth)
            times = _PairedTimes(trials, depth, record.turns.setdefault(depth, []))
            for kept[depth], slower in _kept_kernels(times, right):
                done = min(len(record.turns[depth]) / (3 * _TURNS[0] * min(_GROUPS, len(right))), 1.0)
                yield WorkProgress(_CHECKED + (1 - _CHECKED) * (index + done) / len(trials.depths), step)
                slow.update(slower)
            for band, names in enumerate(right):
                for name in names:
                    saving = times.saving(right, _without(right, name), band)
                    savings.setdefault(name, {})[saving.at] = saving
    except Exception as error:  # from a set of kernels that are correct one by one
        if memory.exhausted(error):
            raise
        memory.settle()
        failed, kept = failure(error), {}
    used = _used(trials.bands, kept, savings, slow)
    found = []
    for name in KERNELS:
        compared = [check for (kernel, _), check in checks.items() if kernel == name and check.shapes]
        off, shapes = max((check.off for check in compared), default=None), sum(check.shapes for check in compared)
        trial = KernelTrial(name, _CHECKING, used.get(name, ()), tuple(savings.get(name, {}).values()), off, shapes)
        found.append(_trial(trials.bands, excluded[name], trial, name in slow, failed))
    yield KernelsSelected(tuple(found), tuple(kept), _switch_length(tuple(kept), found))


class _PairedTimes:
    """Times of plans at one depth, measured alternately."""

    def __init__(self, trials: PairTrials, depth: int, turns: list[Turn]) -> None:
        self._trials, self._depth, self._turns = trials, depth, turns
        self.bands = trials.bands
        self._rows = band_rows(trials.bands, depth)

    def take(self, *plans: Plan) -> Iterator[None]:
        """Time the plans in turns until the result is reliable.

        Only bands in which they differ are timed. Yields after each pass, so that a waiting request can interrupt.
        """
        differing = [band for index, band in enumerate(self.bands) if len({plan[index] for plan in plans}) > 1]
        groups = min(_GROUPS, len(differing))
        while not self._enough(plans, groups):
            count = sum(set(plans) <= set(turn) for turn in self._turns)
            widths = [width for band in differing[count % groups :: groups] for width in band]
            turn: Turn = {plan: {} for plan in plans}
            for plan in plans if count // groups % 2 else plans[::-1]:
                for width in widths:
                    turn[plan][width] = self._trials.seconds(plan, width, self._depth)
                    yield
            self._turns.append(turn)

    def _enough(self, plans: tuple[Plan, ...], groups: int) -> bool:
        """Return whether the plans were timed often enough.

        This depends on the turns only, so that a canceled run ends alike.
        """
        least, most = (groups * turns for turns in _TURNS)
        turns = [turn for turn in self._turns if set(plans) <= set(turn)]
        spent = sum(seconds for turn in turns for plan in plans for seconds in turn[plan].values())
        return len(turns) >= most or (len(turns) >= least and spent > _ENOUGH_S)

    def saving(self, more: Plan, fewer: Plan, band: int, cost: Callable[[dict[int, float]], float] | None = None) -> KernelSaving:
        """Return the share of a band's cost that `more` saves over `fewer`.

        The default cost is the time per token.
        """
        widths, cost = self.bands[band], cost or _per_token
        both = [(turn[more], turn[fewer]) for turn in self._turns if more in turn and fewer in turn and widths[0] in turn[more]]
        shares = [1 - cost(_only(these, widths)) / cost(_only(those, widths)) for these, those in both]
        low, _, high = quantiles(shares, n=4, method="inclusive")
        # Normal quartiles are 1.35 standard deviations apart, and a median's error is 1.25 times the mean's
        return KernelSaving(self._rows[band], median(shares), 1.25 * (high - low) / 1.35 / sqrt(len(shares)))


def _only(seconds: dict[int, float], widths: Band) -> dict[int, float]:
    return {width: seconds[width] for width in widths}


def _per_token(seconds: dict[int, float]) -> float:
    """Return the mean time per token over texts of different difficulty, in seconds.

    Each text uses its fastest width.
    """
    yields = [tokens_by_width([chance] * max(seconds)) for chance in _ACCEPTANCES]
    return mean(min(each / tokens[width - 1] for width, each in seconds.items() if width > 1) for tokens in yields)


def _per_plain_step(seconds: dict[int, float]) -> float:
    return seconds.get(1, 1.0)


def _saves_time(saving: KernelSaving) -> bool:
    return saving.share > _SURE * saving.error


def _costs_time(saving: KernelSaving) -> bool:
    return saving.share < -_SURE * saving.error


def _is_noise(saving: KernelSaving) -> bool:
    return not _saves_time(saving) and not _costs_time(saving)


def _without(plan: Plan, name: str) -> Plan:
    return tuple(tuple(other for other in names if other != name) for names in plan)


def _kept_kernels(times: _PairedTimes, right: Plan) -> Iterator[tuple[Plan, set[str]]]:
    """Yield the kernels to keep, and the kernels that slow down plain steps.

    Yields a value after each timed pass. Only the last value is the result.
    """
    none: Plan = ((),) * len(right)
    slow = set[str]()
    for _ in times.take(right, *(_without(right, name) for name in KERNELS if any(name in names for names in right))):
        yield none, slow
    sure, likely = [], []
    for band, names in enumerate(right):
        slow |= {name for name in names if _costs_time(times.saving(right, _without(right, name), band, _per_plain_step))}
        savings = {name: times.saving(right, _without(right, name), band) for name in names if name not in slow}
        sure.append(tuple(name for name, saving in savings.items() if _saves_time(saving)))
        likely.append(tuple(name for name, saving in savings.items() if not _costs_time(saving)))
    kept = yield from _better(times, tuple(likely), tuple(sure), slow)  # decide together on what is too close to call alone
    kept = yield from _better(times, kept, none, slow)
    yield kept, slow


def _better(times: _PairedTimes, more: Plan, fewer: Plan, slow: set[str]) -> Generator[tuple[Plan, set[str]], None, Plan]:
    """Return, for each band, the kernels of `more` if they save time over `fewer`."""
    if more != fewer:
        for _ in times.take(more, fewer):
            yield fewer, slow
    return tuple(
        names
        if names == other
        or (_saves_time(times.saving(more, fewer, band)) and not _costs_time(times.saving(more, fewer, band, _per_plain_step)))
        else other
        for band, (names, other) in enumerate(zip(more, fewer, strict=True))
    )


def _used(
    bands: Sequence[Band], kept: dict[int, Plan], savings: dict[str, dict[KernelRows, KernelSaving]], slow: set[str]
) -> dict[str, tuple[KernelRows, ...]]:
    """Return where each kernel is used.

    A kernel that is kept at one depth, and makes no certain difference at another, is used at both: one set of kernels for all
    contexts is simpler.
    """
    used = dict[str, list[KernelRows]]()
    for band in range(len(bands)):
        for depth, plan in kept.items():
            at = band_rows(bands, depth)[band]
            for name, found in savings.items():
                is_kept_elsewhere = name not in slow and any(name in other[band] for other in kept.values())
                if name in plan[band] or (is_kept_elsewhere and _is_noise(found[at])):
                    used.setdefault(name, []).append(at)
    return {name: tuple(sorted(rows, key=lambda at: (at.depth, at.first))) for name, rows in used.items()}


def _trial(
    bands: Sequence[Band], excluded: dict[int, EngineText], trial: KernelTrial, slow: bool, failed: EngineText | None
) -> KernelTrial:
    """Return a trial with the reason for its result."""
    is_wrong = any(why.code in ("kernel_wrong", "kernel_fails") for why in excluded.values())
    wrong = [rows for rows, band in zip(band_rows(bands), bands, strict=True) if not excluded.keys().isdisjoint(band)]
    if len(wrong) == len(bands):
        why = next(iter(excluded.values()))
    elif failed is not None:
        why = failed
    elif trial.used_at:
        why = _reason(trial, wrong)
    elif slow:
        why = EngineText.of("kernel_slower_plain_steps", "slows down plain decoding")
    elif any(map(_costs_time, trial.savings)):
        ratio = 1 - mean(saving.share for saving in trial.savings)
        why = EngineText.of("kernel_not_faster", "not faster: {ratio:.1%} of plain MLX's time", ratio=ratio)
    else:
        noise = _SURE * max(saving.error for saving in trial.savings)
        why = EngineText.of("kernel_gain_in_noise", "no gain beyond the noise (±{noise:.1%})", noise=noise)
    return replace(trial, why=why, excluded=tuple(wrong) if is_wrong else ())


def _reason(trial: KernelTrial, excluded: Sequence[KernelRows] = ()) -> EngineText:
    """Return the reason for using a kernel.

    Args:
        excluded: passes for which it gives wrong results or fails.
    """
    saving = mean(each.share for each in trial.savings if each.at in trial.used_at)
    rows = row_ranges(trial.used_at)
    if excluded:
        template = "{saving:.1%} less time in passes of {rows} tokens; wrong results or errors in passes of {excluded} tokens"
        return EngineText.of("kernel_partly_right", template, saving=saving, rows=rows, excluded=row_ranges(excluded))
    depths, used = [sorted({rows.depth for rows in each}) for each in ((s.at for s in trial.savings), trial.used_at)]
    if used == depths:
        return EngineText.of("kernel_faster", "{saving:.1%} less time in passes of {rows} tokens", saving=saving, rows=rows)
    if used == depths[:1]:
        template = "{saving:.1%} less time in passes of {rows} tokens in short contexts"
        return EngineText.of("kernel_faster_in_short", template, saving=saving, rows=rows)
    template = "{saving:.1%} less time in passes of {rows} tokens in long contexts"
    return EngineText.of("kernel_faster_in_long", template, saving=saving, rows=rows)


def _switch_length(depths: Sequence[int], trials: Sequence[KernelTrial]) -> int:
    """Return the context length at which to switch to the last depth's kernels.

    Returns:
        0 if both depths use the same kernels.
    """
    if len(depths) < 2:
        return 0
    first, last = depths[0], depths[-1]
    before = after = 0.0  # what the last depth's kernels save over the first one's, at either depth
    differs = False
    for trial in trials:
        shares = {saving.at: saving.share for saving in trial.savings}
        for at in shares:
            longer = replace(at, depth=last)
            sign = (longer in trial.used_at) - (at in trial.used_at) if at.depth == first else 0
            if sign:
                differs = True
                before, after = before + sign * shares[at], after + sign * shares[longer]
    if not differs:
        return 0
    share = -before / (after - before) if before < 0 < after else 0.5
    return round(first + share * (last - first))
