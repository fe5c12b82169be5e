"""Blocks back to Markdown, for what is copied out of the middle of a reply."""

import re
from collections.abc import Sequence
from dataclasses import replace

from app.rendering.blocks import Block, Code, Maths, Rule, Span, Table, Text
from app.rendering.markdown import LINE_BREAK
from app.rendering.parts import as_typed, index, kind_of, parts, plain, units
from app.rendering.streaming import StreamingMarkdown

Place = tuple[int, int]  # number of a part, and the offset in it

# No "[": with a backslash before it, it would begin a formula. Without an address behind it, it begins no link.
_special = re.compile(r"([\\`*<$~]|\](?=\()|(?<!\w)_|_(?!\w))")
_at_start = re.compile(r"(\s*)(#{1,6}(?=\s|$)|>|[-+](?=\s|$)|\d{1,9}(?=[.)](?:\s|$))|={1,}\s*$|-{2,}\s*$)")


def markdown(blocks: Sequence[Block]) -> str:
    """Markdown that reads as these blocks."""
    pieces: list[str] = []
    for number, block in enumerate(blocks):
        before = blocks[number - 1] if number else None
        close = isinstance(block, Text) and isinstance(before, Text) and block.marker and before.indent
        pieces.append(("\n" if close else "\n\n") if number else "")
        pieces.append(_block(block))
    return "".join(pieces)


def between(text: str, source: StreamingMarkdown, start: Place, end: Place) -> str:
    """The Markdown of what lies between two places of a reply with this text. Whatever is selected as a whole is copied as it was
    written; what is selected in part is written anew."""
    blocks = source.blocks
    chosen = {}
    for number, part in enumerate(parts(blocks)):
        if start[0] <= number <= end[0]:
            first = start[1] if number == start[0] else 0
            last = end[1] if number == end[0] else None
            chosen.update(_cut_part(blocks, part.first, part.count, first, last))
    origins = source.origins
    pieces: list[str] = []
    for number, origin in enumerate(origins):
        until = origins[number + 1].block if number + 1 < len(origins) else len(blocks)
        mine = [chosen[block] for block in range(origin.block, until) if block in chosen]
        if not mine:
            continue
        if mine == list(blocks[origin.block : until]):
            pieces.append(text[origin.start : origin.end])
        else:
            pieces.append(markdown(mine) + "\n\n")
    return "".join(pieces).strip("\n")


def plain_between(text: str, start: Place, end: Place) -> str:
    """The same for text that is shown as it was typed."""
    blocks = as_typed(text)
    lines = []
    for number, part in enumerate(parts(blocks)):
        if start[0] <= number <= end[0]:
            first = start[1] if number == start[0] else 0
            last = end[1] if number == end[0] else None
            chosen = _cut_part(blocks, part.first, part.count, first, last)
            lines += [plain(block) for _, block in sorted(chosen.items())]
    return "\n".join(lines)


def _cut_part(blocks: Sequence[Block], first: int, count: int, start: int, end: int | None) -> dict[int, Block]:
    """Of each block of a part, what lies between two offsets; blocks of which nothing does are left out."""
    if kind_of(blocks[first]) == "table":
        table = blocks[first]
        assert isinstance(table, Table)
        return {first: _cut_table(table, start, end)}
    found: dict[int, Block] = {}
    at = 0
    for number in range(first, first + count):
        text = plain(blocks[number])
        size = units(text)
        begin, stop = max(0, start - at), size if end is None else min(size, end - at)
        if begin == 0 and stop == size:
            found[number] = blocks[number]
        elif begin < stop:
            found[number] = _cut(blocks[number], index(text, begin), index(text, stop))
        at += size + 1
    return found


def _cut(block: Block, start: int, end: int) -> Block:
    if isinstance(block, Code):
        return replace(block, text=block.text[start:end])
    if not isinstance(block, Text):
        return block
    spans, at = [], 0
    for span in block.spans:
        size = 1 if span.math else len(span.text)
        if at < end and at + size > start:
            spans.append(span if span.math else replace(span, text=span.text[max(0, start - at) : end - at]))
        at += size
    if start == 0:
        return replace(block, spans=tuple(spans))
    return Text(tuple(spans), indent=block.indent, quote=block.quote)


def _cut_table(table: Table, start: int, end: int | None) -> Block:
    """Whole rows under the header; a single cell is a line of text."""
    columns = max(1, len(table.alignments))
    if start == end:
        row = table.rows[min(start // columns, len(table.rows) - 1)]
        return Text(row[start % columns])
    first = start // columns
    last = len(table.rows) if end is None else end // columns + 1
    return replace(table, rows=(table.rows[0], *table.rows[max(1, first) : last]))


def _block(block: Block) -> str:
    quote, depth = "> " * block.quote, "  " * max(0, block.indent - 1)
    first = rest = quote + depth + ("  " if block.indent else "")
    match block:
        case Text():
            body = _at_start.sub(_guard, _inline(block.spans))
            if block.heading:
                first += "#" * block.heading + " "
            elif block.marker:
                mark = block.marker if block.marker[0].isdigit() else "-"
                first = quote + depth + mark + " " + ("" if block.done is None else "[x] " if block.done else "[ ] ")
        case Rule():
            body = "---"
        case Maths():
            body = f"$$\n{block.latex}\n$$"
        case Code():
            fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", block.text)), default=0))
            body = f"{fence}{block.language}\n{block.text}\n{fence}"
        case Table():
            body = _table(block)
    return first + body.replace("\n", "\n" + rest)


def _guard(match: re.Match[str]) -> str:
    sign = match[2]
    return match[1] + (sign + "\\" if sign[0].isdigit() else "\\" + sign)


def _table(block: Table) -> str:
    rules = {"left": "---", "center": ":-:", "right": "--:"}
    lines = ["| " + " | ".join(_inline(cell).replace("|", "\\|") for cell in row) + " |" for row in block.rows]
    lines.insert(1, "|" + "|".join(rules[alignment] for alignment in block.alignments) + "|")
    return "\n".join(lines)


def _inline(spans: Sequence[Span]) -> str:
    return "".join(_span(span) for span in spans)


def _span(span: Span) -> str:
    if span.math:
        text = f"${span.text}$"
    elif span.code:
        ticks = "`" * (1 + max((len(run) for run in re.findall("`+", span.text)), default=0))
        gap = " " if span.text.startswith("`") or span.text.endswith("`") else ""
        text = f"{ticks}{gap}{span.text}{gap}{ticks}"
    else:
        text = _special.sub(r"\\\1", span.text)
    bare = text.strip()
    for sign, wanted in (("~~", span.strike), ("*", span.italic), ("**", span.bold)):
        if wanted and bare:
            text = text.replace(bare, sign + bare + sign)
            bare = sign + bare + sign
    if span.link:
        text = f"[{text}]({span.link})"
    return text.replace(LINE_BREAK, "\\\n")
