"""Images of other apps' chats: data URLs, and files next to the chats."""

import base64
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from app.storage.attached_files import cleaned, picture_of
from app.storage.attachments import Attachment
from app.storage.pictures import FileSource, StoredFile
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import read_bounded
from mlx_engine.contract.limits import MAX_IMAGE_BYTES

MAX_LINKED_BYTES = 1 << 30  # of all images
_DATA_URL = "data:"
_BASE64 = ";base64"


class LinkedImages:
    """The images of chats, by what their messages link to.

    Only digests and links are kept, besides the JSON itself. `get` reads an image again.
    """

    def __init__(self) -> None:
        self._room = MAX_LINKED_BYTES
        self._links: dict[str, Path | str] = {}  # by digest

    def close(self) -> None: ...

    def get(self, digest: str, default: bytes, /) -> bytes:
        """Return the data of an image that was linked, unless it has changed since."""
        with suppress(KeyError, OSError, ValueError, UserError):
            data = _read(self._links[digest])
            return data if StoredFile.of(data).digest == digest else default
        return default

    def image(self, link: Path | str, name: str = "") -> Attachment | None:
        """Return an image without its data, or None if it can't be read.

        Args:
            link: a file, or a data URL.
            name: what the user called the image.
        """
        try:
            data = _read(link)
            picture = picture_of(cleaned(name or _name(link)), data)
        except (OSError, ValueError, UserError):
            return None
        self._room -= len(data)
        if self._room < 0:
            return None
        self._links[picture.file.digest] = link
        return Attachment(
            cleaned(name or _name(link)), "", len(data), picture=replace(picture, file=StoredFile(picture.file.digest))
        )


class JoinedFiles:
    """Several sources of files as one."""

    def __init__(self, *sources: FileSource) -> None:
        self._sources = list(sources)

    def add(self, source: FileSource) -> None:
        self._sources.append(source)

    def close(self) -> None:
        for source in self._sources:
            source.close()

    def get(self, digest: str, default: bytes, /) -> bytes:
        """Return a file's data from the first source that has it."""
        found = (data for source in self._sources if (data := source.get(digest, b"")))
        return next(found, default)


def _name(link: Path | str) -> str:
    """Return the name of a file, or "image.png" for a data URL with a PNG."""
    if isinstance(link, Path):
        return link.name
    kind = link.partition(";")[0].rpartition("/")[2][:8]
    return f"image.{kind}" if kind.isalnum() else "image"


def _read(link: Path | str) -> bytes:
    if isinstance(link, Path):
        return read_bounded(link, MAX_IMAGE_BYTES)
    head, _, encoded = link.partition(",")
    if not (head.startswith(_DATA_URL) and head.endswith(_BASE64)) or len(encoded) > 2 * MAX_IMAGE_BYTES:
        raise ValueError(head[:80])
    return base64.b64decode(encoded)
