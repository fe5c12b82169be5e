"""The index of the documents in some folders."""

import hashlib
import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import TypeVar

from mlx_engine.contract.errors import UserError, WorkCancelled
from mlx_engine.contract.files import cannot_read
from mlx_engine.documents.document import DocumentPage, check_size, may_be_document, read_document
from mlx_engine.documents.index_file import checkpoint, delete_index, is_damage, open_index, purge, transaction
from mlx_engine.documents.passages import passages_of
from mlx_engine.documents.sources import SourceFile, TooManyFiles, content_of, files_in
from mlx_engine.documents.terms import segmented
from mlx_engine.media import media_process

log = logging.getLogger(__name__)

MOST_FILES = 20_000
_HEAD = 8192  # bytes
_TRY_AGAIN = ("media_stopped", "media_process")  # errors that aren't the file's
Result = TypeVar("Result")
_NEVER = -1  # time of a file that is read again at the next update
_ONLINE = -2  # time of a file that is read once it is on this computer


class DocumentIndex:
    """An index of the documents in folders, which `update` keeps up to date.

    Several programs may share the file.

    Args:
        file: the index.
        folders: absolute paths of the folders.

    Attributes:
        exceeded_limit: how many files are looked at, if the folders have more, else 0.
    """

    def __init__(self, file: Path, folders: Sequence[str]) -> None:
        self._file, self._folders = file, tuple(folders)
        self.exceeded_limit = 0
        self._updating = threading.Lock()
        self._checked = False
        self._has_deleted = False  # whether deleted words are in the file
        self._failed: Callable[[sqlite3.Connection], object] | None = None  # a search that found damage

    def update(
        self, progress: Callable[[int, int], object] = lambda done, total: None, cancel: threading.Event | None = None
    ) -> None:
        """Index new and changed files, and forget those that are gone.

        An index that is damaged is made again.

        Args:
            progress: called with the numbers of indexed files and of all files.
            cancel: ends the work. What is done stays.

        Raises:
            WorkCancelled: `cancel` was set.
            sqlite3.Error, OSError: the disk fails.
        """
        with self._updating:
            try:
                try:
                    self._update(progress, cancel)
                except sqlite3.Error as error:
                    if not is_damage(error):
                        raise
                    log.warning("The index of documents is made again: %s", error)
                    delete_index(self._file)
                    self._update(progress, cancel)
            except sqlite3.Error:
                if cancel is not None and cancel.is_set():
                    raise WorkCancelled from None
                raise

    def read(self, use: Callable[[sqlite3.Connection], Result]) -> Result:
        """Return what a function finds in the index.

        Raises:
            sqlite3.Error, OSError: the disk fails, or the index is damaged. The next update then makes it again.
        """
        try:
            with closing(self._open(check=False)) as index:
                index.execute("BEGIN")  # so that all queries see the same documents, even during an update
                return use(index)
        except sqlite3.Error as error:
            if is_damage(error):
                self._failed = use
            raise

    def erase_deleted(self, cancel: threading.Event | None = None) -> None:
        """Erase the words of deleted text from the file, which keeps them until then.

        This can take long. Updates and searches go on during that time.

        Raises:
            WorkCancelled: `cancel` was set. What is done stays.
            sqlite3.Error, OSError: the disk fails.
        """
        if not self._has_deleted or not self._file.exists():
            return
        self._has_deleted, has_ended = False, False
        try:
            with closing(self._open(check=False)) as index:
                for _ in purge(index):
                    if cancel is not None and cancel.is_set():
                        raise WorkCancelled
            has_ended = True
        except sqlite3.Error as error:
            if is_damage(error):
                self._failed = lambda index: [*purge(index)]
            raise
        finally:
            if not has_ended:
                self._has_deleted = True

    def delete(self) -> None:
        """Delete the index from the disk."""
        with self._updating:
            delete_index(self._file)

    def _open(self, check: bool, cancel: threading.Event | None = None) -> sqlite3.Connection:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        return open_index(self._file, check, cancel)

    def _update(self, progress: Callable[[int, int], object], cancel: threading.Event | None) -> None:
        with closing(self._open(check=not self._checked, cancel=cancel)) as index:
            failed, self._failed = self._failed, None
            if failed is not None:  # unless another program has made the index again since, it fails again
                failed(index)
            is_first, self._checked = not self._checked, True
            known = {
                name: facts for name, *facts in index.execute("SELECT name, id, modified_ns, size, digest FROM document").fetchall()
            }
            files = self._files(cancel)
            gone = [known[name][0] for name in known.keys() - {source.name for source in files}]
            with transaction(index):
                _forget(index, gone)
            if gone or (is_first and known):  # an earlier program may have ended before it erased
                self._has_deleted = True
            for done, source in enumerate(files):
                progress(done, len(files))
                if cancel is not None and cancel.is_set():
                    raise WorkCancelled
                number, *stamp, digest = known.get(source.name, (None, None, None, b""))
                is_waiting = source.is_online and stamp == [_ONLINE, source.size]
                has_changed = stamp != [source.modified_ns, source.size] and not is_waiting
                if has_changed and self._index_file(index, source, number, digest, cancel):
                    self._has_deleted = True
            progress(len(files), len(files))
            if self._has_deleted:
                checkpoint(index)
            media_process.documents.end_idle()  # it may hold the memory of large files

    def _files(self, cancel: threading.Event | None) -> list[SourceFile]:
        """Return the files to index, and set the limit that they exceed, if any."""
        files: list[SourceFile] = []
        self.exceeded_limit = 0
        try:
            for source in files_in(self._folders, cancel):
                if len(files) == MOST_FILES:
                    raise TooManyFiles(MOST_FILES)
                files.append(source)
        except TooManyFiles as error:
            self.exceeded_limit = error.limit
        return files

    def _index_file(
        self, index: sqlite3.Connection, source: SourceFile, number: int | None, digest: bytes, cancel: threading.Event | None
    ) -> bool:
        """Index a file that may have changed. Return whether something was deleted."""
        pages: list[DocumentPage] | None = None
        problem, found, modified_ns = "", b"", source.modified_ns
        try:
            if source.is_online:  # reading it would download it
                problem, modified_ns = f"“{source.name}” isn't stored on this Mac. Download it in Finder to search it.", _ONLINE
            elif may_be_document(source.name, data := content_of(source, self._folders, _HEAD)):
                check_size(source.name, source.size)
                data = content_of(source, self._folders, source.size)
                found = hashlib.sha256(data).digest()
                if found != digest:
                    pages = read_document(data, source.name, cancel)
                    found = found if pages is not None else b""
        except UserError as error:
            problem = str(error)
            if error.text.code in _TRY_AGAIN:
                found, modified_ns = b"", _NEVER
        except OSError as error:
            problem, found, modified_ns = str(cannot_read(Path(source.name), error)), b"", _NEVER
        with transaction(index):
            if number is not None and found and found == digest:
                stamp = (source.modified_ns, source.size, number)
                index.execute("UPDATE document SET modified_ns = ?, size = ? WHERE id = ?", stamp)
                return False
            if number is not None:
                _forget(index, [number])
            row = (source.name, modified_ns, source.size, found, problem)
            # Another program may have indexed the file, too
            with suppress(sqlite3.IntegrityError):
                added = index.execute(
                    "INSERT INTO document (name, modified_ns, size, digest, problem) VALUES (?, ?, ?, ?, ?)", row
                ).lastrowid
                _add(index, added, source.name, pages or [])
        return bool(digest)


def _add(index: sqlite3.Connection, document: int | None, name: str, pages: Sequence[DocumentPage]) -> None:
    ids = [
        index.execute("INSERT INTO page (document, number) VALUES (?, ?)", (document, number)).lastrowid
        for number in range(1, len(pages) + 1)
    ]
    for passage in passages_of([(page.text, page.headings) for page in pages]):
        body = pages[passage.page].text[passage.start : passage.end]
        row = (ids[passage.page], passage.start, passage.heading, body)
        added = index.execute("INSERT INTO passage (page, first, heading, text) VALUES (?, ?, ?, ?)", row).lastrowid
        _change_words(index, "", added, name, passage.heading, body)


def _forget(index: sqlite3.Connection, documents: Iterable[int]) -> None:
    for document in documents:
        rows = index.execute(
            "SELECT passage.id, name, heading, text FROM passage "
            "JOIN page ON page.id = passage.page JOIN document ON document.id = page.document WHERE document.id = ?",
            (document,),
        ).fetchall()
        for passage, name, heading, body in rows:
            _change_words(index, "delete", passage, name, heading, body)
        index.execute("DELETE FROM passage WHERE page IN (SELECT id FROM page WHERE document = ?)", (document,))
        index.execute("DELETE FROM page WHERE document = ?", (document,))
        index.execute("DELETE FROM document WHERE id = ?", (document,))


def _change_words(index: sqlite3.Connection, command: str, passage: int | None, name: str, heading: str, body: str) -> None:
    """Add a passage to the full-text tables, or delete it from them by its words."""
    words = tuple(map(segmented, (name, heading, body)))
    if command:
        index.execute("INSERT INTO words(words, rowid, name, heading, body) VALUES ('delete', ?, ?, ?, ?)", (passage, *words))
        index.execute("INSERT INTO parts(parts, rowid, body) VALUES ('delete', ?, ?)", (passage, body))
    else:
        index.execute("INSERT INTO words(rowid, name, heading, body) VALUES (?, ?, ?, ?)", (passage, *words))
        index.execute("INSERT INTO parts(rowid, body) VALUES (?, ?)", (passage, body))
