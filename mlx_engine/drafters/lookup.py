"""Lookup drafting: what followed the last few tokens when they stood in the prompt or the reply before.

Edits, summaries and quotations repeat their sources word for word; there a copy is a draft for nothing (prompt lookup decoding,
Saxena, 2023). The longest match among the latest places wins.
"""

from collections.abc import Sequence
from dataclasses import dataclass

_SHORTEST = 3  # tokens that have to match
_LONGEST = 32  # beyond which a match is not measured
_PLACES = 4  # the latest ones, that are compared


@dataclass(frozen=True)
class Offer:
    """What could be proposed now: so many tokens, continuing a match that is so many tokens long."""

    tokens: int
    match: int


class Lookup:
    """Proposals copied from the tokens so far.

    Args:
        tokens: the prompt, and what of the reply there is.
        most: tokens of a proposal.
    """

    def __init__(self, tokens: Sequence[int], most: int) -> None:
        self._tokens = list(tokens)
        self._most = most
        self._places: dict[tuple[int, ...], list[int]] = {}  # what follows these tokens stands there
        self._indexed = 0  # places before it are in the index
        self._from = 0  # where the present offer is copied from

    def add(self, tokens: Sequence[int]) -> None:
        """These tokens of the reply are final."""
        self._tokens += tokens

    def offer(self) -> Offer | None:
        """What the last tokens' latest places offer; None where they did not stand before."""
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
        """The first `count` tokens of what `offer` found; where the source runs into its own copy, it goes round."""
        copied = self._tokens[self._from : self._from + count]
        while len(copied) < count:
            copied.append(copied[len(copied) - (len(self._tokens) - self._from)])
        return copied
