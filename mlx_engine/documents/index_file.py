"""The file of a document index: SQLite with FTS5, made again if it is lost."""

import hashlib
import json
import sqlite3
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

_VERSION = 3
_TIMEOUT_S = 30.0
_LOOK_EVERY = 10_000  # instructions of SQLite between looks at whether to end
_STEP_PAGES = 500  # of 4 kB, in a step of a purge
_SUFFIX = ".sqlite"
# A missing table is a plain error. Others come from the disk, from another program, or from a mistake of ours
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)
_SCHEMA = """
CREATE TABLE document (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, modified_ns INTEGER NOT NULL, size INTEGER NOT NULL, digest BLOB NOT NULL,
    problem TEXT NOT NULL
);
CREATE TABLE page (
    id INTEGER PRIMARY KEY, document INTEGER NOT NULL, number INTEGER NOT NULL, UNIQUE (document, number)
);
CREATE TABLE passage (
    id INTEGER PRIMARY KEY, page INTEGER NOT NULL, first INTEGER NOT NULL, heading TEXT NOT NULL,
    text TEXT NOT NULL
);
CREATE INDEX passage_by_page ON passage(page);
CREATE VIRTUAL TABLE words USING fts5(name, heading, body, content='', tokenize='porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE parts USING fts5(body, content='', detail=none, tokenize='trigram');
"""


def open_index(file: Path, check: bool, cancel: threading.Event | None = None) -> sqlite3.Connection:
    """Open an index, or create it.

    Args:
        check: whether to read all of it, to find damage.
        cancel: interrupts its statements, which then raise an error.

    Raises:
        sqlite3.Error: it is damaged or of another version, or the disk fails.
    """
    index = sqlite3.connect(file, timeout=_TIMEOUT_S, isolation_level=None, check_same_thread=False)
    try:
        if cancel is not None:
            index.set_progress_handler(cancel.is_set, _LOOK_EVERY)
        file.chmod(0o600)
        for setting in ("journal_mode = WAL", "synchronous = OFF", "secure_delete = ON"):  # it can be made again
            index.execute(f"PRAGMA {setting}").fetchall()
        if _version(index) != _VERSION:
            with transaction(index):
                _create(index)
        if check and index.execute("PRAGMA quick_check(1)").fetchall() != [("ok",)]:
            raise _damaged("damaged")
    except BaseException:
        index.close()
        raise
    return index


def _version(index: sqlite3.Connection) -> int:
    return int(index.execute("PRAGMA user_version").fetchone()[0])


def _create(index: sqlite3.Connection) -> None:
    """Create the tables, unless another program has created them."""
    version = _version(index)
    if version == 0 and not index.execute("SELECT 1 FROM sqlite_master").fetchone():
        for statement in filter(str.strip, _SCHEMA.split(";")):
            index.execute(statement)
        index.execute(f"PRAGMA user_version = {_VERSION}")
    elif version != _VERSION:
        raise _damaged("another version")


def _damaged(reason: str) -> sqlite3.DatabaseError:
    error = sqlite3.DatabaseError(reason)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


def index_in(place: Path, folders: Sequence[str]) -> Path:
    """Return the file in `place` for the index of these folders.

    Each version has its own file. Otherwise, two installed versions would make one again at each use, in turn.
    """
    name = hashlib.sha256(json.dumps(folders).encode()).hexdigest()[:32]
    return place / f"{name}-{_VERSION}{_SUFFIX}"


def delete_others(place: Path, kept: Collection[Path]) -> None:
    """Delete all indexes in `place` but those that are kept."""
    for file in [*place.glob(f"*{_SUFFIX}*")]:
        if not any(file.name.startswith(one.name) for one in kept):
            file.unlink(missing_ok=True)


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether an index has to be made again after this error."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK) & 0xFF in _DAMAGE


@contextmanager
def transaction(index: sqlite3.Connection) -> Iterator[None]:
    index.execute("BEGIN IMMEDIATE")
    try:
        yield
        index.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            index.execute("ROLLBACK")
        raise


def checkpoint(index: sqlite3.Connection) -> None:
    """Erase deleted text from the file. Its words stay in the full-text tables."""
    index.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def purge(index: sqlite3.Connection) -> Iterator[None]:
    """Erase deleted words from the file, in short steps.

    Others can write between them.
    """
    for table in ("words", "parts"):
        written = 2
        while written > 1:  # the statement counts as 1
            before = index.total_changes
            index.execute(f"INSERT INTO {table}({table}, rank) VALUES ('merge', ?)", (-_STEP_PAGES,))
            written = index.total_changes - before
            yield
    checkpoint(index)


def delete_index(file: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)
