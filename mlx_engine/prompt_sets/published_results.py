"""What the DFlash paper reports for published sets.

Source: arXiv 2602.06036v2, table 1, without thinking, on an H200 with 16-bit weights. Its EAGLE-3 verifies trees of 16 drafts. Its
DFlash always drafts the whole block.
"""

from dataclasses import dataclass

_SETS = ("gsm8k", "math500", "humaneval", "mbpp", "mt-bench")
# By target, kind of drafter, and temperature: the ratio to plain decoding and the tokens per round in each set.
_TABLE = {
    ("Qwen3-4B", "DFlash", 0): ((5.15, 6.53), (6.09, 7.84), (5.21, 6.64), (4.78, 6.09), (2.85, 4.35)),
    ("Qwen3-4B", "EAGLE-3", 0): ((1.99, 3.30), (1.83, 3.08), (1.84, 3.05), (1.78, 2.95), (1.74, 3.02)),
    ("Qwen3-8B", "DFlash", 0): ((5.15, 6.54), (6.08, 7.87), (5.14, 6.50), (4.65, 5.95), (2.75, 4.24)),
    ("Qwen3-8B", "EAGLE-3", 0): ((1.94, 3.23), (1.81, 3.02), (1.89, 3.17), (1.69, 2.82), (1.63, 2.83)),
    ("Qwen3-4B", "DFlash", 1): ((4.71, 6.00), (5.09, 6.67), (4.74, 6.04), (4.42, 5.66), (2.67, 4.07)),
    ("Qwen3-4B", "EAGLE-3", 1): ((1.89, 3.22), (1.75, 2.99), (1.74, 3.01), (1.69, 2.89), (1.70, 2.95)),
    ("Qwen3-8B", "DFlash", 1): ((4.67, 5.98), (4.84, 6.40), (4.32, 5.52), (4.04, 5.21), (2.47, 3.80)),
    ("Qwen3-8B", "EAGLE-3", 1): ((1.87, 3.12), (1.73, 2.91), (1.75, 3.05), (1.64, 2.74), (1.58, 2.70)),
}


@dataclass(frozen=True)
class PublishedResult:
    """The ratio to plain decoding, and the tokens per round, in the paper."""

    ratio: float
    tokens_per_round: float


def published_result(target: str, kind: str, name: str, temperature: float) -> PublishedResult | None:
    """Return the paper's result for a target such as Qwen3-8B and a set, or None."""
    row = _TABLE.get((target, kind, int(temperature))) if temperature in (0, 1) and name in _SETS else None
    return PublishedResult(*row[_SETS.index(name)]) if row else None
