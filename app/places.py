"""Where the app keeps its log and settings. A home that cannot be written to is no reason not to start."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

NAME = "Slipstream"


@dataclass(frozen=True)
class Places:
    """Folders that can be written to. `complaint` says so when they are not the usual ones."""

    logs: Path
    settings: Path
    complaint: str = ""

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
    if _writable(logs) and _writable(settings):
        return Places(logs, settings)
    spare = Path(tempfile.gettempdir()) / f"slipstream-{user()}"
    if not _writable(spare):
        spare = Path(tempfile.mkdtemp(prefix="slipstream-"))
    return Places(
        spare,
        spare,
        "Slipstream cannot write to your home folder. It works as usual, but settings and logs of this run are kept in "
        f"{spare} and may be gone after a restart of this computer.",
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
