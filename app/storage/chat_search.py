"""Search in the messages of all chats."""

import json
import re
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from app.text.plain_text import clean

MAX_HITS = 200
_BEFORE_HIT, _AFTER_HIT = 30, 90  # characters of context in an excerpt
_WORD = re.compile(r"(?<=\s)\S")  # the start of one


@dataclass(frozen=True)
class SearchHit:
    """A message that matches a search.

    Attributes:
        parent: the message above it, or empty.
        start: of a hit in `excerpt`, which ends at `end`.
    """

    chat: str
    message: str
    parent: str
    excerpt: str
    start: int
    end: int


def search(db: sqlite3.Connection, chats: Iterable[str], words: str, pause: Callable[[], object]) -> tuple[SearchHit, ...]:
    """Return messages of these chats with all words and quoted phrases, in order."""
    terms = terms_of(words)
    found: list[SearchHit] = []
    numbers = _indexed(db, [term for term in terms if len(term) >= 3])
    short = [term.casefold() for term in terms if len(term) < 3]  # too short for the trigram index
    conditions = "".join(" AND instr(folded(text || calls || summary), ?)" for _ in short)
    query = f"SELECT id, coalesce(parent, ''), text || calls || summary FROM message WHERE chat = ? AND NOT running{conditions}"
    among = " AND number IN (SELECT value FROM json_each(?))" if numbers is not None else ""
    for chat in chats if terms else ():
        pause()
        if numbers is not None and chat not in numbers:
            continue
        values: list[object] = [chat, *short, *([json.dumps(numbers[chat])] if numbers is not None else [])]
        rows = db.execute(f"{query}{among} ORDER BY number LIMIT ?", (*values, MAX_HITS - len(found)))
        found += [_hit(chat, message, parent, text, terms) for message, parent, text in rows]
        if len(found) == MAX_HITS:
            break
    return tuple(found)


def _indexed(db: sqlite3.Connection, terms: Sequence[str]) -> dict[str, list[int]] | None:
    """Return the numbers of the messages with all terms, by chat; None without terms."""
    if not terms:
        return None
    wanted = " AND ".join('"' + term.replace('"', '""') + '"' for term in terms)
    numbers: dict[str, list[int]] = {}
    among = "SELECT rowid FROM found WHERE found MATCH ?"
    for chat, number in db.execute(f"SELECT chat, number FROM message WHERE number IN ({among})", (wanted,)):
        numbers.setdefault(chat, []).append(number)
    return numbers


def terms_of(words: str) -> list[str]:
    """Split a search into words and quoted phrases."""
    found: list[str] = []
    for index, part in enumerate(clean(words).split('"')):
        found += [part.strip()] if index % 2 and part.strip() else part.split()
    return list(dict.fromkeys(found))


def _hit(chat: str, message: str, parent: str, text: str, terms: Sequence[str]) -> SearchHit:
    """Return a hit with an excerpt around the first term that begins at a word."""
    lower = text.lower()
    places = [(lower.find(term.lower()), len(term)) for term in terms] if len(lower) == len(text) else []
    at, length = min((place for place in places if place[0] >= 0), default=(0, 0))
    first, last = max(0, at - _BEFORE_HIT), at + length + _AFTER_HIT
    if first and (word := _WORD.search(text, first, at + 1)) is not None:
        first = word.start()
    start = at - first + (1 if first else 0)
    excerpt = ("…" if first else "") + text[first:last].replace("\n", " ") + ("…" if last < len(text) else "")
    return SearchHit(chat, message, parent, excerpt, start, start + length)
