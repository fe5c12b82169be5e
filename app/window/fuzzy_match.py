"""Finding by a few letters: "nch" finds "New Chat"."""

from collections.abc import Callable, Sequence
from typing import TypeVar

Item = TypeVar("Item")

_START, _WORD, _NEXT, _GAP = 8.0, 6.0, 4.0, 0.2


def score(letters: str, text: str) -> float | None:
    """How well letters that stand in a text in this order fit it; None where they do not stand in it. Beginnings of words and
    letters side by side count more, long gaps less. Case does not matter, and blanks in `letters` only separate words."""
    total = 0.0
    folded = text.casefold()
    for word in letters.casefold().split():
        best = max((_from(word, folded, at) for at in _places(folded, word[0])), default=None, key=lambda one: one or -1e9)
        if best is None:
            return None
        total += best
    return total - 0.01 * len(text)


def rank(letters: str, items: Sequence[Item], text_of: Callable[[Item], str]) -> list[Item]:
    """The items that fit, the best first; those that fit equally well in the order given."""
    if not letters.strip():
        return list(items)
    scored = [(found, place) for place, item in enumerate(items) if (found := score(letters, text_of(item))) is not None]
    return [items[place] for _, place in sorted(scored, key=lambda one: (-one[0], one[1]))]


def stands_in(letters: str, text: str) -> bool:
    """Whether the letters stand in the text in this order."""
    rest = iter(text)
    return all(letter in rest for letter in letters)


def _places(text: str, letter: str) -> list[int]:
    return [at for at, char in enumerate(text[:200]) if char == letter]


def _from(word: str, text: str, at: int) -> float | None:
    """With the first letter at this place, and each later one at the best place soon after."""
    total = _bonus(text, at)
    for number, letter in enumerate(word[1:], 1):
        after = at + 1
        if text[after : after + 1] == letter:
            total += _NEXT
            at = after
            continue
        beginnings = [place for place in range(after, len(text)) if text[place] == letter and _bonus(text, place)]
        place = beginnings[0] if beginnings else -1
        if place < 0 or not stands_in(word[number:], text[place:]):
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
