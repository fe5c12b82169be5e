"""The text of a PDF, page by page. It runs in a process of its own, where a file that is made so that reading it never ends, or
takes all memory, does no harm; it imports nothing of the window.

python -m app.conversations.pdf_pages PAGES CHARACTERS SECONDS    the file comes in, JSON goes out
"""

import io
import json
import sys
from contextlib import suppress

from app.conversations.plain_text import clean

MEMORY = 4 << 30  # bytes of addresses, where the system keeps to it


class Trouble(Exception):
    """Why there is no text: `kind` is locked, damaged, unruly, pages or text; `count` how many pages there are."""

    def __init__(self, kind: str, count: int = 0) -> None:
        super().__init__(kind)
        self.kind, self.count = kind, count


def pages_of(data: bytes, most_pages: int, most_text: int) -> list[str]:
    """The text of each page.

    Raises:
        Trouble: there is none to be had.
    """
    from pypdf import PasswordType, PdfReader
    from pypdf.errors import DependencyError, PdfReadError

    found: list[str] = []
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and reader.decrypt("") == PasswordType.NOT_DECRYPTED:
            raise Trouble("locked")
        count = len(reader.pages)
        if count > most_pages:
            raise Trouble("pages", count)
        room = most_text
        for page in reader.pages:
            found.append(clean(page.extract_text()).strip())
            room -= len(found[-1])
            if room < 0:
                raise Trouble("text")
    except Trouble:
        raise
    except DependencyError as error:  # a way of locking that pypdf alone does not know
        raise Trouble("locked") from error
    except (PdfReadError, RecursionError, MemoryError, OSError) as error:
        raise Trouble("damaged") from error
    except Exception as error:  # pypdf lets many kinds through where a file breaks the rules
        raise Trouble("unruly") from error
    return found


def main(most_pages: int, most_text: int, seconds: int) -> None:
    """Standard input to standard output."""
    with suppress(ImportError, OSError, ValueError):  # Windows has none of this, macOS not the second
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))  # also when nobody is left to end it
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        told: dict[str, object] = {"pages": pages_of(sys.stdin.buffer.read(), most_pages, most_text)}
    except Trouble as trouble:
        told = {"trouble": trouble.kind, "count": trouble.count}
    sys.stdout.buffer.write(json.dumps(told).encode("ascii"))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
