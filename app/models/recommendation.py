"""Which pair of the catalogue suits this machine, from what is known without asking the network.

The picker knows better once it has seen a pair's files. Until then a target's weight is taken from the catalogue or, where that has
no size, from the number of weights in its name; and how fast it decodes plainly, at most, from the bytes that a token reads.
"""

import re
import sys
from dataclasses import dataclass

from mlx_engine.events import MachineFacts
from mlx_engine.pairs import machine
from mlx_engine.pairs.catalog import BUILT_IN, Catalog, CatalogEntry, TargetRepo

_COMFORT = 0.7  # of the budget: the rest is for the context and for other apps
_OVERHEAD = 1.06  # scales and biases of quantised weights, and the layers that are kept in 16 bits
_WEIGHTS = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)B\b")
_ACTIVE = re.compile(r"\bA(\d+(?:\.\d+)?)B\b")  # of a mixture of experts: what a token reads
USABLE = 5  # tokens a second, about as fast as one reads


@dataclass(frozen=True)
class Suiting:
    """A pair, in which quantisation, and how many bytes it and this machine have; `estimated` where the size is not published."""

    entry: CatalogEntry
    target: TargetRepo
    needed: int
    budget: int
    estimated: bool

    @property
    def bits(self) -> int | None:
        return self.target.bits


def suiting(catalogue: Catalog, budget: int | None = None, facts: MachineFacts | None = None) -> Suiting | None:
    """The largest pair that fits comfortably and is fast enough to be read as it is written, in 4 bits or more; None when none is
    or this machine's memory is not known.

    Args:
        budget: bytes that models may take on this machine; asked of it if not given.
        facts: of the machine; without them nothing is known of speed.
    """
    budget = budget if budget is not None else machine.working_set(machine.load_facts())
    if not budget:
        return None
    fitting = [
        Suiting(entry, target, needed, budget, estimated)
        for entry in catalogue.entries
        if entry.confirmed and not entry.why_not and BUILT_IN not in entry.tags
        for target in entry.targets
        for needed, estimated in [needed_bytes(entry, target)]
        if needed and needed <= _COMFORT * budget and (facts is None or fastest(entry.name, needed, facts) >= USABLE)
    ]
    # Later entries of one size are newer models.
    return max(enumerate(fitting), key=lambda one: (one[1].needed, one[0]))[1] if fitting else None


def without_gpu(facts: MachineFacts | None) -> bool:
    """Whether models are computed on the processor alone; before anything was measured, that is so where there is no Metal."""
    return facts.device == "CPU" if facts is not None else sys.platform != "darwin"


def fastest(name: str, size: int, facts: MachineFacts) -> float:
    """Tokens a second of plain decoding, at most: each reads `size` bytes of weights, of experts only those that are used."""
    active, all_of_them = _ACTIVE.search(name), _WEIGHTS.search(name)
    share = float(active[1]) / float(all_of_them[1]) if active and all_of_them else 1.0
    return facts.bandwidth / (size * min(share, 1.0))


def needed_bytes(entry: CatalogEntry, target: TargetRepo) -> tuple[int, bool]:
    """Bytes of both models' weights, 0 when nothing is known; and whether that is an estimate."""
    drafter = float(entry.drafter_gb.value) if entry.drafter_gb else 0.0
    if target.size_gb:
        return round((float(target.size_gb.value) + drafter) * 1e9), entry.drafter_gb is None
    found = _WEIGHTS.search(entry.name)
    if not found or not target.bits:
        return 0, True
    return round((float(found[1]) * target.bits / 8 * _OVERHEAD + drafter) * 1e9), True
