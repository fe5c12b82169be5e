"""The pair of the catalog that suits this machine best, without asking the hub.

The size of a pair comes from the catalog or from the number of weights in its name, the speed from the bytes that a token reads.
"""

import re
from dataclasses import dataclass

from mlx_engine.events import MachineFacts
from mlx_engine.pairs import machine
from mlx_engine.pairs.catalog import BUILT_IN, Catalog, CatalogEntry, TargetRepo

_COMFORTABLE = 0.7  # of the budget; the rest is for the context and other apps
_OVERHEAD = 1.06  # scales and biases of quantized weights, and the layers that stay in 16 bits
_WEIGHTS = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)B\b")
_ACTIVE = re.compile(r"\bA(\d+(?:\.\d+)?)B\b")  # weights per token in a mixture of experts
MIN_SPEED = 5  # tokens per second, about reading speed


@dataclass(frozen=True)
class Recommendation:
    """A pair in one quantization. `needed` and `budget` are bytes."""

    entry: CatalogEntry
    target: TargetRepo
    needed: int
    budget: int
    estimated: bool


def recommend(catalog: Catalog, budget: int | None = None, facts: MachineFacts | None = None) -> Recommendation | None:
    """Return the largest pair that fits comfortably and is fast enough, or None.

    Args:
        catalog: only its confirmed pairs are considered.
        budget: bytes available for models; the machine's by default.
        facts: of the machine; without them the speed is not considered.
    """
    budget = budget if budget is not None else machine.working_set(machine.load_facts())
    if not budget:
        return None
    fitting = [
        Recommendation(entry, target, needed, budget, estimated)
        for entry in catalog.entries
        if entry.confirmed and not entry.why_not and BUILT_IN not in entry.tags
        for target in entry.targets
        for needed, estimated in [estimate_size(entry, target)]
        if needed and needed <= _COMFORTABLE * budget and (facts is None or max_speed(entry.name, needed, facts) >= MIN_SPEED)
    ]
    # Of pairs with the same size, the later one is the newer model.
    return max(enumerate(fitting), key=lambda one: (one[1].needed, one[0]))[1] if fitting else None


def max_speed(name: str, size: int, facts: MachineFacts) -> float:
    """Return an upper bound of plain decoding in tokens per second.

    Each token reads all weights, of a mixture of experts only the active ones.
    """
    active, total = _ACTIVE.search(name), _WEIGHTS.search(name)
    share = float(active[1]) / float(total[1]) if active and total else 1.0
    return facts.bandwidth / (size * min(share, 1.0))


def estimate_size(entry: CatalogEntry, target: TargetRepo) -> tuple[int, bool]:
    """Return the bytes of both models (0: unknown) and whether they are estimated."""
    drafter = entry.drafter_gb or 0.0
    if target.size_gb:
        return round((target.size_gb + drafter) * 1e9), entry.drafter_gb is None
    found = _WEIGHTS.search(entry.name)
    if not found or not target.bits:
        return 0, True
    return round((float(found[1]) * target.bits / 8 * _OVERHEAD + drafter) * 1e9), True
