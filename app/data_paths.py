"""Where the app keeps its log, settings and chats. A home that cannot be written to is no reason not to start."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

NAME = "Slipstream"


@dataclass(frozen=True)
class Places:
    """Folders that can be written to, unless `keeps` says that the one for chats cannot. `complaint` says so when they are not the
    usual ones. Without a folder for chats they live in memory."""

    logs: Path
    settings: Path
    complaint: str = ""
    data: Path | None = None
    keeps: bool = True

    @property
    def log_file(self) -> Path:
        return self.logs / "slipstream.log"

    @property
    def settings_file(self) -> Path:
        return self.settings / "settings.ini"


def find() -> Places:
    """The usual folders, or temporary ones when those cannot be written to."""
    logs = platformdirs.user_log_path(NAME, appauthor=False)
    settings = platformdirs.user_config_path(NAME, appauthor=False)
    data = platformdirs.user_data_path(NAME, appauthor=False)
    keeps = _writable(data)
    if _writable(logs) and _writable(settings):
        return Places(logs, settings, data=data, keeps=keeps)
    spare = Path(tempfile.gettempdir()) / f"slipstream-{user()}"
    if not _writable(spare):
        spare = Path(tempfile.mkdtemp(prefix="slipstream-"))
    return Places(
        spare,
        spare,
        "Slipstream cannot write to your home folder. It works as usual, but settings and logs of this run are kept in "
        f"{spare} and may be gone after a restart of this computer.",
        data,
        keeps,
    )


def user() -> str:
    """Tells users of one computer apart."""
    return str(os.getuid()) if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")


def _writable(folder: Path) -> bool:
    """Tried, not asked: permission bits say nothing of read-only file systems or full disks."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as probe:
            probe.write(b"\0")
    except OSError:
        return False
    return True
