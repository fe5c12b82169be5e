"""Where two replies first differ: the text to mark in both."""

import re
from dataclasses import dataclass

from app.conversations.comparison_record import ComparedMode
from mlx_engine.events import Channel

MAX_MARKED = 40  # characters
_WORD = re.compile(r"\s*\S*")
_SPACE = re.compile(r"\s*")
_WORD_START = re.compile(r"\S*\Z")


@dataclass(frozen=True)
class Difference:
    """The first `at` characters of a channel are the same in both replies; one of them may end there."""

    channel: Channel
    at: int
    spaces: bool = False  # only white space differs before the next word

    def span(self, text: str) -> tuple[int, int]:
        """Return the range to mark: to the end of the word that differs, or empty at the end of the text."""
        word = _WORD.match(text, self.at)
        assert word is not None
        return self.at, min(word.end(), self.at + MAX_MARKED, len(text))

    def words(self, text: str) -> str:
        """Return the word that differs, from its beginning; empty at the end of the text."""
        return _words(text, self.at) if self.at < len(text) else ""


def difference_between(plain: ComparedMode, dflash: ComparedMode) -> Difference | None:
    """Return the first visible difference, or None if the texts are the same (their tokens may still differ)."""
    if plain.thinking != dflash.thinking:
        return _difference("thinking", plain.thinking, dflash.thinking)
    return _difference("answer", plain.text, dflash.text) if plain.text != dflash.text else None


def _difference(channel: Channel, one: str, other: str) -> Difference:
    pairs = zip(one, other, strict=False)
    at = next((index for index, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
    return Difference(channel, at, _words(one, at) == _words(other, at))


def _words(text: str, at: int) -> str:
    """Return the word at `at` from its beginning, and the next word if `at` is where one ends, with single spaces."""
    start, space, word = _WORD_START.search(text, max(0, at - MAX_MARKED), at), _SPACE.match(text, at), _WORD.match(text, at)
    assert start is not None and space is not None and word is not None
    return " ".join((start.group() + text[at : min(word.end(), space.end() + MAX_MARKED)]).split())
