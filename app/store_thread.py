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

from app.conversations.opening import Opened, open_store
from app.conversations.store import Store
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
        self._troubled = False
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
            try:
                value = self._write(opened.store, work) if writes else work(opened.store)
            except UserError as error:
                self.told.emit(str(error))
            except Exception as error:
                log.exception("The store failed")
                self._tell_trouble(error)
            else:
                if then is not None and not writes:
                    self._done.emit(then, value)
            if then is not None and writes:
                self._done.emit(then, value)
        try:
            if self._waiting:
                self._write(opened.store, lambda store: None)
            opened.store.purge()
        except Exception:
            log.exception("The store failed at the end")
        opened.store.close()

    def _open(self) -> Opened:
        try:
            return self._make()
        except Exception as error:
            log.exception("The store cannot be opened")
            return Opened(Store(None), False, f"Your chats cannot be opened ({error}). Chats of this run are not kept.")

    def _write(self, store: Store, work: Work) -> object:
        """Do what waits, then this. Raises what the disk says; the work then waits."""
        self._waiting.append(work)
        value: object = None
        while self._waiting:
            try:
                value = self._waiting[0](store)
            except sqlite3.OperationalError:
                raise  # the disk is full, or gone for a while: another time
            except BaseException:
                self._waiting.pop(0)
                raise
            self._waiting.pop(0)
        if self._troubled:
            self._troubled = False
            self.told.emit("Your chats are being kept again.")
        return value

    def _tell_trouble(self, error: Exception) -> None:
        if isinstance(error, sqlite3.OperationalError):
            sentence = f"Your chats cannot be kept just now: {error}. Slipstream tries again with each message."
        elif isinstance(error, sqlite3.DatabaseError):
            sentence = f"The file of your chats is damaged ({error}). Export what you need, then start Slipstream again."
        else:
            sentence = f"Something went wrong inside Slipstream; the details are in {self._log_file}."
        if not self._troubled:
            self.told.emit(sentence)
        self._troubled = isinstance(error, sqlite3.DatabaseError)
