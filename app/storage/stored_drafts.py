"""Unsent messages in the database."""

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, replace

from app.storage.attachments import Attachment, attachments_from
from app.storage.json_values import parse_json
from app.storage.pictures import StoredFile
from app.text.plain_text import clean

QUICK_CHAT = "quick"  # in place of the ID of the next quick chat, which isn't saved yet


@dataclass(frozen=True)
class StoredDraft:
    """An unsent message, or an edit of a message that wasn't sent.

    Attributes:
        chat: ID of its chat, or "" for the next new chat, or `QUICK_CHAT`.
        edits: ID of the message that is edited, or "".
        open: whether the edit goes on when the chat is opened.
    """

    chat: str
    edits: str
    text: str
    attachments: tuple[Attachment, ...] = ()
    open: bool = False

    @property
    def files(self) -> list[StoredFile]:
        """The files that the database keeps."""
        return [file for one in self.attachments for file in one.files]

    def followed_by(self, later: "StoredDraft") -> "StoredDraft":
        """Return this draft and what a later one has in addition."""
        more = tuple(file for file in later.attachments if file not in self.attachments)
        return replace(self, text=_joined(self.text, later.text), attachments=self.attachments + more)


def _joined(first: str, second: str) -> str:
    if not first.strip() or first in second:
        return second
    return first if not second.strip() or second in first else f"{first}\n\n{second}"


def write_draft(db: sqlite3.Connection, draft: StoredDraft) -> None:
    """Save a draft in place of an earlier one, or delete it if it is empty."""
    if not draft.text and not draft.attachments:
        db.execute("DELETE FROM draft WHERE chat = ? AND edits = ?", (draft.chat, draft.edits))
        return
    attachments = json.dumps([one.to_json() for one in draft.attachments])
    (number,) = db.execute(
        "INSERT INTO draft (chat, edits, text, attachments, open) VALUES (?, ?, ?, ?, ?) ON CONFLICT (chat, edits) DO UPDATE "
        "SET text = excluded.text, attachments = excluded.attachments, open = excluded.open RETURNING number",
        (draft.chat, draft.edits, clean(draft.text), attachments, draft.open),
    ).fetchone()
    add_data(db, draft.files)
    for file in draft.files:
        db.execute("INSERT OR IGNORE INTO draft_file SELECT ?, digest FROM file WHERE digest = ?", (number, file.digest))
    others = "DELETE FROM draft_file WHERE draft = ? AND digest NOT IN (SELECT value FROM json_each(?))"
    db.execute(others, (number, json.dumps([file.digest for file in draft.files])))


def add_to_draft(db: sqlite3.Connection, draft: StoredDraft) -> None:
    """Save a draft below what is stored in its place."""
    stored = next((one for one in read_drafts(db) if (one.chat, one.edits) == (draft.chat, draft.edits)), None)
    write_draft(db, stored.followed_by(draft) if stored is not None else draft)


def read_drafts(db: sqlite3.Connection) -> tuple[StoredDraft, ...]:
    files = dict(db.execute("SELECT digest, data FROM file WHERE digest IN (SELECT digest FROM draft_file)"))
    rows = db.execute("SELECT chat, edits, text, attachments, open FROM draft ORDER BY number")
    return tuple(
        StoredDraft(chat, edits, text, attachments_from(parse_json(attachments), files), bool(is_open))
        for chat, edits, text, attachments, is_open in rows
    )


def erase_lost_drafts(db: sqlite3.Connection) -> None:
    """Erase the drafts of chats that are gone."""
    db.execute("DELETE FROM draft WHERE chat NOT IN ('', ?) AND chat NOT IN (SELECT id FROM chat)", (QUICK_CHAT,))


def add_data(db: sqlite3.Connection, files: Iterable[StoredFile]) -> None:
    """Save the data of files that aren't stored yet."""
    for file in files:
        if file.data and db.execute("SELECT 1 FROM file WHERE digest = ?", (file.digest,)).fetchone() is None:
            db.execute("INSERT INTO file VALUES (?, ?)", (file.digest, file.data))
