"""Texts of PDF, Word, and HTML files from outside, read by a child process."""

import threading
from dataclasses import dataclass
from typing import Literal

from mlx_engine.media.media_process import ask
from mlx_engine.media.unreadable import error_of

MOST_FILE_BYTES = 200_000_000
MOST_CHARACTERS = 10_000_000
_MOST_PAGES = 10_000
_SECONDS = 120.0

FileKind = Literal["pdf", "word", "html"]


@dataclass(frozen=True)
class FileText:
    """The text of a file.

    Attributes:
        pages: the texts of its pages; only one if the file isn't divided into pages.
        outline: level, title, and page of each entry of a PDF's outline, counted from 0.
    """

    pages: tuple[str, ...]
    outline: tuple[tuple[int, str, int], ...] = ()


def file_text(data: bytes, kind: FileKind, name: str, cancel: threading.Event | None = None) -> FileText:
    """Return the text of a file.

    Headings of Word and HTML files are Markdown's.

    Args:
        data: the file's content.
        kind: the file's format.
        name: the file's name for messages.

    Raises:
        UserError: the file can't be read, or exceeds a limit.
        WorkCancelled: `cancel` was set.
    """
    limits = (_MOST_PAGES, MOST_CHARACTERS) if kind == "pdf" else (MOST_CHARACTERS,)
    work = "pdf_texts" if kind == "pdf" else f"{kind}_text"
    result, _ = ask("document", work, limits, data, name, seconds=_SECONDS, limit=MOST_FILE_BYTES, cancel=cancel)
    try:
        if kind != "pdf":
            return FileText(tuple(_storable(str(result["text"])).split("\f")))
        outline = tuple((int(level), _storable(str(title)), int(page)) for level, title, page in result["outline"])
        found = FileText(tuple(_storable(str(text)) for text in result["pages"]), outline)
    except (KeyError, TypeError, ValueError):
        raise error_of("document_damaged", name, {}) from None
    if not found.pages or not all(0 <= page < len(found.pages) for _, _, page in outline):
        raise error_of("document_damaged", name, {})
    return found


def _storable(text: str) -> str:
    """Return a text without NUL characters and halves of characters."""
    return text.replace("\0", "").encode("utf-8", "replace").decode()
