"""The page of a document that a model has read."""

import sqlite3
from contextlib import closing
from pathlib import Path

from mlx_engine.documents.citations import without_markers
from mlx_engine.documents.document_search import documents_in, page_text
from mlx_engine.documents.index_file import open_index


def text_of_page(file: Path, document: str, page: int) -> str | None:
    """Return the text of a page, or None if the index has it no longer.

    Args:
        file: the index.
        document: name of the document, as a model read it.
    """
    if not file.exists():
        return None
    try:
        with closing(open_index(file, check=False)) as index:
            names = [found.name for found in documents_in(index) if without_markers(found.name) == document]
            return page_text(index, names[0], page) if names else None
    except sqlite3.Error:
        return None


def place_in(page: str, passage: str) -> tuple[int, int]:
    """Return where a passage is in its page, in characters.

    The place is empty if the page has changed. A model reads a passage without control characters, and with spaces in markers, so
    neither is compared.
    """
    places = [at for at, char in enumerate(page) if _is_compared(char)]
    wanted = "".join(filter(_is_compared, passage))
    first = "".join(page[at] for at in places).find(wanted) if wanted else -1
    return (places[first], places[first + len(wanted) - 1] + 1) if first >= 0 else (0, 0)


def _is_compared(char: str) -> bool:
    return char.isprintable() and not char.isspace()
