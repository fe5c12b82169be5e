"""Extraction of a PDF's text in a child process.

A malicious file can exhaust memory or take forever, so it must not be read in the app's process. This module doesn't import Qt.

Usage: python -m app.storage.pdf_pages PAGES CHARACTERS SECONDS    reads the PDF from stdin, writes JSON to stdout
"""

import io
import json
import sys
from contextlib import suppress

from app.text.plain_text import clean

MEMORY = 4 << 30  # bytes of address space, on systems that enforce it


class PdfProblem(Exception):
    """A PDF error: "locked", "damaged", "invalid", or over a limit ("pages", "text")."""

    def __init__(self, kind: str, count: int = 0) -> None:
        super().__init__(kind)
        self.kind, self.count = kind, count


def pages_of(data: bytes, max_pages: int, max_text: int) -> list[str]:
    """Return the text of each page.

    Raises:
        PdfProblem: the PDF can't be read or is over a limit.
    """
    from pypdf import PasswordType, PdfReader
    from pypdf.errors import DependencyError, PdfReadError

    found: list[str] = []
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
            raise PdfProblem("locked")
        if len(reader.pages) > max_pages:
            raise PdfProblem("pages", len(reader.pages))
        for page in reader.pages:
            found.append(clean(page.extract_text()).strip())
            max_text -= len(found[-1])
            if max_text < 0:
                raise PdfProblem("text")
    except PdfProblem:
        raise
    except DependencyError as error:  # encryption that requires another package
        raise PdfProblem("locked") from error
    except (PdfReadError, RecursionError, MemoryError, OSError) as error:
        raise PdfProblem("damaged") from error
    except Exception as error:  # pypdf raises many types for malformed files
        raise PdfProblem("invalid") from error
    return found


def main(max_pages: int, max_text: int, seconds: int) -> None:
    with suppress(ImportError, OSError, ValueError):  # Windows has neither limit, macOS only the first
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))  # ends this process even if the app is gone
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        result: dict[str, object] = {"pages": pages_of(sys.stdin.buffer.read(), max_pages, max_text)}
    except PdfProblem as problem:
        result = {"problem": problem.kind, "count": problem.count}
    sys.stdout.buffer.write(json.dumps(result).encode("ascii"))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
