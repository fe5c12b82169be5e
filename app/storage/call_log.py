"""The tool calls of all chats, read from their messages."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from app.storage.json_values import as_list, as_time, parse_json, read_as
from mlx_engine.mcp.record import STOPPED, CallRecord

MOST_CALLS = 1_000  # in the log
MOST_LETTERS = 20_000  # of a result in the log
_CLEARED = "calls_cleared"  # the note with the time up to which calls aren't listed
# Calls up to this time are hidden. Open ones stay, so that their outcome is listed
_LAST_CLOSED = """
SELECT min(json_extract(call.value, '$.made'))
FROM message, json_each(CASE WHEN json_valid(message.details) THEN message.details ELSE '{}' END, '$.calls') AS call
WHERE message.running AND message.calls <> '' AND json_extract(call.value, '$.state') IN ('waiting', 'running')
"""
_MESSAGES = """
SELECT message.number FROM message JOIN chat ON chat.id = message.chat
WHERE message.calls <> '' AND chat.deleted IS NULL AND json_valid(message.details)
ORDER BY message.created DESC, message.number DESC
"""
_CALLS = "SELECT chat, id, created, running, json_extract(details, '$.calls') FROM message WHERE number = ?"


@dataclass(frozen=True)
class LoggedCall:
    """A call of a reply, with the beginning of its result and without images.

    Attributes:
        chat: ID of the chat.
        message: ID of the reply.
        made: when the model made the call, in seconds since 1970. For calls of earlier versions, when the reply began.
    """

    chat: str
    message: str
    made: float
    record: CallRecord


def logged_calls(db: sqlite3.Connection, pause: Callable[[], object], most: int = MOST_CALLS) -> list[LoggedCall]:
    """Return the latest calls since the log was cleared, newest first.

    Args:
        db: the database of chats.
        pause: called before each reply is read.
        most: number of calls.
    """
    note = db.execute("SELECT value FROM note WHERE name = ?", (_CLEARED,)).fetchone()
    since = as_time(parse_json(note[0]), 0.0) if note is not None else 0.0
    found: list[LoggedCall] = []
    for (number,) in db.execute(_MESSAGES).fetchall():
        if len(found) >= most:
            break
        pause()
        found += [call for call in _calls_of(db, number) if call.made > since]
    return sorted(found, key=lambda call: -call.made)[:most]


def clear_calls(db: sqlite3.Connection) -> None:
    """Empty the log. Chats keep their calls."""
    (first_open,) = db.execute(_LAST_CLOSED).fetchone()
    now = time.time()
    since = min(now, first_open - 1e-3) if isinstance(first_open, int | float) else now
    db.execute("INSERT OR REPLACE INTO note VALUES (?, ?)", (_CLEARED, repr(since)))


def _calls_of(db: sqlite3.Connection, number: int) -> Iterator[LoggedCall]:
    """Yield the calls of a reply, the last one first."""
    for chat, message, created, running, calls in db.execute(_CALLS, (number,)).fetchall():
        for one in reversed(as_list(parse_json(calls or ""))):
            record: CallRecord | None = read_as(CallRecord, one, None)
            if record is None:
                continue
            if not running and not record.ended:  # Slipstream ended before the call did
                record = replace(record, state="stopped", result=STOPPED)
            made = record.made or as_time(created, 0.0)
            yield LoggedCall(chat, message, made, replace(record, result=record.result[:MOST_LETTERS], images=()))
