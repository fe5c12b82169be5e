"""Lookup drafting: propose what followed the last few tokens earlier in the text.

Edits, summaries and quotations repeat their sources word for word, so a copy is a free draft (prompt lookup decoding, Saxena,
2023). The longest match among the latest occurrences wins.
"""

from collections.abc import Sequence
from dataclasses import dataclass

_SHORTEST = 3  # tokens that must match
_LONGEST = 32  # match length that is measured at most
_PLACES = 4  # occurrences compared, the latest ones


@dataclass(frozen=True)
class Offer:
    """A possible proposal: its length, and the length of the match that it continues."""

    tokens: int
    match: int


class Lookup:
    """Proposals copied from the tokens so far.

    Args:
        tokens: the prompt and the reply so far.
        most: largest number of tokens per proposal.
    """

    def __init__(self, tokens: Sequence[int], most: int) -> None:
        self._tokens = list(tokens)
        self._most = most
        self._places: dict[tuple[int, ...], list[int]] = {}  # where each sequence of tokens is continued
        self._indexed = 0  # places before this one are in the index
        self._from = 0  # where the latest offer is copied from

    def add(self, tokens: Sequence[int]) -> None:
        """Add final tokens of the reply."""
        self._tokens += tokens

    def offer(self) -> Offer | None:
        """Return what followed the last tokens where they occurred before, if they did."""
        tokens, end = self._tokens, len(self._tokens)
        for place in range(max(self._indexed, _SHORTEST), end):
            self._places.setdefault(tuple(tokens[place - _SHORTEST : place]), []).append(place)
        self._indexed = end
        places = self._places.get(tuple(tokens[-_SHORTEST:]), ()) if end >= _SHORTEST else ()
        best = 0
        for place in places[-1 : -_PLACES - 1 : -1]:
            match = _SHORTEST
            while match < min(_LONGEST, place) and tokens[place - match - 1] == tokens[end - match - 1]:
                match += 1
            if match > best:
                best, self._from = match, place
        return Offer(self._most, best) if best and self._most else None

    def propose(self, count: int) -> list[int]:
        """Return the first `count` tokens of the latest offer, repeated if it is too short."""
        copied = self._tokens[self._from : self._from + count]
        while len(copied) < count:
            copied.append(copied[len(copied) - (len(self._tokens) - self._from)])
        return copied
