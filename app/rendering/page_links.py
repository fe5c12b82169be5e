"""Links from a reply to the pages of documents that it cites."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from app.rendering.blocks import Block, Cell, TableBlock, TextBlock, TextSpan
from app.text.language import number, tr
from app.text.plain_text import one_line

_SCHEME = "slipstream-page:"
_CITED = re.compile(
    r"\[Page (?P<marked>\d{1,5})[^\]\n]{0,40}\]"
    r"|(?<![\w.])(?:pages?|pg\.|pp?\.|Seiten?|S\.)[ \u00a0]?(?P<written>\d{1,5})(?![\d.,]*\d)"
    r"|第\s?(?P<counted>\d{1,5})\s?[页頁]",
    re.IGNORECASE,
)
_OF = re.compile(r"\s+(?:of|in|from|von|aus)\s+[^\w\s]?")  # before a name that follows its page
_NEAR = 100  # characters between a name and its page
_LONGEST_NAME = 80  # in a tooltip


@dataclass(frozen=True)
class CitablePages:
    """The pages that a reply can cite.

    Attributes:
        last: number of pages of the longest attached PDF, or 0.
        read: name and page of the pages of documents that the reply has read.
    """

    last: int = 0
    read: tuple[tuple[str, int], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.last or self.read)

    def address_of(self, page: int, text: str, start: int, end: int) -> str:
        """Return the address of a cited page, or "" if it isn't one of these.

        Args:
            text: the text with the citation, which may name a document.
            start, end: place of the citation in the text.
        """
        document = self._document_at(text, start, end)
        if document and (document, page) in self.read:
            return f"{_SCHEME}{page}:{document}"
        is_read = not document and page in {one for _, one in self.read}
        return f"{_SCHEME}{page}" if is_read or 1 <= page <= self.last else ""

    def _document_at(self, text: str, start: int, end: int) -> str:
        """Return the document that a citation names, or "" if none or several are named."""
        follows = _OF.match(text, end)
        before = text[max(0, start - _NEAR) : start]
        found = list[tuple[tuple[int, int], str]]()  # place and length, and the document
        for document in dict.fromkeys(name for name, _ in self.read):
            for name in {document, document.rpartition("/")[2]}:
                word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.ASCII)
                found += [((one.end(), len(name)), document) for one in word.finditer(before)]
                if follows and word.match(text, follows.end()):
                    found.append(((_NEAR + 1, len(name)), document))
        best = max(found, default=((0, 0), ""))[0]
        named = {document for place, document in found if place == best}
        return named.pop() if len(named) == 1 else ""


def link_tip(address: str) -> str:
    """Return the tooltip of a link: the address, or the page to which it leads."""
    page, document = page_in(address), document_in(address)
    if document:
        name = one_line(document.rpartition("/")[2], _LONGEST_NAME)
        return tr("Show {page}", page=tr("{name}, page {number}", name=name, number=number(page)))
    return tr("Show page {number}", number=number(page)) if page else address


def page_in(address: str) -> int:
    """Return the page that an address leads to, or 0 if it is another address."""
    return int(address.removeprefix(_SCHEME).partition(":")[0]) if address.startswith(_SCHEME) else 0


def document_in(address: str) -> str:
    """Return the document that the address of a page names, or ""."""
    return address.removeprefix(_SCHEME).partition(":")[2] if address.startswith(_SCHEME) else ""


def with_page_links(blocks: Iterable[Block], pages: CitablePages) -> tuple[Block, ...]:
    """Link what cites one of these pages. The text stays as it is."""
    return tuple(_linked(block, pages) for block in blocks) if pages else tuple(blocks)


def _linked(block: Block, pages: CitablePages) -> Block:
    if isinstance(block, TextBlock):
        return replace(block, spans=_row((block.spans,), pages)[0])
    if isinstance(block, TableBlock):
        return replace(block, rows=tuple(_row(row, pages) for row in block.rows))
    return block


def _row(cells: Iterable[Cell], pages: CitablePages) -> tuple[Cell, ...]:
    """Link the citations in cells. One may name the document of the next one's page."""
    cells = tuple(cells)
    text = "\n".join("".join(span.text for span in cell) for cell in cells)
    linked, at = [], 0
    for cell in cells:
        parts = list[TextSpan]()
        for span in cell:
            parts += _parts(span, pages, text, at)
            at += len(span.text)
        linked.append(tuple(parts))
        at += 1
    return tuple(linked)


def _parts(span: TextSpan, pages: CitablePages, text: str, start: int) -> Iterator[TextSpan]:
    """Split a span at citations.

    Args:
        text: the text around the span.
        start: where the span begins in it.
    """
    at = 0
    for found in _CITED.finditer(span.text) if not (span.link or span.code or span.math) else ():
        page = int(found["marked"] or found["written"] or found["counted"])
        address = pages.address_of(page, text, start + found.start(), start + found.end())
        if not address:
            continue
        if found.start() > at:
            yield replace(span, text=span.text[at : found.start()])
        yield replace(span, text=found[0], link=address)
        at = found.end()
    if at < len(span.text):
        yield replace(span, text=span.text[at:])
