"""Temporary folders that are deleted even if their program was killed."""

import os
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir


def temporary_folder(purpose: str) -> "TemporaryDirectory[str]":
    """Return a new folder that only this user can read, and delete abandoned ones.

    Raises:
        OSError: the disk fails.
    """
    delete_abandoned(purpose)
    return TemporaryDirectory(prefix=f"{_prefix(purpose)}{os.getpid()}-", ignore_cleanup_errors=True)


def delete_abandoned(purpose: str) -> None:
    """Delete the folders with this purpose whose programs have ended."""
    prefix = _prefix(purpose)
    for place in Path(gettempdir()).glob(f"{prefix}*"):
        process = place.name.removeprefix(prefix).partition("-")[0]
        try:
            os.kill(int(process), 0)
        except ProcessLookupError:
            shutil.rmtree(place, ignore_errors=True)
        except (OSError, ValueError, OverflowError):  # a process of another user, or a name that isn't ours
            continue


def _prefix(purpose: str) -> str:
    """Return the start of the folders' names. The ID of the process follows."""
    return f"slipstream-{purpose}-"
