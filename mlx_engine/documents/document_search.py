"""The search in an index of documents, by BM25."""

import sqlite3
from dataclasses import dataclass
from itertools import accumulate

from mlx_engine.documents.terms import quoted, terms_of_query, trigrams

_WEIGHTS = "1.5, 3.0, 1.0"  # of words in the name, in headings, and in the text
_MOST_RANKED = 10_000  # passages, which bounds the time
_RANK_OFFSET = 60  # of reciprocal rank fusion: the usual value
_CANDIDATES = 50  # passages of each list


@dataclass(frozen=True)
class FoundPassage:
    """A passage that was found.

    Attributes:
        page: its page, counted from 1.
        heading: the headings above it, or empty.
    """

    document: str
    page: int
    heading: str
    text: str


@dataclass(frozen=True)
class IndexedDocument:
    """A document in the index.

    Attributes:
        pages: number of pages.
        problem: why it can't be read, or empty.
    """

    name: str
    pages: int
    problem: str = ""


def find_passages(index: sqlite3.Connection, query: str, most: int, other_words: str = "") -> list[FoundPassage]:
    """Return the passages that fit a query best, best first.

    Terms that are in many passages count only if there is time for them, because they say little. A term that isn't a word of any
    passage is searched inside words, if it is in the query.

    Args:
        index: a connection of a document index.
        query: a question, or words.
        most: number of passages to return.
        other_words: words that the text may have instead of those of the query.

    Raises:
        sqlite3.Error: the index is damaged.
    """
    own = terms_of_query(query)
    counts = {term: _count(index, quoted(term)) for term in terms_of_query(f"{query} {other_words}")}
    known = sorted((term for term, count in counts.items() if count), key=counts.__getitem__)
    sums = accumulate(counts[term] for term in known)
    ranked = [term for term, total in zip(known, sums, strict=True) if total <= _MOST_RANKED]
    lists = []
    if ranked:
        lists.append(_ranked(index, " OR ".join(map(quoted, ranked))))
    elif known:
        match = " AND ".join(quoted(term) for term in known if term in own) or quoted(known[0])
        lists.append(_ranked(index, match, by_rank=_count(index, match) <= _MOST_RANKED))
    inner = [term for term in own if not counts[term] and len(term) >= 3]
    lists += [_inner(index, term) for term in inner]
    scores: dict[int, float] = {}
    for found in lists:
        for rank, passage in enumerate(found):
            scores[passage] = scores.get(passage, 0.0) + 1 / (_RANK_OFFSET + rank)
    best = sorted(scores, key=lambda passage: -scores[passage])[:most]
    return [_passage(index, passage) for passage in best]


def documents_in(index: sqlite3.Connection) -> list[IndexedDocument]:
    """Return all documents, by name.

    Raises:
        sqlite3.Error: the index is damaged.
    """
    pages = "SELECT count(*) FROM page WHERE page.document = document.id"
    query = f"SELECT name, ({pages}), problem FROM document WHERE digest != x'' OR problem != '' ORDER BY name"
    return [IndexedDocument(*row) for row in index.execute(query)]


def page_text(index: sqlite3.Connection, document: str, page: int) -> str | None:
    """Return the text of a page, or None if there is none.

    Raises:
        sqlite3.Error: the index is damaged.
    """
    row = index.execute(
        "SELECT page.id FROM page JOIN document ON document.id = page.document WHERE name = ? AND number = ?", (document, page)
    ).fetchone()
    if row is None:
        return None
    return "".join(text for (text,) in index.execute("SELECT text FROM passage WHERE page = ? ORDER BY first", row))


def _count(index: sqlite3.Connection, match: str) -> int:
    """Return how many passages match, at most one more than are ranked."""
    query = "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)"
    return int(index.execute(query, (match, _MOST_RANKED + 1)).fetchone()[0])


def _ranked(index: sqlite3.Connection, match: str, by_rank: bool = True) -> list[int]:
    order = f"ORDER BY bm25(words, {_WEIGHTS}), rowid " if by_rank else ""
    query = f"SELECT rowid FROM words WHERE words MATCH ? {order}LIMIT {_CANDIDATES}"
    return [passage for (passage,) in index.execute(query, (match,))]


def _inner(index: sqlite3.Connection, term: str) -> list[int]:
    """Return passages that contain a term inside a word."""
    match = " AND ".join(map(quoted, trigrams(term)))
    rows = index.execute(f"SELECT rowid FROM parts WHERE parts MATCH ? LIMIT {_CANDIDATES}", (match,)).fetchall()
    return [passage for (passage,) in rows if term in _passage(index, passage).text.lower()]


def _passage(index: sqlite3.Connection, passage: int) -> FoundPassage:
    row = index.execute(
        "SELECT name, number, heading, text FROM passage "
        "JOIN page ON page.id = passage.page JOIN document ON document.id = page.document WHERE passage.id = ?",
        (passage,),
    ).fetchone()
    if row is None:
        raise sqlite3.DatabaseError("a passage is missing")
    return FoundPassage(*row)
