"""Safe reading of files, and Slipstream's JSON files in the user's data folder."""

import errno
import json
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import platformdirs

from mlx_engine.contract.errors import EngineText, UserError

_LARGEST = 16_000_000  # bytes


class DamagedFile(UserError):
    """An error for a damaged data file, with content that Slipstream never writes."""


def data_folder() -> Path:
    return platformdirs.user_data_path("Slipstream", appauthor=False)


def home_path(path: str | Path) -> Path:
    """Return a path with "~" replaced, if it names the folder of a user that exists."""
    return Path(os.path.expanduser(path))


_WHY = {
    errno.ENOENT: EngineText.of("errno_enoent", "No such file or directory"),
    errno.EACCES: EngineText.of("errno_eacces", "Permission denied"),
    errno.EPERM: EngineText.of("errno_eperm", "Operation not permitted"),
    errno.ENOSPC: EngineText.of("errno_enospc", "No space left on device"),
    errno.EDQUOT: EngineText.of("errno_edquot", "Disk quota exceeded"),
    errno.EROFS: EngineText.of("errno_erofs", "Read-only file system"),
    errno.EISDIR: EngineText.of("errno_eisdir", "Is a directory"),
    errno.ENOTDIR: EngineText.of("errno_enotdir", "Not a directory"),
    errno.ENAMETOOLONG: EngineText.of("errno_enametoolong", "File name too long"),
    errno.EIO: EngineText.of("errno_eio", "Input/output error"),
}


def why_failed(error: OSError) -> EngineText | str:
    """Return why the system refused, which can be translated if it is common."""
    return _WHY.get(error.errno or 0) or error.strerror or str(error) or type(error).__name__


def cannot_read(path: Path, error: OSError) -> UserError:
    if isinstance(error, FileNotFoundError | NotADirectoryError | IsADirectoryError):
        return UserError("wrong_path", "Can't read “{path}” ({reason}). Check the path.", path=str(path), reason=why_failed(error))
    template = "Can't read “{path}” ({reason}). Check its permissions."
    return UserError("cannot_read", template, path=str(path), reason=why_failed(error))


def cannot_write(path: Path, error: OSError) -> UserError:
    template = "Can't write to “{path}” ({reason}). Free up space or check the permissions, then try again."
    return UserError("cannot_write", template, path=str(path), reason=why_failed(error))


def cannot_delete(path: Path, error: OSError) -> UserError:
    template = "Can't delete “{path}” ({reason}). Check its permissions, then try again."
    return UserError("cannot_delete", template, path=str(path), reason=why_failed(error))


def not_regular_file(path: Path) -> UserError:
    return UserError("not_regular_file", "“{path}” isn't a regular file. Delete it, then try again.", path=str(path))


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading, without waiting for a FIFO.

    Raises:
        UserError: the file is a FIFO, socket, or device.
        OSError: the file can't be opened.
    """
    stream = open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK))  # noqa: SIM115
    if stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        return stream
    stream.close()
    raise not_regular_file(path)


def read_bounded(path: Path, most: int) -> bytes:
    """Return the content of a regular file.

    Raises:
        ValueError: the file has more than `most` bytes.
        UserError, OSError: as for `open_regular`.
    """
    with open_regular(path) as stream:
        data = stream.read(most + 1)
    if len(data) > most:
        raise ValueError(path)
    return data


def read_json(path: Path) -> Any:
    """Return the content of a Slipstream JSON file, or None if it is missing.

    Raises:
        DamagedFile: the file isn't valid JSON, or is far too large.
        UserError: the file can't be read at the moment.
    """
    try:
        return json.loads(read_bounded(path, _LARGEST))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise cannot_read(path, error) from None
    except (ValueError, RecursionError):
        raise damaged_file(path) from None


def damaged_file(path: Path) -> DamagedFile:
    return DamagedFile("damaged_file", "“{path}” is damaged. Repair it, or delete it to start fresh.", path=str(path))


def write_json(path: Path, value: Any) -> None:
    """Replace a JSON file atomically. Only the user can read it.

    Raises:
        UserError: the file can't be written.
    """
    try:
        replace_file(path, json.dumps(value, ensure_ascii=False, indent=1))
    except OSError as error:
        raise cannot_write(path, error) from None


def replace_file(path: Path, text: str) -> None:
    """Replace a file atomically. Only the user can read it.

    Raises:
        OSError: the file can't be written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # has mode 0600
    try:
        with open(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
