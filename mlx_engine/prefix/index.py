"""The index of saved parts: SQLite, made again from files if lost."""

import sqlite3
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from mlx_engine.prefix.owners import Owners, owner_of
from mlx_engine.prefix.part import SavedPart, unpacked

INDEX = "saved-prompts.sqlite"
_VERSION = 2
LARGEST_FACT = (1 << 53) - 1
FAULTS = (OSError, sqlite3.Error, ValueError, TypeError, OverflowError, struct.error)  # of a disk, or of a damaged index
_SCHEMA = """
CREATE TABLE IF NOT EXISTS parts (
    key TEXT PRIMARY KEY, digest TEXT NOT NULL, pair TEXT NOT NULL, parent TEXT NOT NULL, start INTEGER NOT NULL,
    tokens BLOB NOT NULL, has_states INTEGER NOT NULL, bytes INTEGER NOT NULL, used INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS parts_by_parent ON parts(parent, used);
CREATE INDEX IF NOT EXISTS parts_by_use ON parts(used, start);
CREATE INDEX IF NOT EXISTS parts_by_pair ON parts(pair, bytes);
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value REAL NOT NULL) WITHOUT ROWID;
"""
SELECT = "SELECT key, pair, parent, start, tokens, has_states, digest, bytes FROM parts"


def connect(folder: Path, owners: Owners, timeout: float) -> sqlite3.Connection:
    """Open the index of a folder, or create it.

    Raises:
        Any of `FAULTS`: it is damaged or of another version, or the disk fails.
    """
    index = sqlite3.connect(folder / INDEX, timeout=timeout, isolation_level=None, check_same_thread=False)
    try:
        (folder / INDEX).chmod(0o600)
        (version,) = index.execute("PRAGMA user_version").fetchone()
        if version not in (0, 1, _VERSION):
            raise sqlite3.DatabaseError("another version")
        for setting in ("journal_mode = WAL", "synchronous = OFF", "secure_delete = ON"):  # it can be built again
            index.execute(f"PRAGMA {setting}").fetchall()
        if index.execute("PRAGMA quick_check(1)").fetchall() != [("ok",)]:
            raise sqlite3.DatabaseError("damaged")
        if version == 1:  # the only record of owners then
            for chat, keys in index.execute("SELECT chat, GROUP_CONCAT(key) FROM chats GROUP BY chat").fetchall():
                owners.add(owner_of(chat), keys.split(","))
            index.execute("DROP TABLE chats").fetchall()
        index.executescript(_SCHEMA)
        index.execute(f"PRAGMA user_version = {_VERSION}").fetchall()
        if not all(0 <= fact <= LARGEST_FACT for (fact,) in index.execute("SELECT value FROM facts").fetchall()):
            raise sqlite3.DatabaseError("damaged")
    except BaseException:
        index.close()
        raise
    return index


def delete(folder: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        (folder / f"{INDEX}{suffix}").unlink(missing_ok=True)


def identity(folder: Path) -> tuple[int, int] | None:
    """Return what distinguishes a folder's index from earlier and later ones."""
    with suppress(FileNotFoundError):
        about = (folder / INDEX).stat()
        return about.st_dev, about.st_ino
    return None


def transact(index: sqlite3.Connection, action: Callable[[], bool | None]) -> bool:
    """Run an action in a transaction, and return whether it didn't return False."""
    index.execute("BEGIN IMMEDIATE")
    try:
        done = action() is not False
        index.execute("COMMIT")
        return done
    except BaseException:
        with suppress(sqlite3.Error):
            index.execute("ROLLBACK")
        raise


def part_of(row: Sequence) -> SavedPart:
    """Return a row of the index as a part.

    Raises:
        ValueError: the row is damaged. Other exceptions in `FAULTS` are possible, too.
    """
    key, pair, parent, start, tokens, has_states, digest, size = row
    part = SavedPart.of(pair, parent, start, unpacked(tokens), bool(has_states))
    if part.key != key:
        raise ValueError("damaged")
    return replace(part, digest=digest, bytes=size)
