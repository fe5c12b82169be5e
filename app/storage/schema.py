"""The database schema, with one step per version. Never change a released step."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

# Only complete messages are searched, so that a growing reply is not indexed again every second. Trigrams find parts of words in
# any script. The index stores no text of its own: it reads the view `ended`.
_FIRST = """
CREATE TABLE folder (id TEXT PRIMARY KEY, name TEXT NOT NULL, created REAL NOT NULL) STRICT;
CREATE TABLE chat (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    folder TEXT REFERENCES folder (id) ON DELETE SET NULL,
    pinned INTEGER NOT NULL DEFAULT 0,
    created REAL NOT NULL,
    changed REAL NOT NULL,
    deleted REAL,
    settings TEXT NOT NULL
) STRICT;
CREATE TABLE message (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    chat TEXT NOT NULL REFERENCES chat (id) ON DELETE CASCADE,
    parent TEXT REFERENCES message (id) ON DELETE CASCADE,
    chosen INTEGER NOT NULL,
    role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
    text TEXT NOT NULL,
    thinking TEXT NOT NULL,
    created REAL NOT NULL,
    running INTEGER NOT NULL,
    details TEXT NOT NULL
) STRICT;
CREATE INDEX message_of_chat ON message (chat, number);
CREATE INDEX message_of_parent ON message (parent);
CREATE TABLE preset (name TEXT PRIMARY KEY, settings TEXT NOT NULL) STRICT;
CREATE TABLE note (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;

CREATE VIEW ended AS SELECT number, text FROM message WHERE NOT running;
CREATE VIRTUAL TABLE found USING fts5 (text, content='ended', content_rowid='number', tokenize='trigram');
CREATE TRIGGER message_added AFTER INSERT ON message WHEN NOT new.running BEGIN
    INSERT INTO found (rowid, text) VALUES (new.number, new.text);
END;
CREATE TRIGGER message_removed AFTER DELETE ON message WHEN NOT old.running BEGIN
    INSERT INTO found (found, rowid, text) VALUES ('delete', old.number, old.text);
END;
CREATE TRIGGER message_changed AFTER UPDATE OF text, running ON message
WHEN old.text IS NOT new.text OR old.running IS NOT new.running BEGIN
    INSERT INTO found (found, rowid, text) SELECT 'delete', old.number, old.text WHERE NOT old.running;
    INSERT INTO found (rowid, text) SELECT new.number, new.text WHERE NOT new.running;
END;
"""

_SECOND = """
ALTER TABLE message ADD COLUMN suppliers TEXT NOT NULL DEFAULT '';
CREATE TABLE comparison (
    id TEXT PRIMARY KEY,
    pair TEXT NOT NULL,
    created REAL NOT NULL,
    record TEXT NOT NULL
) STRICT;
CREATE INDEX comparison_of_pair ON comparison (pair, created);
"""

# Calls are searched too: their names, arguments, and results. The column begins with a line break unless it is empty.
_THIRD = """
ALTER TABLE message ADD COLUMN calls TEXT NOT NULL DEFAULT '';
DROP TRIGGER message_added;
DROP TRIGGER message_removed;
DROP TRIGGER message_changed;
DROP VIEW ended;
CREATE VIEW ended AS SELECT number, text || calls AS text FROM message WHERE NOT running;
CREATE TRIGGER message_added AFTER INSERT ON message WHEN NOT new.running BEGIN
    INSERT INTO found (rowid, text) VALUES (new.number, new.text || new.calls);
END;
CREATE TRIGGER message_removed AFTER DELETE ON message WHEN NOT old.running BEGIN
    INSERT INTO found (found, rowid, text) VALUES ('delete', old.number, old.text || old.calls);
END;
CREATE TRIGGER message_changed AFTER UPDATE OF text, calls, running ON message
WHEN old.text IS NOT new.text OR old.calls IS NOT new.calls OR old.running IS NOT new.running BEGIN
    INSERT INTO found (found, rowid, text) SELECT 'delete', old.number, old.text || old.calls WHERE NOT old.running;
    INSERT INTO found (rowid, text) SELECT new.number, new.text || new.calls WHERE NOT new.running;
END;
"""

# Each file is stored once, and deleted with the last message that has it. Messages name their files in `details`, too.
_FOURTH = """
CREATE TABLE file (digest TEXT PRIMARY KEY, data BLOB NOT NULL) STRICT;
CREATE TABLE message_file (
    message TEXT NOT NULL REFERENCES message (id) ON DELETE CASCADE,
    digest TEXT NOT NULL REFERENCES file (digest),
    PRIMARY KEY (message, digest)
) STRICT;
CREATE INDEX message_of_file ON message_file (digest);
CREATE TRIGGER file_unused AFTER DELETE ON message_file
WHEN NOT EXISTS (SELECT 1 FROM message_file WHERE digest = old.digest) BEGIN
    DELETE FROM file WHERE digest = old.digest;
END;
"""

# Unsent messages, and edits that weren't sent. `chat` is empty for the next new chat, which has no row yet.
_FIFTH = """
CREATE TABLE draft (
    number INTEGER PRIMARY KEY,
    chat TEXT NOT NULL,
    edits TEXT NOT NULL,
    text TEXT NOT NULL,
    attachments TEXT NOT NULL,
    open INTEGER NOT NULL,
    UNIQUE (chat, edits)
) STRICT;
CREATE TABLE draft_file (
    draft INTEGER NOT NULL REFERENCES draft (number) ON DELETE CASCADE,
    digest TEXT NOT NULL REFERENCES file (digest),
    PRIMARY KEY (draft, digest)
) STRICT;
CREATE INDEX draft_of_file ON draft_file (digest);
DROP TRIGGER file_unused;
CREATE TRIGGER file_unused AFTER DELETE ON message_file
WHEN NOT EXISTS (SELECT 1 FROM message_file WHERE digest = old.digest)
AND NOT EXISTS (SELECT 1 FROM draft_file WHERE digest = old.digest) BEGIN
    DELETE FROM file WHERE digest = old.digest;
END;
CREATE TRIGGER draft_file_unused AFTER DELETE ON draft_file
WHEN NOT EXISTS (SELECT 1 FROM message_file WHERE digest = old.digest)
AND NOT EXISTS (SELECT 1 FROM draft_file WHERE digest = old.digest) BEGIN
    DELETE FROM file WHERE digest = old.digest;
END;
"""

# Summaries are searched too. The column begins with a line break unless it is empty.
_SIXTH = """
ALTER TABLE message ADD COLUMN summary TEXT NOT NULL DEFAULT '';
DROP TRIGGER message_added;
DROP TRIGGER message_removed;
DROP TRIGGER message_changed;
DROP VIEW ended;
CREATE VIEW ended AS SELECT number, text || calls || summary AS text FROM message WHERE NOT running;
CREATE TRIGGER message_added AFTER INSERT ON message WHEN NOT new.running BEGIN
    INSERT INTO found (rowid, text) VALUES (new.number, new.text || new.calls || new.summary);
END;
CREATE TRIGGER message_removed AFTER DELETE ON message WHEN NOT old.running BEGIN
    INSERT INTO found (found, rowid, text) VALUES ('delete', old.number, old.text || old.calls || old.summary);
END;
CREATE TRIGGER message_changed AFTER UPDATE OF text, calls, summary, running ON message
WHEN old.text IS NOT new.text OR old.calls IS NOT new.calls OR old.summary IS NOT new.summary OR old.running IS NOT new.running
BEGIN
    INSERT INTO found (found, rowid, text) SELECT 'delete', old.number, old.text || old.calls || old.summary WHERE NOT old.running;
    INSERT INTO found (rowid, text) SELECT new.number, new.text || new.calls || new.summary WHERE NOT new.running;
END;
"""

# The window calls folders projects. `settings` is what the chats of a project begin with.
_SEVENTH = """
ALTER TABLE folder ADD COLUMN settings TEXT NOT NULL DEFAULT '{}';
"""

# Archived chats are listed apart from the others.
_EIGHTH = """
ALTER TABLE chat ADD COLUMN archived INTEGER NOT NULL DEFAULT 0;
"""

STEPS = (_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH, _SIXTH, _SEVENTH, _EIGHTH)  # STEPS[n] migrates version n to n + 1
VERSION = len(STEPS)


# The disk is full, failing, in use, or read-only: the same write can succeed later.
_DISK_FAULTS = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN}


def is_disk_fault(error: BaseException) -> bool:
    """Whether an error comes from the disk, not the data."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _DISK_FAULTS


@contextmanager
def transaction(database: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Commit all changes in the block, or none if it raises."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield database
        database.execute("COMMIT")
    except BaseException:
        if database.in_transaction:  # SQLite itself rolls back after some errors
            database.execute("ROLLBACK")
        raise


def version_of(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def tables_of(database: sqlite3.Connection) -> set[str]:
    return {name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")}


def migrate(database: sqlite3.Connection, steps: Sequence[str] = STEPS) -> None:
    """Migrate a database to the newest version in one transaction."""
    version = version_of(database)
    if version == len(steps):
        return
    try:
        database.executescript(f"BEGIN IMMEDIATE; {' '.join(steps[version:])} PRAGMA user_version = {len(steps)}; COMMIT;")
    except BaseException:
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def files_of(file: Path) -> list[Path]:
    """Return a database's file and the two that SQLite creates next to it."""
    return [file, file.with_name(file.name + "-wal"), file.with_name(file.name + "-shm")]
