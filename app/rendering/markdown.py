"""Parse Markdown into blocks.

Math is `$x$` or `\\(x\\)` inline, and `$$x$$` or `\\[x\\]` on lines of its own. A math block that is never closed ends at the
next empty line. Text further down then never changes the blocks above it, so blocks of a streaming reply can be frozen.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType

from app.rendering.blocks import Alignment, Block, Cell, CodeBlock, MathBlock, Row, RuleBlock, TableBlock, TextBlock, TextSpan

MAX_CHARS = 2000  # of one formula; anything longer is text

_closers = {"$$": "$$", "\\[": "\\]"}


def math_plugin(parser: MarkdownIt) -> None:
    """Add the tokens `math_inline` and `math_block`.

    `content` is the LaTeX, `markup` the opening delimiter, and `meta["closed"]` tells whether a block has a closing one.
    """
    parser.inline.ruler.before("escape", "math_inline", _inline)
    parser.block.ruler.before("fence", "math_block", _block, {"alt": ["paragraph", "reference", "blockquote", "list"]})


def _inline(state: StateInline, silent: bool) -> bool:
    source, start = state.src, state.pos
    if source.startswith("$", start):
        found = _dollars(source, start, state.posMax)
    elif source.startswith(("\\(", "\\["), start):
        found = _brackets(source, start, state.posMax)
    else:
        return False
    if found is None:
        return False
    opener, end = found
    latex = source[start + len(opener) : end]
    if not latex.strip():
        return False
    if not silent:
        token = state.push("math_inline", "math", 0)
        token.markup, token.content = opener, latex.strip()
    state.pos = end + len(opener)
    return True


def _dollars(source: str, start: int, limit: int) -> tuple[str, int] | None:
    """Return the delimiter and its end. Prices are not math: no space inside the dollars, no digit after the second."""
    opener = "$$" if source.startswith("$$", start) else "$"
    inside = start + len(opener)
    end = source.find("$", inside, min(limit, inside + MAX_CHARS))
    while end > 0 and source[end - 1] == "\\":
        end = source.find("$", end + 1, min(limit, inside + MAX_CHARS))
    if end < 0 or not source.startswith(opener, end):
        return None
    if opener == "$":
        before, after = source[end - 1], source[end + 1 : end + 2]
        if source[inside : inside + 1].isspace() or before.isspace() or after.isdigit():
            return None
    return opener, end


def _brackets(source: str, start: int, limit: int) -> tuple[str, int] | None:
    opener = source[start : start + 2]
    end = source.find("\\)" if opener == "\\(" else "\\]", start + 2, min(limit, start + MAX_CHARS))
    return None if end < 0 else (opener, end)


def _block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    if state.is_code_block(first):
        return False
    begin, end = state.bMarks[first] + state.tShift[first], state.eMarks[first]
    opener = state.src[begin : begin + 2]
    closer = _closers.get(opener)
    if closer is None:
        return False
    line, content, closed = first, state.src[begin + 2 : end], False
    place = content.find(closer)
    if place >= 0:
        if content[place + 2 :].strip():
            return False  # text follows on the same line: inline math
        closed, content = True, content[:place]
    if silent:
        return True
    lines = [content]
    while not closed:
        line += 1
        if line >= last or state.isEmpty(line) or state.sCount[line] < state.blkIndent:
            line -= 1
            break
        text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
        if text.rstrip().endswith(closer):
            closed, text = True, text.rstrip()[:-2]
        lines.append(text)
    token = state.push("math_block", "math", 0)
    token.block, token.markup, token.content = True, opener, "\n".join(lines).strip()
    token.map, token.meta = [first, line + 1], {"closed": closed}
    state.line = line + 1
    return True


BULLETS = "•◦▪"
LINE_BREAK = "\u2028"
MAX_NESTING = 60  # a section nested deeper is shown as written: the parser would drop the text below this level

MAX_MARKS = 2000  # punctuation characters of a paragraph; one with more is shown as written
MAX_COLUMNS = 100  # of a table; short rows of a wide one would be filled up with many empty cells
MAX_STEPS = 20_000  # tokens passed in search of the ends of links, which for open brackets is quadratic


class _TooManySteps(Exception):
    pass


class _BoundedInlineParser(ParserInline):
    """Shows text as written if parsing it would take too long."""

    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        if "steps" in env:  # the description of an image, which is shown as written
            return tokens
        if len(self.terminator_re.findall(src)) <= MAX_MARKS:
            env["steps"] = 0
            try:
                return super().parse(src, md, env, tokens)
            except _TooManySteps:
                tokens.clear()
            finally:
                del env["steps"]
        tokens.append(Token("text", "", 0, content=src.replace("\n", LINE_BREAK)))
        return tokens

    def skipToken(self, state: StateInline) -> None:
        state.env["steps"] += 1
        if state.env["steps"] > MAX_STEPS:
            raise _TooManySteps
        super().skipToken(state)


def _table(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    columns = state.src.count("|", state.bMarks[first], state.eMarks[first])
    return columns <= MAX_COLUMNS and table(state, first, last, silent)


# Reference definitions are off: one could change text far above it, so no block of a streaming reply would ever be final.
# HTML is off: tags are shown as written.
_parser = MarkdownIt()
_parser.inline = _BoundedInlineParser()
_parser.configure("commonmark", {"html": False, "maxNesting": MAX_NESTING})
_parser.enable(["table", "strikethrough"]).disable("reference")
_parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
_parser.use(math_plugin)
_parser.parse("*a*")  # compiles the rules, which is not thread-safe

_task = re.compile(r"\[([ xX])\](?: |$)")
_surrogates = re.compile("[\ud800-\udfff]")

SectionKind = Literal["paragraph", "list", "quote", "table", "fence", "other"]
_section_kinds: dict[str, SectionKind] = {
    "paragraph_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "blockquote_open": "quote",
    "table_open": "table",
    "fence": "fence",
}
# Tokens that may start a list item without a paragraph, whose marker then needs a line of its own.
_unmarked = frozenset(
    "bullet_list_open ordered_list_open list_item_close blockquote_open fence code_block math_block hr table_open".split()
)


@dataclass(frozen=True, slots=True)
class SectionChild:
    """An item of a list or a child of a quote: its first line, its first block in the section, and its number."""

    line: int
    block: int
    number: int


@dataclass(frozen=True, slots=True)
class Section:
    """A top-level Markdown element: its blocks, its first line, and the line after its last."""

    line: int
    end: int
    blocks: tuple[Block, ...]
    kind: SectionKind = "other"
    children: tuple[SectionChild, ...] = ()
    content: str = ""  # of a fence, including the last line break


def is_safe_link(address: str) -> bool:
    """Return whether an address is a web page: a reply must not start a program or open a file."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def parse_blocks(source: str) -> tuple[Block, ...]:
    return tuple(block for section in parse_sections(source) for block in section.blocks)


def clean_text(text: str) -> str:
    """Replace what Qt and the parser can't handle: carriage returns, NUL, and lone surrogates."""
    if "\r" in text or "\0" in text:
        text = text.replace("\r", "").replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = _surrogates.sub("\ufffd", text)
    return text


def parse_sections(source: str, number: int | None = None) -> list[Section]:
    """Return the top-level elements of a text. `number` is the first item's, if the text starts inside a numbered list."""
    source = clean_text(source)
    tokens = _parser.parse(source)
    sections: list[Section] = []
    start = 0
    for index, token in enumerate(tokens):
        if token.level or token.nesting > 0:
            continue
        first, last = tokens[start].map or [0, 0]
        inner = tokens[start : index + 1]
        start = index + 1
        if any(one.level >= MAX_NESTING - 1 for one in inner):
            lines = source.split("\n")[first:last]
            sections.append(Section(first, last, (TextBlock((TextSpan(LINE_BREAK.join(lines)),)),)))
            continue
        builder = _BlockBuilder(number if not sections else None)
        blocks = tuple(builder.build(inner))
        kind = _section_kinds.get(inner[0].type, "other")
        content = inner[0].content if kind == "fence" else ""
        sections.append(Section(first, last, blocks, kind, tuple(builder.children), content))
    return sections


@dataclass
class _List:
    ordered: bool
    number: int


class _BlockBuilder:
    """Turns the tokens of one section into blocks."""

    def __init__(self, number: int | None = None) -> None:
        self.lists: list[_List] = []
        self.quote = 0
        self.marker = ""
        self.children: list[SectionChild] = []
        self._number = number
        self._count = 0  # blocks so far

    def build(self, tokens: list[Token]) -> Iterator[Block]:
        for block in self._blocks(tokens):
            self._count += 1
            yield block

    def _blocks(self, tokens: list[Token]) -> Iterator[Block]:
        index = 0
        while index < len(tokens):
            token = tokens[index]
            if token.level == 1 and token.nesting >= 0 and token.map is not None and tokens[0].type != "table_open":
                number = self.lists[0].number if self.lists and self.lists[0].ordered else 0
                self.children.append(SectionChild(token.map[0], self._count, number))
            if self.marker and token.type in _unmarked:
                yield TextBlock((), indent=len(self.lists), quote=self.quote, marker=self._take_marker())
            match token.type:
                case "bullet_list_open":
                    self.lists.append(_List(False, 0))
                case "ordered_list_open":
                    start = token.attrGet("start")  # None if it is 1
                    first = 1 if start is None else int(start)
                    if self._number is not None and not self.lists:
                        first, self._number = self._number, None
                    self.lists.append(_List(True, first))
                case "bullet_list_close" | "ordered_list_close":
                    self.lists.pop()
                case "list_item_open":
                    self.marker = self._next_marker()
                case "blockquote_open":
                    self.quote += 1
                case "blockquote_close":
                    self.quote -= 1
                case "paragraph_open" | "heading_open":
                    yield self._text(tokens[index + 1], int(token.tag[1]) if token.type == "heading_open" else 0)
                    index += 2
                case "fence" | "code_block":
                    language = token.info.split()[0].lower() if token.info.split() else ""
                    yield CodeBlock(language, token.content.removesuffix("\n"), len(self.lists), self.quote)
                case "math_block":
                    if token.meta["closed"]:
                        yield MathBlock(token.content, len(self.lists), self.quote)
                    else:
                        source = f"{token.markup}\n{token.content}".replace("\n", LINE_BREAK)
                        yield TextBlock((TextSpan(source, code=True),), 0, len(self.lists), self.quote)
                case "hr":
                    yield RuleBlock(len(self.lists), self.quote)
                case "table_open":
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

    def _text(self, inline: Token, heading: int) -> TextBlock:
        spans, marker, done = parse_spans(inline.children or []), self._take_marker(), None
        if marker and spans and (task := _task.match(spans[0].text)) and spans[0] == TextSpan(spans[0].text):
            done = task[1] != " "
            rest = spans[0].text[task.end() :]
            spans = (TextSpan(rest), *spans[1:]) if rest else spans[1:]
        return TextBlock(spans, heading, len(self.lists), self.quote, marker, done)

    def _table(self, tokens: list[Token]) -> TableBlock:
        rows: list[Row] = []
        cells: list[Cell] = []
        alignments: list[Alignment] = []
        for index, token in enumerate(tokens):
            if token.type == "tr_open":
                cells = []
            elif token.type in ("th_open", "td_open"):
                cells.append(parse_spans(tokens[index + 1].children or []))
                if token.type == "th_open":
                    style = str(token.attrGet("style") or "")
                    alignments.append("right" if "right" in style else "center" if "center" in style else "left")
            elif token.type == "tr_close":
                rows.append(tuple(cells))
        return TableBlock(tuple(rows), tuple(alignments), len(self.lists), self.quote)


def parse_spans(children: list[Token]) -> tuple[TextSpan, ...]:
    """Turn inline tokens into spans. Adjacent spans in the same style become one."""
    spans: list[TextSpan] = []
    links: list[str] = []
    depth = {"strong": 0, "em": 0, "s": 0}

    def add(span: TextSpan) -> None:
        if spans and not span.math and replace(spans[-1], text="") == replace(span, text=""):
            spans[-1] = replace(span, text=spans[-1].text + span.text)
        elif span.text:
            spans.append(span)

    for token in children:
        name = token.type.rsplit("_", 1)[0]
        if name in depth:
            depth[name] += token.nesting
        elif token.type == "link_open":
            address = str(token.attrGet("href") or "")
            links.append(address if is_safe_link(address) else "")
        elif token.type == "link_close":
            links.pop()
        style = TextSpan("", depth["strong"] > 0, depth["em"] > 0, depth["s"] > 0, False, links[-1] if links else "")
        match token.type:
            case "text":
                add(replace(style, text=token.content))
            case "code_inline":
                add(replace(style, text=token.content, code=True))
            case "softbreak":
                add(replace(style, text=" "))
            case "hardbreak":
                add(replace(style, text=LINE_BREAK))
            case "math_inline":
                add(replace(style, text=token.content, math=True))
            case "image":
                # Shown as a link: loading the image would tell its server that this text was read.
                address = str(token.attrGet("src") or "")
                add(replace(style, text=token.content or address, link=address if is_safe_link(address) else style.link))
    return tuple(spans)
