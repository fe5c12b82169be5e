"""Reads chats from a database that may be damaged, row by row, leaving out what can't be read.

Tables are read by row number only, so that damaged indexes, the search index among them, don't matter.
"""

import json
import logging
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.conversations.chat_tree import Chat, Node, new_id
from app.conversations.json_values import as_dict, as_time
from app.conversations.plain_text import NEW_CHAT, clean, title_from
from app.conversations.records import node_from
from app.conversations.settings import ChatSettings
from app.conversations.store import Folder
from app.language import number, tr

log = logging.getLogger(__name__)

# Ranges that can't be read are halved until only bad rows are left out. This many reads are enough for a hundred damaged pages, and
# take seconds where a whole table is gone.
MAX_READS = 20_000
MAX_ROWS = 1 << 20  # where the last row's number can't be read

_CHAT = ("id", "title", "folder", "pinned", "created", "changed", "deleted", "settings")
_MESSAGE = ("chat", "parent", "chosen", "role", "id", "text", "thinking", "created", "details", "suppliers")
# Columns that hold text in every row: the rest of a damaged page may look like rows of nothing.
_TEXTS = {"id", "name", "title", "chat", "role", "text", "thinking", "details", "settings", "suppliers"}


@dataclass
class ImportedChat:
    """A chat with the id of its folder, or "", and its pin."""

    chat: Chat
    folder: str = ""
    pinned: bool = False


@dataclass
class ImportedChats:
    """What a file contained, and a sentence on what it lacks, if anything."""

    chats: list[ImportedChat] = field(default_factory=list)
    folders: list[Folder] = field(default_factory=list)
    remark: str = ""


def salvage(database: sqlite3.Connection) -> ImportedChats:
    """Read whatever can be read. Messages whose parent is lost follow the message before them; deleted chats stay deleted.

    Raises:
        sqlite3.Error: not even the list of tables can be read.
    """
    reader = _Reader(database)
    folders = [
        Folder(clean(one), clean(name), as_time(created, 0.0))
        for one, name, created in reader.rows("folder", ("id", "name", "created"))
    ]
    known = {folder.id for folder in folders}
    found: dict[str, ImportedChat] = {}
    deleted: set[str] = set()
    for one, title, folder, pinned, created, changed, gone, settings in reader.rows("chat", _CHAT):
        if gone is not None:
            deleted.add(one)
            continue
        chat = Chat(clean(title), ChatSettings.from_json(_json(settings)), one, as_time(created, 0.0), as_time(changed, 0.0))
        found[one] = ImportedChat(chat, folder if folder in known else "", pinned == 1)
    nodes: dict[str, dict[str, Node]] = {}
    for chat_id, parent, chosen, role, one, text, thinking, created, details, suppliers in reader.rows("message", _MESSAGE):
        if chat_id in deleted or role not in ("user", "assistant"):
            continue
        more = as_dict(_json(details))
        node = node_from(role, clean(one), clean(text), clean(thinking), as_time(created, 0.0), more, suppliers)
        if chat_id not in found:  # the chat's own row is lost
            title = title_from(node.text) if node.text else NEW_CHAT
            found[chat_id] = ImportedChat(Chat(title, id=new_id(), created=node.created, changed=node.created))
            reader.damaged = True
        before = nodes.setdefault(chat_id, {})
        root = found[chat_id].chat.root
        if parent is not None and parent not in before:  # rows are stored in order, parents first
            reader.damaged = True
            above = next(reversed(before.values()), root)
        else:
            above = root if parent is None else before[parent]
        before[node.id] = above.add(node, show=bool(chosen))
    chats = [one for one in found.values() if not one.chat.empty]
    remark = tr("The file is damaged. Everything that could be read was imported.") if reader.damaged else ""
    if reader.damaged and len(chats) < len(found):
        remark += " " + tr("Chats lost: {count}.", count=number(len(found) - len(chats)))
    return ImportedChats(chats, folders, remark)


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


class _Reader:
    """Reads tables by row number. `damaged` is set once something could not be read."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self.damaged = False

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        """Yield the readable rows in order. A column that an older version lacks is empty."""
        existing = {name for (name,) in self._database.execute("SELECT name FROM pragma_table_info(?)", (table,))}
        select = ", ".join(one if one in existing else "''" for one in columns)
        ranges, reads = [(0, self._last(table))], 0
        while ranges and reads < MAX_READS:
            first, last = ranges.pop()
            reads += 1
            try:
                found = self._database.execute(
                    f"SELECT {select} FROM {table} NOT INDEXED WHERE rowid BETWEEN ? AND ? ORDER BY rowid", (first, last)
                ).fetchall()
            except sqlite3.DatabaseError:
                if not self.damaged:
                    log.exception("A table is damaged: %s", table)
                self.damaged = True
                if first < last:
                    middle = (first + last) // 2
                    ranges += [(middle + 1, last), (first, middle)]  # the first half comes next
                continue
            for row in found:
                if all(isinstance(value, str) for value, column in zip(row, columns, strict=True) if column in _TEXTS):
                    yield row

    def _last(self, table: str) -> int:
        try:
            return int(self._database.execute(f"SELECT max(rowid) FROM {table} NOT INDEXED").fetchone()[0] or 0)
        except sqlite3.DatabaseError:
            self.damaged = True
            return MAX_ROWS
