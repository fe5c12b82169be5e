"""Markdown to blocks."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.rendering.blocks import Alignment, Block, Code, Maths, Rule, Span, Table, Text
from app.rendering.maths_syntax import maths_plugin

BULLETS = "•◦▪"
LINE_BREAK = "\u2028"

# Deeper than anyone writes. A piece that goes deeper still is shown as it was written: the parser drops what it does not reach.
DEEPEST = 60

# Link reference definitions are off: one may stand anywhere below the text it changes, so no block above could ever be called
# finished while a reply streams. HTML is off: a reply is text, and what looks like a tag is shown as it was written.
_parser = MarkdownIt("commonmark", {"html": False, "maxNesting": DEEPEST}).enable(["table", "strikethrough"]).disable("reference")
_parser.use(maths_plugin)
# The parser puts its rules together at the first use, and is not whole meanwhile. It must be before two threads can use it.
_parser.parse("*a*")

Kind = Literal["paragraph", "list", "quote", "table", "fence", "other"]


@dataclass(frozen=True, slots=True)
class Child:
    """An item of a list or a piece of a quote: the line it starts on, its first block within the section, and its number."""

    line: int
    block: int
    number: int


@dataclass(frozen=True, slots=True)
class Section:
    """The blocks that one top-level piece of Markdown yields, the line it starts on and the line after it."""

    line: int
    end: int
    blocks: tuple[Block, ...]
    kind: Kind = "other"
    children: tuple[Child, ...] = ()
    content: str = ""  # of a fence, with the end of its last line


def is_safe_link(address: str) -> bool:
    """Only web addresses open: a reply must not be able to start a program or read a file."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def blocks(source: str) -> tuple[Block, ...]:
    """All blocks of a whole text."""
    return tuple(block for section in sections(source) for block in section.blocks)


def clean(text: str) -> str:
    """Text that Qt and the parser can take: one kind of line end, no NUL, no half of a surrogate pair."""
    if "\r" in text or "\0" in text:
        text = text.replace("\r", "").replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = _surrogates.sub("\ufffd", text)
    return text


def sections(source: str, number: int | None = None) -> list[Section]:
    """The top-level pieces of a text, in order. `number` is that of the first item, if the text begins inside a numbered list."""
    source = clean(source)
    tokens = _parser.parse(source)
    found: list[Section] = []
    start = 0
    for index, token in enumerate(tokens):
        if token.level == 0 and token.nesting <= 0:
            first, last = tokens[start].map or [0, 0]
            piece = tokens[start : index + 1]
            start = index + 1
            if any(inner.level >= DEEPEST - 1 for inner in piece):
                lines = source.split("\n")[first:last]
                found.append(Section(first, last, (Text((Span(LINE_BREAK.join(lines)),)),)))
                continue
            walk = _Walk(number if not found else None)
            blocks = tuple(walk.walk(piece))
            kind = _kinds.get(piece[0].type, "other")
            content = piece[0].content if kind == "fence" else ""
            found.append(Section(first, last, blocks, kind, tuple(walk.children), content))
    return found


_task = re.compile(r"\[([ xX])\](?: |$)")
_surrogates = re.compile("[\ud800-\udfff]")
_kinds: dict[str, Kind] = {
    "paragraph_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "blockquote_open": "quote",
    "table_open": "table",
    "fence": "fence",
}


@dataclass
class _List:
    ordered: bool
    number: int


class _Walk:
    """One pass over the tokens of a top-level piece."""

    def __init__(self, number: int | None = None) -> None:
        self.lists: list[_List] = []
        self.quote = 0
        self.marker = ""
        self.children: list[Child] = []
        self._number = number
        self._count = 0  # blocks so far

    def walk(self, tokens: list[Token]) -> Iterator[Block]:
        """The blocks of a piece; notes its children on the way."""
        for block in self._walk(tokens):
            self._count += 1
            yield block

    def _walk(self, tokens: list[Token]) -> Iterator[Block]:
        index = 0
        while index < len(tokens):
            token = tokens[index]
            if token.level == 1 and token.nesting >= 0 and token.map is not None and tokens[0].type != "table_open":
                number = self.lists[0].number if self.lists and self.lists[0].ordered else 0
                self.children.append(Child(token.map[0], self._count, number))
            match token.type:
                case "bullet_list_open":
                    yield from self._lone_marker()
                    self.lists.append(_List(False, 0))
                case "ordered_list_open":
                    yield from self._lone_marker()
                    start = token.attrGet("start")  # left out when it is 1
                    first = 1 if start is None else int(start)
                    if self._number is not None and not self.lists:
                        first, self._number = self._number, None
                    self.lists.append(_List(True, first))
                case "bullet_list_close" | "ordered_list_close":
                    self.lists.pop()
                case "list_item_open":
                    self.marker = self._next_marker()
                case "list_item_close":
                    yield from self._lone_marker()
                case "blockquote_open":
                    yield from self._lone_marker()
                    self.quote += 1
                case "blockquote_close":
                    self.quote -= 1
                case "paragraph_open":
                    yield self._text(tokens[index + 1])
                    index += 2
                case "heading_open":
                    yield self._text(tokens[index + 1], heading=int(token.tag[1]))
                    index += 2
                case "fence" | "code_block":
                    yield from self._lone_marker()
                    language = token.info.split()[0].lower() if token.info.split() else ""
                    yield Code(language, token.content.removesuffix("\n"), len(self.lists), self.quote)
                case "math_block":
                    yield from self._lone_marker()
                    if token.meta["closed"]:
                        yield Maths(token.content, len(self.lists), self.quote)
                    else:
                        source = f"{token.markup}\n{token.content}".replace("\n", LINE_BREAK)
                        yield Text((Span(source, code=True),), 0, len(self.lists), self.quote)
                case "hr":
                    yield from self._lone_marker()
                    yield Rule(len(self.lists), self.quote)
                case "table_open":
                    yield from self._lone_marker()
                    end = next(i for i in range(index, len(tokens)) if tokens[i].type == "table_close")
                    yield self._table(tokens[index:end])
                    index = end
            index += 1

    def _next_marker(self) -> str:
        current = self.lists[-1]
        if not current.ordered:
            return BULLETS[min(len(self.lists), len(BULLETS)) - 1]
        current.number += 1
        return f"{current.number - 1}."

    def _take_marker(self) -> str:
        marker, self.marker = self.marker, ""
        return marker

    def _lone_marker(self) -> Iterator[Block]:
        """The bullet of an item that does not begin with a paragraph, on a line of its own."""
        if self.marker:
            yield Text((), indent=len(self.lists), quote=self.quote, marker=self._take_marker())

    def _text(self, inline: Token, heading: int = 0) -> Text:
        found, marker, done = spans(inline.children or []), self._take_marker(), None
        if marker and found and (task := _task.match(found[0].text)) and found[0] == Span(found[0].text):
            done = task[1] != " "
            found = (Span(found[0].text[task.end() :]), *found[1:]) if found[0].text[task.end() :] else found[1:]
        return Text(found, heading, len(self.lists), self.quote, marker, done)

    def _table(self, tokens: list[Token]) -> Table:
        rows: list[tuple[tuple[Span, ...], ...]] = []
        cells: list[tuple[Span, ...]] = []
        alignments: list[Alignment] = []
        for index, token in enumerate(tokens):
            if token.type == "tr_open":
                cells = []
            elif token.type in ("th_open", "td_open"):
                cells.append(spans(tokens[index + 1].children or []))
                if token.type == "th_open":
                    style = str(token.attrGet("style") or "")
                    alignments.append("right" if "right" in style else "center" if "center" in style else "left")
            elif token.type == "tr_close":
                rows.append(tuple(cells))
        return Table(tuple(rows), tuple(alignments), len(self.lists), self.quote)


def spans(children: list[Token]) -> tuple[Span, ...]:
    """Inline tokens to spans; neighbours in the same look become one."""
    found: list[Span] = []
    look = Span("")
    links: list[str] = []
    depth = {"strong": 0, "em": 0, "s": 0}

    def add(span: Span) -> None:
        if found and not span.math and replace(found[-1], text="") == replace(span, text=""):
            found[-1] = replace(span, text=found[-1].text + span.text)
        elif span.text:
            found.append(span)

    for token in children:
        name = token.type.rsplit("_", 1)[0]
        if name in depth:
            depth[name] += token.nesting
        elif token.type == "link_open":
            address = str(token.attrGet("href") or "")
            links.append(address if is_safe_link(address) else "")
        elif token.type == "link_close":
            links.pop()
        look = Span("", depth["strong"] > 0, depth["em"] > 0, depth["s"] > 0, False, links[-1] if links else "")
        match token.type:
            case "text":
                add(replace(look, text=token.content))
            case "code_inline":
                add(replace(look, text=token.content, code=True))
            case "softbreak":
                add(replace(look, text=" "))
            case "hardbreak":
                add(replace(look, text=LINE_BREAK))
            case "math_inline":
                add(replace(look, text=token.content, math=True))
            case "image":
                # Never fetched: to load a picture would tell a stranger's server that this text was read.
                address = str(token.attrGet("src") or "")
                label = token.content or address
                add(replace(look, text=label, link=address if is_safe_link(address) else look.link))
    return tuple(found)
