"""The images and PDFs in Slipstream's JSON."""

import base64
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from app.storage.json_values import as_dict
from app.storage.pictures import StoredFile

# A file's digest and its data. Shorter data isn't worth a search.
_FILE = re.compile(rb'"([0-9a-f]{64})"\s*:\s*"([A-Za-z0-9+/]{1000,}={0,2})"')


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
            pause: called before each line, and after each file in a line.

        Raises:
            OSError: the export can't be read.
        """
        assert self._file is not None
        pieces, start = list[bytes](), 0
        with self._file.open("rb") as opened:
            for line in opened:  # has one file: see `chat_export.export`
                pause()
                end = 0
                for match in _FILE.finditer(line):
                    pieces.append(line[end : match.start(2)])
                    self._places[match[1].decode()] = start + match.start(2), len(match[2])
                    end = match.end(2)
                    pause()
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
