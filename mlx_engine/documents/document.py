"""A document: the pages of a file, with their headings."""

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass

from mlx_engine.documents.headings import Heading, headings_of, placed
from mlx_engine.documents.passages import LONGEST_GIVEN_PAGE, pages_of
from mlx_engine.media.document_texts import MOST_CHARACTERS, MOST_FILE_BYTES, FileKind, file_text
from mlx_engine.media.unreadable import error_of

MOST_TEXT_BYTES = 20_000_000  # of a text file
_MOST_GIVEN_PAGES = 100_000  # by form feeds. A file with more isn't divided by them
_KINDS: dict[str, FileKind] = {".pdf": "pdf", ".docx": "word", ".docm": "word", ".html": "html", ".htm": "html", ".xhtml": "html"}
_PROSE = frozenset(("", ".txt", ".md", ".markdown", ".rst", ".org", ".tex", ".adoc", ".log", ".csv", ".tsv"))
_BYTE_ORDER_MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe\0\0", "utf-32"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_LEAST_PER_CONTROL = 500  # characters for each control character in a text
_HEAD = 8192  # bytes that show whether a file is text
_CONTROLS = frozenset(map(chr, range(32))) - set("\t\n\r\f\v\b\x1b")


@dataclass(frozen=True)
class DocumentPage:
    """A page: its text, and the headings in it."""

    text: str
    headings: Sequence[Heading] = ()


def may_be_document(name: str, head: bytes) -> bool:
    """Return whether a file may have text, by its name and first bytes."""
    return _suffix(name) in _KINDS or head.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" not in head[:_HEAD]


def check_size(name: str, size: int) -> None:
    """Check the size of a file in bytes.

    Raises:
        UserError: it is too large.
    """
    if size > (limit := MOST_FILE_BYTES if _suffix(name) in _KINDS else MOST_TEXT_BYTES):
        raise error_of("document_bytes", name, {"limit": limit // 1_000_000})


def read_document(data: bytes, name: str, cancel: threading.Event | None = None) -> list[DocumentPage] | None:
    """Return the pages of a file, or None if it isn't a document.

    The pages of a file without pages are parts of its text. So are those of a page that is too long, except in PDFs.

    Args:
        data: the file's content.
        name: the file's name.

    Raises:
        UserError: it can't be read, or has too much text.
        WorkCancelled: `cancel` was set.
    """
    suffix = _suffix(name)
    if (kind := _KINDS.get(suffix)) is not None:
        found = file_text(data, kind, name, cancel)
        if kind == "pdf":
            outline = placed(found.outline, found.pages)
            return [DocumentPage(*page) for page in zip(found.pages, outline, strict=True)]
        texts = list(found.pages)
    elif (text := _decoded(data)) is None:
        return None
    else:
        texts = text.split("\f")
    if len(texts) > _MOST_GIVEN_PAGES:
        texts = ["\n".join(texts)]
    if sum(map(len, texts)) > MOST_CHARACTERS:
        raise error_of("document_too_much_text", name, {"limit": MOST_CHARACTERS})
    is_code = kind is None and suffix not in _PROSE
    pages: list[DocumentPage] = []
    for text in texts:  # between form feeds
        headings = headings_of(text, is_code)
        if len(texts) == 1 or len(text) > LONGEST_GIVEN_PAGE:
            pages += [DocumentPage(*page) for page in pages_of(text, headings)]
        else:
            pages.append(DocumentPage(text, headings))
    return pages


def _suffix(name: str) -> str:
    return os.path.splitext(name)[1].lower()


def _decoded(data: bytes) -> str | None:
    """Return the text of a file, or None if it is binary."""
    encodings = [encoding for mark, encoding in _BYTE_ORDER_MARKS if data.startswith(mark)][:1] or ["utf-8", "cp1252"]
    for encoding in encodings:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        # Nearly any bytes decode as cp1252, and some texts contain a few control characters
        if "\0" not in text and sum(map(text.count, _CONTROLS)) <= len(text) // _LEAST_PER_CONTROL + 1:
            return text.replace("\r\n", "\n").replace("\r", "\n")
    return None
