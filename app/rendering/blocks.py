"""The pieces that a reply is drawn from: one flat sequence, so that two versions of it are compared piece by piece."""

from dataclasses import dataclass
from typing import Literal

Alignment = Literal["left", "center", "right"]


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of text in one look. A line break inside a paragraph is U+2028."""

    text: str
    bold: bool = False
    italic: bool = False
    strike: bool = False
    code: bool = False
    link: str = ""


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph, a heading (`heading` 1 to 6) or one paragraph of a list item.

    `indent` counts the lists around it, `quote` the block quotes; `marker` is the bullet or number before it.
    """

    spans: tuple[Span, ...]
    heading: int = 0
    indent: int = 0
    quote: int = 0
    marker: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A horizontal line."""

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


Block = Text | Rule | Code | Table
