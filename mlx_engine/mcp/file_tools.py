"""Read-only tools for files in folders that the user chose.

Errors are ValueErrors with a short message.

Each part of a path is opened relative to the folder before it, and links are never followed. So no path leaves the chosen folders,
even while another program replaces a folder with a link.
"""

import errno
import mimetypes
import os
import stat
import time
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import chain, count, islice

_LARGEST = 20_000_000  # bytes of a file to read
_LARGEST_SEARCHED = 2_000_000  # bytes of a file to search
_LONGEST = 30_000  # characters of a file to return in one call
_LONGEST_LINE = 200  # characters of a found line
_MOST_ENTRIES, _MOST_FOUND, _MOST_FOUND_IN_FILE = 1000, 100, 10
_DEEPEST = 30  # folders inside each other
_SEARCH_S = 20.0
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_WHY = {
    errno.ENOENT: "There is no “{}”",
    errno.ELOOP: "“{}” is a link, and links aren't followed",
    errno.ENOTDIR: "“{}” isn't a folder, or is a link",
    errno.EACCES: "“{}” can't be read: permission denied",
    errno.EPERM: "“{}” can't be read: permission denied",
}


class Files:
    """The chosen folders.

    Paths begin with the name of one of them, such as “Documents/notes.txt”.

    Args:
        folders: absolute paths of the folders.
    """

    def __init__(self, folders: Sequence[str]) -> None:
        self._roots: dict[str, str] = {}
        for folder in dict.fromkeys(map(os.path.realpath, folders)):
            base = os.path.basename(folder) or "disk"
            names = chain([base], (f"{base} {number}" for number in count(2)))
            self._roots[next(name for name in names if name not in self._roots)] = folder

    def list_folder(self, path: str = "") -> str:
        """Return the entries of a folder, or the chosen folders."""
        parts = self._parts(path)
        if not parts:
            return "\n".join(f"{_shown(name)}/" for name in self._roots) or "[No folder is chosen.]"
        folder = self._open(parts, _FOLDER)
        try:
            with os.scandir(folder) as entries:
                found = sorted(islice(map(_entry, entries), _MOST_ENTRIES + 1))
        finally:
            os.close(folder)
        if len(found) > _MOST_ENTRIES:
            found[-1] = f"[The folder has more than {_MOST_ENTRIES:,} entries.]"
        return "\n".join(found) or "[The folder is empty.]"

    def read_file(self, path: str, first_line: int = 1) -> str:
        """Return a file's text from a given line, up to a limit."""
        parts = self._parts(path)
        data = _content(self._open(parts, _FILE), _LARGEST)
        text = _decoded(data)
        if text is None:
            return f"[A binary file: {mimetypes.guess_type(parts[-1])[0] or 'unknown type'}, {len(data):,} bytes]"
        lines = text.splitlines(keepends=True)[max(first_line, 1) - 1 :]
        size = 0
        for at, line in enumerate(lines):
            size += len(line)
            if size > _LONGEST:
                shown, following = ("".join(lines[:at]), at) if at else (f"{line[:_LONGEST]}\n", 1)
                return f"{shown}[The file goes on. Continue with first_line {max(first_line, 1) + following}.]"
        return "".join(lines) or "[No text here.]"

    def search_files(self, text: str, folder: str = "") -> str:
        """Search file names and contents, ignoring case. Hidden folders are skipped."""
        wanted, until = _folded(text.strip()), time.monotonic() + _SEARCH_S
        if not wanted:
            raise ValueError("The text to search for is empty")
        starts = [parts] if (parts := self._parts(folder)) else [[name] for name in self._roots]
        found = list(islice((line for parts in starts for line in self._search(parts, wanted, until)), _MOST_FOUND))
        if len(found) == _MOST_FOUND or time.monotonic() > until:
            found.append("[There may be more. Search for a longer text, or in one folder.]")
        return "\n".join(found) or "[Nothing found.]"

    def _search(self, parts: Sequence[str], wanted: str, until: float) -> Iterator[str]:
        start = self._open(parts, _FOLDER)
        try:
            for below, folders, names, folder in os.fwalk(".", dir_fd=start, follow_symlinks=False):
                folders[:] = sorted(name for name in folders if name[0] != "." and below.count("/") < _DEEPEST)
                place = "/".join(map(_shown, parts)) + below[1:]
                yield from (f"{place}/{_shown(name)}/" for name in folders if wanted in _folded(name))
                for name in sorted(names):
                    if time.monotonic() > until:
                        return
                    if wanted in _folded(name):
                        yield f"{place}/{_shown(name)}"
                    with suppress(OSError, ValueError):
                        text = _decoded(_content(_open(name, _FILE, folder), _LARGEST_SEARCHED)) or ""
                        if wanted in _folded(text):
                            lines = enumerate(text.splitlines(), 1)
                            hits = ((number, line.strip()) for number, line in lines if wanted in _folded(line))
                            for number, line in islice(hits, _MOST_FOUND_IN_FILE):
                                yield f"{place}/{_shown(name)}:{number}: {line[:_LONGEST_LINE]}"
        except OSError:  # `fwalk` can take a file for a folder that it has just replaced
            yield "[A folder changed during the search. Search again.]"
        finally:
            os.close(start)

    def _parts(self, path: str) -> list[str]:
        """Return the parts of a path. Absolute paths in a chosen folder are accepted."""
        for name, root in self._roots.items():
            if path == root or path.startswith(root.rstrip("/") + "/"):
                path = name + "/" + path[len(root) :]
        parts = [part for part in path.split("/") if part not in ("", ".")]
        if ".." in parts or "\0" in path:
            raise ValueError("The path must not contain “..” or NUL characters")
        return parts

    def _open(self, parts: Sequence[str], flags: int) -> int:
        """Open a path with `flags`, and return its descriptor."""
        root = next((root for name, root in self._roots.items() if parts and _normal(name) == _normal(parts[0])), None)
        if root is None:
            chosen = ", ".join(f"“{_shown(name)}”" for name in self._roots) or "no folder is chosen"
            raise ValueError(f"The path must begin with a chosen folder: {chosen}")
        opened = _open(root, _FOLDER if len(parts) > 1 else flags | os.O_DIRECTORY)
        for at, part in enumerate(parts[1:], 2):
            folder = opened
            try:
                opened = _open(part, flags if at == len(parts) else _FOLDER, folder)
            finally:
                os.close(folder)
        return opened


def _open(name: str, flags: int, folder: int | None = None) -> int:
    """Open one name in an open folder. The name may be in another Unicode normal form."""
    try:
        try:
            return os.open(name, flags, dir_fd=folder)
        except FileNotFoundError:
            names = os.listdir(folder) if folder is not None else []
            return os.open(next(other for other in names if _normal(other) == _normal(name)), flags, dir_fd=folder)
    except StopIteration:
        raise ValueError(_WHY[errno.ENOENT].format(_shown(name))) from None
    except OSError as error:
        why = _WHY.get(error.errno or 0, f"“{{}}” can't be opened: {error.strerror}")
        raise ValueError(why.format(_shown(os.path.basename(name)))) from None


def _content(opened: int, most: int) -> bytes:
    """Return the content of an open regular file, and close it."""
    try:
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("This isn't a regular file")
        with open(opened, "rb", closefd=False) as stream:
            data = stream.read(most + 1)
    finally:
        os.close(opened)
    if len(data) > most:
        raise ValueError(f"The file is too large ({status.st_size:,} bytes)")
    return data


def _decoded(data: bytes) -> str | None:
    """Return the text of a file, or None if it is binary."""
    text = data.decode("utf-8-sig", errors="replace")
    return None if "\0" in text or text.count("\ufffd") > len(text) // 20 else text


def _entry(entry: os.DirEntry[str]) -> str:
    if entry.is_symlink():
        return f"{_shown(entry.name)} (link)"
    if entry.is_dir(follow_symlinks=False):
        return f"{_shown(entry.name)}/"
    return f"{_shown(entry.name)} ({entry.stat(follow_symlinks=False).st_size:,} bytes)"


def _shown(name: str) -> str:
    """Return a name without characters that could look like another line."""
    return name if name.isprintable() else ascii(name)[1:-1]


def _normal(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _folded(text: str) -> str:
    return _normal(text).casefold()
