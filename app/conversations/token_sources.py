"""Where each character of a reply came from: the drafter, a lookup, or the target itself."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Literal

from mlx_engine.events import Source

Supplier = Source | Literal["unknown"]
_LETTERS: dict[Supplier, str] = {"prefill": "p", "drafter": "d", "lookup": "l", "target": "t", "unknown": "u"}
_SUPPLIERS = {letter: supplier for supplier, letter in _LETTERS.items()}
_RUN = re.compile(r"([pdltu])([1-9][0-9]{0,8})")


class Suppliers:
    """Runs of characters with one supplier each, in order. Adding to the end takes constant time."""

    def __init__(self) -> None:
        self._suppliers: list[Supplier] = []
        self._ends: list[int] = []

    def __len__(self) -> int:
        """Return the number of characters covered."""
        return self._ends[-1] if self._ends else 0

    def add(self, length: int, runs: Sequence[tuple[Supplier, int]] = ()) -> None:
        """Append `length` characters; their supplier is unknown unless `runs` add up to `length`."""
        for supplier, size in runs if sum(size for _, size in runs) == length else (("unknown", length),):
            if size <= 0:
                continue
            if self._suppliers and self._suppliers[-1] == supplier:
                self._ends[-1] += size
            else:
                self._suppliers.append(supplier)
                self._ends.append(len(self) + size)

    def between(self, start: int, end: int) -> Iterator[tuple[int, int, Supplier]]:
        """Yield the runs in `start` to `end`, clipped: first character, one past the last, supplier."""
        for index in range(bisect_right(self._ends, start), len(self._ends)):
            first = max(start, self._ends[index - 1] if index else 0)
            if first >= end:
                return
            yield first, min(end, self._ends[index]), self._suppliers[index]

    def encode(self) -> str:
        """Return the stored form, a letter and a length per run: "d15t1"."""
        sizes = (end - start for start, end in pairwise((0, *self._ends)))
        return "".join(f"{_LETTERS[supplier]}{size}" for supplier, size in zip(self._suppliers, sizes, strict=True))

    @classmethod
    def decode(cls, text: str) -> "Suppliers":
        """Read the stored form; any other text gives no runs."""
        found = cls()
        for letter, size in _RUN.findall(text) if re.fullmatch(f"(?:{_RUN.pattern})*", text) else ():
            found.add(int(size), ((_SUPPLIERS[letter], int(size)),))
        return found
