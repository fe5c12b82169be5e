"""Parse Markdown as it streams: freeze finished blocks and parse the rest.

Parsing the whole reply on every update would take quadratic time. Here, an update parses only the last paragraph, list item, table
row, or line of code, regardless of the length of the reply, list, table, or code block.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from app.rendering.blocks import Block, CodeBlock, Row, TableBlock
from app.rendering.markdown import Section, clean_text, parse_sections

MAX_TAIL = 8_000  # characters; a longer paragraph is split to bound the tail
MAX_TAIL_LINES = 500  # a longer paragraph is split too, because the parser tests each line for many kinds of blocks
MAX_HELD = 40  # characters
SHORT_TAIL = 400  # a list, table, or code block up to this length is parsed as a whole


_CODE_SPAN = re.compile(r"`[^`]+`")


@dataclass(frozen=True, slots=True)
class BlockChange:
    """A change that replaces all blocks from index `first` with `blocks`."""

    first: int
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class BlockOrigin:
    """The source range of blocks, from index `block` up to the next origin."""

    start: int
    end: int
    block: int


@dataclass(slots=True)
class _PartlyFrozen:
    """A table or code block with frozen first lines. `head` is its opening source."""

    head: str
    rows: tuple[Row, ...] = ()
    code: str = ""

    def join(self, section: Section) -> Block:
        """Return the whole block: the frozen lines and those of the section."""
        block = section.blocks[0]
        if isinstance(block, TableBlock):
            return replace(block, rows=(*self.rows, *block.rows[1:])) if self.rows else block
        assert isinstance(block, CodeBlock)
        return replace(block, text=(self.code + section.content).removesuffix("\n"))


class StreamingMarkdown:
    """An incremental parser that reports how the blocks change.

    `blocks` always equals the result of parsing the whole text in one go. `parsed_chars` counts the characters given to the parser.
    """

    def __init__(self, text: str = "") -> None:
        self._frozen: list[Block] = []
        self._live: tuple[Block, ...] = ()
        self._origins: list[BlockOrigin] = []
        self._tail = ""
        self._tail_start = 0  # offset of the tail in the text
        self._live_start = 0  # offset of the first block that isn't frozen
        self._number: int | None = None  # of the list item at the start of the tail
        self._open: _PartlyFrozen | None = None
        self.parsed_chars = 0
        self.append(text)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return (*self._frozen, *self._live)

    @property
    def origins(self) -> list[BlockOrigin]:
        """The source ranges of the blocks, in order."""
        return [*self._origins, BlockOrigin(self._live_start, self._tail_start + len(self._tail), len(self._frozen))]

    def append(self, text: str) -> BlockChange:
        before, first = self._live, len(self._frozen)
        for piece in self._pieces(clean_text(text)):
            self._tail += piece
            self._parse_tail()
        after = (*self._frozen[first:], *self._live)
        pairs = zip(before, after, strict=False)
        same = next((number for number, (old, new) in enumerate(pairs) if old != new), min(len(before), len(after)))
        return BlockChange(first + same, after[same:])

    def _pieces(self, text: str) -> Iterator[str]:
        """Split the text so that the tail is parsed whenever it is full."""
        while text:
            size = MAX_TAIL - len(self._tail)
            room = MAX_TAIL_LINES - self._tail.count("\n")
            lines = text[:size].split("\n", room)
            if len(lines) > room:
                size = len(text[:size]) - len(lines[-1])
            yield text[:size]
            text = text[size:]

    @property
    def _full(self) -> bool:
        return len(self._tail) == MAX_TAIL or self._tail.count("\n") == MAX_TAIL_LINES

    def _parse_tail(self) -> None:
        head = self._open.head if self._open else ""
        source = head + self._tail
        self.parsed_chars += len(source)
        sections = parse_sections(source, self._number)
        if self._open and sections:
            sections[0] = replace(sections[0], blocks=(self._open.join(sections[0]),))

        # A section is finished once the first line of the next one is complete. Until then that line may still belong to the
        # section: "```" starts a code block, but "```a`" continues the paragraph.
        complete = source.count("\n")
        finished = next((i for i in range(len(sections) - 1, 0, -1) if sections[i].line < complete), 0)
        if finished:
            line = sections[finished].line
            self._freeze(_blocks(sections[:finished]), _line_offset(source, line) - len(head))
            self._number, self._open = None, None
            sections = [_shifted(section, -line) for section in sections[finished:]]
        self._live = _blocks(sections)
        if not sections or (sections[0].line and self._open is None):  # drop empty lines before the first block
            size = _line_offset(self._tail, sections[0].line) if sections else self._tail.rfind("\n") + 1
            if not sections and self._full:
                size = len(self._tail)
            self._tail_start += size
            self._tail = source = self._tail[size:]
            sections = [_shifted(section, -sections[0].line) for section in sections]
        if not sections:
            return
        if sections[0].kind in ("list", "quote"):
            self._freeze_children(sections[0])
        elif sections[0].kind in ("table", "fence") and len(sections) == 1:
            self._freeze_lines(sections[0])
        if self._full:
            self._split(sections, source)

    def _freeze(self, blocks: tuple[Block, ...], size: int) -> None:
        """Freeze blocks that cover the first `size` characters of the tail."""
        self._tail_start += size
        self._tail = self._tail[size:]
        self._origins.append(BlockOrigin(self._live_start, self._tail_start, len(self._frozen)))
        self._frozen += blocks
        self._live_start = self._tail_start

    def _freeze_children(self, section: Section) -> None:
        """Freeze all items of a list, or children of a quote, except the last."""
        if len(self._tail) <= SHORT_TAIL or len(section.children) < 2:
            return
        lines = self._tail.split("\n")
        for child in reversed(section.children[1:]):
            line = lines[child.line] if child.line < len(lines) - 1 else ""
            at_margin = line[:1] == ">" if section.kind == "quote" else line[:1].strip()
            if at_margin and child.block:
                self._freeze(section.blocks[: child.block], _line_offset(self._tail, child.line))
                self._number = child.number
                self._live = self._live[child.block :]
                return

    def _freeze_lines(self, section: Section) -> None:
        """Freeze all rows of a table, or lines of a code block, except the last."""
        head_lines = 2 if section.kind == "table" else 1
        if self._open is None and len(self._tail) <= SHORT_TAIL:
            return
        head = "" if self._open else self._tail[: _line_offset(self._tail, min(head_lines, self._tail.count("\n")))]
        body = self._tail[len(head) :]
        last = min(section.end - head_lines, body.count("\n")) - 1
        if last <= 0:
            return
        self._open = self._open or _PartlyFrozen(head)
        block = self._live[0]
        if isinstance(block, TableBlock):
            self._open.rows = block.rows[: len(block.rows) - (section.end - head_lines - last)]
        else:
            self._open.code += section.content[: _line_offset(section.content, last)]
        size = _line_offset(body, last)
        self._tail_start += len(head) + size
        self._tail = body[size:]

    def _split(self, sections: list[Section], source: str) -> None:
        """Freeze as much as possible of a full tail without a finished section."""
        if len(sections) == 1 and sections[0].kind == "fence" and self._split_code(sections[0]):
            return
        if len(sections) > 1:
            size = _line_offset(source, sections[-1].line) - (len(source) - len(self._tail))
            self._freeze(_blocks(sections[:-1]), size)
        elif self._open or sections[0].kind == "fence":
            self._freeze(_blocks(sections), len(self._tail))
        else:
            size = 1 + max(self._tail.rfind(char, MAX_TAIL // 2) for char in " \n") or len(self._tail)
            self._freeze(_blocks(parse_sections(self._tail[:size], self._number)), size)
        self._number, self._open = None, None
        self.parsed_chars += len(source)
        self._live = _blocks(parse_sections(self._tail))

    def _split_code(self, section: Section) -> bool:
        """Freeze all code but the last line. Return False if the code block has ended."""
        code_lines = section.content.removesuffix("\n").count("\n") + bool(section.content)
        if section.end - section.line > 1 + code_lines or "\n" not in (self._open.head if self._open else self._tail):
            return False
        head = "" if self._open else self._tail[: self._tail.index("\n") + 1]
        size, kept = self._tail.rfind("\n", len(head)) + 1, section.content.rfind("\n") + 1
        if not size:  # a single long line: the rest must not start like an indent or a fence
            size = len(self._tail.rstrip(" \t`~")) - 1
            size = size if size > MAX_TAIL // 2 else len(self._tail)
            kept = len(section.content) - (len(self._tail) - size)
        self._open = self._open or _PartlyFrozen(head)
        self._open.code += section.content[:kept]
        self._tail_start += size
        self._tail = self._tail[size:]
        return True


def held_back(text: str) -> int:
    """Return the length of the unfinished bold text or code at the end."""
    line = _CODE_SPAN.sub(lambda span: "x" * len(span[0]), text[text.rfind("\n") + 1 :])
    starts = [line.rfind(mark) for mark in ("**", "`") if line.count(mark) % 2]
    half = line.endswith("*") and not line.endswith("**")  # of a mark
    held = len(line) - min(starts, default=len(line) - half)
    return held if held <= MAX_HELD else 0


def _blocks(sections: list[Section]) -> tuple[Block, ...]:
    return tuple(block for section in sections for block in section.blocks)


def _shifted(section: Section, lines: int) -> Section:
    children = tuple(replace(child, line=child.line + lines) for child in section.children)
    return replace(section, line=section.line + lines, end=section.end + lines, children=children)


def _line_offset(source: str, line: int) -> int:
    at = 0
    for _ in range(line):
        at = source.index("\n", at) + 1
    return at
