"""Which pair of the catalogue suits this machine, from what is known without asking the network.

The picker knows better once it has seen a pair's files. Until then a target's weight is taken from the catalogue or, where that has
no size, from the number of weights in its name.
"""

import re
from dataclasses import dataclass

from mlx_engine.pairs import machine, room
from mlx_engine.pairs.catalogue import BUILT_IN, Catalogue, Entry, TargetRepo

_COMFORT = 0.7  # of the budget: the rest is for the context and for other apps
_OVERHEAD = 1.06  # scales and biases of quantised weights, and the layers that are kept in 16 bits
_WEIGHTS = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)B\b")


@dataclass(frozen=True)
class Suiting:
    """A pair, in which quantisation, and how many bytes it and this machine have; `estimated` where the size is not published."""

    entry: Entry
    target: TargetRepo
    needed: int
    budget: int
    estimated: bool

    @property
    def bits(self) -> int | None:
        return self.target.bits


def suiting(catalogue: Catalogue, budget: int | None = None) -> Suiting | None:
    """The largest pair that fits comfortably, in 4 bits or more; None when none does or this machine's memory is not known.

    Args:
        budget: bytes that models may take on this machine; asked of it if not given.
    """
    budget = budget if budget is not None else room.working_set(machine.known())
    if not budget:
        return None
    fitting = [
        Suiting(entry, target, needed, budget, estimated)
        for entry in catalogue.entries
        if entry.confirmed and not entry.why_not and BUILT_IN not in entry.tags
        for target in entry.targets
        for needed, estimated in [needed_bytes(entry, target)]
        if needed and needed <= _COMFORT * budget
    ]
    # Later entries of one size are newer models.
    return max(enumerate(fitting), key=lambda one: (one[1].needed, one[0]))[1] if fitting else None


def needed_bytes(entry: Entry, target: TargetRepo) -> tuple[int, bool]:
    """Bytes of both models' weights, 0 when nothing is known; and whether that is an estimate."""
    drafter = float(entry.drafter_gb.value) if entry.drafter_gb else 0.0
    if target.size_gb:
        return round((float(target.size_gb.value) + drafter) * 1e9), entry.drafter_gb is None
    found = _WEIGHTS.search(entry.name)
    if not found or not target.bits:
        return 0, True
    return round((float(found[1]) * target.bits / 8 * _OVERHEAD + drafter) * 1e9), True
