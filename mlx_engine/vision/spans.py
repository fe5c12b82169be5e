"""Where a prompt's images are, and the positions of its tokens."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256

import numpy as np

_NOT_A_TOKEN = 1 << 31  # bit of keys that stand for an image's tokens


@dataclass(frozen=True)
class ImageSpan:
    """The soft tokens of one image in a prompt.

    Args:
        start: index of the first soft token.
        grid: rows and columns of soft tokens.
        digest: digest of the image's file and size, which decide what the target sees.
    """

    start: int
    grid: tuple[int, int]
    digest: str

    @property
    def size(self) -> int:
        return self.grid[0] * self.grid[1]

    @property
    def end(self) -> int:
        return self.start + self.size


def positions(spans: Iterable[ImageSpan], length: int) -> np.ndarray:
    """Return the time, row and column positions of a prompt's first tokens.

    All of an image has one time position, and its rows and columns count from there. The text after it continues at the largest
    position plus one, so later text has smaller positions than indices.

    Args:
        spans: the prompt's images, in order.
        length: number of tokens.

    Returns:
        int32 [3, length].
    """
    found = np.empty((3, length), np.int32)
    done = following = 0
    for span in spans:
        if span.start >= length:
            break
        start, (rows, columns) = span.start, span.grid
        found[:, done:start] = following + np.arange(start - done)
        following += start - done
        row, column = np.divmod(np.arange(min(span.end, length) - start), columns)
        found[:, start : start + len(row)] = following + np.stack([np.zeros_like(row), row, column])
        following += max(rows, columns)
        done = start + len(row)
    found[:, done:] = following + np.arange(length - done)
    return found


def shift(spans: Iterable[ImageSpan], length: int) -> int:
    """Return what a token's index at the end of `length` tokens is shifted by.

    The next token's position is `length` plus this shift, in all three rows. The shift is 0 without images.
    """
    total = 0
    for span in spans:
        if count := min(span.end, length) - span.start if span.start < length else 0:
            columns = span.grid[1]
            total += max(-(-count // columns), min(count, columns)) - count
    return total


def keys(tokens: list[int], spans: Sequence[ImageSpan]) -> list[int]:
    """Return what prefixes of a prompt are matched by.

    These are its tokens, and keys of its images' content. Without images, this is the same list.
    """
    if not spans:
        return tokens
    found = list(tokens)
    for span in spans:
        for index in range(span.size):
            content = sha256(f"{span.digest}:{index}".encode()).digest()
            found[span.start + index] = _NOT_A_TOKEN | int.from_bytes(content[:4]) >> 1
    return found


def outside_images(spans: Sequence[ImageSpan], length: int) -> int:
    """Return a length, reduced to the start of the image that it ends inside."""
    return next((span.start for span in spans if span.start < length < span.end), length)
