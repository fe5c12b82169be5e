"""Fuzzy matching: "nch" finds "New Chat"."""

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")

_START, _WORD, _NEXT, _GAP = 8.0, 6.0, 4.0, 0.2


def score(letters: str, text: str) -> float | None:
    """Return how well letters match a text, or None if they do not occur in this order.

    Starts of words and adjacent letters score higher, long gaps lower. Case is ignored; spaces in `letters` separate words.
    """
    total = 0.0
    folded = text.casefold()
    for word in letters.casefold().split():
        best = max((_from(word, folded, at) for at in _places(folded, word[0])), default=None, key=lambda one: one or -1e9)
        if best is None:
            return None
        total += best
    return total - 0.01 * len(text)


def rank(letters: str, items: Sequence[Item], text_of: Callable[[Item], str]) -> list[Item]:
    """Return the items that match, best first; equal matches keep their order."""
    if not letters.strip():
        return list(items)
    scored = [(found, place) for place, item in enumerate(items) if (found := score(letters, text_of(item))) is not None]
    return [items[place] for _, place in sorted(scored, key=lambda one: (-one[0], one[1]))]


def contains_in_order(letters: str, text: str) -> bool:
    """Whether the letters occur in the text in this order."""
    rest = iter(text)
    return all(letter in rest for letter in letters)


def _places(text: str, letter: str) -> list[int]:
    return [at for at, char in enumerate(text[:200]) if char == letter]


def _from(word: str, text: str, at: int) -> float | None:
    """Score a word with its first letter at this place and each later letter at the best place soon after."""
    total = _bonus(text, at)
    for number, letter in enumerate(word[1:], 1):
        after = at + 1
        if text[after : after + 1] == letter:
            total += _NEXT
            at = after
            continue
        beginnings = [place for place in range(after, len(text)) if text[place] == letter and _bonus(text, place)]
        place = beginnings[0] if beginnings else -1
        if place < 0 or not contains_in_order(word[number:], text[place:]):
            place = text.find(letter, after)
        if place < 0:
            return None
        total += _bonus(text, place) - _GAP * (place - at)
        at = place
    return total


def _bonus(text: str, at: int) -> float:
    if at == 0:
        return _START
    return _WORD if not text[at - 1].isalnum() else 0.0
