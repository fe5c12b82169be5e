"""Events about this machine: limits, costs of passes, trials of kernels."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from typing import Literal

from mlx_engine.contract.conditions import Pressure
from mlx_engine.contract.errors import EngineText


@dataclass(frozen=True)
class KernelRows:
    """Passes of `first` to `last` rows after `depth` tokens of context."""

    depth: int
    first: int
    last: int


@dataclass(frozen=True)
class KernelSaving:
    """Share of the time saved by a kernel; negative if the kernel is slower."""

    at: KernelRows
    share: float
    error: float  # standard error


@dataclass(frozen=True)
class KernelTrial:
    """The trial of a Metal kernel on this machine.

    Attributes:
        used_at: passes that run the kernel; empty if the kernel is off.
        savings: by context length and rows; empty if the kernel wasn't timed.
        off: largest difference from the reference on the pair's arrays, relative to the largest value.
        shapes: number of compared combinations of shapes, dtypes, and settings.
        excluded: passes in which the kernel gives wrong results or fails.
    """

    kernel: str
    why: EngineText
    used_at: tuple[KernelRows, ...] = ()
    savings: tuple[KernelSaving, ...] = ()
    off: float | None = None
    shapes: int = 0
    excluded: tuple[KernelRows, ...] = ()


def row_ranges(used_at: Iterable[KernelRows]) -> str:
    """Return numbers of rows as text, such as "2–4, 9–16"."""
    ranges: list[tuple[int, int]] = []
    for first, last in sorted({(rows.first, rows.last) for rows in used_at}):
        if ranges and first <= ranges[-1][1] + 1:
            ranges[-1] = ranges[-1][0], max(last, ranges[-1][1])
        else:
            ranges.append((first, last))
    return ", ".join(f"{first}–{last}" if first < last else str(first) for first, last in ranges)


@dataclass(frozen=True)
class KernelsSelected:
    """The trials of Metal kernels, after which the loaded pair runs the used ones.

    Attributes:
        complete: whether all kernels were tested. Otherwise these are the ones that failed in replies before.
        depths: measured context lengths in tokens, ascending.
        switch: context length from which the kernels of the last depth replace those of the first; 0 if they are the same.
        saved: whether later starts use the selection too.
    """

    trials: tuple[KernelTrial, ...]
    depths: tuple[int, ...] = ()
    switch: int = 0
    saved: bool = False
    complete: bool = True


@dataclass(frozen=True)
class Calibrated:
    """Measured seconds of passes.

    `plain_s` is [depths]; `verify_s` and `draft_s` are [depths][widths].

    Attributes:
        saved: whether later starts use the results too.
    """

    depths: tuple[int, ...]
    widths: tuple[int, ...]
    plain_s: tuple[float, ...]
    verify_s: tuple[tuple[float, ...], ...]
    draft_s: tuple[tuple[float, ...], ...]
    saved: bool


@dataclass(frozen=True)
class MachineFacts:
    """Measured limits of this machine, from which speed and memory are predicted.

    Attributes:
        device: “Metal” or “CPU”.
        bandwidth: bytes per second when reading weights that exceed all caches.
        compute: floating-point operations per second of large matrix products in `dtype`.
        blas: the BLAS used on a CPU.
        measured: date of the measurement.
    """

    name: str
    device: str
    cores: int
    memory_bytes: int
    working_set_bytes: int
    bandwidth: float
    compute: float
    dtype: str
    blas: str
    mlx: str
    measured: str


class ReliefStep(IntEnum):
    """Steps taken while memory is short. Each includes the earlier ones."""

    NONE = 0
    SNAPSHOTS = 1  # idle snapshots are freed; the latest one stays in memory while nothing runs, until step 4
    BUFFERS = 2  # unused buffers, and the tower and soft tokens of images
    CACHES = 3  # all replies but one give up their caches, which are saved on disk if that is allowed, and wait
    BACKGROUND = 4  # background work pauses
    REFUSAL = 5  # new work is refused
    ENDING = 6  # the youngest background reply ends that still has memory, because saving its caches takes long


MemoryOwner = Literal["target", "drafter", "images", "replies", "snapshots", "workspace", "buffers", "tuning", "window", "others"]


@dataclass(frozen=True)
class MemoryUse:
    """What holds the computer's memory, in bytes.

    Attributes:
        parts: each byte once. “images” are the tower and soft tokens, “replies” the caches of replies in progress, “workspace” is
            what passes and measurements hold, “buffers” is what MLX keeps to reuse, and “window” is the rest of this process.
        reserved: for replies in progress, including the caches that they have.
        budget: for models, caches, and buffers together.
        total: of the computer, or of this process's control group if that has less.
        pressure: how much memory other programs need; None if unknown.
        step: what is done because memory is short.
    """

    parts: tuple[tuple[MemoryOwner, int], ...]
    reserved: int
    budget: int
    total: int
    pressure: Pressure | None = None
    step: ReliefStep = ReliefStep.NONE


@dataclass(frozen=True)
class Phase:
    """A measured pass of the loaded pair.

    Attributes:
        rows: tokens of the pass.
        depth: tokens in the caches before the pass.
        bytes: weights, K/V, and states, each counted once.
        operations: floating-point operations of matrix products and attention.
    """

    name: Literal["prefill", "plain", "verify", "draft"]
    rows: int
    depth: int
    seconds: float
    bytes: int
    operations: int


@dataclass(frozen=True)
class Roofline:
    """The limits of a machine, and the measured passes of the loaded pair."""

    facts: MachineFacts
    phases: tuple[Phase, ...]

    def floor_s(self, phase: Phase) -> float:
        """Return the minimum seconds of a pass on this machine."""
        return max(phase.bytes / self.facts.bandwidth, phase.operations / self.facts.compute)

    def bound(self, phase: Phase) -> Literal["memory", "compute"]:
        """Return whether memory or arithmetic limits a pass."""
        return "memory" if phase.bytes / self.facts.bandwidth >= phase.operations / self.facts.compute else "compute"

    def reached(self, phase: Phase) -> float:
        """Return the minimum time over the measured time, above 1 if weights were cached."""
        return self.floor_s(phase) / phase.seconds

    @property
    def plain_ceiling(self) -> float | None:
        """Highest possible tokens per second of plain decoding; None if not measured."""
        return next((1 / self.floor_s(phase) for phase in self.phases if phase.name == "plain"), None)
