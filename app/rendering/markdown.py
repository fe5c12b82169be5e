"""Parse Markdown into blocks.

Math is `$x$` or `\\(x\\)` inline, and `$$x$$` or `\\[x\\]` on its own lines. An unclosed math block ends at the next empty line,
so later text never changes earlier blocks, and blocks of a streaming reply can be frozen.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.common.utils import unescapeAll
from markdown_it.parser_inline import ParserInline
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType

from app.rendering.blocks import Alignment, Block, Cell, CodeBlock, MathBlock, RuleBlock, TableBlock, TextBlock, TextSpan
from app.widgets.formulas import MAX_FORMULA

BULLETS = "•◦▪"
LINE_BREAK = "\u2028"
MAX_NESTING = 60  # a deeper section is shown as source: the parser would drop its text below this level
MAX_MARKS = 2000  # punctuation marks in a paragraph; a paragraph with more is shown as source
MAX_COLUMNS = 100  # of a table; in a wide one, short rows would be padded with many empty cells
MAX_STEPS = 20_000  # tokens skipped to find the ends of links, which takes quadratic time for unclosed brackets

# Prices aren't math: no space inside single dollar signs, no digit after the second.
_formula = re.compile(
    r"\$\$((?:[^$]|(?<=\\)\$){1,2000})(?<!\\)\$\$"
    r"|\$(?![\s$])((?:[^$]|(?<=\\)\$){1,2000})(?<![\s\\])\$(?!\d)"
)
_closers = {"\\(": "\\)", "\\[": "\\]"}
_display = re.compile(r"\$\$|\\\[|\\begin\{((?:align|equation|gather|multline)\*?|[bBpvV]?matrix|cases)\}")
_scripts = re.compile(r"(?:[\^_](?:\w|\{[^{}]{0,100}\}))*\s*$")  # after an environment
_address = re.compile(r"\bhttps?://(?:\([^\s<>()\"]*\)|[^\s<>()\"])+")
_footnote = re.compile(r"\[\^(\w[\w-]{0,30})\]:?")
_superscripts = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_task = re.compile(r"\[([ xX])\](?: |$)")
_surrogates = re.compile("[\ud800-\udfff]")


def _math_inline(state: StateInline, silent: bool) -> bool:
    start, closer = state.pos + 2, _closers.get(state.src[state.pos : state.pos + 2])
    if closer is not None:
        at = _next_closer(state, closer, start)
        latex, end = state.src[start:at] if at - start <= MAX_FORMULA and at < state.posMax else "", at + 2
    else:
        match = _formula.match(state.src, state.pos, state.posMax)
        latex, end = (match[1] or match[2], match.end()) if match is not None else ("", 0)
    if not (latex := latex.strip()):
        return False
    if not silent:
        state.push("math_inline", "math", 0).content = latex
    state.pos = end
    return True


def _next_closer(state: StateInline, closer: str, start: int) -> int:
    """Return the position of the next `closer` (cached), or the end of the text."""
    known = state.env.setdefault("closers", {})
    src, at = known.get(closer, ("", -1))
    if src is not state.src or at < start:
        at = _find(state.src, closer, start)
        known[closer] = state.src, at
    return at


def _find(src: str, text: str, start: int) -> int:
    at = src.find(text, start)
    return at if at >= 0 else len(src)


def _math_block(state: StateBlock, first: int, last: int, silent: bool) -> bool:
    begin, end = state.bMarks[first] + state.tShift[first], state.eMarks[first]
    match = _display.match(state.src, begin, end)
    if match is None or state.is_code_block(first):
        return False
    opener, environment = match[0], match[1]
    closer = f"\\end{{{environment}}}" if environment else {"$$": "$$", "\\[": "\\]"}[opener]
    content, closed, rest = state.src[match.end() : end].partition(closer)
    if not (_scripts.match(rest) if environment else not rest.strip()):
        return False  # text follows on the same line: inline math
    if silent:
        return True
    line, lines = first, [content]
    while not closed:
        line += 1
        if line >= last or state.isEmpty(line) or state.sCount[line] < state.blkIndent:
            line -= 1
            break
        text = state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]
        before, found, rest = text.rpartition(closer)
        if found and (_scripts.match(rest) if environment else not rest.strip()):
            closed, text = closer, before
        lines.append(text)
    token = state.push("math_block", "math", 0)
    token.block, token.markup, token.content = True, opener, "\n".join(lines).strip()
    if environment and closed:
        token.content = f"{opener}{token.content}{closer}{rest.strip()}"
    token.map, token.meta = [first, line + 1], {"closed": bool(closed)}
    state.line = line + 1
    return True


class _TooManySteps(Exception):
    pass


class _BoundedInlineParser(ParserInline):
    """An inline parser that keeps text as written if parsing would take too long."""

    def parse(self, src: str, md: MarkdownIt, env: EnvType, tokens: list[Token]) -> list[Token]:
        if "steps" in env:  # an image description, which is shown as written
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


# Reference definitions are off: a definition can change text far above, so no block of a streaming reply would ever be final.
# HTML is off: tags are shown as written.
_parser = MarkdownIt()
_parser.inline = _BoundedInlineParser()
_parser.configure("commonmark", {"html": False, "maxNesting": MAX_NESTING})
_parser.enable(["table", "strikethrough"]).disable("reference")
_parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
_parser.inline.ruler.before("escape", "math_inline", _math_inline)
_parser.block.ruler.before("fence", "math_block", _math_block, {"alt": ["paragraph", "reference", "blockquote", "list"]})
_parser.parse("*a*")  # compiles the rules, which isn't thread-safe

SectionKind = Literal["paragraph", "list", "quote", "table", "fence", "other"]
_section_kinds: dict[str, SectionKind] = {
    "paragraph_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "blockquote_open": "quote",
    "table_open": "table",
    "fence": "fence",
}
# Tokens that can start a list item without a paragraph. The marker then needs its own line.
_unmarked = frozenset(
    "bullet_list_open ordered_list_open list_item_close blockquote_open fence code_block math_block hr table_open".split()
)


@dataclass(frozen=True, slots=True)
class SectionChild:
    """A list item or child of a quote: its first line, first block, and number."""

    line: int
    block: int
    number: int | None


@dataclass(frozen=True, slots=True)
class Section:
    """A top-level Markdown element on the lines from `line` up to `end`."""

    line: int
    end: int
    blocks: tuple[Block, ...]
    kind: SectionKind = "other"
    children: tuple[SectionChild, ...] = ()
    content: str = ""  # of a fence, including the last line break


def is_safe_link(address: str) -> bool:
    """Return whether a link is a web address. Others could open files or programs."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


def parse_blocks(source: str) -> tuple[Block, ...]:
    return tuple(block for section in parse_sections(source) for block in section.blocks)


def parse_tokens(source: str) -> list[Token]:
    """Return the parser's tokens, among them `math_inline` and `math_block`."""
    return _parser.parse(clean_text(source))


def clean_text(text: str) -> str:
    """Remove carriage returns, and replace NUL and lone surrogates."""
    if "\r" in text or "\0" in text:
        text = text.replace("\r", "").replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = _surrogates.sub("\ufffd", text)
    return text


def parse_sections(source: str, number: int | None = None) -> list[Section]:
    """Return the top-level elements. A list at the start begins at `number`, if given."""
    source = clean_text(source)
    tokens = parse_tokens(source)
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


class _BlockBuilder:
    """A converter from the tokens of one section to blocks."""

    def __init__(self, number: int | None = None) -> None:
        self.lists: list[int | None] = []  # the next number of each enclosing list, or None for bullets
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
                number = self.lists[0] if self.lists else None
                self.children.append(SectionChild(token.map[0], self._count, number))
            if self.marker and token.type in _unmarked:
                yield TextBlock((), indent=len(self.lists), quote=self.quote, marker=self._take_marker())
            match token.type:
                case "bullet_list_open":
                    self.lists.append(None)
                case "ordered_list_open":
                    start = token.attrGet("start")  # None for 1
                    first = 1 if start is None else int(start)
                    if self._number is not None and not self.lists:
                        first, self._number = self._number, None
                    self.lists.append(first)
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
                    language = next(iter(unescapeAll(token.info).split()), "").lower()
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
        number = self.lists[-1]
        if number is None:
            return BULLETS[min(len(self.lists), len(BULLETS)) - 1]
        self.lists[-1] = number + 1
        return f"{number}."

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
        rows: list[list[Cell]] = []
        alignments: list[Alignment] = []
        for index, token in enumerate(tokens):
            if token.type == "tr_open":
                rows.append([])
            elif token.type in ("th_open", "td_open"):
                rows[-1].append(parse_spans(tokens[index + 1].children or []))
                if token.type == "th_open":
                    style = str(token.attrGet("style"))
                    alignments.append("right" if "right" in style else "center" if "center" in style else "left")
        return TableBlock(tuple(map(tuple, rows)), tuple(alignments), len(self.lists), self.quote)


def parse_spans(children: list[Token]) -> tuple[TextSpan, ...]:
    """Convert inline tokens to spans, and merge adjacent ones in the same style."""
    spans: list[TextSpan] = []
    links: list[str] = []
    depth = {"strong": 0, "em": 0, "s": 0}
    for index, token in enumerate(children):
        name = token.type.rsplit("_", 1)[0]
        text, link = token.content, links[-1] if links else ""
        if name in depth:
            depth[name] += token.nesting
        elif token.type == "text":
            text = text.replace("\n", " ")  # a line break written as &#10;
        elif token.type == "link_open":
            links.append(_safe_link(token.attrGet("href")))
        elif token.type == "link_close":
            links.pop()
        elif token.type == "softbreak":
            following = children[index + 1].content if index + 1 < len(children) else ""
            text = LINE_BREAK if _footnote.match(following) and "]:" in following else " "
        elif token.type == "hardbreak":
            text = LINE_BREAK
        elif token.type == "image":
            # Shown as a link: loading the image would tell the server that the text was read.
            text, link = text or str(token.attrGet("src") or ""), _safe_link(token.attrGet("src")) or link
        if not text or token.nesting:
            continue
        styles = depth["strong"] > 0, depth["em"] > 0, depth["s"] > 0, token.type == "code_inline"
        if token.type == "text" and not link and ("://" in text or "[^" in text):
            spans += (TextSpan(part, *styles, address) for part, address in _split_addresses(text))
        else:
            spans.append(TextSpan(text, *styles, link, math=token.type == "math_inline"))
    merged: list[TextSpan] = []
    for span in spans:
        last = merged[-1] if merged and not span.math else None
        if last is not None and last == replace(span, text=last.text):
            merged[-1] = replace(span, text=last.text + span.text)
        elif span.text:
            merged.append(span)
    return tuple(merged)


def _split_addresses(text: str) -> Iterator[tuple[str, str]]:
    """Split a text at web addresses. Yield each piece with its address, if any."""
    at = 0
    for match in _address.finditer(text):
        address = match[0].rstrip(".,:;!?'*_~]")
        if is_safe_link(address):
            yield _footnote.sub(_footnote_mark, text[at : match.start()]), ""
            yield address, address
            at = match.start() + len(address)
    yield _footnote.sub(_footnote_mark, text[at:]), ""


def _footnote_mark(found: re.Match[str]) -> str:
    """Return a footnote's superscript number, or its name in brackets."""
    return found[1].translate(_superscripts) if found[1].isascii() and found[1].isdigit() else f"[{found[1]}]"


def _safe_link(address: object) -> str:
    return str(address) if address and is_safe_link(str(address)) else ""
