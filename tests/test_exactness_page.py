"""The page on exactness names the families that one-row and many-row passes treat differently."""

import re
from collections.abc import Callable
from pathlib import Path

from mlx_engine.models.configs.families import FAMILIES, Family

PAGE = Path(__file__).parents[1] / "docs" / "exactness.md"


def named(words: str) -> set[str]:
    """Return the families in the first column of the table row that contains these words."""
    (row,) = [line.split("|")[1] for line in PAGE.read_text(encoding="utf-8").splitlines() if words in line]
    return set(re.findall(r"\w+", row)) & set(FAMILIES)


def of(is_meant: Callable[[Family], bool]) -> set[str]:
    return {name for name, family in FAMILIES.items() if is_meant(family)}


def other_formula(family: Family) -> bool:
    return not family.row_exact


def sliding(family: Family) -> bool:
    return "RotatingKVCache" in family.caches


def test_it_names_the_families_that_exact_mode_refuses() -> None:
    assert named("by another formula than several") == of(other_formula)


def test_it_names_the_families_whose_bits_differ() -> None:
    assert named("families with another one-row formula") == of(other_formula)
    assert named("layers with a sliding window") == of(sliding)
