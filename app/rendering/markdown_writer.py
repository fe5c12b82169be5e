"""Convert blocks to Markdown, to copy a selection from a reply."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from app.rendering.blocks import (
    Block,
    CodeBlock,
    DocumentPart,
    MathBlock,
    RuleBlock,
    TableBlock,
    TextBlock,
    TextSpan,
    char_index,
    document_parts,
    line_blocks,
    plain_text,
    plain_text_blocks,
    qt_length,
)
from app.rendering.markdown import LINE_BREAK
from app.rendering.streaming import StreamingMarkdown

PartPosition = tuple[int, int]  # index of a part, offset in the part

# "[" isn't escaped: "\[" would start a formula, and "[" without an address isn't a link.
_special = re.compile(r"([\\`*<$~]|\](?=\()|(?<!\w)_|_(?!\w))")
_at_start = re.compile(r"(\s*)(#{1,6}(?=\s|$)|>|[-+](?=\s|$)|\d{1,9}(?=[.)](?:\s|$))|={1,}\s*$|-{2,}\s*$)")


def to_markdown(blocks: Sequence[Block]) -> str:
    """Return Markdown that parses to these blocks."""
    pieces: list[str] = []
    for number, block in enumerate(blocks):
        before = blocks[number - 1] if number else None
        same_list = isinstance(block, TextBlock) and isinstance(before, TextBlock) and block.marker and before.indent
        pieces.append(("\n" if same_list else "\n\n") if number else "")
        pieces.append(_block(block))
    return "".join(pieces)


def selected_markdown(text: str, source: StreamingMarkdown, start: PartPosition, end: PartPosition) -> str:
    """Return the Markdown of a selection.

    Completely selected blocks are copied from `text`, the whole reply. Others are converted from `source`, the parsed reply.
    """
    blocks = source.blocks
    selected = dict(_selected_blocks(blocks, start, end))
    origins = source.origins
    pieces: list[str] = []
    for number, origin in enumerate(origins):
        last = origins[number + 1].block if number + 1 < len(origins) else len(blocks)
        mine = [selected[block] for block in range(origin.block, last) if block in selected]
        if not mine:
            continue
        if mine == list(blocks[origin.block : last]):
            pieces.append(text[origin.start : origin.end])
        else:
            pieces.append(to_markdown(mine) + "\n\n")
    return "".join(pieces).strip("\n")


def selected_plain_text(text: str, start: PartPosition, end: PartPosition) -> str:
    """Return the selected lines of plain text."""
    begins = set(accumulate((len(line_blocks(line)) for line in text.split("\n")), initial=0))
    pieces: list[str] = []
    for number, block in _selected_blocks(plain_text_blocks(text), start, end):
        pieces += ["\n" if pieces and number in begins else "", plain_text(block)]
    return "".join(pieces)


def _selected_blocks(blocks: Sequence[Block], start: PartPosition, end: PartPosition) -> Iterator[tuple[int, Block]]:
    """Yield the index and selected part of each block in the selection."""
    for number, part in enumerate(document_parts(blocks)):
        if start[0] <= number <= end[0]:
            yield from _cut_part(blocks, part, start[1] if number == start[0] else 0, end[1] if number == end[0] else None)


def _cut_part(blocks: Sequence[Block], part: DocumentPart, start: int, end: int | None) -> Iterator[tuple[int, Block]]:
    first = blocks[part.first]
    if isinstance(first, TableBlock):
        yield part.first, _cut_table(first, start, end)
        return
    at = 0
    for number in range(part.first, part.end):
        text = plain_text(blocks[number])
        size = qt_length(text)
        begin, stop = max(0, start - at), size if end is None else min(size, end - at)
        if begin == 0 and stop == size:
            yield number, blocks[number]
        elif begin < stop:
            yield number, _cut_block(blocks[number], char_index(text, begin), char_index(text, stop))
        at += size + 1


def _cut_block(block: Block, start: int, end: int) -> Block:
    if isinstance(block, CodeBlock):
        return replace(block, text=block.text[start:end])
    if not isinstance(block, TextBlock):
        return block
    spans, at = [], 0
    for span in block.spans:
        size = 1 if span.math else len(span.text)
        if at < end and at + size > start:
            spans.append(span if span.math else replace(span, text=span.text[max(0, start - at) : end - at]))
        at += size
    if start == 0:
        return replace(block, spans=tuple(spans))
    return TextBlock(tuple(spans), indent=block.indent, quote=block.quote)


def _cut_table(table: TableBlock, start: int, end: int | None) -> Block:
    """Return the header and the selected rows, or a single cell as text."""
    columns = max(1, len(table.alignments))
    if start == end:
        row = table.rows[min(start // columns, len(table.rows) - 1)]
        return TextBlock(row[start % columns])
    first = start // columns
    last = len(table.rows) if end is None else end // columns + 1
    return replace(table, rows=(table.rows[0], *table.rows[max(1, first) : last]))


def _block(block: Block) -> str:
    quote, depth = "> " * block.quote, "  " * max(0, block.indent - 1)
    first = rest = quote + depth + ("  " if block.indent else "")
    match block:
        case TextBlock():
            body = _at_start.sub(_escape_start, _inline(block.spans))
            if block.heading:
                first += "#" * block.heading + " "
            elif block.marker:
                marker = block.marker if block.marker[0].isdigit() else "-"
                first = quote + depth + marker + " " + ("" if block.done is None else "[x] " if block.done else "[ ] ")
        case RuleBlock():
            body = "---"
        case MathBlock():
            body = f"$$\n{block.latex}\n$$"
        case CodeBlock():
            fence = "`" * max(3, 1 + _longest_backticks(block.text))
            body = f"{fence}{block.language}\n{block.text}\n{fence}"
        case TableBlock():
            body = _table(block)
    return first + body.replace("\n", "\n" + rest)


def _escape_start(match: re.Match[str]) -> str:
    sign = match[2]
    return match[1] + (sign + "\\" if sign[0].isdigit() else "\\" + sign)


def _longest_backticks(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


def _table(block: TableBlock) -> str:
    delimiters = {"left": "---", "center": ":-:", "right": "--:"}
    lines = ["| " + " | ".join(_inline(cell).replace("|", "\\|") for cell in row) + " |" for row in block.rows]
    lines.insert(1, "|" + "|".join(delimiters[alignment] for alignment in block.alignments) + "|")
    return "\n".join(lines)


def _inline(spans: Sequence[TextSpan]) -> str:
    return "".join(_span(span) for span in spans)


def _span(span: TextSpan) -> str:
    if span.math:
        text = f"${span.text}$"
    elif span.code:
        ticks = "`" * (1 + _longest_backticks(span.text))
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
