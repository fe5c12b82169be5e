"""The images and PDFs in Slipstream's JSON."""

import base64
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from app.storage.json_values import as_dict
from app.storage.pictures import StoredFile

_START = re.compile(rb'"([0-9a-f]{64})"\s*:\s*"')  # a file's digest, before its data
_DATA = re.compile(rb"[A-Za-z0-9+/]{1000,}={0,2}")  # shorter data isn't worth a search
_PIECE = 1 << 20  # bytes per search, during which other threads wait
_LONGEST_START = 1 << 8  # bytes


class EncodedFiles:
    """The images and PDFs of an export, in base64.

    Only their places are kept in memory, and short ones. `get` reads a file again.

    Args:
        file: the export; None if it is in memory.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._places: dict[str, tuple[int, int]] = {}  # of the first byte, and number of bytes, by digest
        self._short: dict[str, object] = {}

    def close(self) -> None: ...

    def rest(self, pause: Callable[[], object] = lambda: None) -> bytes:
        """Return the export without the files that `get` reads.

        Args:
            pause: called before each line, and after each file and each piece of a line.

        Raises:
            OSError: the export can't be read.
        """
        assert self._file is not None
        pieces, start = list[bytes](), 0
        with self._file.open("rb") as opened:
            for line in opened:  # has one file: see `chat_export.export`
                end = 0
                for digest, first, last in _files_in(line, pause):
                    pieces.append(line[end:first])
                    self._places[digest] = start + first, last - first
                    end = last
                pieces.append(line[end:])
                start += len(line)
        return b"".join(pieces)

    def add(self, encoded: object) -> None:
        """Add the files that `rest` has left in the JSON values."""
        self._short |= {digest: text for digest, text in as_dict(encoded).items() if digest not in self._places}

    def get(self, digest: str, default: bytes, /) -> bytes:
        """Return the data of a file, unless it isn't what its digest says."""
        with suppress(OSError, ValueError):
            data = base64.b64decode(self._text(digest), validate=True)
            return data if StoredFile.of(data).digest == digest else default
        return default

    def _text(self, digest: str) -> bytes | str:
        if self._file is not None and digest in self._places:
            place, length = self._places[digest]
            with self._file.open("rb") as opened:
                opened.seek(place)
                return opened.read(length)
        text = self._short.get(digest)
        return text if isinstance(text, str) else ""


def _files_in(line: bytes, pause: Callable[[], object]) -> Iterator[tuple[str, int, int]]:
    """Yield the digests of the files in a line, and where their data begins and ends."""
    at = 0
    while at < len(line):
        pause()
        match = _START.search(line, at, at + _PIECE + _LONGEST_START)
        if match is None:
            at += _PIECE
            continue
        first = at = match.end()
        last = line.find(b'"', first)
        if _DATA.fullmatch(line, first, max(first, last)):
            yield match[1].decode(), first, last
            at = last
