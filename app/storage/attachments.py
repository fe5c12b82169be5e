"""Files attached to a message, and the extraction of their text."""

import codecs
import json
import mimetypes
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from typing import Any

from app.storage.wording import number, size
from app.system import child
from app.text.plain_text import clean
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import cannot_read

MAX_NAME = 40  # characters of a file name, as shown
MAX_TEXT = 2_000_000  # bytes of a text file, characters of a PDF
MAX_PDF = 50_000_000  # bytes
MAX_PAGES = 2000
PDF_SECONDS = 30.0
PDF_MODULE = "app.storage.pdf_pages"
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark is a prefix of it
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_pdf_slots = threading.BoundedSemaphore(2)  # PDFs read at the same time
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


class ReadCancellation:
    """A handle that cancels reading a file, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self.canceled = False

    def cancel(self) -> None:
        """Stop reading, and kill the process that reads the file."""
        with self._lock:
            self.canceled = True
            if self._process is not None:
                self._process.kill()

    def start(self, command: Sequence[str]) -> subprocess.Popen[bytes] | None:
        """Start a process with stdin and stdout pipes; return None if canceled."""
        with self._lock:
            if self.canceled:
                return None
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            return self._process


def shortened(name: str) -> str:
    """Shorten a long file name in the middle."""
    return name if len(name) <= MAX_NAME else name[: MAX_NAME - 12] + "…" + name[-11:]


def prompt_text(text: str, attachments: Sequence[Attachment]) -> str:
    """Return the text for the model: each file between two marker lines, then `text`."""
    parts = [f"--- {one.name} ---\n{one.text.strip()}\n--- end of {one.name} ---" for one in attachments]
    return "\n\n".join([*parts, text] if text else parts)


def read(file: Path, cancellation: ReadCancellation | None = None) -> Attachment:
    """Extract the text of a text, Markdown, code, or PDF file.

    Raises:
        UserError: the file can't be read, is too large, or has no text, or reading was canceled.
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
        if length > MAX_PDF:
            raise _too_large(name, length)
        data = file.read_bytes()
    except OSError as error:
        raise cannot_read(file, error) from error
    if not data.strip():
        raise UserError("attachment_empty", "“{name}” is empty.", name=name)
    if b"%PDF-" in data[:1024]:
        return _read_pdf(name, data, cancellation or ReadCancellation())
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


def _read_pdf(name: str, data: bytes, cancellation: ReadCancellation) -> Attachment:
    found = _run_child(name, data, cancellation)
    match found.get("problem"):
        case None:
            pages = found["pages"]
        case "locked":
            raise UserError(
                "pdf_locked", "“{name}” is password-protected. Save a copy without a password and attach the copy.", name=name
            )
        case "pages":
            raise UserError(
                "pdf_too_many_pages",
                "“{name}” has {pages} pages, and the limit is {limit}. Attach part of it.",
                name=name,
                pages=number(found["count"]),
                limit=number(MAX_PAGES),
            )
        case "text":
            raise UserError(
                "pdf_too_much_text",
                "“{name}” has more than {limit} characters of text. Attach part of it.",
                name=name,
                limit=number(MAX_TEXT),
            )
        case "invalid":
            raise UserError("pdf_invalid", "Can't read “{name}”: it isn't a valid PDF. Export it again.", name=name)
        case _:
            raise UserError("pdf_damaged", "“{name}” is damaged and can't be read as a PDF.", name=name)
    text = "\n\n".join(page for page in pages if page)
    if not text:
        raise UserError(
            "pdf_without_text", "“{name}” contains only scanned pages. Attach a version with selectable text.", name=name
        )
    return Attachment(name, text, len(data), len(pages))


def _run_child(name: str, data: bytes, cancellation: ReadCancellation) -> dict[str, Any]:
    """Read a PDF in a child process, which is killed on a timeout or cancellation."""
    too_slow = UserError("pdf_too_slow", "“{name}” takes too long to read. Attach its text, or part of it.", name=name)
    program, arguments = child.command(PDF_MODULE)
    limits = [str(MAX_PAGES), str(MAX_TEXT), str(ceil(2 * PDF_SECONDS))]
    with _pdf_slots:  # the time spent waiting for a slot doesn't count
        process = cancellation.start([program, *arguments, *limits])
        if process is None:
            raise too_slow
        with process:
            try:
                output, _ = process.communicate(data, timeout=PDF_SECONDS)
            except subprocess.TimeoutExpired as error:
                process.kill()
                raise too_slow from error
    if cancellation.canceled:
        raise too_slow
    try:
        found = json.loads(output)
    except ValueError:
        found = None  # the process ran out of memory or crashed
    return found if isinstance(found, dict) and ("pages" in found or "problem" in found) else {"problem": "damaged"}


def _too_large(name: str, length: int) -> UserError:
    return UserError(
        "attachment_too_large",
        "“{name}” is too large ({size}). Text files can be up to {text_limit}, PDFs up to {pdf_limit}.",
        name=name,
        size=size(length),
        text_limit=size(MAX_TEXT),
        pdf_limit=size(MAX_PDF),
    )
