"""The page of a document that a model has read."""

import sqlite3
from contextlib import closing
from pathlib import Path

from mlx_engine.documents.citations import CitedPassage, without_markers
from mlx_engine.documents.document_search import documents_in, page_text
from mlx_engine.documents.index_file import open_index


def page_of(file: Path, passage: CitedPassage) -> str | None:
    """Return the text of a passage's page, or None if the index has it no longer."""
    if not file.exists():
        return None
    try:
        with closing(open_index(file, check=False)) as index:
            names = [found.name for found in documents_in(index) if without_markers(found.name) == passage.document]
            return page_text(index, names[0], passage.page) if names else None
    except sqlite3.Error:
        return None


def place_in(page: str, passage: str) -> tuple[int, int]:
    """Return where a passage is in its page, in characters.

    The place is empty if the page has changed. A model reads a passage without control characters, and with spaces in markers, so
    lines are compared without spaces.
    """
    wanted = [line for line in map(_compact, passage.split("\n")) if line]
    at, lines = 0, []  # start, end, and text of each line with text
    for line in page.split("\n"):
        if compact := _compact(line):
            lines.append((at, at + len(line), compact))
        at += len(line) + 1
    for first in range(len(lines) - len(wanted) + 1) if wanted else ():
        if all(line[2] == text for line, text in zip(lines[first:], wanted, strict=False)):
            return lines[first][0], lines[first + len(wanted) - 1][1]
    return 0, 0


def _compact(line: str) -> str:
    return "".join(char for char in line if char.isprintable() and not char.isspace())
