"""Which blocks share a document, and where in it a character stands.

Neighbouring text is one part, a table and a code block are one each. Which parts there are depends on the blocks alone, so that a
place in a part (a selection, a hit of a search) can be named while nothing of it is on the screen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from app.rendering.blocks import Block, Code, Maths, Rule, Span, Table, Text

# A part is drawn as a whole. Small ones keep what is out of sight cheap.
MOST_BLOCKS = 12
MOST_CHARS = 2500
OBJECT = "\ufffc"  # stands for a formula

PartKind = Literal["text", "code", "table"]


@dataclass(slots=True)
class Part:
    """`count` blocks from number `first` on."""

    kind: PartKind
    first: int
    count: int
    chars: int = 0

    def takes(self, block: Block) -> bool:
        """Whether this block, which follows, belongs to this part too."""
        return self.kind == "text" and kind_of(block) == "text" and self.count < MOST_BLOCKS and self.chars < MOST_CHARS

    def add(self, block: Block) -> None:
        self.count += 1
        self.chars += len(plain(block)) + 1


def kind_of(block: Block) -> PartKind:
    return "code" if isinstance(block, Code) else "table" if isinstance(block, Table) else "text"


def parts(blocks: Sequence[Block]) -> list[Part]:
    """All parts of these blocks."""
    found: list[Part] = []
    for number, block in enumerate(blocks):
        if not found or not found[-1].takes(block):
            found.append(Part(kind_of(block), number, 0))
        found[-1].add(block)
    return found


def as_typed(text: str) -> tuple[Text, ...]:
    """Text that is no Markdown, a block a line; very long lines are cut."""
    return tuple(
        Text((Span(line[at : at + MOST_CHARS]),) if line else ())
        for line in text.split("\n")
        for at in range(0, max(1, len(line)), MOST_CHARS)
    )


def plain(block: Block) -> str:
    """The text of a block as its document holds it. A table's is its cells, each followed by a line end."""
    match block:
        case Text():
            return "".join(OBJECT if span.math else span.text for span in block.spans)
        case Maths():
            return OBJECT
        case Rule():
            return ""
        case Code():
            return block.text
        case Table():
            cells = ("".join(OBJECT if span.math else span.text for span in cell) for row in block.rows for cell in row)
            return "".join(cell + "\n" for cell in cells)


def units(text: str) -> int:
    """Length as Qt counts it: a character outside the first 65,536 is two."""
    return len(text) + sum(char > "\uffff" for char in text) if not text.isascii() else len(text)


def index(text: str, offset: int) -> int:
    """The index of the character at an offset that Qt counted."""
    if text.isascii():
        return min(offset, len(text))
    at = 0
    for number, char in enumerate(text):
        if at >= offset:
            return number
        at += 2 if char > "\uffff" else 1
    return len(text)


def length(blocks: Sequence[Block]) -> int:
    """The greatest offset in a part made of these blocks; in a table, the number of its last cell."""
    if blocks and isinstance(blocks[0], Table):
        return max(0, len(blocks[0].rows) * len(blocks[0].alignments) - 1)
    return sum(units(plain(block)) + 1 for block in blocks) - 1
