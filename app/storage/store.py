"""Storage of chats in an SQLite file, used only on the thread that opened it."""

import json
import logging
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from app.storage import schema
from app.storage.call_log import LoggedCall, clear_calls, logged_calls
from app.storage.chat_search import SearchHit, search
from app.storage.chat_tree import Chat, Node
from app.storage.comparison_record import ComparisonRecord
from app.storage.json_values import as_dict, parse_json
from app.storage.pictures import StoredFile
from app.storage.project import Project
from app.storage.records import Row, build_tree, details, files_of, growth, node_from, suppliers, text_of, texts_of_calls
from app.storage.schema import transaction
from app.storage.settings import ChatSettings, Preset
from app.storage.stored_drafts import StoredDraft, add_data, add_to_draft, erase_lost_drafts, read_drafts, write_draft
from app.text.plain_text import clean

log = logging.getLogger(__name__)

MAX_COMPARISONS = 500
FREE_BYTES = 1 << 20  # of the file that stay for later chats
SHRINK_BYTES = 1 << 22  # given back to the disk in one step
_INCREMENTAL = 2  # of `PRAGMA auto_vacuum`
_ADD_PROJECT = "INSERT INTO folder (id, name, created, settings) VALUES (?, ?, ?, ?)"


@dataclass(frozen=True)
class ChatSummary:
    """A chat's entry in the list. Times are in seconds since 1970."""

    id: str
    title: str
    created: float
    changed: float
    project: str = ""
    pinned: bool = False
    private: bool = False
    archived: bool = False


@dataclass(frozen=True)
class Contents:
    """What is read at launch. `open_chat` is a chat's id or empty."""

    chats: tuple[ChatSummary, ...]
    projects: tuple[Project, ...]
    presets: tuple[Preset, ...]
    open_chat: str
    drafts: tuple[StoredDraft, ...] = ()


@dataclass(frozen=True)
class FileUsage:
    """The images and PDFs of all chats, also of deleted ones until they are erased."""

    count: int
    bytes: int


@dataclass(frozen=True)
class Snapshot:
    """A copy of a chat and some messages, which the store's thread saves."""

    summary: ChatSummary
    settings: ChatSettings
    messages: tuple[dict[str, Any], ...]
    files: tuple[tuple[str, tuple[StoredFile, ...]], ...]  # of each message, by its id

    @classmethod
    def of(cls, chat: Chat, nodes: Iterable[Node], project: str = "", pinned: bool = False, archived: bool = False) -> "Snapshot":
        """Take a snapshot. Each message comes after its parent."""
        marks = pinned, chat.settings.private, archived
        summary = ChatSummary(chat.id, chat.title, chat.created, chat.changed, project, *marks)
        saved = tuple(nodes)
        files = tuple((node.id, tuple(files_of(node))) for node in saved)
        return cls(summary, chat.settings, tuple(_record(chat.id, node) for node in saved), files)


@dataclass(frozen=True)
class Growth:
    """What has changed in a running reply that is stored already."""

    message: str
    text: str
    thinking: str
    suppliers: str
    details: dict[str, Any]

    @classmethod
    def of(cls, node: Node) -> "Growth":
        assert node.reply is not None
        return cls(node.id, *text_of(node), suppliers(node), growth(node.reply))


class Store:
    """A store of chats, in memory if no file is given. Each method is a transaction."""

    def __init__(self, file: Path | None) -> None:
        self._db = sqlite3.connect(file or ":memory:", isolation_level=None)
        try:
            self._db.execute("PRAGMA foreign_keys = ON")
            self._db.execute("PRAGMA secure_delete = ON")
            self._db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # in a file of an earlier version, from the next VACUUM on
            if file is not None:
                self._db.execute("PRAGMA journal_mode = WAL")
                # Commits reach the disk immediately: a large model can cause a kernel panic.
                self._db.execute("PRAGMA synchronous = FULL")
            schema.migrate(self._db)
            if file is not None and self._value("auto_vacuum") != _INCREMENTAL:
                self._rewrite()
            self._db.create_function("folded", 1, str.casefold, deterministic=True)
        except BaseException:
            self._db.close()
            raise

    def close(self) -> None:
        self._db.close()

    def copy_from(self, database: sqlite3.Connection) -> None:
        """Replace everything with the contents of another database."""
        database.backup(self._db)
        schema.migrate(self._db)

    # At launch

    def recover(self) -> None:
        """Mark unfinished replies as interrupted and erase deleted chats. Call this first."""
        with transaction(self._db) as db:
            _erase_deleted(db)
            db.execute(
                "UPDATE message SET running = 0, details = "
                "CASE WHEN json_valid(details) THEN json_set(details, '$.reason', 'interrupted') ELSE details END WHERE running"
            )

    def contents(self) -> Contents:
        projects = tuple(
            Project(one, name, created).with_options(parse_json(options))
            for one, name, created, options in self._db.execute("SELECT id, name, created, settings FROM folder ORDER BY created")
        )
        presets = tuple(
            Preset(name, ChatSettings.from_json(parse_json(settings)))
            for name, settings in self._db.execute("SELECT name, settings FROM preset ORDER BY name")
        )
        note = self._db.execute("SELECT value FROM note WHERE name = 'open_chat'").fetchone()
        return Contents(self.chats(), projects, presets, note[0] if note else "", read_drafts(self._db))

    def chats(self) -> tuple[ChatSummary, ...]:
        """Return all chats that are not deleted."""
        rows = self._db.execute(
            "SELECT id, title, created, changed, coalesce(folder, ''), pinned, "
            "json_extract(CASE WHEN json_valid(settings) THEN settings ELSE '{}' END, '$.private'), archived "
            "FROM chat WHERE deleted IS NULL ORDER BY changed"
        )
        return tuple(
            ChatSummary(one, title, made, said, project, bool(pinned), private == 1, bool(archived))
            for one, title, made, said, project, pinned, private, archived in rows
        )

    def set_open_chat(self, chat_id: str) -> None:
        """Save which chat is open."""
        self._db.execute("INSERT OR REPLACE INTO note VALUES ('open_chat', ?)", (chat_id,))

    # Chats

    def load(self, chat_id: str, with_files: bool = True) -> Chat | None:
        """Return a chat with all messages, or None if the id is unknown.

        Without files, images and PDFs are there as if they were lost.
        """
        row = self._db.execute("SELECT title, settings, created, changed FROM chat WHERE id = ?", (chat_id,)).fetchone()
        if row is None:
            return None
        title, settings, created, changed = row
        chat = Chat(title, ChatSettings.from_json(parse_json(settings)), chat_id, created, changed)
        build_tree(chat, self._messages(chat_id, with_files))
        return chat

    def first_messages(self) -> list[tuple[str, str, str]]:
        """Return chat id, role, and text of all messages without a parent."""
        return self._db.execute("SELECT chat, role, text FROM message WHERE parent IS NULL ORDER BY number").fetchall()

    def message_texts(self, chat_id: str) -> Iterator[tuple[str, str | None, str, str, str, str, str]]:
        """Yield the fields of a chat's messages that hold text, parents first."""
        yield from self._db.execute(
            "SELECT id, parent, role, text, thinking, calls, details FROM message WHERE chat = ? ORDER BY number", (chat_id,)
        )

    def has_any(self, nodes: Iterable[Node]) -> bool:
        """Whether a stored message has the id of one of the nodes."""
        return any(self._db.execute("SELECT 1 FROM message WHERE id = ?", (node.id,)).fetchone() for node in nodes)

    def save(self, snapshot: Snapshot, *, open_now: bool = False) -> None:
        """Save the chat and the messages of a snapshot."""
        with transaction(self._db) as db:
            _write(db, snapshot)
            if open_now:
                self.set_open_chat(snapshot.summary.id)

    def save_growth(self, growth: Growth) -> None:
        """Save the text of a running reply, without its calls."""
        self._db.execute(
            "UPDATE message SET text = ?, thinking = ?, suppliers = ?, "
            "details = CASE WHEN json_valid(details) THEN json_patch(details, ?) ELSE ? END WHERE id = ?",
            (clean(growth.text), clean(growth.thinking), growth.suppliers, *2 * (json.dumps(growth.details),), growth.message),
        )

    def save_all(self, snapshots: Iterable[Snapshot], projects: Iterable[Project] = ()) -> None:
        """Save several chats and their projects, all or none, keeping existing projects."""
        with transaction(self._db) as db:
            _add_projects(db, projects)
            for snapshot in snapshots:
                _write(db, snapshot)

    def save_hidden(self, snapshot: Snapshot) -> None:
        """Save a chat of an unfinished import, like a deleted one and outside its project."""
        with transaction(self._db) as db:
            _write(db, replace(snapshot, summary=replace(snapshot.summary, project="")))
            db.execute("UPDATE chat SET deleted = ? WHERE id = ?", (time.time(), snapshot.summary.id))

    def show_all(self, chats: Iterable[ChatSummary], projects: Iterable[Project]) -> None:
        """Show the hidden chats of a finished import in their projects."""
        with transaction(self._db) as db:
            _add_projects(db, projects)
            placed = [(chat.project, chat.id) for chat in chats]
            db.executemany("UPDATE chat SET deleted = NULL, folder = nullif(?, '') WHERE id = ?", placed)

    def erase(self, chat_ids: Iterable[str]) -> None:
        """Erase the hidden chats of an import that failed."""
        with transaction(self._db) as db:
            if db.executemany("DELETE FROM chat WHERE id = ?", [(one,) for one in chat_ids]).rowcount > 0:
                _forget_words(db)

    def restore_files(self, files: Iterable[tuple[str, Sequence[StoredFile]]]) -> None:
        """Save lost files of messages again, by the messages' ids."""
        with transaction(self._db) as db:
            for message, some in files:
                _add_files(db, message, some)

    def complete(self, messages: Iterable[tuple[str, Node]]) -> None:
        """Replace the texts and attachments of stored messages, by their ids."""
        with transaction(self._db) as db:
            for message, node in messages:
                values = clean(node.text), json.dumps(details(node)), message
                db.execute("UPDATE message SET text = ?, details = ? WHERE id = ?", values)
                _add_files(db, message, files_of(node))

    def lacks(self, files: Iterable[StoredFile]) -> bool:
        """Whether one of the files isn't stored."""
        found = "SELECT 1 FROM file WHERE digest = ?"
        return any(self._db.execute(found, (one.digest,)).fetchone() is None for one in files)

    def usage(self, chat_ids: Sequence[str] | None = None) -> FileUsage:
        """Return how many files these chats have, or all chats, and their size."""
        query, ids = "SELECT count(*), coalesce(sum(length(data)), 0) FROM file", list[str]()
        if chat_ids is not None:
            query += (
                " WHERE digest IN (SELECT digest FROM message_file JOIN message ON message.id = message_file.message"
                " WHERE message.chat IN (SELECT value FROM json_each(?)))"
            )
            ids.append(json.dumps(chat_ids))
        return FileUsage(*self._db.execute(query, ids).fetchone())

    def update(self, summary: ChatSummary) -> None:
        """Save a stored chat's title, project, marks, and time."""
        self._db.execute(
            "UPDATE chat SET title = ?, folder = nullif(?, ''), pinned = ?, archived = ?, changed = ? WHERE id = ?",
            (clean(summary.title), summary.project, summary.pinned, summary.archived, summary.changed, summary.id),
        )

    def choose(self, siblings: Sequence[str], chosen: str) -> None:
        """Save which of several versions is shown."""
        with transaction(self._db) as db:
            db.executemany("UPDATE message SET chosen = ? WHERE id = ?", [(one == chosen, one) for one in siblings])

    def save_draft(self, draft: StoredDraft) -> None:
        """Save an unsent message, or delete it if it is empty now."""
        with transaction(self._db) as db:
            write_draft(db, draft)

    def add_to_draft(self, draft: StoredDraft) -> None:
        """Save an unsent message below the one that is stored in its place."""
        with transaction(self._db) as db:
            add_to_draft(db, draft)

    def delete_message(self, message_id: str) -> None:
        """Delete a message and everything after it."""
        self._db.execute("DELETE FROM message WHERE id = ?", (message_id,))

    def delete(self, chat_ids: Sequence[str], deleted: bool = True) -> None:
        """Hide chats until `recover` or `purge` erases them, or show them again."""
        now = time.time() if deleted else None
        with transaction(self._db) as db:
            db.executemany("UPDATE chat SET deleted = ? WHERE id = ?", [(now, one) for one in chat_ids])

    def purge(self) -> None:
        """Erase deleted chats now."""
        with transaction(self._db) as db:
            _erase_deleted(db)

    def shrink(self) -> bool:
        """Give space of erased chats back to the disk. Return whether there is more.

        A call takes milliseconds.
        """
        page_size, free, mode = (self._value(name) for name in ("page_size", "freelist_count", "auto_vacuum"))
        if free * page_size <= FREE_BYTES or mode != _INCREMENTAL:
            return False
        self._db.executescript(f"PRAGMA incremental_vacuum({SHRINK_BYTES // page_size})")  # `execute` frees only one page
        more = self._value("freelist_count") * page_size > FREE_BYTES
        if not more:
            self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return more

    def _rewrite(self) -> None:
        """Let a file of an earlier version shrink. Without images yet, this is fast."""
        try:
            self._db.execute("VACUUM")
        except sqlite3.Error:  # tried again at the next launch
            log.exception("The database can't shrink yet")

    def _value(self, pragma: str) -> int:
        return int(self._db.execute(f"PRAGMA {pragma}").fetchone()[0])

    # Projects and presets

    def save_project(self, project: Project, chat_ids: Sequence[str] = ()) -> None:
        """Save a project and move chats into it."""
        with transaction(self._db) as db:
            db.execute(
                f"{_ADD_PROJECT} ON CONFLICT (id) DO UPDATE SET name = excluded.name, settings = excluded.settings",
                _project_row(project),
            )
            db.executemany("UPDATE chat SET folder = ? WHERE id = ?", [(project.id, one) for one in chat_ids])

    def delete_project(self, project_id: str) -> None:
        """Delete a project but not its chats."""
        self._db.execute("DELETE FROM folder WHERE id = ?", (project_id,))

    def save_preset(self, preset: Preset) -> None:
        values = (clean(preset.name), json.dumps(preset.settings.to_json()))
        self._db.execute("INSERT OR REPLACE INTO preset VALUES (?, ?)", values)

    def delete_preset(self, name: str) -> None:
        self._db.execute("DELETE FROM preset WHERE name = ?", (name,))

    # Comparisons

    def comparisons(self) -> tuple[ComparisonRecord, ...]:
        """Return the latest comparisons, newest first."""
        rows = self._db.execute("SELECT record FROM comparison ORDER BY created DESC LIMIT ?", (MAX_COMPARISONS,))
        found = (ComparisonRecord.from_json(parse_json(record)) for (record,) in rows)
        return tuple(one for one in found if one is not None)

    def save_comparison(self, record: ComparisonRecord) -> None:
        values = (record.id, clean(record.pair), record.created, json.dumps(record.to_json()))
        self._db.execute("INSERT OR REPLACE INTO comparison VALUES (?, ?, ?, ?)", values)

    def delete_comparison(self, record_id: str) -> None:
        self._db.execute("DELETE FROM comparison WHERE id = ?", (record_id,))

    # Search

    def search(self, words: str, pause: Callable[[], object] = lambda: None) -> tuple[SearchHit, ...]:
        """Return messages with all words and quoted phrases, newest chat first.

        Args:
            words: what is searched.
            pause: called before each chat.
        """
        return search(self._db, [chat.id for chat in reversed(self.chats())], words, pause)

    def calls(self, pause: Callable[[], object] = lambda: None) -> list[LoggedCall]:
        """Return the latest tool calls of all chats; `pause` is called before each reply."""
        return logged_calls(self._db, pause)

    def clear_calls(self) -> None:
        with transaction(self._db) as db:
            clear_calls(db)

    def rebuild_index(self) -> None:
        self._db.execute("INSERT INTO found (found) VALUES ('rebuild')")

    def _messages(self, chat_id: str, with_files: bool) -> Iterator[Row]:
        files = self._files(chat_id) if with_files else {}
        rows = self._db.execute(
            "SELECT role, id, text, thinking, created, details, suppliers, parent, chosen, summary FROM message "
            "WHERE chat = ? ORDER BY number",
            (chat_id,),
        )
        for role, node_id, text, thinking, created, found, supplied, parent, chosen, summary in rows:
            more = as_dict(parse_json(found))
            yield node_from(role, node_id, text, thinking, created, more, supplied, files, summary), parent, bool(chosen)

    def _files(self, chat_id: str) -> dict[str, bytes]:
        """Return the data of a chat's files, by digest."""
        query = (
            "SELECT digest, data FROM file WHERE digest IN "
            "(SELECT digest FROM message_file JOIN message ON message.id = message_file.message WHERE message.chat = ?)"
        )
        return dict(self._db.execute(query, (chat_id,)))


def _write(db: sqlite3.Connection, snapshot: Snapshot) -> None:
    chat = snapshot.summary
    settings = json.dumps(snapshot.settings.to_json())
    db.execute(
        "INSERT INTO chat (id, title, folder, pinned, archived, created, changed, settings) "
        "VALUES (?, ?, nullif(?, ''), ?, ?, ?, ?, ?) "
        "ON CONFLICT (id) DO UPDATE SET title = excluded.title, changed = excluded.changed, settings = excluded.settings",
        (chat.id, clean(chat.title), chat.project, chat.pinned, chat.archived, chat.created, chat.changed, settings),
    )
    db.executemany(
        "INSERT INTO message (id, chat, parent, chosen, role, text, thinking, created, running, details, suppliers, calls, "
        "summary) VALUES (:id, :chat, :parent, :chosen, :role, :text, :thinking, :created, :running, :details, :suppliers, :calls, "
        ":summary) "
        "ON CONFLICT (id) DO UPDATE SET text = excluded.text, thinking = excluded.thinking, running = excluded.running, "
        "details = excluded.details, suppliers = excluded.suppliers, calls = excluded.calls, chosen = excluded.chosen, "
        "summary = excluded.summary",
        snapshot.messages,
    )
    for message, files in snapshot.files:
        _add_files(db, message, files)
        others = "DELETE FROM message_file WHERE message = ? AND digest NOT IN (SELECT value FROM json_each(?))"
        db.execute(others, (message, json.dumps([file.digest for file in files])))


def _add_files(db: sqlite3.Connection, message: str, files: Iterable[StoredFile]) -> None:
    """Save the files of a message, unless it was deleted in an import's pause."""
    if db.execute("SELECT 1 FROM message WHERE id = ?", (message,)).fetchone() is None:
        return
    for file in files:
        add_data(db, (file,))
        owned = "INSERT OR IGNORE INTO message_file SELECT ?, digest FROM file WHERE digest = ?"  # a lost one isn't there
        db.execute(owned, (message, file.digest))


def _add_projects(db: sqlite3.Connection, projects: Iterable[Project]) -> None:
    db.executemany(f"{_ADD_PROJECT} ON CONFLICT (id) DO NOTHING", map(_project_row, projects))


def _project_row(project: Project) -> tuple[str, str, float, str]:
    return project.id, clean(project.name), project.created, json.dumps(project.options())


def _forget_words(db: sqlite3.Connection) -> None:
    """Rewrite the search index, which keeps deleted words until then."""
    db.execute("INSERT INTO found (found) VALUES ('optimize')")


def _erase_deleted(db: sqlite3.Connection) -> None:
    if db.execute("DELETE FROM chat WHERE deleted IS NOT NULL").rowcount:
        _forget_words(db)
    erase_lost_drafts(db)


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
        "calls": clean(texts_of_calls(node)),
        "summary": clean(f"\n{node.summary}") if node.summary else "",
    }
