"""Markdown that arrives in pieces: finished blocks are frozen, only the unfinished tail is read again.

To render the whole text on every flush costs time quadratic in its length. Here a flush costs what the last block costs.
"""

from dataclasses import dataclass

from app.rendering.blocks import Block
from app.rendering.markdown import sections


@dataclass(frozen=True, slots=True)
class Change:
    """What to draw anew: from block `first` on, `blocks` replace all that was there."""

    first: int
    blocks: tuple[Block, ...]


class StreamingMarkdown:
    """Text in, changes of its blocks out. `blocks` always equals what the whole text would give at once."""

    def __init__(self) -> None:
        self._frozen: list[Block] = []
        self._live: tuple[Block, ...] = ()
        self._tail = ""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks so far."""
        return (*self._frozen, *self._live)

    @property
    def frozen(self) -> int:
        """How many blocks can no longer change."""
        return len(self._frozen)

    def append(self, text: str) -> Change:
        """Take more text; say which blocks it changed."""
        self._tail += text.replace("\r", "")
        before, first = self._live, len(self._frozen)
        found = sections(self._tail)

        # A piece is finished once the line that starts the next one is complete: an unfinished line may still turn out to belong
        # to what is above it ("```" opens a code block, "```a`" is a paragraph).
        complete_lines = self._tail.count("\n")
        keep = next((i for i in range(len(found) - 1, 0, -1) if found[i].line < complete_lines), 0)
        for section in found[:keep]:
            self._frozen += section.blocks
        if keep:
            self._tail = "\n".join(self._tail.split("\n")[found[keep].line :])
        self._live = tuple(block for section in found[keep:] for block in section.blocks)

        after = (*self._frozen[first:], *self._live)
        same = 0
        while same < min(len(before), len(after)) and before[same] == after[same]:
            same += 1
        return Change(first + same, after[same:])
