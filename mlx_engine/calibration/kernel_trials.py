"""Trials of Metal kernels on a loaded pair: their results and their costs.

A kernel can save time for many rows and cost time for few, or the other way round. Trials therefore have bands of rows that are
decided separately: one for each width of the ladder in half precision, and a single one in float32, where a row must have the same
sums in every pass. Up to 32 rows are tried, because replies share passes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import mlx.core as mx

from mlx_engine.calibration import self_check
from mlx_engine.calibration.pass_timer import PassTimer
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.limits import MAX_BLOCK_ROWS
from mlx_engine.contract.machine_events import KernelRows
from mlx_engine.decoding.costs import LADDER, SHARED_ROWS
from mlx_engine.hardware import memory
from mlx_engine.kernels.agreement import CheckedKernel
from mlx_engine.kernels.operations import KERNELS, PLAIN, Operations, Rows, with_kernels
from mlx_engine.loading.loaded_pair import LoadedPair

_DEPTHS = (256, 6144)  # cached tokens
_DRIFT = 256  # tokens that passes may add to a depth
_WIDTHS_OF_FLOAT32 = (1, 2, 4, 8, 16)
_NOT_CALLED = EngineText.of("kernel_not_called", "not used by this pair")
# In float32, where DFlash's text must equal plain decoding's, these kernels are off: they sum a row differently in a block
_VERIFIES_ONLY = EngineText.of("kernel_verifies_only", "off in float32: plain steps don't use it, so their sums would differ")
_OFF_IN_FLOAT32 = {
    "verify_attention": EngineText.of("kernel_sums_by_block", "off in float32: its sums depend on the other rows of the block"),
    "delta_inputs": _VERIFIES_ONLY,
    "gated_delta_replay": _VERIFIES_ONLY,
}

Band = tuple[int, ...]  # widths that run the same kernels
Names = tuple[str, ...]
Plan = tuple[Names, ...]  # kernels of each band
Turn = dict[Plan, dict[int, float]]  # plan -> width -> seconds


@dataclass(frozen=True)
class PassCheck:
    """How a kernel's results in a pass compare with those of its reference.

    Attributes:
        why_not: why the kernel can't be used, or None.
        off: largest difference, relative to the largest value.
        shapes: number of compared combinations of shapes, dtypes, and settings.
    """

    why_not: EngineText | None = None
    off: float = 0.0
    shapes: int = 0


@dataclass
class TrialRecord:
    """What trials have found so far, so that they can be canceled and continued.

    Attributes:
        checks: by kernel and width; width 0 stands for made-up cases.
        turns: by depth.
        problems: why replies can't use the chosen kernels, or None, by context length, width, and names of the kernels.
        failed: checks of kernels that failed in replies, and aren't tested.
        prompt: of replies that copy it, to compare kernels beyond the block.
    """

    checks: dict[tuple[str, int], PassCheck] = field(default_factory=dict)
    turns: dict[int, list[Turn]] = field(default_factory=dict)
    problems: dict[tuple[int, int, Names], EngineText | None] = field(default_factory=dict)
    failed: Mapping[tuple[str, int], PassCheck] = field(default_factory=dict)
    prompt: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        self.checks.update(self.failed)

    @property
    def size(self) -> int:
        """Number of results, which a run that isn't complete must increase."""
        return len(self.checks) + sum(map(len, self.turns.values())) + len(self.problems) + bool(self.prompt)


class PairTrials:
    """Kernel trials on a loaded pair with a drafter, whose operations they change.

    Attributes:
        depths: context lengths in tokens, ascending.
        bands: widths of the rounds, ascending. 1 stands for plain steps, which kernels must not slow down if plain steps use them.
        exact: whether a row must have the same sums in every pass.
    """

    def __init__(self, pair: LoadedPair, build: Any = mx.fast.metal_kernel) -> None:
        self._pair, self._build = pair, build
        block, self.exact = pair.info.block_size, pair.dtype == mx.float32
        widths = tuple(width for width in (_WIDTHS_OF_FLOAT32 if self.exact else LADDER[1:]) if width < block)
        self.widths = (*widths, block, *(rows for rows in SHARED_ROWS if rows > block))
        self.bands: tuple[Band, ...] = (self.widths,) if self.exact else tuple((width,) for width in self.widths)
        room = pair.info.context_limit - _DRIFT - 2 * self.widths[-1] * len(self.widths)
        self.depths = tuple(depth for depth in _DEPTHS if depth < room) or (max(room, 1),)
        self._tables = dict[Plan, Operations]()  # reused, because a new table is traced again
        self._timers = dict[int, PassTimer]()
        self._running: Operations | None = None
        self._warm = set[int]()  # widths whose shapes are compiled

    def check(self, checks: dict[tuple[str, int], PassCheck]) -> Iterator[None]:
        """Compare each kernel with its reference, in made-up cases and in real passes.

        Yields after each case and each pass, because the first ones compile kernels.

        Args:
            checks: filled with the results, see `TrialRecord`. Nothing in it is checked again.
        """
        for name in KERNELS:
            if (name, 0) not in checks:
                detail = yield from self_check.difference(name, self._build)
                checks[name, 0] = PassCheck(_wrong(detail) if detail else None)
            for width in self.widths if checks[name, 0].why_not is None else ():
                if (name, width) not in checks:
                    checks[name, width] = self._check_pass(name, width)
                    yield

    def _check_pass(self, name: str, width: int) -> PassCheck:
        checked, why_not = CheckedKernel(name, self._build), None
        try:
            _round(self._run(checked.operations(), self.depths[0]), width)
        except Exception as error:  # a driver may raise anything; the pair then runs without the kernel
            if memory.exhausted(error):
                raise
            self._timers = {}  # the lazy arrays in its caches would fail again
            memory.settle()
            why_not = failure(error)
        found = checked.agreement
        if found.wrong and why_not is None:
            why_not = _wrong(found.wrong)
        return PassCheck(why_not, found.off, found.shapes)

    def excluded(self, name: str, checks: Mapping[tuple[str, int], PassCheck]) -> dict[int, EngineText]:
        """Return the widths at which a kernel can't be used, with the reason."""
        made_up = checks[name, 0].why_not
        if made_up is not None:
            return dict.fromkeys(self.widths, made_up)
        passes = {width: checks[name, width] for width in self.widths}
        excluded = {width: check.why_not for width, check in passes.items() if check.why_not is not None}
        if not excluded and not any(check.shapes for check in passes.values()):
            return dict.fromkeys(self.widths, _NOT_CALLED)
        if not excluded and self.exact and name in _OFF_IN_FLOAT32:
            return dict.fromkeys(self.widths, _OFF_IN_FLOAT32[name])
        return excluded

    def seconds(self, plan: Plan, width: int, depth: int) -> float:
        """Time a draft and a verify with this plan, or a plain step for width 1."""
        if plan not in self._tables:
            self._tables[plan] = with_kernels(rows_by_kernel(self.bands, plan), self._build)
        timer = self._run(self._tables[plan], depth)
        if width not in self._warm:
            _round(timer, width)
            self._warm.add(width)
        return _round(timer, width)

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
            self._warm = set()
        return timer


def _round(timer: PassTimer, width: int) -> float:
    return timer.plain(1) if width == 1 else timer.draft(width) + timer.verify(width)


def _wrong(detail: str) -> EngineText:
    return EngineText.of("kernel_wrong", "wrong results on this machine: {detail}", detail=detail)


def failure(error: Exception | str) -> EngineText:
    """Return the reason for not using a kernel that raised this error."""
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return EngineText.of("kernel_fails", "failed during generation: {reason}", reason=reason)


def band_rows(bands: Sequence[Band], depth: int = 0) -> tuple[KernelRows, ...]:
    """Return the rows of each band. A pass between two widths belongs to the next one."""
    firsts = [bands[0][0], *(band[-1] + 1 for band in bands[:-1])]
    return tuple(KernelRows(depth, first, band[-1]) for first, band in zip(firsts, bands, strict=True))


def numbers(used_at: Sequence[KernelRows], widest: int) -> Rows:
    """Return all numbers of rows. The widest measured pass stands for more rows, too."""
    lasts = [MAX_BLOCK_ROWS if rows.last >= widest else rows.last for rows in used_at]
    return frozenset(row for rows, last in zip(used_at, lasts, strict=True) for row in range(rows.first, last + 1))


def rows_by_kernel(bands: Sequence[Band], plan: Plan) -> dict[str, Rows]:
    """Return the numbers of rows for which a plan uses each kernel."""
    rows = band_rows(bands)
    return {name: numbers([at for at, names in zip(rows, plan, strict=True) if name in names], bands[-1][-1]) for name in KERNELS}
