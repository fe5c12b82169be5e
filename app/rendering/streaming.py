"""Markdown that arrives in pieces: finished blocks are frozen, only the unfinished tail is read again.

To render the whole text on every flush costs time quadratic in its length. Here a flush costs what the last paragraph, list item,
table row or line of code costs, however long the reply, the list, the table or the code block has become.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from app.rendering.blocks import Block, Code, Span, Table
from app.rendering.markdown import Section, clean, sections

# What is a single paragraph for longer than this is cut in two: no tail may grow without end.
LONGEST_TAIL = 8_000
# A list, table or code block that is shorter is simply read again.
SHORT = 400


@dataclass(frozen=True, slots=True)
class Change:
    """What to draw anew: from block `first` on, `blocks` replace all that was there."""

    first: int
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Origin:
    """Characters `start` to `end` of the text yield the blocks from number `block` on, up to the next origin's."""

    start: int
    end: int
    block: int


Row = tuple[tuple[Span, ...], ...]


@dataclass(slots=True)
class _Open:
    """A table or code block whose first lines are finished: `head` is read again with the tail, to say what the tail is."""

    head: str
    rows: tuple[Row, ...] = ()
    code: str = ""

    def whole(self, section: Section) -> Block:
        """The block with what was finished before it."""
        block = section.blocks[0]
        if isinstance(block, Table):
            return replace(block, rows=(*self.rows, *block.rows[1:])) if self.rows else block
        assert isinstance(block, Code)
        return replace(block, text=(self.code + section.content).removesuffix("\n"))


class StreamingMarkdown:
    """Text in, changes of its blocks out. `blocks` always equals what the whole text would give at once.

    `read` counts the characters that were ever given to the parser.
    """

    def __init__(self) -> None:
        self._frozen: list[Block] = []
        self._live: tuple[Block, ...] = ()
        self._origins: list[Origin] = []
        self._tail = ""
        self._tail_at = 0  # where in the text the tail begins
        self._piece_at = 0  # where the first block that is not frozen begins
        self._number: int | None = None  # of the list item that the tail begins with
        self._open: _Open | None = None
        self.read = 0

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All blocks so far."""
        return (*self._frozen, *self._live)

    @property
    def frozen(self) -> int:
        """How many blocks can no longer change."""
        return len(self._frozen)

    @property
    def origins(self) -> list[Origin]:
        """Which part of the text the blocks come from, in order."""
        return [*self._origins, Origin(self._piece_at, self._tail_at + len(self._tail), len(self._frozen))]

    def append(self, text: str) -> Change:
        """Take more text; say which blocks it changed."""
        before, first = self._live, len(self._frozen)
        for portion in self._portions(clean(text)):
            self._tail += portion
            self._read()
        after = (*self._frozen[first:], *self._live)
        same = 0
        while same < min(len(before), len(after)) and before[same] == after[same]:
            same += 1
        return Change(first + same, after[same:])

    def _portions(self, text: str) -> Iterator[str]:
        """Wherever a text was cut into pieces, it is looked at when the tail has exactly its greatest length."""
        while text:
            room = LONGEST_TAIL - len(self._tail)
            size = room if 0 < room < len(text) else len(text)
            yield text[:size]
            text = text[size:]

    def _read(self) -> None:
        head = self._open.head if self._open else ""
        source = head + self._tail
        self.read += len(source)
        found = sections(source, self._number)
        if self._open and found:
            found[0] = replace(found[0], blocks=(self._open.whole(found[0]),))

        # A piece is finished once the line that starts the next one is complete: an unfinished line may still turn out to belong
        # to what is above it ("```" opens a code block, "```a`" is a paragraph).
        complete = source.count("\n")
        keep = next((i for i in range(len(found) - 1, 0, -1) if found[i].line < complete), 0)
        if keep:
            self._freeze(_blocks(found[:keep]), _offset(source, found[keep].line) - len(head))
            self._number, self._open = None, None
            found = [_moved(section, -found[keep].line) for section in found[keep:]]
        self._live = _blocks(found)
        if not found:
            return
        if found[0].line and self._open is None:  # empty lines before the first block say nothing
            size = _offset(self._tail, found[0].line)
            self._tail_at += size
            self._tail = source = self._tail[size:]
            found = [_moved(section, -found[0].line) for section in found]
        if found[0].kind in ("list", "quote"):
            self._freeze_children(found)
        elif found[0].kind in ("table", "fence") and len(found) == 1:
            self._freeze_lines(found[0])
        if len(self._tail) == LONGEST_TAIL:
            self._cut(found, source)

    def _freeze(self, blocks: tuple[Block, ...], size: int) -> None:
        """The first `size` characters of the tail are finished; they complete these blocks."""
        self._tail_at += size
        self._tail = self._tail[size:]
        self._origins.append(Origin(self._piece_at, self._tail_at, len(self._frozen)))
        self._frozen += blocks
        self._piece_at = self._tail_at

    def _freeze_children(self, found: list[Section]) -> None:
        """All items of a list but the last, all pieces of a quote but the last."""
        section = found[0]
        if len(self._tail) <= SHORT or len(section.children) < 2:
            return
        lines = self._tail.split("\n")
        for child in reversed(section.children[1:]):
            line = lines[child.line] if child.line < len(lines) - 1 else ""
            at_margin = line[:1] == ">" if section.kind == "quote" else line[:1].strip()
            if at_margin and child.block:
                self._freeze(section.blocks[: child.block], _offset(self._tail, child.line))
                self._number = child.number if section.kind == "list" and line[0].isdigit() else None
                self._live = self._live[child.block :]
                return

    def _freeze_lines(self, section: Section) -> None:
        """All rows of a table but the last, all lines of a code block but the last."""
        heads = 2 if section.kind == "table" else 1
        if self._open is None and len(self._tail) <= SHORT:
            return
        head = "" if self._open else self._tail[: _offset(self._tail, min(heads, self._tail.count("\n")))]
        body = self._tail[len(head) :]
        last = min(section.end - heads, body.count("\n")) - 1
        if last <= 0:
            return
        if self._open is None:
            self._open = _Open(head)
        block = self._live[0]
        if isinstance(block, Table):
            self._open.rows = block.rows[: len(block.rows) - (section.end - heads - last)]
        else:
            self._open.code += section.content[: _offset(section.content, last)]
        size = _offset(body, last)
        self._tail_at += len(head) + size
        self._tail = body[size:]

    def _cut(self, found: list[Section], source: str) -> None:
        """The tail is as long as it may get, and nothing in it is finished: take off what can be taken off."""
        if self._open and self._open.code and len(found) == 1:
            self._open.code += found[0].content
            self._tail_at += len(self._tail)
            self._tail = ""
            return
        if len(found) > 1:
            size = _offset(source, found[-1].line) - (len(source) - len(self._tail))
            self._freeze(_blocks(found[:-1]), size)
        else:
            size = 1 + max(self._tail.rfind(sign, LONGEST_TAIL // 2) for sign in " \n") or len(self._tail)
            self._freeze(_blocks(sections(self._tail[:size], self._number)), size)
        self._number, self._open = None, None
        self.read += len(source)
        self._live = _blocks(sections(self._tail))


def _blocks(found: list[Section]) -> tuple[Block, ...]:
    return tuple(block for section in found for block in section.blocks)


def _moved(section: Section, lines: int) -> Section:
    children = tuple(replace(child, line=child.line + lines) for child in section.children)
    return replace(section, line=section.line + lines, end=section.end + lines, children=children)


def _offset(source: str, line: int) -> int:
    """Where a line begins."""
    at = 0
    for _ in range(line):
        at = source.index("\n", at) + 1
    return at
