"""Macs that exist only as cost tables, for trials of kernels without a GPU.

`CHIPS` has milliseconds of Qwen3-8B's products and attention in 4 bits, for MLX and for the kernels. They are calculated from each
chip's bandwidth and arithmetic, the weights' 4.6 GB, and what MLX runs for so many rows. On M1 and M2 it reads the weights for each
row, and from 6 rows on, it pads to 32 rows. From M3 on, up to 4 rows share a read, and from 13 rows on, it pads to 32. With an M5's
accelerators, 32 rows cost hardly more than the read. The kernel reads the weights once and computes 8 or 16 rows.
"""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from math import prod

from mlx_engine.calibration import kernel_choice, kernel_trials
from mlx_engine.calibration.kernel_trials import Names, PassCheck, Plan, TrialRecord
from mlx_engine.contract.errors import EngineText
from mlx_engine.contract.events import WorkProgress
from mlx_engine.contract.machine_events import KernelsSelected
from mlx_engine.kernels.operations import KERNELS

DEPTHS, WIDTHS = (256, 6144), (2, 3, 4, 5, 6, 8, 12, 16)
Gain = Callable[[int, int], float]  # share of a round's time that a kernel saves, by width and depth
WRONG = EngineText.of("kernel_wrong", "wrong results on this machine: {detail}", detail="off by 0.3")


def always(share: float) -> Gain:
    return lambda width, depth: share


@dataclass
class SimulatedMac(kernel_trials.PairTrials):
    """A cost table: seconds of a round by width, without kernels, and what each kernel saves.

    Each turn is slower or faster as a whole by `drift`, each measurement by `noise`, and a few are `disturbed`.
    """

    rounds: dict[int, float]
    gains: Mapping[str, Gain]
    noise: float = 0.004
    drift: float = 0.1
    disturbed: float = 0.01
    wrong: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # widths at which a kernel's results are wrong
    depths: tuple[int, ...] = DEPTHS
    plain: Mapping[str, float] = field(default_factory=dict)  # float32: share of a plain step that a kernel costs
    fails: Exception | None = None
    seed: int = 1
    check_s: float = 0.0

    def __post_init__(self) -> None:
        self.bands = ((1, *self.rounds),) if self.plain else tuple((width,) for width in self.rounds)
        self.widths = tuple(width for band in self.bands for width in band)
        self.calls = list[tuple[Names, int, int]]()
        self.checked = list[tuple[str, int]]()
        self.exact = bool(self.plain)
        self.now = 0.0
        self.random = random.Random(self.seed)
        self.turn, self.seen = 1.0, set[tuple[Plan, int, int]]()

    def check(self, checks: dict[tuple[str, int], PassCheck]) -> Iterator[None]:
        for name in KERNELS:
            for width in (0, *self.widths):
                if (name, width) not in checks:
                    self.checked.append((name, width))
                    wrong = WRONG if width in self.wrong.get(name, ()) else None
                    checks[name, width] = PassCheck(wrong, shapes=int(name in self.gains and width > 0))
                    self.now += self.check_s
                    yield

    def seconds(self, plan: Plan, width: int, depth: int) -> float:
        [names] = [each for band, each in zip(self.bands, plan, strict=True) if width in band]
        if self.fails and len(names) > 1:
            raise self.fails
        if (plan, width, depth) in self.seen:
            self.turn, self.seen = self.random.gauss(1.0, self.drift), set()
        self.seen.add((plan, width, depth))
        self.calls.append((names, width, depth))
        disturbance = 1.5 if self.random.random() < self.disturbed else 1.0
        each = self.cost(names, width, depth) * max(self.turn, 0.5) * max(self.random.gauss(1.0, self.noise), 0.5) * disturbance
        self.now += 2 * each  # with a warm-up
        return each

    def cost(self, names: Names, width: int, depth: int) -> float:
        if width == 1:
            return 0.02 * prod(1 + self.plain.get(name, 0.0) for name in names)
        return self.rounds[width] * prod(1 - self.gains[name](width, depth) for name in names)

    def right(self, width: int) -> Names:
        """Return the kernels that may be used at this width."""
        return tuple(name for name in KERNELS if name in self.gains and width not in self.wrong.get(name, ()))

    def cheapest(self, width: int, depth: int) -> set[str]:
        """Return the correct kernels with which a round costs least."""
        right = self.right(width)
        sets = [names for count in range(len(right) + 1) for names in combinations(right, count)]
        return set(min(sets, key=lambda names: self.cost(names, width, depth)))

    def select(self, record: TrialRecord | None = None) -> KernelsSelected:
        *progress, found = kernel_choice.try_kernels(self, record or TrialRecord())
        fractions = [event.fraction for event in progress if isinstance(event, WorkProgress)]
        assert fractions == sorted(fractions) and len(fractions) == len(progress) and fractions[-1] <= 1
        assert isinstance(found, KernelsSelected) and [trial.kernel for trial in found.trials] == list(KERNELS)
        return found

    def used(self, found: KernelsSelected | None = None) -> dict[int, dict[int, set[str]]]:
        """Return the kernels used at each depth and width."""
        trials = (found or self.select()).trials
        rows = {trial.kernel: {(at.depth, row) for at in trial.used_at for row in range(at.first, at.last + 1)} for trial in trials}
        return {
            depth: {width: {name for name in rows if (depth, width) in rows[name]} for width in self.rounds}
            for depth in self.depths
        }


Costs = dict[int, tuple[float, float]]  # rows up to this number -> milliseconds in MLX, and with the kernel


@dataclass(frozen=True)
class Chip:
    """Costs of an 8B target in 4 bits.

    Attributes:
        matmul: of all products.
        attention: at each depth.
        other: milliseconds of the rest of a round, and of the draft.
        matmul_rows: rows for which the products should use the kernel.
    """

    matmul: Costs
    attention: dict[int, Costs]
    other: float
    matmul_rows: str


_DISPATCHES = {"attention_inputs": 0.5, "kv_injection": 0.15, "block_verify": 0.1}  # milliseconds saved per round


def _attention(slower: float) -> dict[int, Costs]:
    """Return costs for a chip with so much less bandwidth than an M4 Max."""
    at = {256: {8: (0.3, 0.33), 16: (0.6, 0.4)}, 6144: {8: (2.0, 2.25), 16: (10.0, 2.6)}}
    return {depth: {rows: (slower * mlx, slower * own) for rows, (mlx, own) in costs.items()} for depth, costs in at.items()}


CHIPS = {
    "M1": Chip(
        {2: (120, 82), 3: (170, 82), 4: (215, 82), 5: (255, 82), 8: (260, 82), 16: (260, 139)}, _attention(8.2), 25.0, "2–16"
    ),
    "M2 Pro": Chip({2: (40, 30), 3: (57, 30), 4: (74, 30), 5: (90, 30), 8: (105, 30), 16: (107, 55)}, _attention(2.6), 9.0, "2–16"),
    "M3 Max": Chip({4: (13.4, 15.8), 8: (19.5, 15.8), 12: (29, 24), 16: (46, 24)}, _attention(1.45), 5.0, "5–16"),
    "M4 Max": Chip({4: (9.7, 12.2), 8: (15, 12.2), 12: (23.5, 21.3), 16: (41, 21.3)}, _attention(1.0), 4.0, "5–16"),
    "M5 Max": Chip({4: (9.0, 8.4), 8: (13.5, 8.4), 12: (20.5, 18), 16: (10.3, 18)}, _attention(0.9), 3.5, "2–12"),
    "M5 Max, no accelerators": Chip({4: (8.6, 10.2), 8: (13.5, 10.2), 12: (20.5, 18), 16: (36, 18)}, _attention(0.9), 3.5, "5–16"),
}


class ChipMac(SimulatedMac):
    """A Mac with one of these chips."""

    def __init__(self, chip: Chip, **how: object) -> None:
        self._chip = chip
        called = dict.fromkeys(("verify_matmul", "verify_attention", *_DISPATCHES), always(0.0))
        super().__init__(dict.fromkeys(WIDTHS, 0.0), called, **how)  # type: ignore[arg-type]

    def cost(self, names: Names, width: int, depth: int) -> float:
        parts = {"verify_matmul": _row(self._chip.matmul, width), "verify_attention": _row(self._chip.attention[depth], width)}
        parts |= {name: (saved, 0.0) for name, saved in _DISPATCHES.items()}
        return (self._chip.other + sum(own if name in names else mlx for name, (mlx, own) in parts.items())) / 1e3


def _row(costs: Costs, width: int) -> tuple[float, float]:
    return costs[min(rows for rows in costs if rows >= width)]
