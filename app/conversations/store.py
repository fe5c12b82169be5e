"""Chats in one SQLite file. Everything here is called from one thread, the one that opened the store."""

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.conversations import schema
from app.conversations.chat_tree import Chat, Node
from app.conversations.comparison_record import ComparisonRecord
from app.conversations.plain_text import clean
from app.conversations.records import Row, details, hang, node_from, suppliers, text_of
from app.conversations.settings import ChatSettings, Preset

MOST_HITS = 200
MOST_COMPARISONS = 500
BEFORE_HIT, AFTER_HIT = 30, 90  # characters of a hit's surroundings


@dataclass(frozen=True)
class Entry:
    """A chat as a list shows it. Times in seconds since 1970; `folder` is a folder's id or empty."""

    id: str
    title: str
    created: float
    changed: float
    folder: str = ""
    pinned: bool = False


@dataclass(frozen=True)
class Folder:
    """A named group of chats."""

    id: str
    name: str
    created: float


@dataclass(frozen=True)
class Contents:
    """What is there at the start. `open_chat` is the id of the chat that was open last, if any."""

    chats: tuple[Entry, ...]
    folders: tuple[Folder, ...]
    presets: tuple[Preset, ...]
    open_chat: str


@dataclass(frozen=True)
class Hit:
    """A message in which everything that was searched for occurs; `start` and `end` mark the first of it in `excerpt`."""

    chat: str
    message: str
    excerpt: str
    start: int
    end: int


class Store:
    """Keeps chats. Each method is one transaction. `file` None keeps them in memory only."""

    def __init__(self, file: Path | None) -> None:
        self._db = sqlite3.connect(file or ":memory:", isolation_level=None)
        try:
            self._db.execute("PRAGMA foreign_keys = ON")
            self._db.execute("PRAGMA secure_delete = ON")
            if file is not None:
                self._db.execute("PRAGMA journal_mode = WAL")
                # Kernel panics are a known end of a machine that runs large models: what was said must be on the disk by then.
                self._db.execute("PRAGMA synchronous = FULL")
            schema.migrate(self._db)
            self._db.create_function("folded", 1, str.casefold, deterministic=True)
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        self._db.close()

    def fill_from(self, database: sqlite3.Connection) -> None:
        """Take over all that another database holds."""
        database.backup(self._db)
        schema.migrate(self._db)

    # At the start

    def begin(self) -> None:
        """Mark replies whose writer is gone as interrupted, and forget what was deleted in an earlier run. To be done before
        anything of this run is written."""
        with self._change() as db:
            _forget_deleted(db)
            interrupted = "json_set(details, '$.reason', 'interrupted')"
            db.execute(f"UPDATE message SET running = 0, details = {interrupted} WHERE running")

    def contents(self) -> Contents:
        """What there is."""
        folders = tuple(Folder(*row) for row in self._db.execute("SELECT id, name, created FROM folder ORDER BY created"))
        presets = tuple(
            Preset(name, ChatSettings.from_json(json.loads(settings)))
            for name, settings in self._db.execute("SELECT name, settings FROM preset ORDER BY name")
        )
        return Contents(self.entries(), folders, presets, self._note("open_chat"))

    def entries(self) -> tuple[Entry, ...]:
        """All chats but the deleted ones."""
        rows = self._db.execute(
            "SELECT id, title, created, changed, coalesce(folder, ''), pinned FROM chat WHERE deleted IS NULL ORDER BY changed"
        )
        return tuple(Entry(one, title, made, said, folder, bool(pinned)) for one, title, made, said, folder, pinned in rows)

    def note_open(self, chat_id: str) -> None:
        """Remember which chat is open."""
        with self._change() as db:
            db.execute("INSERT OR REPLACE INTO note VALUES ('open_chat', ?)", (chat_id,))

    # Chats

    def load(self, chat_id: str) -> Chat | None:
        """A chat with all its messages; None when there is none of that id."""
        row = self._db.execute("SELECT title, settings, created, changed FROM chat WHERE id = ?", (chat_id,)).fetchone()
        if row is None:
            return None
        title, settings, created, changed = row
        chat = Chat(title, ChatSettings.from_json(json.loads(settings)), chat_id, created, changed)
        hang(chat, self._rows(chat_id))
        return chat

    def knows(self, nodes: Iterable[Node]) -> bool:
        """Whether any of these messages has the id of one that is stored."""
        return any(self._db.execute("SELECT 1 FROM message WHERE id = ?", (node.id,)).fetchone() for node in nodes)

    def save(self, snapshot: "Snapshot", *, open_now: bool = False) -> None:
        """Write a chat and those of its messages that the snapshot holds."""
        with self._change() as db:
            self._write(db, snapshot)
            if open_now:
                db.execute("INSERT OR REPLACE INTO note VALUES ('open_chat', ?)", (snapshot.entry.id,))

    def save_all(self, snapshots: Iterable["Snapshot"], folders: Iterable[Folder] = ()) -> None:
        """Write several chats and their folders, all or none. A folder that is there stays as it is."""
        with self._change() as db:
            new = [(folder.id, clean(folder.name), folder.created) for folder in folders]
            db.executemany("INSERT INTO folder VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING", new)
            for snapshot in snapshots:
                self._write(db, snapshot)

    def update(self, entry: Entry) -> None:
        """Write title, folder and pin of a chat that is stored."""
        with self._change() as db:
            db.execute(
                "UPDATE chat SET title = ?, folder = nullif(?, ''), pinned = ?, changed = ? WHERE id = ?",
                (clean(entry.title), entry.folder, entry.pinned, entry.changed, entry.id),
            )

    def choose(self, siblings: Sequence[str], chosen: str) -> None:
        """Note which of several versions is shown."""
        with self._change() as db:
            db.executemany("UPDATE message SET chosen = ? WHERE id = ?", [(one == chosen, one) for one in siblings])

    def drop_message(self, message_id: str) -> None:
        """Delete a message and what follows it."""
        with self._change() as db:
            db.execute("DELETE FROM message WHERE id = ?", (message_id,))

    def delete(self, chat_ids: Sequence[str], deleted: bool = True) -> None:
        """Hide chats until the next start, which forgets them, or take that back."""
        with self._change() as db:
            now = time.time() if deleted else None
            db.executemany("UPDATE chat SET deleted = ? WHERE id = ?", [(now, one) for one in chat_ids])

    def purge(self) -> None:
        """Forget deleted chats now."""
        with self._change() as db:
            _forget_deleted(db)

    # Folders and presets

    def save_folder(self, folder: Folder, chat_ids: Sequence[str] = ()) -> None:
        """Write a folder, and put chats into it."""
        with self._change() as db:
            db.execute(
                "INSERT INTO folder VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE SET name = excluded.name",
                (folder.id, clean(folder.name), folder.created),
            )
            db.executemany("UPDATE chat SET folder = ? WHERE id = ?", [(folder.id, one) for one in chat_ids])

    def delete_folder(self, folder_id: str) -> None:
        """Delete a folder; its chats stay, in none."""
        with self._change() as db:
            db.execute("DELETE FROM folder WHERE id = ?", (folder_id,))

    def save_preset(self, preset: Preset) -> None:
        with self._change() as db:
            db.execute("INSERT OR REPLACE INTO preset VALUES (?, ?)", (clean(preset.name), json.dumps(preset.settings.to_json())))

    def delete_preset(self, name: str) -> None:
        with self._change() as db:
            db.execute("DELETE FROM preset WHERE name = ?", (name,))

    # Comparisons

    def comparisons(self) -> tuple[ComparisonRecord, ...]:
        """The latest, newest first."""
        rows = self._db.execute("SELECT record FROM comparison ORDER BY created DESC LIMIT ?", (MOST_COMPARISONS,))
        found = (ComparisonRecord.from_json(json.loads(record)) for (record,) in rows)
        return tuple(one for one in found if one is not None)

    def save_comparison(self, record: ComparisonRecord) -> None:
        with self._change() as db:
            values = (record.id, clean(record.pair), record.created, json.dumps(record.to_json()))
            db.execute("INSERT OR REPLACE INTO comparison VALUES (?, ?, ?, ?)", values)

    def delete_comparison(self, record_id: str) -> None:
        with self._change() as db:
            db.execute("DELETE FROM comparison WHERE id = ?", (record_id,))

    # Search

    def search(self, words: str) -> tuple[Hit, ...]:
        """The messages that hold every word, or every phrase in quotes, newest chat first. Case does not matter; a word may be part
        of a longer one."""
        terms = terms_of(words)
        if not terms:
            return ()
        conditions, values = [], []
        if indexed := [term for term in terms if len(term) >= 3]:
            conditions.append("number IN (SELECT rowid FROM found WHERE found MATCH ?)")
            values.append(" AND ".join('"' + term.replace('"', '""') + '"' for term in indexed))
        for term in terms:
            if len(term) < 3:  # trigrams know nothing shorter
                conditions.append("instr(folded(text), ?)")
                values.append(term.casefold())
        rows = self._db.execute(
            "SELECT message.chat, message.id, text FROM message JOIN chat ON chat.id = message.chat "
            f"WHERE chat.deleted IS NULL AND NOT running AND {' AND '.join(conditions)} "
            f"ORDER BY chat.changed DESC, number LIMIT {MOST_HITS}",
            values,
        )
        return tuple(_hit(chat, message, text, terms) for chat, message, text in rows)

    def _rows(self, chat_id: str) -> Iterator[Row]:
        rows = self._db.execute(
            "SELECT role, id, text, thinking, created, details, suppliers, parent, chosen FROM message "
            "WHERE chat = ? ORDER BY number",
            (chat_id,),
        )
        for role, node_id, text, thinking, created, found, supplied, parent, chosen in rows:
            yield node_from(role, node_id, text, thinking, created, json.loads(found), supplied), parent, bool(chosen)

    def _write(self, db: sqlite3.Connection, snapshot: "Snapshot") -> None:
        entry = snapshot.entry
        db.execute(
            "INSERT INTO chat (id, title, folder, pinned, created, changed, settings) VALUES (?, ?, nullif(?, ''), ?, ?, ?, ?) "
            "ON CONFLICT (id) DO UPDATE SET title = excluded.title, changed = excluded.changed, settings = excluded.settings",
            (
                entry.id,
                clean(entry.title),
                entry.folder,
                entry.pinned,
                entry.created,
                entry.changed,
                json.dumps(snapshot.settings.to_json()),
            ),
        )
        db.executemany(
            "INSERT INTO message (id, chat, parent, chosen, role, text, thinking, created, running, details, suppliers) "
            "VALUES (:id, :chat, :parent, :chosen, :role, :text, :thinking, :created, :running, :details, :suppliers) "
            "ON CONFLICT (id) DO UPDATE SET text = excluded.text, thinking = excluded.thinking, running = excluded.running, "
            "details = excluded.details, suppliers = excluded.suppliers, chosen = excluded.chosen",
            snapshot.messages,
        )

    def _note(self, name: str) -> str:
        row = self._db.execute("SELECT value FROM note WHERE name = ?", (name,)).fetchone()
        return row[0] if row else ""

    def _change(self) -> "_Change":
        return _Change(self._db)


def _forget_deleted(db: sqlite3.Connection) -> None:
    if db.execute("DELETE FROM chat WHERE deleted IS NOT NULL").rowcount:
        # The index would keep the words, marked as deleted, until it happens to be rewritten.
        db.execute("INSERT INTO found (found) VALUES ('optimize')")


class _Change:
    """A transaction: all of it or nothing."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def __enter__(self) -> sqlite3.Connection:
        self._db.execute("BEGIN IMMEDIATE")
        return self._db

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._db.in_transaction:  # SQLite itself rolls back on some errors
            self._db.execute("ROLLBACK" if kind else "COMMIT")


@dataclass(frozen=True)
class Snapshot:
    """A chat and some or all of its messages at one moment: made where the chat lives, written where the store lives."""

    entry: Entry
    settings: ChatSettings
    messages: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, chat: Chat, nodes: Iterable[Node], folder: str = "", pinned: bool = False) -> "Snapshot":
        """`nodes` each after its parent."""
        entry = Entry(chat.id, chat.title, chat.created, chat.changed, folder, pinned)
        return cls(entry, chat.settings, tuple(_record(chat.id, node) for node in nodes))


def _record(chat_id: str, node: Node) -> dict[str, Any]:
    assert node.parent is not None
    text, thinking = text_of(node)
    return {
        "id": node.id,
        "chat": chat_id,
        "parent": None if node.parent.role == "root" else node.parent.id,
        "chosen": node.parent.chosen is node,
        "role": node.role,
        "text": clean(text),
        "thinking": clean(thinking),
        "created": node.created,
        "running": bool(node.reply and node.reply.running),
        "details": json.dumps(details(node)),
        "suppliers": suppliers(node),
    }


def terms_of(words: str) -> list[str]:
    """Words, and phrases in quotes as they stand."""
    found: list[str] = []
    for place, part in enumerate(clean(words).split('"')):
        found += [part.strip()] if place % 2 and part.strip() else part.split()
    return list(dict.fromkeys(found))


def _hit(chat: str, message: str, text: str, terms: Sequence[str]) -> Hit:
    """The first term that is found as it stands; folding may change the length of a text, so then the excerpt is its beginning."""
    lowered = text.lower()
    same = len(lowered) == len(text)
    places = [(lowered.find(term.lower()), len(term)) for term in terms] if same else []
    at, length = min(((at, length) for at, length in places if at >= 0), default=(0, 0))
    first, last = max(0, at - BEFORE_HIT), at + length + AFTER_HIT
    one_line = text[first:last].replace("\n", " ")
    head = ("…" if first else "") + one_line[: at - first]
    body, tail = one_line[at - first : at - first + length], one_line[at - first + length :]
    return Hit(chat, message, head + body + tail + ("…" if last < len(text) else ""), len(head), len(head) + length)
