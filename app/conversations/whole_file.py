"""Files that are written whole or not at all."""

import os
from pathlib import Path

from app.conversations.chat_tree import new_id


def write(file: Path, content: bytes | str) -> None:
    """All of it or nothing, so that a full disk spoils nothing that was there.

    Raises:
        OSError: it could not be written; what had that name before is as it was.
    """
    part = file.with_name(f".{file.name[:40]}.{new_id()[:8]}")
    try:
        part.write_bytes(content.encode() if isinstance(content, str) else content)
        os.replace(part, file)
    finally:
        part.unlink(missing_ok=True)
