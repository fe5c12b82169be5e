"""The images in ChatGPT's export: in its archive, or next to conversations.json."""

import re
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from itertools import islice
from pathlib import Path

from app.storage.attached_files import cleaned, picture_of
from app.storage.attachments import Attachment
from app.storage.pictures import StoredFile
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.limits import MAX_IMAGE_BYTES

MAX_FILES = 100_000  # names that are looked at
MAX_BYTES = 1 << 30  # of all images
_DAMAGE = (OSError, RuntimeError, zipfile.BadZipFile, zlib.error, EOFError, KeyError)
_ID = re.compile(r"file[-_][0-9A-Za-z]+")


class ChatGptFiles:
    """The images of an export, by the ids that messages name.

    Only their digests and sizes are kept in memory. `get` reads an image again.

    Args:
        place: the archive, or the folder of conversations.json; None for no images.
    """

    def __init__(self, place: Path | None = None) -> None:
        self._place, self._room = place, MAX_BYTES
        self._opened: zipfile.ZipFile | None = None
        self._sources: dict[str, Path | str] = {}  # by digest

    def close(self) -> None:
        """Close the archive, which `get` opens again."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def get(self, digest: str, default: bytes, /) -> bytes:
        """Return the data of an image that `image` has found, unless it has changed since."""
        try:
            data = self._read(self._sources[digest]) if digest in self._sources else default
        except _DAMAGE:
            return default
        return data if sha256(data).hexdigest() == digest else default

    @property
    def _archive(self) -> zipfile.ZipFile:
        assert self._place is not None
        if self._opened is None:
            self._opened = zipfile.ZipFile(self._place)
        return self._opened

    def _read(self, source: Path | str) -> bytes:
        return source.read_bytes() if isinstance(source, Path) else self._archive.read(source)

    @cached_property
    def _found(self) -> dict[str, tuple[str, Path | str]]:
        """The name and the place of each file, by id."""
        try:
            return {match[0]: (name, source) for name, source in self._files() if (match := _ID.match(name))}
        except (OSError, zipfile.BadZipFile):
            return {}

    def _files(self) -> Iterator[tuple[str, Path | str]]:
        if self._place is None:
            return
        if self._place.is_dir():
            paths = (path for pattern in ("file*", "*/file*") for path in self._place.glob(pattern))
            for path in islice(paths, MAX_FILES):
                if path.is_file() and path.stat().st_size <= MAX_IMAGE_BYTES:
                    yield path.name, path
            return
        for entry in self._archive.infolist()[:MAX_FILES]:
            if entry.file_size <= MAX_IMAGE_BYTES:
                yield entry.filename.rsplit("/", 1)[-1], entry.filename

    def image(self, pointer: str, names: dict[str, str]) -> Attachment | None:
        """Return the image that a message points at, without its data, or None.

        Args:
            pointer: such as “file-service://file-A1b2” or “sediment://file_0a1b”.
            names: what the user called the files of the message, by id.
        """
        match = _ID.match(pointer.rpartition("/")[2])
        if match is None or match[0] not in self._found:
            return None
        stored, source = self._found[match[0]]
        name = cleaned(names.get(match[0]) or stored.removeprefix(match[0]).lstrip("-_"))
        try:
            data = self._read(source)
            self._room -= len(data)
            picture = picture_of(name, data)
        except (UserError, *_DAMAGE):  # not an image, or damaged
            return None
        if self._room < 0:
            return None
        self._sources[picture.file.digest] = source
        return Attachment(name, "", len(data), picture=replace(picture, file=StoredFile(picture.file.digest)))
