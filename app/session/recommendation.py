"""The pair that is recommended for this machine, and estimates from a pair's size.

The start page and the Models window both use these estimates.
"""

import re
from dataclasses import dataclass

from app.text.language import tr
from mlx_engine.contract.machine_events import MachineFacts
from mlx_engine.hardware import machine
from mlx_engine.models.fit import CONTEXT, Fit, FitLine, FitVerdict
from mlx_engine.models.library.catalog import BUILT_IN, Catalog, CatalogEntry, DrafterRepo, TargetRepo

MIN_SPEED = 5  # tokens per second, about reading speed
CPU_BYTES = 0.5e9  # of weights; without a GPU, larger pairs are too slow
_COMFORTABLE = 0.7  # share of the budget; the rest is for the context and other apps
_OVERHEAD = 1.06  # factor for scales and biases of quantized weights, and for 16-bit layers
_WEIGHTS = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)B\b")
_ACTIVE = re.compile(r"\bA(\d+(?:\.\d+)?)B\b")  # weights per token in a mixture of experts


@dataclass(frozen=True)
class Recommendation:
    """A pair in one quantization. `needed` is in bytes."""

    entry: CatalogEntry
    target: TargetRepo
    needed: int
    fit: Fit
    estimated: bool
    max_speed: float = 0.0  # of plain decoding, in tokens per second; 0 if unknown


def recommend(catalog: Catalog, budget: int | None = None, facts: MachineFacts | None = None) -> Recommendation | None:
    """Return the largest pair that fits comfortably and is fast enough, or None.

    Args:
        catalog: only its confirmed pairs are considered.
        budget: bytes available for models; the machine's by default.
        facts: about the machine; if None, speed isn't considered on a machine with a GPU.
    """
    budget = budget if budget is not None else machine.working_set(facts)
    if not budget:
        return None
    free = machine.free_memory()
    fitting = [
        Recommendation(entry, target, needed, weights_fit(needed, budget, facts, free), estimated, speed)
        for entry in catalog.entries
        if entry.confirmed and not entry.why_not and BUILT_IN not in entry.tags
        for target in entry.targets
        for needed, estimated in [estimate_size(entry, target, entry.drafters[0])]
        if needed and needed <= _COMFORTABLE * budget
        if not too_slow(entry.name, needed, facts)
        for speed in [max_speed(entry.name, needed, facts) if facts is not None else 0.0]
    ]
    # Of pairs with the same size, the later entry is the newer model.
    return max(enumerate(fitting), key=lambda one: (one[1].needed, one[0]))[1] if fitting else None


def precision_note(bits: int | None) -> str:
    """Return what a quantization is best for: the speedup or tokens per second."""
    if bits == 8:
        return tr("Gains the most from DFlash. Fewer bits usually give more tokens per second.")
    if bits is None or bits > 8:
        return ""
    return tr("Usually gives the most tokens per second. DFlash helps more with 8 bits.")


def needs_gpu(size: int, facts: MachineFacts | None) -> bool:
    """Return whether weights of this size in bytes need a GPU that is missing."""
    return machine.without_gpu(facts) and size > CPU_BYTES


def too_slow(name: str, size: int, facts: MachineFacts | None) -> bool:
    """Return whether a pair of this size in bytes is slower than reading."""
    return needs_gpu(size, facts) or (facts is not None and max_speed(name, size, facts) < MIN_SPEED)


def weights_fit(size: int, budget: int | None, facts: MachineFacts | None, free: int | None) -> Fit:
    """Return the fit of a pair from its weights alone. All sizes are in bytes."""
    lines = (FitLine("Weights of both models", size, ""),)
    return Fit(lines, CONTEXT, budget, machine.allocation_limit(facts), free)


def fit_text(verdict: FitVerdict, slow: bool = False) -> str:
    """Return whether a pair fits in memory, and whether it is too slow even so."""
    names: dict[FitVerdict, str] = {
        "comfortable": tr("Fits comfortably"),
        "tight": tr("Tight fit"),
        "will swap": tr("Too large"),
        "no": tr("Too large"),
        "unknown": tr("Memory use unknown"),
    }
    return tr("Fits, but too slow") if slow and verdict in ("comfortable", "tight") else names[verdict]


def max_speed(name: str, size: int, facts: MachineFacts) -> float:
    """Return an upper bound of plain decoding in tokens per second.

    Each token reads all weights, or only the active ones in a mixture of experts.
    """
    active, total = _ACTIVE.search(name), _WEIGHTS.search(name)
    share = float(active[1]) / float(total[1]) if active and total else 1.0
    return facts.bandwidth / (size * min(share, 1.0))


def estimate_size(entry: CatalogEntry, target: TargetRepo, drafter: DrafterRepo) -> tuple[int, bool]:
    """Return the bytes of both models (0 if unknown), and whether they are estimated."""
    if target.size_gb:
        return round((target.size_gb + (drafter.size_gb or 0)) * 1e9), drafter.size_gb is None
    found = _WEIGHTS.search(entry.name)
    if not found or not target.bits:
        return 0, True
    return round((float(found[1]) * target.bits / 8 * _OVERHEAD + (drafter.size_gb or 0)) * 1e9), True
