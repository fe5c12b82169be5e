"""Read-only tools for the documents in folders that the user chose.

Errors are ValueErrors with a short message.
"""

import logging
import sqlite3
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import TypeVar

from mlx_engine.contract.errors import WorkCancelled
from mlx_engine.contract.temporary_folders import temporary_folder
from mlx_engine.documents.citations import quoted_page, quoted_passages, without_markers
from mlx_engine.documents.document_index import DocumentIndex
from mlx_engine.documents.document_search import FoundPassage, documents_in, find_passages, page_text
from mlx_engine.documents.index_file import is_damage
from mlx_engine.documents.sources import shown_name

log = logging.getLogger(__name__)

_MOST_FOUND = 5  # passages of a search
_LONGEST_QUERY = 1000  # characters, and of the other words
_WAIT_S = 5.0  # for the index. Then a search returns what is indexed so far
_END_S = 1.0
_ERASE_EVERY_S = 600.0  # deleted words, which means to write most of the index again
_MOST_PROBLEMS = 5
Found = TypeVar("Found")


class Documents:
    """The documents in folders, whose index is updated before each search.

    Args:
        folders: absolute paths of the folders.
        file: the index. By default, it is a temporary file, which `close` deletes.

    Attributes:
        progress: how many files are indexed, and how many there are.
    """

    def __init__(self, folders: Sequence[str], file: Path | None = None) -> None:
        self._temporary = temporary_folder("documents") if file is None else None
        place = file or Path(self._temporary.name if self._temporary else "", "documents.sqlite")
        self._index = DocumentIndex(place, folders)
        self._update: threading.Thread | None = None
        self._updated_at: float | None = None  # on the monotonic clock
        self._eraser = threading.Thread(target=self._erase, name="documents-eraser", daemon=True)
        self.progress = (0, 0)
        self._problem = ""
        self._reported: set[str] = set()  # problems of documents
        self._cancel = threading.Event()
        self._starting = threading.Lock()

    @property
    def is_updating(self) -> bool:
        return self._update is not None and self._update.is_alive()

    def start(self) -> None:
        """Index the documents, if that isn't under way."""
        with self._starting:
            if not self.is_updating:
                self._update = threading.Thread(target=self._run, name="documents", daemon=True)
                self._update.start()
            if self._temporary is None and self._eraser.ident is None:
                self._eraser.start()

    def close(self) -> None:
        """End indexing. What is done stays."""
        self._cancel.set()
        for thread in (self._update, self._eraser):
            if thread is not None and thread.ident is not None:
                thread.join(_END_S)
        if self._temporary is not None:
            self._temporary.cleanup()

    def search_documents(self, query: str, other_words: str = "") -> str:
        """Return the passages that fit a query best, and problems of documents.

        Args:
            query: a question, or words.
            other_words: words that the text may have instead of those of the query.
        """
        if not query.strip():
            raise ValueError("The query is empty")
        found = self.find(query, _MOST_FOUND, other_words)
        notes = [quoted_passages(found) if found else "[Nothing found. Search for other words.]"]
        if self.is_updating:
            done, total = self.progress
            notes.append(f"[The documents are still being indexed: {done:,} of {total:,} files. Search again for the rest.]")
        problems = self.new_problems()
        if self._reported and not problems:
            problems = [f"Problems that were reported before: {len(self._reported):,}."]
        return "\n\n".join((*notes, *(f"[{without_markers(problem)}]" for problem in problems)))

    def new_problems(self) -> list[str]:
        """Return why documents can't be searched, without what was returned before."""
        problems = [document.problem for document in self._read(documents_in) if document.problem]
        if self._index.exceeded_limit:
            problems.insert(0, f"Only the first {self._index.exceeded_limit:,} files are searched. Choose smaller folders.")
        new = [problem for problem in problems if problem not in self._reported]
        self._reported = self._reported & set(problems) | set(new[:_MOST_PROBLEMS])
        more = [f"Other documents that can't be read: {len(new) - _MOST_PROBLEMS:,}."] if len(new) > _MOST_PROBLEMS else []
        return new[:_MOST_PROBLEMS] + more

    def open_page(self, document: str, page: int) -> str:
        """Return a page of a document."""
        self._refresh()
        known = {one.name: one.pages for one in self._read(documents_in) if one.pages}
        wanted = shown_name(document)
        exact = [name for name in known if without_markers(name) == wanted]
        fitting = exact or [name for name in known if without_markers(name).endswith(f"/{wanted}")]
        if len(fitting) != 1:
            raise ValueError(
                f"{len(fitting) or 'No'} documents have the name “{wanted}”. Search first, and use the name in the results"
            )
        is_there = 1 <= page <= known[fitting[0]]
        text = self._read(lambda index: page_text(index, fitting[0], page)) if is_there else None
        if text is None:
            raise ValueError(f"“{wanted}” has no page {page:,}. It has {known[fitting[0]]:,} pages")
        return quoted_page(fitting[0], page, text)

    def find(
        self, query: str, most: int, other_words: str = "", wait_s: float | None = _WAIT_S, max_age_s: float = 0.0
    ) -> list[FoundPassage]:
        """Return the passages that fit a query best, best first.

        Args:
            query: a question, or words.
            most: number of passages.
            other_words: as in `search_documents`.
            wait_s: how long to wait for the index, at most; None waits until it is complete, or `close` is called.
            max_age_s: how long after an update of the index the folders aren't read again.
        """
        if self._updated_at is None or monotonic() - self._updated_at >= max_age_s:
            self._refresh(wait_s)
        words, others = query[:_LONGEST_QUERY], other_words[:_LONGEST_QUERY]
        return self._read(lambda index: find_passages(index, words, most, others))

    def _refresh(self, wait_s: float | None = _WAIT_S) -> None:
        """Index the documents again, and wait for that up to a limit."""
        self.start()
        assert self._update is not None
        self._update.join(wait_s)
        if self._problem:
            raise ValueError(self._problem)

    def _read(self, use: Callable[[sqlite3.Connection], Found]) -> Found:
        try:
            try:
                return self._index.read(use)
            except sqlite3.Error as error:
                if not is_damage(error):
                    raise
            self._refresh()
            return self._index.read(use)
        except (sqlite3.Error, OSError) as error:
            if isinstance(error, sqlite3.Error) and is_damage(error):
                raise ValueError("The index of the documents was damaged, and is being made again. Search again later") from None
            raise ValueError(f"The index of the documents can't be read: {error}") from None

    def _erase(self) -> None:
        """Erase deleted words after the first update, and then from time to time."""
        assert self._update is not None
        self._update.join()
        while not self._cancel.is_set():
            try:
                self._index.erase_deleted(self._cancel)
            except WorkCancelled:
                return
            except (sqlite3.Error, OSError) as error:
                log.warning("Deleted words stay in the index of documents until the next attempt: %s", error)
            self._cancel.wait(_ERASE_EVERY_S)

    def _run(self) -> None:
        def progress(done: int, total: int) -> None:
            self.progress = (done, total)

        self._problem = ""
        self._updated_at = None
        try:
            with suppress(WorkCancelled):
                self._index.update(progress, self._cancel)
                self._updated_at = monotonic()
        except (sqlite3.Error, OSError) as error:
            self._problem = f"The documents can't be indexed: {error}"
