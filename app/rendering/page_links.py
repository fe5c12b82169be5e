"""Links from a reply to the pages of documents that it cites."""

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from app.rendering.blocks import Block, Cell, TableBlock, TextBlock, TextSpan
from app.text.language import number, tr

_SCHEME = "slipstream-page:"
_CITED = re.compile(
    r"\[Page (?P<marked>\d{1,5})[^\]\n]{0,40}\]"
    r"|(?<![\w.])(?:pages?|pg\.|pp?\.|Seiten?|S\.)[ \u00a0]?(?P<written>\d{1,5})(?![\d.,]*\d)"
    r"|第\s?(?P<counted>\d{1,5})\s?[页頁]",
    re.IGNORECASE,
)


def link_tip(address: str) -> str:
    """Return the tooltip of a link: the address, or the page to which it leads."""
    page = page_in(address)
    return tr("Show page {number}", number=number(page)) if page else address


def page_in(address: str) -> int:
    """Return the page that an address leads to, or 0 if it is another address."""
    return int(address.removeprefix(_SCHEME)) if address.startswith(_SCHEME) else 0


def with_page_links(blocks: Iterable[Block], pages: Collection[int]) -> tuple[Block, ...]:
    """Link what cites one of these pages. The text stays as it is."""
    return tuple(_linked(block, pages) for block in blocks) if pages else tuple(blocks)


def _linked(block: Block, pages: Collection[int]) -> Block:
    if isinstance(block, TextBlock):
        return replace(block, spans=_spans(block.spans, pages))
    if isinstance(block, TableBlock):
        return replace(block, rows=tuple(tuple(_spans(cell, pages) for cell in row) for row in block.rows))
    return block


def _spans(cell: Cell, pages: Collection[int]) -> Cell:
    return tuple(part for span in cell for part in _parts(span, pages))


def _parts(span: TextSpan, pages: Collection[int]) -> Iterator[TextSpan]:
    """Split a span at citations."""
    at = 0
    for found in _CITED.finditer(span.text) if not (span.link or span.code or span.math) else ():
        page = int(found["marked"] or found["written"] or found["counted"])
        if page not in pages:
            continue
        if found.start() > at:
            yield replace(span, text=span.text[at : found.start()])
        yield replace(span, text=found[0], link=f"{_SCHEME}{page}")
        at = found.end()
    if at < len(span.text):
        yield replace(span, text=span.text[at:])
