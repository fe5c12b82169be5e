"""Numbers in words."""

from __future__ import annotations

import random

ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
).split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split()


def in_words(n: int) -> str:
    """Return a number up to 99 in words."""
    if n < 20:
        return ONES[n]
    tens, ones = TENS[n // 10 - 2], n % 10
    return f"{tens}-{ONES[ones]}" if ones else tens


def typed(rng: random.Random, n: int, words: float) -> str:
    """Return a number as people type it: in words with this probability, if it has no more than two digits."""
    if n > 99 or rng.random() >= words:
        return str(n)
    return in_words(n) if rng.random() < 0.6 else in_words(n).replace("-", " ")


def ordinal(rng: random.Random, n: int) -> str:
    """Return an ordinal number as people type it."""
    if n <= 12 and rng.random() < 0.6:
        return ORDINALS[n - 1]
    return f"{n}{'th' if n % 100 in (11, 12, 13) else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')}"
