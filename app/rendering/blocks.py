"""The pieces that a reply is drawn from: one flat sequence, so that two versions of it are compared piece by piece."""

from dataclasses import dataclass
from typing import Literal

Alignment = Literal["left", "center", "right"]


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of text in one look. A line break inside a paragraph is U+2028. Where `math` is set the text is LaTeX."""

    text: str
    bold: bool = False
    italic: bool = False
    strike: bool = False
    code: bool = False
    link: str = ""
    math: bool = False


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph, a heading (`heading` 1 to 6) or one paragraph of a list item.

    `indent` counts the lists around it, `quote` the block quotes; `marker` is the bullet or number before it, and `done` says of an
    item of a task list whether it is ticked.
    """

    spans: tuple[Span, ...]
    heading: int = 0
    indent: int = 0
    quote: int = 0
    marker: str = ""
    done: bool | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal line."""

    indent: int = 0
    quote: int = 0


@dataclass(frozen=True, slots=True)
class Maths:
    """A formula on a line of its own."""

    latex: str
    indent: int = 0
    quote: int = 0


@dataclass(frozen=True, slots=True)
class Code:
    """A code block with the language its fence names, empty when it names none."""

    language: str
    text: str
    indent: int = 0
    quote: int = 0


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the first row is the header; every row has as many cells as `alignments`."""

    rows: tuple[tuple[tuple[Span, ...], ...], ...]
    alignments: tuple[Alignment, ...]
    indent: int = 0
    quote: int = 0


Block = Text | Rule | Maths | Code | Table
