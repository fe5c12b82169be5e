"""Find the Metal kernels that save time: drop one at a time from all correct ones.

Sets of kernels are timed in turns, so that a disturbance affects all sets alike. A kernel is kept if the turns agree that it saves
time, however little. Time is counted per token, at the widths that rounds choose, in a short and a long context.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from math import sqrt
from statistics import mean, median, quantiles
from typing import Any

import mlx.core as mx

from mlx_engine.calibration import self_check
from mlx_engine.calibration.pass_timer import PassTimer
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import WorkProgress
from mlx_engine.contract.machine_events import KernelSaving, KernelsSelected, KernelTrial
from mlx_engine.decoding.acceptance import tokens_by_width
from mlx_engine.hardware import memory
from mlx_engine.kernels.agreement import CheckedKernel
from mlx_engine.kernels.operations import KERNELS, PLAIN, Operations, with_kernels
from mlx_engine.loading.loaded_pair import LoadedPair

_DEPTHS = (256, 6144)  # cached tokens
_DRIFT = 256  # tokens that passes may add to a depth
_WIDTHS = (2, 4, 8, 16)
_ACCEPTANCES = (0.5, 0.7, 0.9)  # acceptance rates in texts of high, medium, and low difficulty
_TURNS = (12, 30)  # minimum and maximum
_ENOUGH_S = 20.0  # seconds after which the minimum of turns suffices
_SURE = 2.5  # standard errors from which a difference is significant
_RIGHT = EngineText.of("kernel_right", "correct on this machine")
# In float32, where DFlash's text must equal plain decoding's, these kernels are off: they sum a row differently in a block
_VERIFIES_ONLY = EngineText.of("kernel_verifies_only", "off in float32: plain steps don't use it, so their sums would differ")
_OFF_IN_FLOAT32 = {
    "verify_attention": EngineText.of("kernel_sums_by_block", "off in float32: its sums depend on the other rows of the block"),
    "delta_inputs": _VERIFIES_ONLY,
    "gated_delta_replay": _VERIFIES_ONLY,
}

Names = tuple[str, ...]
Turn = dict[Names, dict[int, float]]  # kernel set -> width -> seconds


class PairTrials:
    """Kernel trials on a loaded pair with a drafter, whose operations they change.

    Attributes:
        depths: context lengths in tokens, ascending.
        widths: widths of the rounds. 1 stands for plain steps, which kernels must not slow down if plain steps use them.
    """

    def __init__(self, pair: LoadedPair, build: Any = mx.fast.metal_kernel) -> None:
        self._pair, self._build, self._exact = pair, build, fewest_rows(pair) == 1
        block = pair.info.block_size
        self.widths = tuple(sorted({*(width for width in _WIDTHS if width < block), block, *([1] if self._exact else [])}))
        room = pair.info.context_limit - _DRIFT - 2 * block * len(_WIDTHS)
        self.depths = tuple(depth for depth in _DEPTHS if depth < room) or (max(room, 1),)
        self._tables = dict[Names, Operations]()  # reused, because a new table is traced again
        self._timers = dict[int, PassTimer]()
        self._running: Operations | None = None

    def check(self) -> Iterator[KernelTrial]:
        """Compare each kernel with its reference on synthetic inputs and in real passes."""
        wrong = {result.name: result.detail for result in self_check.check_kernels(self._build) if result.state == "fail"}
        for name in KERNELS:
            checked = CheckedKernel(name, self._build)
            try:
                if name not in wrong:
                    timer = self._run(checked.operations(), self.depths[0])
                    for width in self.widths:
                        _round(timer, width)
            except Exception as error:  # a driver may raise anything; the pair then runs without the kernel
                if memory.exhausted(error):
                    raise
                self._timers = {}  # the lazy arrays in its caches would fail again
                memory.settle()
                yield KernelTrial(name, failure(error))
                continue
            found, why = checked.agreement, _OFF_IN_FLOAT32.get(name, _RIGHT) if self._exact else _RIGHT
            if detail := wrong.get(name) or found.wrong:
                yield KernelTrial(name, EngineText.of("kernel_wrong", "wrong results on this machine: {detail}", detail=detail))
            elif not found.shapes:
                yield KernelTrial(name, EngineText.of("kernel_not_called", "not used by this pair"))
            else:
                yield KernelTrial(name, why, off=found.off, shapes=found.shapes)

    def seconds(self, names: Names, width: int, depth: int) -> float:
        """Time a draft and a verify with these kernels, or a plain step for width 1."""
        table = self._tables.setdefault(names, with_kernels(names, self._build, fewest_rows(self._pair)))
        return _round(self._run(table, depth), width)

    def _run(self, operations: Operations, depth: int) -> PassTimer:
        """Return a timer that runs these operations."""
        assert self._pair.drafter is not None
        if depth not in self._timers or self._timers[depth].position > depth + _DRIFT:
            self._pair.use(PLAIN)
            self._timers = {}  # free the caches first
            self._timers = {depth: PassTimer(self._pair.target, self._pair.drafter, depth)}
            self._running = None
        timer = self._timers[depth]
        if operations is not self._running:
            self._pair.use(operations)
            timer.chooser.operations = self._running = operations
            for width in self.widths:  # compile new shapes
                _round(timer, width)
        return timer


def _round(timer: PassTimer, width: int) -> float:
    return timer.plain(1) if width == 1 else timer.draft(width) + timer.verify(width)


def fewest_rows(pair: LoadedPair) -> int:
    """Return the number of rows from which kernels are used.

    MLX is faster for one row. In float32, plain steps must use kernels too, because their sums must equal a block's.
    """
    return 1 if pair.dtype == mx.float32 else 2


def failure(error: Exception) -> EngineText:
    """Return the reason for not using a kernel that raised an exception."""
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return EngineText.of("kernel_fails", "failed during generation: {reason}", reason=reason)


def try_kernels(
    trials: PairTrials, turns: dict[int, list[Turn]], clock: Callable[[], float] = time.perf_counter
) -> Iterator[WorkProgress | KernelsSelected]:
    """Check all kernels, and find those that save time at each depth.

    Args:
        turns: measured turns by depth, filled here, so that a canceled run can continue.

    Yields:
        Progress, then the result.
    """
    by_kernel = dict[str, KernelTrial]()
    for trial in trials.check():
        by_kernel[trial.kernel] = trial
        step = EngineText.of("kernel_tried", "{kernel}: {why}", kernel=trial.kernel, why=str(trial.why))
        yield WorkProgress(0.2 * len(by_kernel) / len(KERNELS), step)
    right = tuple(name for name, trial in by_kernel.items() if trial.why is _RIGHT)
    kept, slow = dict[int, Names](), set[str]()
    try:
        for index, depth in enumerate(trials.depths if right else ()):
            step = EngineText.of("timing_kernels", "Timing kernels at {depth:,} tokens", depth=depth)
            paired = _PairedTimes(trials, depth, turns.setdefault(depth, []), clock)
            for kept[depth], slower in _kept_kernels(paired, right):
                done = min(len(turns[depth]) / (3 * _TURNS[0]), 1.0)
                yield WorkProgress(0.2 + 0.8 * (index + done) / len(trials.depths), step)
                slow.update(slower)
            for name in right:
                savings = (*by_kernel[name].savings, paired.saving(right, _without(right, name)))
                by_kernel[name] = replace(by_kernel[name], savings=savings)
    except Exception as error:  # from a set of kernels that are correct one by one
        if memory.exhausted(error):
            raise
        memory.settle()
        by_kernel |= {name: replace(by_kernel[name], why=failure(error)) for name in right}
        kept = {}
    for name in right if kept else ():
        used = tuple(depth for depth in kept if name in kept[depth])
        by_kernel[name] = replace(by_kernel[name], used_at=used, why=_reason(used, by_kernel[name].savings, name in slow))
    yield KernelsSelected(tuple(by_kernel.values()), tuple(kept), _switch_length(by_kernel, kept))


class _PairedTimes:
    """Times of kernel sets at one depth, measured alternately."""

    def __init__(self, trials: PairTrials, depth: int, turns: list[Turn], clock: Callable[[], float]) -> None:
        self._trials, self._depth, self._turns, self._clock = trials, depth, turns, clock

    def take(self, *sets: Names) -> Iterator[None]:
        """Time the sets in turns until the result is reliable.

        Yields after each set, so that a waiting request can interrupt.
        """
        began, count = self._clock(), sum(set(sets) <= set(turn) for turn in self._turns)
        while count < _TURNS[0] or (count < _TURNS[1] and self._clock() - began < _ENOUGH_S):
            turn: Turn = {}
            for names in sets if count % 2 else sets[::-1]:
                turn[names] = {width: self._trials.seconds(names, width, self._depth) for width in self._trials.widths}
                if len(turn) < len(sets):
                    yield
            self._turns.append(turn)
            count += 1
            yield

    def saving(self, more: Names, fewer: Names, cost: Callable[[dict[int, float]], float] | None = None) -> KernelSaving:
        """Return the share of the cost that `more` saves over `fewer`.

        The default cost is the time per token.
        """
        cost = cost or _per_token
        shares = [1 - cost(turn[more]) / cost(turn[fewer]) for turn in self._turns if more in turn and fewer in turn]
        low, _, high = quantiles(shares, n=4, method="inclusive")
        # Normal quartiles are 1.35 standard deviations apart, and a median's error is 1.25 times the mean's
        return KernelSaving(self._depth, median(shares), 1.25 * (high - low) / 1.35 / sqrt(len(shares)))


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


def _without(names: Names, name: str) -> Names:
    return tuple(other for other in names if other != name)


def _kept_kernels(times: _PairedTimes, right: Names) -> Iterator[tuple[Names, Names]]:
    """Yield the kernels to keep and the kernels that slow down plain steps.

    Yields a value after each timed set of kernels. Only the last value is the result.
    """
    for _ in times.take(right, *(_without(right, name) for name in right)):
        yield (), ()
    slow = tuple(name for name in right if _costs_time(times.saving(right, _without(right, name), _per_plain_step)))
    savings = {name: times.saving(right, _without(right, name)) for name in right if name not in slow}
    kept = sure = tuple(name for name, saving in savings.items() if _saves_time(saving))
    likely = tuple(name for name, saving in savings.items() if not _costs_time(saving))
    if likely != sure:  # decide together on kernels that are too close to call alone
        for _ in times.take(likely, sure):
            yield (), slow
        kept = likely if _saves_time(times.saving(likely, sure)) else sure
    for _ in times.take(kept, ()) if kept else ():
        yield (), slow
    if kept and (not _saves_time(times.saving(kept, ())) or _costs_time(times.saving(kept, (), _per_plain_step))):
        kept = ()
    yield kept, slow


def _reason(used: tuple[int, ...], savings: tuple[KernelSaving, ...], slow: bool) -> EngineText:
    saving = mean(each.share for each in savings if each.depth in used or not used)
    if len(used) == len(savings):
        return EngineText.of("kernel_faster", "{saving:.1%} less time per token", saving=saving)
    if used == (savings[0].depth,):
        return EngineText.of("kernel_faster_in_short", "{saving:.1%} less time per token in short contexts", saving=saving)
    if used:
        return EngineText.of("kernel_faster_in_long", "{saving:.1%} less time per token in long contexts", saving=saving)
    if slow:
        return EngineText.of("kernel_slower_plain_steps", "slows down plain decoding")
    if any(map(_costs_time, savings)):
        return EngineText.of("kernel_not_faster", "not faster: {ratio:.1%} of plain MLX's time", ratio=1 - saving)
    noise = _SURE * max(each.error for each in savings)
    return EngineText.of("kernel_gain_in_noise", "no gain beyond the noise (±{noise:.1%})", noise=noise)


def _switch_length(found: dict[str, KernelTrial], kept: dict[int, Names]) -> int:
    """Return the context length at which to switch to the last depth's kernels.

    Returns:
        0 if both depths use the same kernels.
    """
    first, last = min(kept, default=0), max(kept, default=0)
    differing = {name: 1 if name in kept[last] else -1 for name in found if kept and (name in kept[first]) != (name in kept[last])}
    if not differing:
        return 0
    before, after = (sum(sign * found[name].savings[at].share for name, sign in differing.items()) for at in (0, -1))
    share = -before / (after - before) if before < 0 < after else 0.5
    return round(first + share * (last - first))
