"""Opening the database whatever state it is in: what cannot be read is set aside as it is, and the app starts all the same."""

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


@dataclass(frozen=True)
class Opened:
    """A store, whether what goes in is kept, and what there is to tell of it, if anything."""

    store: Store
    keeps: bool
    complaint: str = ""


def open_store(folder: Path | None, writable: bool = True) -> Opened:
    """The store in this folder. Without a folder, or without the right to write there, one in memory that holds what could be
    read."""
    if folder is None:
        return Opened(Store(None), keeps=False)
    file = folder / FILE
    if not writable:
        return _in_memory(file, tr("Slipstream cannot write to {folder}", folder=folder))
    try:
        if (fault := _fault_of(file)) is not None:
            return _set_aside(file, fault)
        return Opened(Store(file), keeps=True)
    except (sqlite3.Error, OSError) as error:
        log.exception("The database cannot be opened")
        return _in_memory(file, tr("The chats in {file} cannot be opened ({error})", file=file, error=_words(error)))


@dataclass(frozen=True)
class _Fault:
    """Why a file cannot be used, in words, and whether a later version could."""

    reason: str
    is_newer: bool = False


def _fault_of(file: Path) -> _Fault | None:
    """Looks without leaving a mark: SQLite opens the file for reading only, and what it notes beside it is put back."""
    if not file.exists() or not file.stat().st_size:
        return None
    with file.open("rb") as opened:
        if opened.read(16) != b"SQLite format 3\0":
            return _Fault(tr("is damaged"))
    try:
        with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as database:
            version = schema.version_of(database)
            if version > schema.VERSION:
                reason = tr(
                    "was written by a newer Slipstream (format {version}; this one reads up to {version_2})",
                    version=version,
                    version_2=schema.VERSION,
                )
                return _Fault(reason, is_newer=True)
            if version == 0 and database.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone():
                return _Fault(tr("is not a database of Slipstream's"))
            ((state, *_),) = database.execute("PRAGMA quick_check(1)").fetchall()
            return None if state == "ok" else _Fault(tr("is damaged"))
    except sqlite3.DatabaseError as error:
        if isinstance(error, sqlite3.OperationalError) and getattr(error, "sqlite_errorcode", 0) & 0xFF not in _BROKEN:
            raise
        return _Fault(tr("is damaged"))


_BROKEN = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR}


def _set_aside(file: Path, fault: _Fault) -> Opened:
    """Rename the file and open a new one in its place."""
    stamp = time.strftime("%Y-%m-%d %H-%M-%S")
    aside = file.with_name(f"{file.stem} set aside {stamp}{file.suffix}")
    number = 1
    while aside.exists():
        number += 1
        aside = file.with_name(f"{file.stem} set aside {stamp} {number}{file.suffix}")
    for old, new in zip(schema.beside(file), schema.beside(aside), strict=True):
        if old.exists():
            os.replace(old, new)
    log.error("%s %s; it is now %s", file, fault.reason, aside)
    advice = (
        tr("Open it with that version, or update Slipstream and import it.") if fault.is_newer else tr("Nothing in it was changed.")
    )
    complaint = tr(
        "The file of your chats {reason}, so it was set aside as {aside}. {advice} New chats are kept.",
        reason=fault.reason,
        aside=aside,
        advice=advice,
    )
    return Opened(Store(file), keeps=True, complaint=complaint)


def _in_memory(file: Path, reason: str) -> Opened:
    """A store that keeps nothing, with a copy of what is there."""
    store = Store(None)
    for way in ("mode=ro", "immutable=1"):  # the second needs no right to write beside the file
        try:
            if file.exists():
                with closing(sqlite3.connect(f"{file.as_uri()}?{way}", uri=True)) as database:
                    if schema.version_of(database) in range(1, schema.VERSION + 1):
                        store.fill_from(database)
            break
        except (sqlite3.Error, OSError):
            log.exception("The database cannot be read (%s)", way)
            store.close()
            store = Store(None)
    return Opened(
        store, keeps=False, complaint=tr("{reason}, so chats of this run are not kept. Everything else works.", reason=reason)
    )


def _words(error: Exception) -> str:
    if isinstance(error, OSError):
        return (error.strerror or tr("unknown error")).lower()
    return str(error)
