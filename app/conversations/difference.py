"""Where two replies part: the place that is marked in both."""

import re
from dataclasses import dataclass

from app.conversations.comparison_record import Side
from mlx_engine.events import Channel

LONGEST = 40  # characters that are marked
_WORD = re.compile(r"\s*\S*")
_SPACE = re.compile(r"\s*")
_BEGUN = re.compile(r"\S*\Z")


@dataclass(frozen=True)
class Difference:
    """The texts of one channel are alike before character number `at`; in one of them it may be the end."""

    channel: Channel
    at: int
    spaces: bool = False  # the next words are the same: only what stands between them is not

    def stretch(self, text: str) -> tuple[int, int]:
        """What is marked of a text: to the end of the word that differs. Empty where the text ends."""
        word = _WORD.match(text, self.at)
        assert word is not None
        return self.at, min(word.end(), self.at + LONGEST, len(text))

    def words(self, text: str) -> str:
        """The word that differs, from its beginning, which may be the same in both; empty where the text ends."""
        return _words(text, self.at) if self.at < len(text) else ""


def difference_between(plain: Side, dflash: Side) -> Difference | None:
    """The first one that can be read; None where the texts are the same, though perhaps made of other tokens."""
    if plain.thinking != dflash.thinking:
        return _found("thinking", plain.thinking, dflash.thinking)
    if plain.text != dflash.text:
        return _found("answer", plain.text, dflash.text)
    return None


def _found(channel: Channel, one: str, other: str) -> Difference:
    at = _alike(one, other)
    return Difference(channel, at, _words(one, at) == _words(other, at))


def _words(text: str, at: int) -> str:
    """The word at a place, from its beginning, or what it begins with and the word after it; without more space than that."""
    begun, space = _BEGUN.search(text, max(0, at - LONGEST), at), _SPACE.match(text, at)
    word = _WORD.match(text, at)
    assert begun is not None and space is not None and word is not None
    return " ".join((begun.group() + text[at : min(word.end(), space.end() + LONGEST)]).split())


def _alike(one: str, other: str) -> int:
    """How many characters of the beginning are the same."""
    pairs = zip(one, other, strict=False)
    return next((place for place, (mine, its) in enumerate(pairs) if mine != its), min(len(one), len(other)))
