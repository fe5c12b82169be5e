"""Reading of files to attach: texts, images, and PDFs."""

import codecs
import mimetypes
import threading
from collections.abc import Iterator
from dataclasses import replace
from math import sqrt
from pathlib import Path

from app.storage.attachments import Attachment, text_of_pages
from app.storage.pictures import Page, Picture, StoredFile
from app.storage.wording import size
from app.text.plain_text import clean
from mlx_engine.contract.attached_images import SUFFIXES, image_format, other_format
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import cannot_read
from mlx_engine.contract.limits import MAX_IMAGE_BYTES
from mlx_engine.media import pdfs
from mlx_engine.media.pdfs import pdf_pages, pdf_picture
from mlx_engine.media.unreadable import error_of

MAX_TEXT = 2_000_000  # bytes
MOST_PICTURES = 100  # of a PDF's pages, with those that can't be drawn
MOST_PICTURE_BYTES = 256_000_000  # of a PDF's pages
_CHECKED_PIXELS = 1 << 18  # to which an image is reduced to find out whether it can be decoded
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is a prefix of it
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CONTROLS = frozenset(range(32)) - {9, 10, 12, 13, 27}  # escapes and form feeds occur in text


def read(file: Path, cancel: threading.Event | None = None) -> Attachment:
    """Read an image, a PDF, or a text, Markdown, or code file.

    Raises:
        UserError: the file can't be read, is too large, or has no content.
        WorkCancelled: `cancel` was set while an image or a PDF was read.
    """
    name = cleaned(file.name)
    try:
        if file.is_dir():
            raise UserError("attachment_is_folder", "“{name}” is a folder. Attach the files in it instead.", name=name)
        if file.exists() and not file.is_file():  # reading a pipe or a device may never end
            raise UserError("attachment_not_a_file", "Can't attach “{name}”: it isn't a regular file.", name=name)
        length = file.stat().st_size
        if length > max(pdfs.MOST_BYTES, MAX_IMAGE_BYTES):
            raise _too_large(name, length)
        data = file.read_bytes()
    except OSError as error:
        raise cannot_read(file, error) from error
    return read_data(data, name, cancel)


def read_data(data: bytes, name: str, cancel: threading.Event | None = None) -> Attachment:
    """Read a file's content, as `read` does."""
    name = cleaned(name)
    if not data.strip():
        raise UserError("attachment_empty", "“{name}” is empty.", name=name)
    if image_format(data[:16]) is not None:
        return _read_image(name, data, cancel)
    if b"%PDF-" in data[:1024]:
        return _read_pdf(name, data, cancel)
    if len(data) > MAX_TEXT:
        raise _too_large(name, len(data))
    return Attachment(name, clean(_decoded(name, data)), len(data))


def cleaned(name: str) -> str:
    """Return a file's name in one line."""
    return clean(" ".join(name.split())) or "file"


def _read_image(name: str, data: bytes, cancel: threading.Event | None) -> Attachment:
    picture = picture_of(name, data, cancel)
    from mlx_engine.media.images import pixels  # imports NumPy, which takes time

    scale = min(1.0, sqrt(_CHECKED_PIXELS / (picture.width * picture.height)))
    width, height = (max(1, round(side * scale)) for side in (picture.width, picture.height))
    pixels(data, min(width, _CHECKED_PIXELS), min(height, _CHECKED_PIXELS), name, cancel)  # a damaged image would fail every reply
    return Attachment(name, "", len(data), picture=picture)


def picture_of(name: str, data: bytes, cancel: threading.Event | None = None) -> Picture:
    """Return an image after reading only its header.

    Raises:
        UserError: the image can't be read.
        WorkCancelled: `cancel` was set.
    """
    from mlx_engine.media.images import image_size

    facts = image_size(data, name, cancel)
    return Picture(StoredFile.of(data), facts.width, facts.height, facts.format, facts.frames)


def _read_pdf(name: str, data: bytes, cancel: threading.Event | None) -> Attachment:
    found = tuple(
        Page(page.number, clean(page.text), page.why, page.kind, size=page.size) for page in pdf_pages(data, name, cancel)
    )
    if not any(page.text or page.why for page in found):
        raise UserError("pdf_blank", "All pages of “{name}” are blank.", name=name)
    return Attachment(name, text_of_pages(found), len(data), len(found), document=StoredFile.of(data), page_list=found)


def draw_pages(pdf: Attachment, cancel: threading.Event | None = None) -> Iterator[Attachment]:
    """Draw the pages of a PDF that lack pictures, up to a limit.

    Yields:
        The PDF after each page that could be drawn, with all pictures so far.

    Raises:
        WorkCancelled: `cancel` was set.
    """
    pages, undrawn = list(pdf.page_list), pdf.undrawn
    pictures = [page.picture.file.data for page in pages if page.shown and page.picture is not None]
    space = MOST_PICTURE_BYTES - sum(map(len, pictures))
    for number in undrawn[: max(0, MOST_PICTURES - len(pictures))]:
        if space <= 0 or pdf.document is None:
            return
        try:
            data = pdf_picture(pdf.document.data, number, name=pdf.name, cancel=cancel)
            made = picture_of(f"{pdf.name}, page {number}", data, cancel)
        except UserError:
            continue
        space -= len(made.file.data)
        pages = [replace(page, picture=made) if page.number == number else page for page in pages]
        yield replace(pdf, page_list=tuple(pages))


def _decoded(name: str, data: bytes) -> str:
    encodings = [encoding for mark, encoding in _BYTE_ORDER_MARKS if data.startswith(mark)][:1] or ["utf-8", "cp1252"]
    for encoding in encodings:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        if not any(ord(char) in _CONTROLS for char in text):  # nearly any bytes decode as cp1252
            return text.replace("\r\n", "\n").replace("\r", "\n")
    if str(mimetypes.guess_type(name)[0]).startswith("image/"):
        is_damaged = name.lower().endswith(SUFFIXES) and other_format(data[:16]) is None
        raise error_of("image_damaged" if is_damaged else "image_unknown", name, {})
    raise UserError(
        "attachment_not_text",
        "“{name}” contains no readable text. Attach an image, a PDF, or a text, Markdown, or code file.",
        name=name,
    )


def _too_large(name: str, length: int) -> UserError:
    return UserError(
        "attachment_too_large",
        "“{name}” is too large ({size}). Text files can be up to {text_limit}, PDFs up to {pdf_limit}, images up to {image_limit}.",
        name=name,
        size=size(length),
        text_limit=size(MAX_TEXT),
        pdf_limit=size(pdfs.MOST_BYTES),
        image_limit=size(MAX_IMAGE_BYTES),
    )
