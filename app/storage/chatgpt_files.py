"""The images in ChatGPT's export: in its archive, or next to conversations.json."""

import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from types import TracebackType

from app.storage.attached_files import cleaned, picture_of
from app.storage.attachments import Attachment
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.limits import MAX_IMAGE_BYTES

MAX_FILES = 100_000  # names that are looked at
MAX_BYTES = 1 << 30  # of all images
_ID = re.compile(r"file[-_][0-9A-Za-z]+")


class ChatGptFiles:
    """The images of an export, by the ids that messages name.

    Args:
        place: the archive, or the folder of conversations.json; None for no images.
    """

    def __init__(self, place: Path | None = None) -> None:
        self._place, self._room = place, MAX_BYTES
        self._archive: zipfile.ZipFile | None = None

    def __enter__(self) -> "ChatGptFiles":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._archive is not None:
            self._archive.close()

    @cached_property
    def _found(self) -> dict[str, tuple[str, Callable[[], bytes]]]:
        """The name of each file, and what reads it, by id."""
        try:
            named = {match[0]: (name, read) for name, read in self._files() if (match := _ID.match(name))}
        except (OSError, zipfile.BadZipFile):
            return {}
        return named

    def _files(self) -> Iterator[tuple[str, Callable[[], bytes]]]:
        if self._place is None:
            return
        if self._place.is_dir():
            paths = (path for pattern in ("file*", "*/file*") for path in self._place.glob(pattern))
            for path in islice(paths, MAX_FILES):
                if path.is_file() and path.stat().st_size <= MAX_IMAGE_BYTES:
                    yield path.name, path.read_bytes
            return
        self._archive = zipfile.ZipFile(self._place)
        for entry in self._archive.infolist()[:MAX_FILES]:
            if entry.file_size <= MAX_IMAGE_BYTES:
                yield entry.filename.rsplit("/", 1)[-1], partial(self._archive.read, entry)

    def image(self, pointer: str, names: dict[str, str]) -> Attachment | None:
        """Return the image that a message points at, or None if it isn't there.

        Args:
            pointer: such as “file-service://file-A1b2” or “sediment://file_0a1b”.
            names: what the user called the files of the message, by id.
        """
        match = _ID.match(pointer.rpartition("/")[2])
        if match is None or match[0] not in self._found:
            return None
        stored, read = self._found[match[0]]
        name = cleaned(names.get(match[0]) or stored.removeprefix(match[0]).lstrip("-_"))
        try:
            data = read()
            self._room -= len(data)
            return Attachment(name, "", len(data), picture=picture_of(name, data)) if self._room >= 0 else None
        except (UserError, OSError, RuntimeError, zipfile.BadZipFile, zlib.error, EOFError):  # not an image, or damaged
            return None
