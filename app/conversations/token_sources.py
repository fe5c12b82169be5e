"""Who supplied a text, character by character: the drafter, a lookup, or the target itself."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Literal

from mlx_engine.events import Source

Supplier = Source | Literal["unknown"]
_LETTERS: dict[Supplier, str] = {"prefill": "p", "drafter": "d", "lookup": "l", "target": "t", "unknown": "u"}
_MEANT = {letter: supplier for supplier, letter in _LETTERS.items()}
_RUN = re.compile(r"([pdltu])([1-9][0-9]{0,8})")


class Suppliers:
    """Runs of characters of one supplier each, in order; it grows at the end, at the cost of what is added."""

    def __init__(self) -> None:
        self._who: list[Supplier] = []
        self._ends: list[int] = []

    def __len__(self) -> int:
        """How many characters it tells of."""
        return self._ends[-1] if self._ends else 0

    def add(self, length: int, runs: Sequence[tuple[Source, int]]) -> None:
        """`length` more characters; of runs that do not add up to it nothing is known."""
        if sum(size for _, size in runs) == length:
            for source, size in runs:
                self._add(source, size)
        else:
            self._add("unknown", length)

    def _add(self, supplier: Supplier, size: int) -> None:
        if size <= 0:
            return
        if self._who and self._who[-1] == supplier:
            self._ends[-1] += size
        else:
            self._who.append(supplier)
            self._ends.append(len(self) + size)

    def between(self, start: int, end: int) -> Iterator[tuple[int, int, Supplier]]:
        """The runs that lie between two places of the text, cut to that: first character, the one after the last, supplier."""
        for index in range(bisect_right(self._ends, start), len(self._who)):
            first = max(start, self._ends[index - 1] if index else 0)
            if first >= end:
                return
            yield first, min(end, self._ends[index]), self._who[index]

    def written(self) -> str:
        """As it is stored: a letter and a number a run, “d15t1”."""
        starts = (0, *self._ends)
        return "".join(f"{_LETTERS[who]}{end - start}" for who, start, end in zip(self._who, starts, self._ends, strict=False))

    @classmethod
    def read(cls, text: str) -> "Suppliers":
        """What was written; anything else tells of nothing."""
        found = cls()
        for letter, size in _RUN.findall(text) if re.fullmatch(f"(?:{_RUN.pattern})*", text) else ():
            found._add(_MEANT[letter], int(size))
        return found
