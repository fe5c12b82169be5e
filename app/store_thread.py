"""The one thread that owns the chats' database, so that no disk is waited for in the window's thread.

Jobs are done in the order in which they come; so whoever reads sees all that was written before. A write that the disk refuses is
kept and tried again before the next one.
"""

import logging
import queue
import sqlite3
import threading
from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, Signal, Slot

from app.conversations.database import Opened, open_store
from app.conversations.store import Store
from app.language import tr
from mlx_engine.errors import UserError

log = logging.getLogger(__name__)

Work = Callable[[Store], Any]
Then = Callable[[Any], None]


class StoreThread(QObject):
    """The window's side of the store. Lives in the window's thread; so does every `then`."""

    told = Signal(str)  # a sentence for a person

    _done = Signal(object, object)

    def __init__(
        self, make: Callable[[], Opened] = lambda: open_store(None), log_file: str = "the log", parent: QObject | None = None
    ) -> None:
        super().__init__(parent)
        self._make = make
        self._log_file = log_file
        self._jobs: queue.SimpleQueue[tuple[Work, Then | None, bool] | None] = queue.SimpleQueue()
        self._waiting: list[Work] = []
        self._has_waited = False  # something could not be written when it was handed in
        self._told_of = {"write": "", "read": ""}  # the trouble that was told last, while it lasts
        self._shut = False
        self._done.connect(self._hear)
        # A daemon, so that a disk that hangs keeps no process alive; `wait` sees to it that what was handed in is written.
        self._thread = threading.Thread(target=self._run, name="store", daemon=True)

    def start(self) -> None:
        """Open the database; from now on jobs are done. Whoever wants to hear what there is to tell of it has connected by now."""
        self._thread.start()

    def read(self, work: Work, then: Then) -> None:
        """`then` gets what `work` returns; when that fails it is told and `then` is not called."""
        self._put(work, then, writes=False)

    def write(self, work: Work, then: Then | None = None) -> None:
        """`then` is called (with what `work` returned, or None) once it was tried, whatever came of it."""
        self._put(work, then, writes=True)

    def wait(self, seconds: float) -> bool:
        """Do what is left, close the database and end; False when that took too long."""
        if not self._shut:
            self._shut = True
            self._jobs.put(None)
        if self._thread.ident is None:
            return True
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _put(self, work: Work, then: Then | None, writes: bool) -> None:
        if not self._shut:
            self._jobs.put((work, then, writes))

    @Slot(object, object)
    def _hear(self, then: Then, value: object) -> None:
        then(value)

    # From here on in the store's thread

    def _run(self) -> None:
        opened = self._open()
        if opened.complaint:
            self.told.emit(opened.complaint)
        while (job := self._jobs.get()) is not None:
            work, then, writes = job
            value = None
            doing = "write" if writes else "read"
            try:
                value = self._write(opened.store, work) if writes else work(opened.store)
                self._told_of[doing] = ""
            except UserError as error:
                self.told.emit(str(error))
            except Exception as error:
                log.exception("The store failed")
                self._tell_trouble(doing, error)
            else:
                if then is not None and not writes:
                    self._done.emit(then, value)
            if then is not None and writes:
                self._done.emit(then, value)
        self._write_what_waits(opened.store)
        try:
            opened.store.purge()
        except Exception:
            log.exception("The store failed at the end")
        opened.store.close()

    def _write_what_waits(self, store: Store) -> None:
        """The last attempt: what fails takes nothing with it that waits behind it."""
        while self._waiting:
            try:
                self._catch_up(store)
            except sqlite3.OperationalError:
                log.exception("The disk takes nothing more; %s writes are lost", len(self._waiting))
                return
            except Exception:
                log.exception("The store failed at the end")

    def _open(self) -> Opened:
        try:
            return self._make()
        except Exception as error:
            log.exception("The store cannot be opened")
            complaint = tr("Your chats cannot be opened ({error}). Chats of this run are not kept.", error=error)
            return Opened(Store(None), False, complaint)

    def _write(self, store: Store, work: Work) -> object:
        """Do what waits, then this. Raises what the disk says; the work then waits."""
        self._waiting.append(work)
        value = self._catch_up(store)
        if self._has_waited:
            self._has_waited = False
            self.told.emit(tr("Your chats are being kept again."))
        return value

    def _catch_up(self, store: Store) -> object:
        """Do all that waits, in order; what the last of it returned."""
        value: object = None
        while self._waiting:
            try:
                value = self._waiting[0](store)
            except sqlite3.OperationalError:
                self._has_waited = True  # the disk is full, or gone for a while: another time
                raise
            except BaseException:
                self._waiting.pop(0)
                raise
            self._waiting.pop(0)
        return value

    def _tell_trouble(self, doing: str, error: Exception) -> None:
        """Once, until that is done again."""
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
            sentence = tr(
                "The file of your chats is damaged ({error}). Export what you need, then start Slipstream again.", error=error
            )
        elif not isinstance(error, sqlite3.OperationalError):
            sentence = tr("Something went wrong inside Slipstream; the details are in {log_file}.", log_file=self._log_file)
        elif doing == "write":
            sentence = tr("Your chats cannot be kept just now: {error}. Slipstream tries again with each message.", error=error)
        else:
            sentence = tr("Your chats cannot be read just now: {error}.", error=error)
        if sentence != self._told_of[doing]:
            self.told.emit(sentence)
        self._told_of[doing] = sentence


_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
