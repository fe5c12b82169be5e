"""Markdown to blocks."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.token import Token

from app.rendering.blocks import Alignment, Block, Code, Rule, Span, Table, Text

BULLETS = "•◦▪"
LINE_BREAK = "\u2028"

# Link reference definitions are off: one may stand anywhere below the text it changes, so no block above could ever be called
# finished while a reply streams. HTML is off: a reply is text, and what looks like a tag is shown as it was written.
_parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("reference")


@dataclass(frozen=True, slots=True)
class Section:
    """The blocks that one top-level piece of Markdown yields, and the line it starts on."""

    line: int
    blocks: tuple[Block, ...]


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


def sections(source: str) -> list[Section]:
    """The top-level pieces of a text, in order."""
    tokens = _parser.parse(source.replace("\r", ""))
    found: list[Section] = []
    start = 0
    for index, token in enumerate(tokens):
        if token.level == 0 and token.nesting <= 0:
            lines = tokens[start].map or [0, 0]
            found.append(Section(lines[0], tuple(_Walk().walk(tokens[start : index + 1]))))
            start = index + 1
    return found


@dataclass
class _List:
    ordered: bool
    number: int


class _Walk:
    """One pass over the tokens of a top-level piece."""

    def __init__(self) -> None:
        self.lists: list[_List] = []
        self.quote = 0
        self.marker = ""

    def walk(self, tokens: list[Token]) -> Iterator[Block]:
        index = 0
        while index < len(tokens):
            token = tokens[index]
            match token.type:
                case "bullet_list_open":
                    yield from self._lone_marker()
                    self.lists.append(_List(False, 0))
                case "ordered_list_open":
                    yield from self._lone_marker()
                    start = token.attrGet("start")  # left out when it is 1
                    self.lists.append(_List(True, 1 if start is None else int(start)))
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
        return Text(spans(inline.children or []), heading, len(self.lists), self.quote, self._take_marker())

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
        if found and replace(found[-1], text="") == replace(span, text=""):
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
            case "image":
                # Never fetched: to load a picture would tell a stranger's server that this text was read.
                address = str(token.attrGet("src") or "")
                label = token.content or address
                add(replace(look, text=label, link=address if is_safe_link(address) else look.link))
    return tuple(found)
