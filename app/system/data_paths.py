"""Folders for logs, settings, and chats, or temporary ones if not writable."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

NAME = "Slipstream"


@dataclass(frozen=True)
class DataPaths:
    """The app's folders."""

    logs: Path
    settings: Path
    data: Path | None = None  # for chats; None keeps them in memory
    data_writable: bool = True
    temporary: bool = False  # whether logs and settings are in a temporary folder

    @property
    def log_file(self) -> Path:
        return self.logs / "slipstream.log"

    @property
    def settings_file(self) -> Path:
        return self.settings / "settings.ini"


def find() -> DataPaths:
    """Return the standard folders, or temporary ones if those aren't writable."""
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
    """Return whether a folder is writable. Permissions don't reveal a full disk."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"\0")
    except OSError:
        return False
    return True
