"""Where two replies part: the place that is marked in both."""

import re
from dataclasses import dataclass

from app.conversations.comparison_record import Side
from mlx_engine.events import Channel

LONGEST = 40  # characters that are marked
_WORD = re.compile(r"\s*\S*")
_BEGUN = re.compile(r"\S*\Z")


@dataclass(frozen=True)
class Difference:
    """The texts of one channel are alike before character number `at`; in one of them it may be the end."""

    channel: Channel
    at: int

    def stretch(self, text: str) -> tuple[int, int]:
        """What is marked of a text: to the end of the word that differs. Empty where the text ends."""
        word = _WORD.match(text, self.at)
        assert word is not None
        return self.at, min(word.end(), self.at + LONGEST, len(text))

    def words(self, text: str) -> str:
        """The word that differs, from its beginning, which may be the same in both; empty where the text ends."""
        first, last = self.stretch(text)
        if first == last:
            return ""
        begun = _BEGUN.search(text, max(0, first - LONGEST), first)
        return " ".join(((begun.group() if begun is not None else "") + text[first:last]).split())


def difference_between(plain: Side, dflash: Side) -> Difference | None:
    """The first one that can be read; None where the texts are the same, though perhaps made of other tokens."""
    if plain.thinking != dflash.thinking:
        return Difference("thinking", _alike(plain.thinking, dflash.thinking))
    if plain.text != dflash.text:
        return Difference("answer", _alike(plain.text, dflash.text))
    return None


def _alike(one: str, other: str) -> int:
    """How many characters of the beginning are the same."""
    pairs = zip(one, other, strict=False)
    return next((place for place, (mine, its) in enumerate(pairs) if mine != its), min(len(one), len(other)))
