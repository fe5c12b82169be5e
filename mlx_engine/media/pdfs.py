"""Pages of PDFs from outside, read by the child process."""

import threading
from dataclasses import dataclass
from typing import Literal, get_args

from mlx_engine.media.media_process import ask
from mlx_engine.media.unreadable import error_of

MOST_BYTES = 64_000_000  # of a file
PAGE_PIXELS = 2_097_152
MOST_PAGE_PIXELS = 4_194_304
_SECONDS = 30.0
_PICTURE_BYTES = 64 << 20

Why = Literal["", "little_text", "figures", "table", "annotations"]


@dataclass(frozen=True)
class PdfPage:
    """A page of a PDF.

    Attributes:
        number: counted from 1.
        text: its text, which is there for pictures, too.
        kind: how a target that sees should get it.
        why: why as a picture, or "".
        size: width and height of its picture in pixels, or None if it can't be drawn.
    """

    number: int
    text: str
    kind: Literal["text", "picture"] = "text"
    why: Why = ""
    size: tuple[int, int] | None = None


def pdf_pages(data: bytes, name: str = "PDF", cancel: threading.Event | None = None) -> tuple[PdfPage, ...]:
    """Return a PDF's pages.

    A page should be a picture if it has fields or notes on it ("annotations"), three horizontal lines of the same extent ("table"),
    anything besides fewer than 50 letters ("little_text"), or images or drawings of some size ("figures").

    Args:
        data: the file's content.
        name: the file's name for messages.

    Raises:
        UserError: the PDF can't be read, or exceeds a limit.
        WorkCancelled: `cancel` was set.
    """
    result, _ = ask("pdf", "pages", (PAGE_PIXELS,), data, name, seconds=_SECONDS, limit=MOST_BYTES, cancel=cancel)
    try:
        pages = tuple(
            PdfPage(number, str(text), "picture" if why else "text", why, (int(width), int(height)) if width else None)
            for number, (text, why, width, height) in enumerate(result["pages"], 1)
        )
    except (KeyError, TypeError, ValueError):
        pages = ()
    if not pages or any(page.why not in get_args(Why) for page in pages):
        raise error_of("pdf_damaged", name, {})
    return pages


def pdf_picture(
    data: bytes, number: int, pixels: int = PAGE_PIXELS, name: str = "PDF", cancel: threading.Event | None = None
) -> bytes:
    """Return a PNG of a page.

    Args:
        data: the file's content.
        number: the page, counted from 1.
        pixels: about how many pixels it should have, at most `MOST_PAGE_PIXELS`.
        name: the file's name for messages.

    Raises:
        UserError: the page can't be shown.
        WorkCancelled: `cancel` was set.
    """
    assert number > 0 and 0 < pixels <= MOST_PAGE_PIXELS
    _, content = ask(
        "pdf", "picture", (number, pixels), data, name, seconds=_SECONDS, limit=MOST_BYTES, content=_PICTURE_BYTES, cancel=cancel
    )
    return bytes(content)
