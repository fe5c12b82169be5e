"""The thread that owns the chat database, so the window never waits for the disk.

Jobs run in order, so a read sees all earlier writes. A long job pauses between chats, and between the lines, rows, and files
that it reads, so that other jobs wait for one of them at most. Long jobs run one after the other. A write that fails because of
the disk is retried before the next one and every few seconds. A write that fails for another reason is dropped, so that it can't
block the others. Chats with failed writes are listed as unsaved.
"""

import logging
import queue
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from app.storage import wording
from app.storage.database import OpenedStore, mark_sound, open_store
from app.storage.schema import is_disk_fault
from app.storage.store import Store
from app.text.language import tr, translated
from mlx_engine.contract.errors import UserError

log = logging.getLogger(__name__)

Work = Callable[[Store], Any]
Then = Callable[[Any], None]
Pause = Callable[[], None]  # lets other jobs run


RETRY_S = 5.0
IDLE_S = 1.0  # without jobs, before the file shrinks
STEP_S = 0.02  # between steps of shrinking
QUIT_S = 2.0  # of shrinking while the app quits
DAMAGED_PAGE = "troubleshooting#a-chat-is-missing-or-damaged"
UNSAVED_PAGE = "troubleshooting#chats-or-settings-cant-be-saved"
BUG_PAGE = "troubleshooting#how-do-i-report-a-problem"
_DAMAGE = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


@dataclass(frozen=True)
class _Job:
    work: Work
    then: Then | None
    writes: bool
    chat_id: str = ""
    key: object = None  # of what is written, if all of it is
    long: bool = False


class StoreThread(QObject):
    """The window's interface to the store. `then` is called on the window's thread."""

    notice = Signal(str, str)  # text about a problem for the user, and the page of Help about it
    saved_again = Signal(str)  # the text of the notice that is outdated now
    unsaved_changed = Signal(frozenset, str)  # ids of chats with unsaved changes, and why they can't be saved

    _done = Signal(object, object)

    def __init__(
        self, make: Callable[[], OpenedStore] = lambda: open_store(None), log_file: str = "the log", parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._make = make
        self._log_file = log_file
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._long: deque[_Job] = deque()  # that wait
        self._ending = False  # whether no jobs will come
        self._unwritten: deque[_Job] = deque()
        self._retry_at = 0.0  # on the monotonic clock
        self._refusal = ""  # why a write in `_unwritten` failed
        self._refused = ""  # the notice about it
        self._problems = {"write": "", "read": ""}  # the last notice per action, until the action succeeds
        self._index_rebuilt = False
        self._maybe_damaged = False
        self._reported: set[str] = set()  # notices about dropped writes
        self._dropped: set[str] = set()  # ids of the chats of dropped writes
        self._unsaved: frozenset[str] = frozenset()
        self._in_memory = False  # because the file can't be used
        self._closed = False
        self._done.connect(self._call)
        # A daemon, so that a hanging disk can't keep the process alive. `wait` finishes all writes.
        self._thread = threading.Thread(target=self._run, name="store", daemon=True)

    @property
    def keeps(self) -> bool:
        """Whether what is written reaches the disk, as far as is known."""
        return not (self._closed or self._in_memory)

    def start(self) -> None:
        """Open the database and start working. Connect to `notice` first."""
        self._thread.start()

    def read(self, work: Work, then: Then) -> None:
        """Call `then` with the result of `work`, or show a notice if it fails."""
        self._put(_Job(work, then, writes=False))

    def read_long(self, work: Callable[[Store, Pause], Any], then: Then) -> None:
        """Do what `read` does with work that calls its second argument between steps.

        Other jobs may change the database in these pauses. There must be no open transaction.
        """
        self._put(_Job(lambda store: work(store, lambda: self._do_others(store)), then, writes=False, long=True))

    def write(self, work: Work, then: Then | None = None, chat_id: str = "", key: object = None) -> None:
        """Call `then` with the result of `work` on the chat, or with None if it fails.

        The work replaces failed writes with the same key, if any.
        """
        self._put(_Job(work, then, writes=True, chat_id=chat_id, key=key))

    def wait(self, seconds: float) -> bool:
        """Finish all jobs and close the database; return False on a timeout."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
        if self._thread.ident is None:
            return True
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _put(self, job: _Job) -> None:
        if not self._closed:
            self._jobs.put(job)

    @Slot(object, object)
    def _call(self, then: Then, value: object) -> None:
        then(value)

    # On the store's thread

    def _run(self) -> None:
        try:
            opened = self._make()
        except Exception as error:
            log.exception("The store cannot be opened")
            opened = OpenedStore(Store(None), False, tr("Can't open your chats ({error}). New chats won't be saved.", error=error))
        if opened.notice:
            self.notice.emit(opened.notice, DAMAGED_PAGE if opened.saves else UNSAVED_PAGE)
            self._in_memory = not opened.saves
        while (job := self._next_job(opened.store)) is not None:
            self._do(opened.store, job)
        self._catch_up(opened.store)
        if self._unwritten:
            log.error("The disk refuses to write; %s writes are lost", len(self._unwritten))
        try:
            opened.store.purge()
        except Exception:
            log.exception("Deleted chats could not be erased")
        end = time.monotonic() + QUIT_S
        while time.monotonic() < end and self._shrink(opened.store):
            pass
        opened.store.close()
        if opened.file is not None and not self._maybe_damaged:
            mark_sound(opened.file)

    def _next_job(self, store: Store) -> _Job | None:
        """Wait for the next job. In pauses, repeat failed writes and shrink the file."""
        pause: float | None = IDLE_S
        while True:
            if self._long and (self._ending or self._jobs.empty()):
                return self._long.popleft()
            if self._ending:
                return None
            try:
                job = self._jobs.get(timeout=RETRY_S if self._unwritten else pause)
            except queue.Empty:
                self._catch_up(store)
                pause = STEP_S if not self._unwritten and self._shrink(store) else None
                continue
            if not self._is_for_later(job):
                return job

    def _is_for_later(self, job: _Job | None) -> bool:
        """Keep a long job, or the end of all jobs, for later."""
        if job is None:
            self._ending = True
        elif job.long:
            self._long.append(job)
        return job is None or job.long

    def _do_others(self, store: Store) -> None:
        """Do the jobs that came while a long one runs, but no long ones.

        Failed writes are repeated.
        """
        while not self._jobs.empty():
            if not self._is_for_later(job := self._jobs.get()) and job is not None:
                self._do(store, job)
        if self._unwritten and time.monotonic() >= self._retry_at:
            self._catch_up(store)

    def _shrink(self, store: Store) -> bool:
        """Do one step of shrinking. Return whether there are more."""
        try:
            return store.shrink()
        except Exception:  # the space stays free for later chats
            log.exception("The database could not be shrunk")
            return False

    def _do(self, store: Store, job: _Job) -> None:
        value, failed = None, False
        if job.writes:
            self._unwritten = deque(one for one in self._unwritten if one.key is None or one.key != job.key)
            self._unwritten.append(job)
            value = self._catch_up(store)
        else:
            try:
                value = self._attempt(store, job.work)
                self._problems["read"] = ""
            except Exception as error:
                failed = True
                self._report("read", error)
        if job.then is not None and not failed:
            self._done.emit(job.then, value)

    def _catch_up(self, store: Store) -> object:
        """Run pending writes in order. Return the last result, or None on failure."""
        value = None
        while self._unwritten:
            value, job = None, self._unwritten[0]
            try:
                value = self._attempt(store, job.work)
                self._problems["write"] = ""
            except Exception as error:
                self._report("write", error)
                if is_disk_fault(error):
                    self._refusal, self._refused = wording.disk_fault(error), self._problems["write"]
                    break
                self._dropped.add(job.chat_id)
            if self._in_memory:
                self._dropped.add(job.chat_id)
            self._unwritten.popleft()
        self._retry_at = time.monotonic() + RETRY_S
        if self._refusal and not self._unwritten:
            self._refusal = ""
            self.saved_again.emit(self._refused)
        unsaved = frozenset(self._dropped.union(job.chat_id for job in self._unwritten) - {""})
        if unsaved != self._unsaved:
            self._unsaved = unsaved
            self.unsaved_changed.emit(unsaved, self._refusal)
        return value

    def _attempt(self, store: Store, work: Work) -> object:
        """Do the work. On an error, rebuild the search index once and try again."""
        try:
            return work(store)
        except sqlite3.DatabaseError as error:
            if is_disk_fault(error):
                raise
            self._maybe_damaged = True
            if self._index_rebuilt:
                raise
            log.exception("Rebuilding the search index")
            self._index_rebuilt = True
            store.rebuild_index()
            return work(store)

    def _report(self, action: str, error: Exception) -> None:
        """Show each problem only once until the action works again."""
        if isinstance(error, UserError):
            self.notice.emit(translated(error.text), DAMAGED_PAGE)
            return
        log.error("The store failed: %s", error, exc_info=None if is_disk_fault(error) else error)
        page = UNSAVED_PAGE
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGE:
            notice = tr("Your chat database is damaged ({error}). Export what you need, then restart Slipstream.", error=error)
            page = DAMAGED_PAGE
        elif not is_disk_fault(error):
            notice = tr("Something went wrong in Slipstream. Details are in {log_file}.", log_file=self._log_file)
            page = BUG_PAGE
        elif action == "write":
            notice = tr("Can't save your chats: {error}. Slipstream will keep trying.", error=wording.disk_fault(error))
        else:
            notice = tr("Can't read your chats: {error}.", error=wording.disk_fault(error))
        if notice != self._problems[action] and notice not in self._reported:
            self.notice.emit(notice, page)
        if action == "write" and not is_disk_fault(error):
            self._reported.add(notice)
        self._problems[action] = notice
