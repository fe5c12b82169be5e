"""Opening the chat database. A file that can't be used is moved aside unchanged, and the app starts anyway."""

import logging
import os
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from app.conversations import schema
from app.conversations.store import Store
from app.language import tr

log = logging.getLogger(__name__)

FILE = "chats.db"
_DAMAGE = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}


@dataclass(frozen=True)
class OpenedStore:
    """A store, whether it saves anything, and what to tell the user about it, if anything."""

    store: Store
    saves: bool
    notice: str = ""


def open_store(folder: Path | None, writable: bool = True) -> OpenedStore:
    """Open the store in a folder. If it can't be written there, open one in memory with whatever could be read."""
    if folder is None:
        return OpenedStore(Store(None), saves=False)
    file = folder / FILE
    if not writable:
        return _in_memory(file, tr("Slipstream can't write to {folder}, so new chats won't be saved.", folder=folder))
    try:
        if reason := _why_unusable(file):
            return _move_aside(file, reason)
        return OpenedStore(Store(file), saves=True)
    except (sqlite3.Error, OSError) as error:
        log.exception("The database cannot be opened")
        why = str(error) if isinstance(error, sqlite3.Error) else (error.strerror or tr("unknown error")).lower()
        return _in_memory(file, tr("Can't open your chats in {file} ({error}), so new chats won't be saved.", file=file, error=why))


def _why_unusable(file: Path) -> str:
    """Return a sentence for the user, or nothing if the file is fine. The file is only read."""
    if not file.exists() or not file.stat().st_size:
        return ""
    damaged = tr("Your chat database is damaged.")
    with file.open("rb") as opened:
        if opened.read(16) != b"SQLite format 3\0":
            return damaged
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as database:
            version = schema.version_of(database)
            if version > schema.VERSION:
                return tr("Your chats were saved by a newer Slipstream. Update Slipstream, then import them.")
            if version == 0 and database.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone():
                return tr("The chat file is not a Slipstream database.")
            ((state, *_),) = database.execute("PRAGMA quick_check(1)").fetchall()
            return "" if state == "ok" else damaged
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError) and getattr(error, "sqlite_errorcode", 0) & 0xFF not in _DAMAGE:
            raise
        return damaged


def _move_aside(file: Path, reason: str) -> OpenedStore:
    """Rename the file and open a new one in its place."""
    stem, number = f"{file.stem} set aside {time.strftime('%Y-%m-%d %H-%M-%S')}", 1
    aside = file.with_name(f"{stem}{file.suffix}")
    while aside.exists():
        number += 1
        aside = file.with_name(f"{stem} {number}{file.suffix}")
    for old, new in zip(schema.files_of(file), schema.files_of(aside), strict=True):
        if old.exists():
            os.replace(old, new)
    log.error("%s: %s It is now %s", file, reason, aside)
    moved = tr("The file was moved to {aside} unchanged. New chats are saved in a new file.", aside=aside)
    return OpenedStore(Store(file), saves=True, notice=f"{reason} {moved}")


def _in_memory(file: Path, notice: str) -> OpenedStore:
    """Open a store that saves nothing, with a copy of what can be read from the file."""
    store = Store(None)
    for option in ("mode=ro", "immutable=1"):  # only the first needs to write next to the file
        try:
            if file.exists():
                with closing(sqlite3.connect(f"{file.as_uri()}?{option}", uri=True)) as database:
                    if 1 <= schema.version_of(database) <= schema.VERSION:
                        store.copy_from(database)
            break
        except (sqlite3.Error, OSError):
            log.exception("The database cannot be read (%s)", option)
            store.close()
            store = Store(None)
    return OpenedStore(store, saves=False, notice=notice)
