"""Files attached to a message, and the extraction of their text."""

import codecs
import mimetypes
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from app.storage.wording import size
from app.text.plain_text import clean
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import cannot_read
from mlx_engine.media import pdfs
from mlx_engine.media.pdfs import pdf_pages

MAX_NAME = 40  # characters of a file name, as shown
MAX_TEXT = 2_000_000  # bytes
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is a prefix of it
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = frozenset(range(32)) - {9, 10, 12, 13, 27}  # escapes and form feeds occur in text


@dataclass(frozen=True)
class Attachment:
    """A file's name, text, size in bytes, and number of pages if it is a PDF."""

    name: str
    text: str
    size: int = 0
    pages: int = 0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def shortened(name: str) -> str:
    """Shorten a long file name in the middle."""
    return name if len(name) <= MAX_NAME else name[: MAX_NAME - 12] + "…" + name[-11:]


def prompt_text(text: str, attachments: Sequence[Attachment]) -> str:
    """Return the text for the model: each file between two marker lines, then `text`."""
    parts = [f"--- {one.name} ---\n{one.text.strip()}\n--- end of {one.name} ---" for one in attachments]
    return "\n\n".join([*parts, text] if text else parts)


def read(file: Path, cancel: threading.Event | None = None) -> Attachment:
    """Extract the text of a text, Markdown, code, or PDF file.

    Raises:
        UserError: the file can't be read, is too large, or has no text.
        MediaCancelled: `cancel` was set while a PDF was read.
    """
    name = clean(" ".join(file.name.split())) or "file"
    if str(mimetypes.guess_type(name)[0]).startswith("image/") and not name.lower().endswith(".svg"):  # SVG is text
        raise UserError("attachment_is_image", "“{name}” is an image. Slipstream can't read images yet.", name=name)
    try:
        if file.is_dir():
            raise UserError("attachment_is_folder", "“{name}” is a folder. Attach the files in it instead.", name=name)
        if file.exists() and not file.is_file():  # reading a pipe or a device may never end
            raise UserError("attachment_not_a_file", "Can't attach “{name}”: it isn't a regular file.", name=name)
        length = file.stat().st_size
        if length > pdfs.MOST_BYTES:
            raise _too_large(name, length)
        data = file.read_bytes()
    except OSError as error:
        raise cannot_read(file, error) from error
    if not data.strip():
        raise UserError("attachment_empty", "“{name}” is empty.", name=name)
    if b"%PDF-" in data[:1024]:
        return _read_pdf(name, data, cancel)
    if length > MAX_TEXT:
        raise _too_large(name, length)
    return Attachment(name, clean(_decoded(name, data)), length)


def _decoded(name: str, data: bytes) -> str:
    encodings = [encoding for mark, encoding in _BYTE_ORDER_MARKS if data.startswith(mark)][:1] or ["utf-8", "cp1252"]
    for encoding in encodings:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if not any(ord(char) in _CONTROLS for char in text):  # nearly any bytes decode as cp1252
            return text.replace("\r\n", "\n").replace("\r", "\n")
    raise UserError(
        "attachment_not_text", "“{name}” contains no readable text. Attach a text, Markdown, code, or PDF file.", name=name
    )


def _read_pdf(name: str, data: bytes, cancel: threading.Event | None) -> Attachment:
    pages = pdf_pages(data, name, cancel)
    text = clean("\n\n".join(page.text for page in pages if page.text))
    if not text:
        raise UserError(
            "pdf_without_text", "“{name}” contains only scanned pages. Attach a version with selectable text.", name=name
        )
    return Attachment(name, text, len(data), len(pages))


def _too_large(name: str, length: int) -> UserError:
    return UserError(
        "attachment_too_large",
        "“{name}” is too large ({size}). Text files can be up to {text_limit}, PDFs up to {pdf_limit}.",
        name=name,
        size=size(length),
        text_limit=size(MAX_TEXT),
        pdf_limit=size(pdfs.MOST_BYTES),
    )
