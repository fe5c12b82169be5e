"""Files that go with a message: their text, taken out of them on this computer."""

import codecs
import io
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from app.conversations.plain_text import clean
from app.conversations.words import number, size
from app.language import tr
from mlx_engine.errors import UserError

MOST_TEXT = 2_000_000  # bytes of a text file, and characters out of a PDF
MOST_PDF = 50_000_000  # bytes
MOST_PAGES = 2000
PDF_SECONDS = 30.0  # a page that needs more than what is left ends late, but the next one is not begun
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins like UTF-16's
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
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


def read(file: Path) -> Attachment:
    """Take the text out of a file of text, Markdown, code or PDF.

    Raises:
        UserError: it cannot be read, is too large, or holds no text; the sentence says what to do.
    """
    name = clean(" ".join(file.name.split())) or "file"
    try:
        if file.is_dir():
            raise UserError(tr("“{name}” is a folder. Attach the files that are in it.", name=name))
        length = file.stat().st_size
        if length > MOST_PDF:
            raise UserError(_too_large(name, length))
        data = file.read_bytes()
    except OSError as error:
        raise UserError(tr("“{name}” cannot be read: {strerror}.", name=name, strerror=error.strerror or error)) from error
    if not data.strip():
        raise UserError(tr("“{name}” is empty, so there is nothing to attach.", name=name))
    if b"%PDF-" in data[:1024]:
        return _read_pdf(name, data)
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


def _read_pdf(name: str, data: bytes) -> Attachment:
    from pypdf import PasswordType, PdfReader
    from pypdf.errors import DependencyError, PdfReadError

    begun = time.monotonic()
    pages: list[str] = []
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
            raise UserError(_locked(name))
        count = len(reader.pages)
        if count > MOST_PAGES:
            raise UserError(
                tr(
                    "“{name}” has {count} pages; at most {most_pages} can be attached.",
                    name=name,
                    count=number(count),
                    most_pages=number(MOST_PAGES),
                )
            )
        room = MOST_TEXT
        for page in reader.pages:
            if time.monotonic() - begun > PDF_SECONDS:
                raise UserError(tr("“{name}” takes too long to read. Attach its text, or a part of it.", name=name))
            pages.append(clean(page.extract_text()).strip())
            room -= len(pages[-1])
            if room < 0:
                raise UserError(
                    tr(
                        "“{name}” holds too much text: more than {most_text} characters. Attach a part of it.",
                        name=name,
                        most_text=number(MOST_TEXT),
                    )
                )
    except DependencyError as error:  # a way of locking that pypdf alone does not know
        raise UserError(_locked(name)) from error
    except UserError:
        raise
    except (PdfReadError, RecursionError, MemoryError, OSError) as error:
        raise UserError(tr("“{name}” is damaged and cannot be read as a PDF.", name=name)) from error
    except Exception as error:  # pypdf lets many kinds through where a file breaks the rules
        raise UserError(tr("“{name}” cannot be read as a PDF: it does not keep to the format’s rules.", name=name)) from error
    text = "\n\n".join(page for page in pages if page)
    if not text:
        raise UserError(tr("“{name}” holds no text: its pages are pictures, as after a scan. Attach its text instead.", name=name))
    return Attachment(name, text, len(data), len(pages))


def _locked(name: str) -> str:
    return tr("“{name}” is locked by a password. Save a copy without one and attach that.", name=name)


def _too_large(name: str, length: int) -> str:
    return tr(
        "“{name}” is too large ({length}). A text may have {most_text}, a PDF {most_pdf}. Attach a part.",
        name=name,
        length=size(length),
        most_text=size(MOST_TEXT),
        most_pdf=size(MOST_PDF),
    )
