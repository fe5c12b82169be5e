"""The store's thread: its notices when something fails, and that no write is lost."""

import sqlite3
import threading
from collections.abc import Callable

import pytest
from pytestqt.qtbot import QtBot

from app.conversations.database import OpenedStore
from app.conversations.store import Store
from app.store_thread import StoreThread

PATIENCE_MS = 60_000


class NoticedThread:
    """A store's thread and its notices."""

    def __init__(self, qtbot: QtBot) -> None:
        self._qtbot = qtbot
        self.thread = StoreThread(lambda: OpenedStore(Store(None), saves=True))
        self.notices: list[str] = []
        self.thread.notice.connect(self.notices.append)
        self.thread.start()

    def after(self, do: Callable[..., None], work: Callable[[Store], object]) -> list[str]:
        """Return all notices once this work and a read after it are done."""
        done: list[None] = []
        do(work, lambda _: None)
        self.thread.read(lambda store: None, done.append)
        self._qtbot.waitUntil(lambda: bool(done), timeout=PATIENCE_MS)
        return self.notices


@pytest.fixture
def heard(qtbot: QtBot) -> NoticedThread:
    return NoticedThread(qtbot)


def failing(code: int | None, kind: type[Exception] = sqlite3.OperationalError) -> Callable[[Store], object]:
    def work(store: Store) -> object:
        error = kind("from SQLite")
        if code is not None:
            error.sqlite_errorcode = code  # type: ignore[attr-defined]
        raise error

    return work


FULL, CORRUPT = sqlite3.SQLITE_FULL, sqlite3.SQLITE_CORRUPT
WORDS = {"kept": "Can't save", "read": "Can't read", "damage": "damaged", "bug": "wrong in Slipstream"}


@pytest.mark.parametrize(
    ("do", "work", "says"),
    [
        ("write", failing(FULL), "kept"),
        ("read", failing(sqlite3.SQLITE_IOERR), "read"),
        ("write", failing(CORRUPT, sqlite3.DatabaseError), "damage"),
        ("read", failing(sqlite3.SQLITE_NOTADB, sqlite3.DatabaseError), "damage"),
        ("write", failing(sqlite3.SQLITE_CONSTRAINT, sqlite3.IntegrityError), "bug"),
        ("read", failing(None, sqlite3.ProgrammingError), "bug"),
        ("write", failing(None, KeyError), "bug"),
    ],
)
def test_each_kind_of_failure_has_its_own_notice(heard: NoticedThread, do: str, work: Callable[[Store], object], says: str) -> None:
    (sentence,) = heard.after(getattr(heard.thread, do), work)
    assert [name for name, words in WORDS.items() if words in sentence] == [says]
    assert heard.thread.wait(60)


def test_a_failed_read_neither_hides_nor_ends_a_write_problem(heard: NoticedThread) -> None:
    heard.after(heard.thread.read, failing(sqlite3.SQLITE_IOERR))
    heard.after(heard.thread.write, lambda store: None)
    assert len(heard.notices) == 1  # no write had failed, so there is nothing to announce
    full = threading.Event()
    full.set()

    def write(store: Store) -> None:
        if full.is_set():
            failing(FULL)(store)

    heard.after(heard.thread.write, write)
    heard.after(heard.thread.write, write)
    assert len(heard.notices) == 2 and WORDS["kept"] in heard.notices[1]
    full.clear()
    heard.after(heard.thread.write, lambda store: None)
    assert len(heard.notices) == 3 and "saved again" in heard.notices[2]
    assert heard.thread.wait(60)


def test_at_the_end_one_failed_write_does_not_stop_the_others(heard: NoticedThread) -> None:
    kept: list[int] = []
    full = threading.Event()
    full.set()

    def first(store: Store) -> None:
        failing(FULL)(store) if full.is_set() else failing(None, KeyError)(store)

    heard.after(heard.thread.write, first)
    for number in range(3):
        heard.after(heard.thread.write, lambda store, number=number: kept.append(number))
    assert kept == []
    full.clear()
    assert heard.thread.wait(60)
    assert kept == [0, 1, 2]
