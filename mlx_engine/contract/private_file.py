"""Writes files that only the user can read."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path


def write_private(file: Path, text: str) -> None:
    """Replace a file atomically, readable and writable only by the user.

    Raises:
        OSError: the file can't be written.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)  # has mode 0600
    try:
        with open(handle, "w", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, file)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
