"""The folders for logs, settings and chats. The app also starts if it can't write to the usual ones."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

NAME = "Slipstream"


@dataclass(frozen=True)
class DataPaths:
    """Folders of the app.

    Attributes:
        data: for chats; None keeps them in memory.
        data_writable: whether chats can be saved.
        temporary: whether logs and settings are in a temporary folder.
    """

    logs: Path
    settings: Path
    data: Path | None = None
    data_writable: bool = True
    temporary: bool = False

    @property
    def log_file(self) -> Path:
        return self.logs / "slipstream.log"

    @property
    def settings_file(self) -> Path:
        return self.settings / "settings.ini"


def find() -> DataPaths:
    """Return the usual folders, or temporary ones for those that can't be written to."""
    logs = platformdirs.user_log_path(NAME, appauthor=False)
    settings = platformdirs.user_config_path(NAME, appauthor=False)
    data = platformdirs.user_data_path(NAME, appauthor=False)
    if _writable(logs) and _writable(settings):
        return DataPaths(logs, settings, data, _writable(data))
    user = str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    temporary = Path(tempfile.gettempdir()) / f"slipstream-{user}"
    if not _writable(temporary):
        temporary = Path(tempfile.mkdtemp(prefix="slipstream-"))
    return DataPaths(temporary, temporary, data, _writable(data), temporary=True)


def _writable(folder: Path) -> bool:
    """Try to write: permissions say nothing about read-only file systems and full disks."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"\0")
    except OSError:
        return False
    return True
