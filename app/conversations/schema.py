"""The database's tables, one step a version. A step, once shipped, is never changed: the next one changes what it made."""

import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path

# Only messages that have ended are searched, so that a reply that grows is not indexed anew with each second. Trigrams find parts
# of words in any script, Chinese among them. The index holds no text of its own: it reads `ended`.
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

# Who supplied a reply's text, and what was compared.
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

Step = str | Callable[[sqlite3.Connection], None]
STEPS: tuple[Step, ...] = (_FIRST, _SECOND)  # STEPS[n] makes version n + 1 of version n
VERSION = len(STEPS)


def version_of(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def migrate(database: sqlite3.Connection, steps: Sequence[Step] = STEPS) -> None:
    """Bring a database to the newest version, all steps or none."""
    at = version_of(database)
    if at == len(steps):
        return
    database.execute("BEGIN IMMEDIATE")
    try:
        for step in steps[at:]:
            if isinstance(step, str):
                for statement in statements(step):
                    database.execute(statement)
            else:
                step(database)
        database.execute(f"PRAGMA user_version = {len(steps)}")
        database.execute("COMMIT")
    except BaseException:
        database.execute("ROLLBACK")
        raise


def statements(script: str) -> list[str]:
    """The statements of a script. (`executescript` would commit between them.)"""
    found, rest = [], ""
    for piece in script.split(";"):
        rest += piece + ";"
        if sqlite3.complete_statement(rest):
            found.append(rest.strip())
            rest = ""
    return [one for one in found if one != ";"]


def beside(file: Path) -> list[Path]:
    """A database's file and those that SQLite keeps beside it."""
    return [file, file.with_name(file.name + "-wal"), file.with_name(file.name + "-shm")]
