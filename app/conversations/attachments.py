"""Files that go with a message: their text, taken out of them on this computer."""

import codecs
import json
import subprocess
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil
from pathlib import Path
from typing import Any

from app import child
from app.conversations.plain_text import clean
from app.conversations.wording import number, size
from app.language import tr
from mlx_engine.errors import UserError

MOST_TEXT = 2_000_000  # bytes of a text file, and characters out of a PDF
MOST_PDF = 50_000_000  # bytes
MOST_PAGES = 2000
PDF_SECONDS = 30.0
PDF_MODULE = "app.conversations.pdf_pages"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins like UTF-16's
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_few = threading.BoundedSemaphore(2)  # PDFs that are read at a time
_CONTROLS = frozenset(range(32)) - {9, 10, 12, 13, 27}


@dataclass(frozen=True)
class Attachment:
    """A file's name and text. `size` is the file's, in bytes; `pages` is 0 where it has none."""

    name: str
    text: str
    size: int
    pages: int = 0

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class Wanted:
    """Whether a file is still wanted. `end` says no, from any thread; when it returns the process that reads the file is killed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self.ended = False

    def end(self) -> None:
        with self._lock:
            self.ended = True
            if self._process is not None:
                self._process.kill()

    def start(self, command: Sequence[str]) -> subprocess.Popen[bytes] | None:
        """A process with pipes to and from it; None where it is not wanted any more."""
        with self._lock:
            if self.ended:
                return None
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            return self._process


def attachment_from(data: object) -> Attachment | None:
    """From JSON; None where it is none."""
    if not isinstance(data, dict) or not isinstance(data.get("name"), str) or not isinstance(data.get("text"), str):
        return None
    counts = [value if type(value := data.get(name)) is int and value >= 0 else 0 for name in ("size", "pages")]
    return Attachment(clean(data["name"]), clean(data["text"]), *counts)


def told(text: str, attachments: Sequence[Attachment]) -> str:
    """What the model reads: each file between two lines that name it, then what the user wrote."""
    parts = [f"--- {one.name} ---\n{one.text.strip()}\n--- end of {one.name} ---" for one in attachments]
    return "\n\n".join([*parts, text] if text else parts)


def read(file: Path, wanted: Wanted | None = None) -> Attachment:
    """Take the text out of a file of text, Markdown, code or PDF. Once not `wanted` it ends soon, with a sentence nobody needs.

    Raises:
        UserError: it cannot be read, is too large, or holds no text; the sentence says what to do.
    """
    name = clean(" ".join(file.name.split())) or "file"
    try:
        if file.is_dir():
            raise UserError(tr("“{name}” is a folder. Attach the files that are in it.", name=name))
        if file.exists() and not file.is_file():  # a pipe or a device may never end
            raise UserError(tr("“{name}” is no ordinary file, so it cannot be attached.", name=name))
        length = file.stat().st_size
        if length > MOST_PDF:
            raise UserError(_too_large(name, length))
        data = file.read_bytes()
    except OSError as error:
        raise UserError(tr("“{name}” cannot be read: {strerror}.", name=name, strerror=error.strerror or error)) from error
    if not data.strip():
        raise UserError(tr("“{name}” is empty, so there is nothing to attach.", name=name))
    if b"%PDF-" in data[:1024]:
        return _read_pdf(name, data, wanted or Wanted())
    if length > MOST_TEXT:
        raise UserError(_too_large(name, length))
    return Attachment(name, clean(_decoded(name, data)), length)


def _decoded(name: str, data: bytes) -> str:
    encodings = [encoding for mark, encoding in _MARKS if data.startswith(mark)][:1] or ["utf-8", "cp1252"]
    for encoding in encodings:
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        # Any bytes are cp1252, so there a single control character tells; escapes and form feeds do stand in text.
        if not any(ord(char) in _CONTROLS for char in text):
            return text.replace("\r\n", "\n").replace("\r", "\n")
    raise UserError(
        tr("“{name}” holds no text that can be read. Slipstream reads files of text, Markdown, code, and PDF.", name=name)
    )


def _read_pdf(name: str, data: bytes, wanted: Wanted) -> Attachment:
    told = _ask_child(name, data, wanted)
    match told.get("trouble"):
        case None:
            pages = told["pages"]
        case "locked":
            raise UserError(tr("“{name}” is locked by a password. Save a copy without one and attach that.", name=name))
        case "pages":
            raise UserError(
                tr(
                    "“{name}” has {count} pages; at most {most_pages} can be attached.",
                    name=name,
                    count=number(told["count"]),
                    most_pages=number(MOST_PAGES),
                )
            )
        case "text":
            raise UserError(
                tr(
                    "“{name}” holds too much text: more than {most_text} characters. Attach a part of it.",
                    name=name,
                    most_text=number(MOST_TEXT),
                )
            )
        case "unruly":
            raise UserError(tr("“{name}” cannot be read as a PDF: it does not keep to the format’s rules.", name=name))
        case _:
            raise UserError(tr("“{name}” is damaged and cannot be read as a PDF.", name=name))
    text = "\n\n".join(page for page in pages if page)
    if not text:
        raise UserError(tr("“{name}” holds no text: its pages are pictures, as after a scan. Attach its text instead.", name=name))
    return Attachment(name, text, len(data), len(pages))


def _ask_child(name: str, data: bytes, wanted: Wanted) -> dict[str, Any]:
    """What a process of its own finds in a PDF. It is ended when that takes too long, or is no longer wanted."""
    too_long = tr("“{name}” takes too long to read. Attach its text, or a part of it.", name=name)
    program, arguments = child.command(PDF_MODULE)
    limits = [str(MOST_PAGES), str(MOST_TEXT), str(ceil(2 * PDF_SECONDS))]
    with _few:  # the time that it waits in line does not count
        process = wanted.start([program, *arguments, *limits])
        if process is None:
            raise UserError(too_long)
        with process:
            try:
                said, _ = process.communicate(data, timeout=PDF_SECONDS)
            except subprocess.TimeoutExpired as error:
                process.kill()
                raise UserError(too_long) from error
    if wanted.ended:
        raise UserError(too_long)
    try:
        told = json.loads(said)
    except ValueError:
        told = {}  # it ran out of memory, or crashed
    return told if isinstance(told, dict) and ("pages" in told or "trouble" in told) else {"trouble": "damaged"}


def _too_large(name: str, length: int) -> str:
    return tr(
        "“{name}” is too large ({length}). A text may have {most_text}, a PDF {most_pdf}. Attach a part.",
        name=name,
        length=size(length),
        most_text=size(MOST_TEXT),
        most_pdf=size(MOST_PDF),
    )
