"""The blocks of a reply, and the parts they are grouped into.

A reply is a flat sequence of blocks, so two versions can be compared block by block. A part is a group of blocks drawn by one
widget: adjacent text blocks, one table, or one code block. Parts depend only on the blocks, so a position in a part (a selection or
a search hit) is valid even while the part has no widget.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

# A part is drawn as a whole, so small parts avoid drawing text that is off screen.
MAX_PART_BLOCKS = 12
MAX_PART_CHARS = 2500
MAX_LINE_CHARS = 20_000  # of plain text in a block
OBJECT = "\ufffc"  # replaces a formula in plain text

Alignment = Literal["left", "center", "right"]
PartKind = Literal["text", "code", "table"]


@dataclass(frozen=True, slots=True)
class TextSpan:
    """Text in one style, or LaTeX if `math` is set. Line breaks are U+2028."""

    text: str
    bold: bool = False
    italic: bool = False
    strike: bool = False
    code: bool = False
    link: str = ""
    math: bool = False


Cell = tuple[TextSpan, ...]
Row = tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class TextBlock:
    """A paragraph, a heading, or one paragraph of a list item.

    Args:
        heading: Heading level 1 to 6, 0 for other text.
        indent: Number of enclosing lists.
        quote: Number of enclosing block quotes.
        marker: Bullet or number in front of the text.
        done: Whether a task list item is checked; None for other text.
    """

    spans: tuple[TextSpan, ...]
    heading: int = 0
    indent: int = 0
    quote: int = 0
    marker: str = ""
    done: bool | None = None


@dataclass(frozen=True, slots=True)
class RuleBlock:
    """A horizontal rule."""

    indent: int = 0
    quote: int = 0


@dataclass(frozen=True, slots=True)
class MathBlock:
    """A display formula, on its own line."""

    latex: str
    indent: int = 0
    quote: int = 0


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """A code block. `language` comes from the fence and may be empty."""

    language: str
    text: str
    indent: int = 0
    quote: int = 0


@dataclass(frozen=True, slots=True)
class TableBlock:
    """A table. The first row is the header; every row has one cell per alignment."""

    rows: tuple[Row, ...]
    alignments: tuple[Alignment, ...]
    indent: int = 0
    quote: int = 0


ParagraphBlock = TextBlock | RuleBlock | MathBlock
Block = ParagraphBlock | CodeBlock | TableBlock


@dataclass(slots=True)
class DocumentPart:
    """A group of `count` blocks, from index `first`, drawn by one widget."""

    kind: PartKind
    first: int
    count: int = 0
    chars: int = 0

    @property
    def end(self) -> int:
        return self.first + self.count

    def accepts(self, block: Block) -> bool:
        return self.kind == part_kind(block) == "text" and self.count < MAX_PART_BLOCKS and self.chars < MAX_PART_CHARS

    def add(self, block: Block) -> None:
        self.count += 1
        if self.kind == "text":
            self.chars += len(plain_text(block)) + 1


def part_kind(block: Block) -> PartKind:
    return "code" if isinstance(block, CodeBlock) else "table" if isinstance(block, TableBlock) else "text"


def document_parts(blocks: Sequence[Block]) -> list[DocumentPart]:
    parts: list[DocumentPart] = []
    update_parts(parts, blocks, 0)
    return parts


def update_parts(parts: list[DocumentPart], blocks: Sequence[Block], changed: int) -> int:
    """Regroup blocks from index `changed`. Return the first part that may differ."""
    while parts and parts[-1].first >= changed:
        parts.pop()
    start = parts.pop().first if parts else 0
    first_part = len(parts)
    for number in range(start, len(blocks)):
        if len(parts) == first_part or not parts[-1].accepts(blocks[number]):
            parts.append(DocumentPart(part_kind(blocks[number]), number))
        parts[-1].add(blocks[number])
    return first_part


def plain_text_blocks(text: str) -> tuple[TextBlock, ...]:
    """Return one block per line of plain text, or several for a very long line."""
    return tuple(block for line in text.split("\n") for block in line_blocks(line))


def line_blocks(line: str) -> list[TextBlock]:
    """Return the block of a line, or several that end behind spaces, if there are any."""
    if not line:
        return [TextBlock(())]
    blocks, at = [], 0
    while at < len(line):
        end = at + MAX_LINE_CHARS
        end = (line.rfind(" ", at, end) + 1 or end) if end < len(line) else end
        blocks.append(TextBlock((TextSpan(line[at:end]),)))
        at = end
    return blocks


def spans_text(spans: Sequence[TextSpan]) -> str:
    return "".join(OBJECT if span.math else span.text for span in spans)


def plain_text(block: Block) -> str:
    """Return the visible text of a block. Table cells end with a line break."""
    match block:
        case TextBlock():
            return spans_text(block.spans)
        case MathBlock():
            return OBJECT
        case RuleBlock():
            return ""
        case CodeBlock():
            return block.text
        case TableBlock():
            return "".join(spans_text(cell) + "\n" for row in block.rows for cell in row)


def qt_length(text: str) -> int:
    """Return the length in UTF-16 code units, the unit of Qt offsets."""
    return len(text) if text.isascii() else len(text) + sum(char > "\uffff" for char in text)


def char_index(text: str, offset: int) -> int:
    """Return the index of the character at a Qt offset."""
    return min(offset, len(text)) if text.isascii() else len(text.encode("utf-16-le")[: 2 * offset].decode("utf-16-le", "ignore"))


def last_offset(blocks: Sequence[Block]) -> int:
    """Return the last offset in a part. In a table, offsets are cell numbers."""
    if blocks and isinstance(blocks[0], TableBlock):
        return max(0, len(blocks[0].rows) * len(blocks[0].alignments) - 1)
    return sum(qt_length(plain_text(block)) + 1 for block in blocks) - 1
