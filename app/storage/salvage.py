"""Recovery of chats from a possibly damaged database, row by row.

Tables are read by row number only, so damaged indexes, including the search index, don't matter.
"""

import logging
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.storage import schema, wording
from app.storage.attachments import attachments_from
from app.storage.chat_tree import Chat, Node, new_id
from app.storage.comparison_record import ComparisonRecord
from app.storage.json_values import as_dict, as_time, parse_json
from app.storage.pictures import NO_DATA, FileData, FileSource, StoredFile
from app.storage.project import Project
from app.storage.records import fill, node_from
from app.storage.settings import ChatSettings, Preset
from app.storage.store import Snapshot
from app.storage.stored_drafts import StoredDraft
from app.text.language import tr
from app.text.plain_text import NEW_CHAT, clean, title_from
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.files import open_regular

log = logging.getLogger(__name__)

MAX_FAILED = 20_000  # rows that can't be read; a table with more is gone
MAX_ROWS = 1 << 20  # if the last row's number can't be read or is wrong

_CHAT = ("id", "title", "folder", "pinned", "created", "changed", "deleted", "settings", "archived")
_MESSAGE = ("chat", "parent", "chosen", "role", "id", "text", "thinking", "created", "details", "suppliers", "summary")
# Columns that hold text in every row
_TEXTS = {
    *("digest", "id", "name", "title", "chat", "role", "text", "thinking", "details", "settings", "suppliers", "record", "summary"),
    *("edits", "attachments"),
}


@dataclass
class ImportedChat:
    """A chat, its project's id or "", its marks, and whether it has a date."""

    chat: Chat
    project: str = ""
    pinned: bool = False
    dated: bool = True
    archived: bool = False


@dataclass
class ImportedChats:
    """The content of a file. Only databases contain presets, comparisons, and drafts.

    Attributes:
        files: the data of images and PDFs, which the chats have without it.
        remark: about missing data.
        lost: number of chats that couldn't be recovered, as far as it is known.
    """

    files: FileSource
    chats: list[ImportedChat] = field(default_factory=list)
    projects: list[Project] = field(default_factory=list)
    presets: list[Preset] = field(default_factory=list)
    comparisons: list[ComparisonRecord] = field(default_factory=list)
    drafts: list[StoredDraft] = field(default_factory=list)
    remark: str = ""
    lost: int = 0


class DatabaseFiles:
    """The images and PDFs of a database, which stays unchanged.

    Only their digests are kept in memory. `get` reads a file again.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self._closing = ExitStack()
        self._opened: sqlite3.Connection | None = None
        self._numbers: dict[str, int] = {}  # of rows, by digest

    def close(self) -> None:
        """Close the database, which `get` opens again."""
        self._opened = None
        self._closing.close()

    @property
    def database(self) -> sqlite3.Connection:
        """The database, opened if necessary."""
        if self._opened is None:
            try:
                self._opened = self._closing.enter_context(closing(self._connected()))
                self._opened.text_factory = _decode
                self._opened.execute("PRAGMA writable_schema = ON")  # also reads a truncated file
            except BaseException:
                self.close()
                raise
        return self._opened

    def _connected(self) -> sqlite3.Connection:
        """Open the database or, if SQLite would have to change it, a copy."""
        log_file = schema.files_of(self._file)[1]
        with open_regular(self._file) as opened:
            is_refused = any(version > 2 for version in opened.read(20)[18:])  # of the file format
        if not is_refused and not (log_file.is_file() and log_file.stat().st_size):
            return sqlite3.connect(f"{self._file.absolute().as_uri()}?immutable=1", uri=True)
        copy = Path(self._closing.enter_context(tempfile.TemporaryDirectory())) / "copy.db"
        for source, target in zip(schema.files_of(self._file), schema.files_of(copy), strict=True):
            if source.is_file() and not source.name.endswith("-shm"):
                shutil.copyfile(source, target)
        if is_refused:
            with copy.open("r+b") as opened:
                opened.seek(18)
                opened.write(b"\2\2")
        return sqlite3.connect(copy)

    def add(self, digest: str, number: int) -> bool:
        """Add the file in a row, unless it is damaged. Return whether it isn't."""
        try:
            is_sound = self._read(number, digest) is not None
        except sqlite3.DatabaseError:
            return False
        if is_sound:
            self._numbers[digest] = number
        return is_sound

    def get(self, digest: str, default: bytes, /) -> bytes:
        """Return the data of a file, unless it has changed since it was added."""
        try:
            data = self._read(self._numbers[digest], digest) if digest in self._numbers else None
        except (sqlite3.Error, OSError):
            return default
        return default if data is None else data

    def _read(self, number: int, digest: str) -> bytes | None:
        (data,) = self.database.execute("SELECT data FROM file NOT INDEXED WHERE rowid = ?", (number,)).fetchone() or (None,)
        return data if isinstance(data, bytes) and StoredFile.of(data).digest == digest else None


def snapshots(chats: Iterable[ImportedChat], files: FileData) -> Iterator[Snapshot]:
    """Yield the chats with the data of their files, one at a time."""
    for one in chats:
        fill(one.chat.root.below(), files)
        yield Snapshot.of(one.chat, one.chat.root.below(), one.project, one.pinned, one.archived)
        fill(one.chat.root.below(), NO_DATA)


def read_database(file: Path, pause: Callable[[], object] = lambda: None) -> ImportedChats:
    """Read a database that was moved aside or comes from another computer.

    Args:
        file: the database.
        pause: called before each row, and before a file's data is read.

    Raises:
        UserError: the file isn't a database, comes from a newer version, or contains nothing readable.
    """
    name, files = file.name, DatabaseFiles(file)
    try:
        version = schema.version_of(files.database)
        if version > schema.VERSION:
            raise newer(name)
        if "message" not in schema.tables_of(files.database):
            raise UserError("import_foreign_database", "“{name}” isn't a Slipstream database.", name=name)
        found = _salvage(files, pause)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise UserError(
            "import_database_damaged", "Can't import “{name}”: it is damaged ({reason}).", name=name, reason=str(error)
        ) from error
    finally:
        files.close()
    if found.remark and not found.chats:
        raise UserError("import_nothing_left", "“{name}” is damaged, and no chat in it can be read.", name=name)
    return found


def newer(name: str) -> UserError:
    return UserError(
        "import_newer", "“{name}” was saved by a newer version of Slipstream. Update Slipstream, then import it again.", name=name
    )


def _salvage(files: DatabaseFiles, pause: Callable[[], object]) -> ImportedChats:
    """Read all readable chats, without the data of files. Deleted chats stay deleted."""
    reader = _Reader(files.database, pause)
    projects = [
        Project(clean(one), clean(name), as_time(created, 0.0)).with_options(parse_json(options))
        for one, name, created, options in reader.rows("folder", ("id", "name", "created", "settings"))
    ]
    known = {project.id for project in projects}
    found: dict[str, ImportedChat] = {}
    deleted: set[str] = set()
    for one, title, project, pinned, created, changed, gone, settings, archived in reader.rows("chat", _CHAT):
        if as_time(gone, 0.0) >= 1.0:
            deleted.add(one)
            continue
        options = ChatSettings.from_json(parse_json(settings))
        chat = Chat(clean(title) or NEW_CHAT, options, clean(one) or new_id(), as_time(created, 0.0), as_time(changed, 0.0))
        found[one] = ImportedChat(chat, project if project in known else "", pinned == 1, archived=archived == 1)
    for digest, number in list(reader.rows("file", ("digest", "rowid"))):
        pause()
        if not files.add(digest, number):
            reader.damaged = True
    nodes: dict[str, dict[str, Node]] = {}
    ids: set[str] = set()
    for chat_id, parent, chosen, role, one, text, thinking, created, details, suppliers, summary in _parents_first(
        list(reader.rows("message", _MESSAGE))
    ):
        pause()
        if chat_id in deleted or role not in ("user", "assistant"):
            continue
        more = as_dict(parse_json(details))
        node = node_from(
            role, clean(one), clean(text), clean(thinking), as_time(created, 0.0), more, suppliers, summary=clean(summary)
        )
        if not node.id or node.id in ids:
            node.id = new_id()
        ids.add(node.id)
        if chat_id not in found:  # the chat's own row is lost
            title = title_from(node.text) if node.text else NEW_CHAT
            found[chat_id] = ImportedChat(Chat(title, id=new_id(), created=node.created, changed=node.created))
            reader.damaged = True
        before = nodes.setdefault(chat_id, {})
        root = found[chat_id].chat.root
        if parent is not None and parent not in before:
            reader.damaged = True
            above = next(reversed(before.values()), root)
        else:
            above = root if parent is None else before[parent]
        before[node.id] = above.add(node, show=bool(chosen))
    presets = [
        Preset(clean(name), ChatSettings.from_json(parse_json(settings)))
        for name, settings in reader.rows("preset", ("name", "settings"))
    ]
    drafts = [
        StoredDraft(chat, edits, clean(text), attachments_from(parse_json(attachments), files), is_open == 1)
        for chat, edits, text, attachments, is_open in reader.rows("draft", ("chat", "edits", "text", "attachments", "open"))
        if not chat or chat in found
    ]
    records = [ComparisonRecord.from_json(parse_json(record)) for (record,) in reader.rows("comparison", ("record",))]
    chats = [one for one in found.values() if not one.chat.empty]
    remark = tr("The file is damaged, so some messages may be missing.") if reader.damaged else ""
    lost = len(found) - len(chats) if reader.damaged else 0
    if lost:
        remark = tr("The file is damaged, and {chats} couldn't be recovered.", chats=wording.chats(lost))
    return ImportedChats(files, chats, projects, presets, [one for one in records if one is not None], drafts, remark, lost)


def _parents_first(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return messages in row order, but each after its parent."""
    stored = {(row[0], row[4]) for row in rows}
    found: list[tuple[Any, ...]] = []
    waiting: dict[tuple[str, str], list[tuple[Any, ...]]] = {}  # by parent
    for row in rows:
        if (row[0], row[1]) in stored:
            waiting.setdefault((row[0], row[1]), []).append(row)
            continue
        ready = [row]
        while ready:
            found.append(ready.pop())
            key = found[-1][0], found[-1][4]
            stored.discard(key)
            ready += reversed(waiting.pop(key, []))
    return found + [row for rows in waiting.values() for row in rows]  # messages in cycles


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "replace")


class _Reader:
    """A reader of tables, which calls `pause` before each row.

    `damaged` is set if a row is unreadable or out of order.
    """

    def __init__(self, database: sqlite3.Connection, pause: Callable[[], object]) -> None:
        self._database, self._pause = database, pause
        self.damaged = False

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the readable rows in order. Missing columns and mistyped text are empty."""
        existing = {name for (name,) in self._database.execute("SELECT name FROM pragma_table_info(?)", (table,))}
        if existing:
            existing.add("rowid")
        else:
            self.damaged = self.damaged or table not in ("comparison", "file", "draft")  # earlier versions have none
            return
        select = ", ".join(one if one in existing else "''" for one in columns)
        for row in self._readable(table, select):
            self._pause()
            values = dict(zip(columns, row, strict=True))
            for column in _TEXTS & values.keys():
                if not isinstance(value := values[column], str):
                    self.damaged = True
                    values[column] = _decode(value) if isinstance(value, bytes) else ""
            if any(values[column] for column in _TEXTS & values.keys()):  # the rest of a damaged page may be empty rows
                yield tuple(values.values())

    def _readable(self, table: str, select: str) -> Iterator[Sequence[Any]]:
        """Yield all rows in order, or after one that can't be read, each by its number."""
        read: dict[int, Sequence[Any]] = {}
        try:
            for number, *row in self._database.execute(f"SELECT rowid, {select} FROM {table} NOT INDEXED"):
                if read and number <= next(reversed(read)):
                    self.damaged = True
                if read.get(number) != row:  # a page may be listed twice
                    read[number] = row
                    yield row
            return
        except sqlite3.DatabaseError as error:
            log.warning("A table is damaged: %s (%s)", table, error)
            self.damaged = True
        query = f"SELECT {select} FROM {table} NOT INDEXED WHERE rowid = ?"
        failed = 0
        for number in self._numbers(table):
            if number in read:
                continue
            try:
                if (found := self._database.execute(query, (number,)).fetchone()) is not None:
                    yield found
            except sqlite3.DatabaseError:
                failed += 1
                if failed == MAX_FAILED:
                    return

    def _numbers(self, table: str) -> list[int]:
        """Return the numbers of all rows or, if they can't be read, all possible ones."""
        found, last = [], MAX_ROWS
        with suppress(sqlite3.DatabaseError):
            for (number,) in self._database.execute(f"SELECT rowid FROM {table} NOT INDEXED"):
                found.append(number)
            return list(dict.fromkeys(found))
        with suppress(sqlite3.DatabaseError):
            last = self._database.execute(f"SELECT max(rowid) FROM {table} NOT INDEXED").fetchone()[0] or 0
        return sorted({*found, *range(min(last, MAX_ROWS) + 1)})
