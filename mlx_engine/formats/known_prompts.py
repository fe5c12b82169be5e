"""The latest prompts as text and tokens, so that shared text is tokenized once."""

from array import array
from bisect import bisect_left, bisect_right
from collections import Counter, deque
from collections.abc import Sequence
from itertools import pairwise
from typing import Any
from weakref import WeakKeyDictionary

from mlx_lm.tokenizer_utils import TokenizerWrapper

_KEPT = 4  # prompts per tokenizer


class KnownPrompts:
    """The latest prompts of a tokenizer.

    Text before and after a special token is tokenized separately. Texts with the same beginning thus have the same tokens up to
    the last special token of this beginning.
    """

    def __init__(self, tokenizer: TokenizerWrapper) -> None:
        self._separators = _separators(tokenizer)
        # Text, tokens, and for each separator: its end and start in the text, and its index in the tokens
        self._latest: deque[tuple[str, array[int], list[tuple[int, int, int]]]] = deque(maxlen=_KEPT)

    def add(self, text: str, tokens: Sequence[int]) -> None:
        """Add a prompt, unless a known one begins with it."""
        if not self._separators or any(known.startswith(text) for known, *_ in self._latest):
            return
        markers = [(index, self._separators[token]) for index, token in enumerate(tokens) if token in self._separators]
        if any(text.count(marker) != count for marker, count in Counter(marker for _, marker in markers).items()):
            return
        places, end = list[tuple[int, int, int]](), 0
        for index, marker in markers:
            start = text.index(marker, end)
            end = start + len(marker)
            places.append((end, start, index))
        self._latest.append((text, array("q", tokens), places))

    def beginning(self, text: str) -> tuple[int, list[int]]:
        """Return the length and the tokens of a text's longest known beginning.

        The rest of the text begins with a special token, unless the beginning is empty.
        """
        size, found = 0, array("q")
        for known, tokens, places in self._latest:
            shared = places[: bisect_right(places, shared_length(text, known), key=lambda place: place[0])]
            if shared and shared[-1][1] > size:
                size, found = shared[-1][1], tokens[: shared[-1][2]]
        return size, found.tolist()


def shared_length(a: Sequence[Any], b: Sequence[Any]) -> int:
    """Return the length of the beginning that two sequences of one type share."""
    ends = range(1, min(len(a), len(b)) + 1)
    return bisect_left(ends, True, key=lambda end: a[:end] != b[:end])


def _separators(tokenizer: TokenizerWrapper) -> dict[int, str]:
    """Return the special tokens that always separate texts, by ID."""
    if not tokenizer.is_fast:  # such tokenizers may split text anywhere
        return {}
    added = tokenizer.added_tokens_decoder
    contents = sorted(token.content for token in added.values())
    inside = {letter for content in contents for letter in content[1:]}
    beginnings = {first for first, second in pairwise(contents) if second.startswith(first)}  # of longer tokens
    return {
        number: token.content
        for number, token in added.items()
        if token.special
        and not (token.normalized or token.lstrip or token.rstrip or token.single_word)
        and token.content not in beginnings
        and token.content[:1] not in inside
    }


_prompts: WeakKeyDictionary[TokenizerWrapper, KnownPrompts] = WeakKeyDictionary()


def known_prompts(tokenizer: TokenizerWrapper) -> KnownPrompts:
    """Return the prompts of a tokenizer."""
    if tokenizer not in _prompts:
        _prompts[tokenizer] = KnownPrompts(tokenizer)
    return _prompts[tokenizer]
