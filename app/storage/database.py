"""Opening the chat database.

A damaged file is moved aside unchanged, and its readable content is copied to a new file.
"""

import logging
import os
import sqlite3
import struct
import time
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from app.storage import schema, wording
from app.storage.salvage import ImportedChats, read_database, snapshots
from app.storage.store import Store
from app.text.language import sentences, tr
from mlx_engine.contract.errors import UserError

log = logging.getLogger(__name__)

FILE = "chats.db"
_DAMAGE = (sqlite3.Error, UnicodeDecodeError, UserError)  # errors that a damaged file is expected to raise

# Rows that can't be read or would vanish although `PRAGMA quick_check` accepts them
_BAD_ROWS = {
    "chat": "NOT json_valid(settings) OR deleted < 1",
    "message": "NOT json_valid(details) OR EXISTS (SELECT 1 FROM message AS above WHERE above.id = message.parent "
    "AND (above.chat <> message.chat OR above.number >= message.number))",
    "preset": "NOT json_valid(settings)",
    "comparison": "NOT json_valid(record)",
}
_BAD_PROJECTS = {"folder": "NOT json_valid(settings)"}  # from version 7 on


@dataclass(frozen=True)
class OpenedStore:
    """An open store.

    Attributes:
        saves: whether it saves to disk.
        notice: for the user, if any.
        file: where it saves, if it does.
    """

    store: Store
    saves: bool
    notice: str = ""
    file: Path | None = None


def open_store(folder: Path | None, writable: bool = True) -> OpenedStore:
    """Open the store in a folder.

    If the folder isn't writable, the store is in memory and contains what could be read.
    """
    if folder is None:
        return OpenedStore(Store(None), saves=False)
    file = folder / FILE
    if not writable:
        return _in_memory(file, tr("Slipstream can't write to {folder}, so new chats won't be saved.", folder=folder))
    try:
        try:
            reason = _why_unusable(file)
            with suppress(OSError):
                _mark_of(file).unlink(missing_ok=True)
            if not reason:
                return OpenedStore(Store(file), saves=True, file=file)
        except Exception as error:  # damage can raise anything: UnicodeDecodeError for a name, MemoryError for a wrong size
            if isinstance(error, OSError) or schema.is_disk_fault(error):
                raise
            log.error("The database is damaged: %s", error, exc_info=not isinstance(error, _DAMAGE))
            reason = _damaged()
        return _start_over(file, reason)
    except (sqlite3.Error, OSError) as error:
        log.error("The database cannot be opened: %s", error)
        why = wording.disk_fault(error)
        return _in_memory(file, tr("Can't open your chats in {file} ({error}), so new chats won't be saved.", file=file, error=why))


def mark_sound(file: Path) -> None:
    """Let the next launch leave out the check that reads all images and PDFs.

    It doesn't leave it out if the file has changed until then.

    Args:
        file: a database that is closed, and was sound when it was used.
    """
    with suppress(OSError):
        _mark_of(file).write_text(_identity(file))


def _is_marked(file: Path) -> bool:
    """Whether nothing has changed the file since it was marked as sound."""
    with suppress(OSError, UnicodeDecodeError):
        return not _has_log(file) and _mark_of(file).is_file() and _mark_of(file).read_text() == _identity(file)
    return False


def _has_log(file: Path) -> bool:
    """Whether SQLite has written changes next to the file that aren't in it yet."""
    log_file = schema.files_of(file)[1]
    return log_file.exists() and log_file.stat().st_size > 0


def _mark_of(file: Path) -> Path:
    return file.with_name(f"{file.name}-sound")


def _identity(file: Path) -> str:
    about = file.stat()
    return f"{about.st_ino} {about.st_size} {about.st_mtime_ns}"


def _damaged() -> str:
    return tr("Your chat database is damaged.")


def _why_unusable(file: Path) -> str:
    """Return a message for the user, or "" if the file is sound or missing."""
    foreign = tr("The chat file isn't a Slipstream database.")
    special = [one for one in schema.files_of(file) if one.exists() and not (one.is_file() or one.is_dir())]
    if special:  # reading a FIFO or a device may block forever
        return foreign
    if not file.exists():
        return ""
    damaged, is_marked = _damaged(), _is_marked(file)
    with file.open("rb") as opened:
        header = opened.read(20)
    if header[:16] != b"SQLite format 3\0" or any(version > 2 for version in header[18:]):  # SQLite never writes such a file
        return damaged
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as database:
        version = schema.version_of(database)
        if version > schema.VERSION:
            return tr("Your chats were saved by a newer version of Slipstream. Update Slipstream, then import the chats.")
        tables = schema.tables_of(database)
        if not tables:
            return ""
        if version == 0 and "message" not in tables:
            return foreign
        return "" if _is_sound(database, version, tables, is_marked) and _has_free_pages(file) else damaged


def _is_sound(database: sqlite3.Connection, version: int, tables: set[str], is_marked: bool) -> bool:
    """Whether every row can be read and changed.

    Images and PDFs aren't read if the file is marked as sound.

    Raises:
        Exception: the file is too damaged to tell.
    """
    if version < 1 or _definitions(database) != _expected_definitions(version):
        return False
    if not is_marked and database.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        return False
    bad_rows = _BAD_ROWS | (_BAD_PROJECTS if version >= 7 else {})
    for table in tables:
        if table.startswith("found"):  # the search index, which can be rebuilt
            continue
        if table == "file":  # large, and read by the quick check
            if _digests(database, "NOT INDEXED") != _digests(database, "INDEXED BY sqlite_autoindex_file_1"):
                return False
            continue
        if database.execute(f"PRAGMA integrity_check({table})").fetchone() != ("ok",):
            return False
        for _ in database.execute(f"SELECT * FROM {table}"):  # raises an error if text isn't UTF-8
            pass
        if table in bad_rows and database.execute(f"SELECT 1 FROM {table} WHERE {bad_rows[table]}").fetchone():
            return False
    database.execute("SELECT 1 FROM found WHERE found MATCH 'any' LIMIT 1").fetchone()
    return database.execute("PRAGMA foreign_key_check").fetchone() is None


def _digests(database: sqlite3.Connection, source: str) -> list[str]:
    """Return the digests of all files, from the table's rows or its index."""
    return sorted(digest for (digest,) in database.execute(f"SELECT digest FROM file {source}"))


def _has_free_pages(file: Path) -> bool:
    """Whether the list of free pages is as long as the file's header says.

    `PRAGMA quick_check` doesn't look at the list if SQLite's hash table begins with a view.
    """
    if _has_log(file):  # contains a newer header
        return True
    with file.open("rb") as opened:
        size, page, count = struct.unpack(">16xH14xII", opened.read(40))
        size, found = 65536 if size == 1 else size, 0
        if count * size > file.stat().st_size:
            return False
        while page and found <= count:
            opened.seek((page - 1) * size)
            page, leaves = struct.unpack(">II", opened.read(8))
            found += 1 + leaves
    return found == count


def _definitions(database: sqlite3.Connection) -> dict[str, str]:
    """Return the schema's SQL by name, without tables that SQLite creates."""
    own = "sql NOT NULL AND NOT (type = 'table' AND (name GLOB 'found_*' OR name GLOB 'sqlite_*'))"
    rows = database.execute(f"SELECT name, sql FROM sqlite_schema WHERE {own}")
    return {name: " ".join(sql.split()) for name, sql in rows}


def _expected_definitions(version: int) -> dict[str, str]:
    with closing(sqlite3.connect(":memory:")) as database:
        schema.migrate(database, schema.STEPS[:version])
        return _definitions(database)


def _start_over(file: Path, reason: str) -> OpenedStore:
    """Rename the file, open a new one in its place, and copy readable rows."""
    stem, count = f"{file.stem} set aside {time.strftime('%Y-%m-%d %H-%M-%S')}", 1
    aside = file.with_name(f"{stem}{file.suffix}")
    while aside.exists():
        count += 1
        aside = file.with_name(f"{stem} {count}{file.suffix}")
    for old, new in zip(schema.files_of(file), schema.files_of(aside), strict=True):
        if old.exists():
            os.replace(old, new)
    log.error("%s: %s It is now %s", file, reason, aside)
    store = Store(file)
    found = _recover(aside, store)
    if found is not None and found.chats:
        recovered = tr("Recovered {chats} and moved the old file to {aside}.", chats=wording.chats(len(found.chats)), aside=aside)
        lost = tr("Not recovered: {chats}.", chats=wording.chats(found.lost)) if found.lost else ""
        outcome = sentences(recovered, lost or (tr("Some chats or messages may be missing.") if found.remark else ""))
    else:
        nothing = tr("Nothing could be recovered.") if reason == _damaged() and (found is None or found.lost) else ""
        outcome = sentences(nothing, tr("The old file was moved to {aside}.", aside=aside))
    return OpenedStore(store, saves=True, notice=sentences(reason, outcome), file=file)


def _recover(damaged: Path, store: Store) -> ImportedChats | None:
    """Copy readable rows of a damaged file, and return its content.

    Returns:
        None if it can't be read at all.
    """
    try:
        found = read_database(damaged)
        with closing(found.files):
            store.save_all(snapshots(found.chats, found.files), found.projects)
    except Exception as error:  # the damaged file is kept, and the new one works
        log.error("Nothing could be recovered: %s", error, exc_info=not isinstance(error, _DAMAGE))
        return None
    try:
        for preset in found.presets:
            store.save_preset(preset)
        for record in found.comparisons:
            store.save_comparison(record)
        for draft in found.drafts:
            store.save_draft(draft)
    except Exception:
        log.exception("Not all presets, comparisons, and drafts could be recovered")
    return found


def _in_memory(file: Path, notice: str) -> OpenedStore:
    """Open a store in memory, with a copy of what the file contains."""
    store = Store(None)
    for option in ("mode=ro", "immutable=1"):  # only the first writes next to the file
        try:
            if file.is_file():
                with closing(sqlite3.connect(f"{file.as_uri()}?{option}", uri=True)) as database:
                    if 1 <= schema.version_of(database) <= schema.VERSION:
                        store.copy_from(database)
            break
        except Exception as error:  # damage can raise anything
            log.warning("The database cannot be read (%s): %s", option, error, exc_info=not schema.is_disk_fault(error))
            store.close()
            store = Store(None)
    return OpenedStore(store, saves=False, notice=notice)
