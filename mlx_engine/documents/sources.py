"""The files and folders that the user chose as documents.

Links are never followed, and hidden files and folders are skipped.
"""

import os
import stat
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, count

from mlx_engine.contract.errors import WorkCancelled

# Of files that can't be documents, such as those of a photo library
_NO_DOCUMENTS = frozenset(
    "png jpg jpeg gif bmp tif tiff webp heic heif avif ico icns psd cr2 nef arw dng mp3 m4a aac wav flac ogg opus aif aiff mp4 m4v "
    "mov avi mkv webm mpg mpeg wmv zip gz bz2 xz zst 7z rar tar dmg iso pkg jar whl exe dll so dylib o class pyc wasm ttf otf woff "
    "woff2 safetensors gguf npy npz pt pth onnx sqlite parquet xls xlsx ppt pptx epub".split()
)
_DEEPEST = 30  # folders inside each other
_MOST_VISITED = 1_000_000  # files and folders of any kind
_DATALESS = 0x40000000  # SF_DATALESS of macOS
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


@dataclass(frozen=True)
class SourceFile:
    """A chosen file, or a file in a chosen folder.

    Attributes:
        name: its path, which begins with the name of the folder, if any.
        modified_ns, size: as when it was found.
        is_online: whether its content is in iCloud or the like, and would be downloaded to read it.
    """

    name: str
    path: str
    modified_ns: int
    size: int
    is_online: bool = False


class TooManyFiles(Exception):
    """A limit that is exceeded, after the files within it."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.limit = limit


def files_in(folders: Sequence[str], cancel: threading.Event | None = None) -> Iterator[SourceFile]:
    """Yield the files that may be documents, in order of their names.

    Files whose names would look the same are numbered, and so are folders.

    Args:
        folders: the chosen folders and files.
        cancel: ends the search for files.

    Raises:
        TooManyFiles: there are more files and folders.
        WorkCancelled: `cancel` was set.
    """
    visited = 0
    taken, names_taken = set[str](), set[str]()
    for folder in dict.fromkeys(map(os.path.realpath, folders)):
        base = os.path.basename(folder) or "disk"
        root = _free(base, taken)
        for place, folders_here, names in os.walk(folder):
            if cancel is not None and cancel.is_set():
                raise WorkCancelled
            visited += len(folders_here) + len(names)
            if visited > _MOST_VISITED:
                raise TooManyFiles(_MOST_VISITED)
            below = os.path.relpath(place, folder)
            parts = [] if below == os.curdir else below.split(os.sep)
            folders_here[:] = sorted(name for name in folders_here if name[0] != "." and len(parts) < _DEEPEST)
            for name in sorted(name for name in names if name[0] != "." and _suffix(name) not in _NO_DOCUMENTS):
                yield from _file(os.path.join(place, name), "/".join((root, *parts, name)), names_taken)
        yield from _file(folder, root, names_taken)


def _file(path: str, name: str, taken: set[str]) -> Iterator[SourceFile]:
    """Yield a file, unless it is something else."""
    with suppress(OSError):
        found = os.lstat(path)
        if stat.S_ISREG(found.st_mode):
            is_online = bool(getattr(found, "st_flags", 0) & _DATALESS)
            yield SourceFile(_free(shown_name(name), taken), path, found.st_mtime_ns, found.st_size, is_online)


def _free(name: str, taken: set[str]) -> str:
    """Return a name that isn't taken, numbered if needed, and take it."""
    start, suffix = os.path.splitext(name)
    free = next(one for one in chain([name], (f"{start} {number}{suffix}" for number in count(2))) if one not in taken)
    taken.add(free)
    return free


def _suffix(name: str) -> str:
    return os.path.splitext(name)[1][1:].lower()


def content_of(source: SourceFile, folders: Sequence[str], most: int) -> bytes:
    """Return a file's content, up to `most` bytes.

    Each part of its path is opened relative to the folder before it, so that no link leads out of the chosen folders.

    Raises:
        OSError: the file can't be read.
    """
    roots = [os.path.dirname(root) if root == source.path else root for root in map(os.path.realpath, folders)]
    root = next(root for root in roots if source.path.startswith(root.rstrip("/") + "/"))
    opened = os.open(root, _FOLDER)
    parts = os.path.relpath(source.path, root).split(os.sep)
    for at, part in enumerate(parts, 1):
        folder = opened
        try:
            opened = os.open(part, _FILE if at == len(parts) else _FOLDER, dir_fd=folder)
        finally:
            os.close(folder)
    with open(opened, "rb") as stream:
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            raise OSError("not a regular file")
        return stream.read(most)


def shown_name(name: str) -> str:
    """Return a name in its normal form, without characters that can't be shown."""
    name = unicodedata.normalize("NFC", name)
    return name if name.isprintable() else ascii(name)[1:-1]
