"""Lookup drafting: propose what followed an earlier occurrence of the last tokens.

Edits, summaries, and quotations repeat their sources verbatim, so copied tokens are drafts at no cost (prompt lookup decoding,
Saxena, 2023). The longest match among the latest occurrences wins.
"""

from collections.abc import Sequence
from dataclasses import dataclass

_SHORTEST = 3  # tokens that must match
_LONGEST = 32  # limit of the measured match length
_PLACES = 16  # latest occurrences to compare


@dataclass(frozen=True)
class Offer:
    """An available proposal."""

    tokens: int  # length of the proposal
    match: int  # length of the match before the proposal


class Lookup:
    """Proposals copied from the prompt and the reply.

    Args:
        tokens: the prompt and the reply so far.
        most: largest number of tokens per proposal.
    """

    def __init__(self, tokens: Sequence[int], most: int) -> None:
        self._tokens = list(tokens)
        self._most = most
        self._places: dict[tuple[int, ...], list[int]] = {}  # positions after each occurrence of a token sequence
        self._indexed = 0  # positions before this one are indexed
        self._from = 0  # source position of the latest offer
        self._drafts: Sequence[int] = ()  # of the latest offer

    def add(self, tokens: Sequence[int]) -> None:
        """Append final tokens of the reply."""
        self._tokens += tokens

    def offer(self, drafts: Sequence[int] = ()) -> Offer | None:
        """Find the longest earlier match of the last tokens, with drafts after them.

        Returns:
            None if there is none.
        """
        tokens, end = self._tokens, len(self._tokens)
        tail = [*tokens[-_LONGEST:], *drafts]
        for place in range(max(self._indexed, _SHORTEST), end):
            self._places.setdefault(tuple(tokens[place - _SHORTEST : place]), []).append(place)
        self._indexed = end
        self._drafts = drafts
        places = self._places.get(tuple(tail[-_SHORTEST:]), ())
        best = 0
        for place in places[-1 : -_PLACES - 1 : -1]:
            match = _SHORTEST
            while match < min(_LONGEST, place, len(tail)) and tokens[place - match - 1] == tail[-match - 1]:
                match += 1
            if match > best:
                best, self._from = match, place
        return Offer(self._most, best) if best and self._most else None

    def propose(self, count: int) -> list[int]:
        """Return `count` tokens of the latest offer, repeated if it is too short."""
        copied = [*self._tokens[self._from : self._from + count], *self._drafts][:count]
        while len(copied) < count:
            copied.append(copied[len(copied) - (len(self._tokens) + len(self._drafts) - self._from)])
        return copied
