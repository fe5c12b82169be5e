"""Chats out of a database that may be damaged: row by row, and whatever cannot be read is left out.

It reads tables by their row numbers only, so that a broken index, the search's among them, takes nothing away.
"""

import json
import logging
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.conversations.chat_tree import Chat, Node, new_id
from app.conversations.plain_text import NEW_CHAT, clean, title_from
from app.conversations.records import node_from, time_from
from app.conversations.settings import ChatSettings
from app.conversations.store import Folder

log = logging.getLogger(__name__)

# A range of rows that cannot be read is halved until the rows that can are found. This many tries are enough for a hundred spoilt
# pages, and end in seconds where a table is gone altogether.
MOST_TRIES = 20_000
MOST_ROWS = 1 << 20  # where the last row's number cannot be read

Row = tuple[Any, ...]


@dataclass
class Salvaged:
    """Chats with their folder's id and pin; `empty` counts those that are named but of which no message is left."""

    chats: list[tuple[Chat, str, bool]] = field(default_factory=list)
    folders: list[Folder] = field(default_factory=list)
    empty: int = 0
    damaged: bool = False


def salvage(database: sqlite3.Connection) -> Salvaged:
    """All that can be read. Messages whose predecessor is lost follow the last one before them that is there; deleted chats stay
    deleted.

    Raises:
        sqlite3.Error: not even the list of tables can be read.
    """
    reader = _Reader(database)
    folders = [
        Folder(clean(one), clean(name), time_from(created, 0.0))
        for one, name, created in reader.rows("folder", ("id", "name", "created"))
    ]
    chats: dict[str, Chat] = {}
    places: dict[str, tuple[str, bool]] = {}
    known = {folder.id for folder in folders}
    deleted: set[str] = set()
    for one, title, folder, pinned, created, changed, gone, settings in reader.rows(
        "chat", ("id", "title", "folder", "pinned", "created", "changed", "deleted", "settings")
    ):
        if gone is not None:
            deleted.add(one)
            continue
        chats[one] = Chat(
            clean(title), ChatSettings.from_json(_json(settings)), one, time_from(created, 0.0), time_from(changed, 0.0)
        )
        places[one] = (folder if folder in known else "", pinned == 1)
    nodes: dict[str, dict[str, Node]] = {}
    columns = ("chat", "parent", "chosen", "role", "id", "text", "thinking", "created", "details", "suppliers")
    for chat_id, parent, chosen, role, one, text, thinking, created, details, suppliers in reader.rows("message", columns):
        if chat_id in deleted or role not in ("user", "assistant"):
            continue
        found = _json(details)
        more = found if isinstance(found, dict) else {}
        node = node_from(role, clean(one), clean(text), clean(thinking), time_from(created, 0.0), more, suppliers)
        if chat_id not in chats:  # its row is lost
            title = title_from(node.text) if node.text else NEW_CHAT
            chats[chat_id] = Chat(title, id=new_id(), created=node.created, changed=node.created)
            reader.damaged = True
        _hang(chats[chat_id], nodes.setdefault(chat_id, {}), node, parent, bool(chosen), reader)
    made = Salvaged(folders=folders, damaged=reader.damaged)
    for one, chat in chats.items():
        if chat.empty:
            made.empty += 1
        else:
            made.chats.append((chat, *places.get(one, ("", False))))
    return made


def _hang(chat: Chat, before: dict[str, Node], node: Node, parent_id: str | None, chosen: bool, reader: "_Reader") -> None:
    """Put a message into its place. Rows come in the order in which they were written, so a parent always comes first."""
    if parent_id is None:
        parent = chat.root
    elif parent_id in before:
        parent = before[parent_id]
    else:
        parent = next(reversed(before.values()), chat.root)
        reader.damaged = True
    shown = parent.chosen
    parent.add(node)
    if not chosen and shown is not None:
        parent.chosen = shown
    before[node.id] = node


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


class _Reader:
    """Reads tables by the numbers of their rows. `damaged` once something could not be read."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self.damaged = False

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[Row]:
        """Those that can be read, in order; a column that an older version does not have is empty."""
        there = {name for (name,) in self._database.execute("SELECT name FROM pragma_table_info(?)", (table,))}
        wanted = ", ".join(one if one in there else "''" for one in columns)
        waiting = [(0, self._last(table))]
        tries = 0
        while waiting and tries < MOST_TRIES:
            first, last = waiting.pop()
            tries += 1
            try:
                found = self._database.execute(
                    f"SELECT {wanted} FROM {table} NOT INDEXED WHERE rowid BETWEEN ? AND ? ORDER BY rowid", (first, last)
                ).fetchall()
            except sqlite3.DatabaseError:
                if not self.damaged:
                    log.exception("A table is damaged: %s", table)
                self.damaged = True
                if first < last:
                    middle = (first + last) // 2
                    waiting += [(middle + 1, last), (first, middle)]  # the first half is taken next
                continue
            yield from (row for row in found if _is_whole(row, columns))

    def _last(self, table: str) -> int:
        try:
            return int(self._database.execute(f"SELECT max(rowid) FROM {table} NOT INDEXED").fetchone()[0] or 0)
        except sqlite3.DatabaseError:
            self.damaged = True
            return MOST_ROWS


def _is_whole(row: Row, columns: Sequence[str]) -> bool:
    """Whether a row has the texts that no row goes without: what is left of a page may look like rows of nothing."""
    return all(isinstance(value, str) for value, column in zip(row, columns, strict=True) if column in _TEXTS)


_TEXTS = {"id", "name", "title", "chat", "role", "text", "thinking", "details", "settings", "suppliers"}
