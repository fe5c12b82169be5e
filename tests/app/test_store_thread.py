"""The thread of the store: what it says when something fails, and what it never loses."""

import sqlite3
import threading
from collections.abc import Callable

import pytest
from pytestqt.qtbot import QtBot

from app.conversations.database import Opened
from app.conversations.store import Store
from app.store_thread import StoreThread

PATIENCE_MS = 60_000


class Heard:
    """A store's thread and what it told."""

    def __init__(self, qtbot: QtBot) -> None:
        self._qtbot = qtbot
        self.thread = StoreThread(lambda: Opened(Store(None), keeps=True))
        self.told: list[str] = []
        self.thread.told.connect(self.told.append)
        self.thread.start()

    def after(self, do: Callable[..., None], work: Callable[[Store], object]) -> list[str]:
        """All that was told once this was tried and, after it, something that can be read."""
        done: list[None] = []
        do(work, lambda _: None)
        self.thread.read(lambda store: None, done.append)
        self._qtbot.waitUntil(lambda: bool(done), timeout=PATIENCE_MS)
        return self.told


@pytest.fixture
def heard(qtbot: QtBot) -> Heard:
    return Heard(qtbot)


def failing(code: int | None, kind: type[Exception] = sqlite3.OperationalError) -> Callable[[Store], object]:
    def work(store: Store) -> object:
        error = kind("said by SQLite")
        if code is not None:
            error.sqlite_errorcode = code  # type: ignore[attr-defined]
        raise error

    return work


FULL, CORRUPT = sqlite3.SQLITE_FULL, sqlite3.SQLITE_CORRUPT
WORDS = {"kept": "cannot be kept just now", "read": "cannot be read just now", "damage": "damaged", "bug": "inside Slipstream"}


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
def test_each_failure_is_told_for_what_it_is(heard: Heard, do: str, work: Callable[[Store], object], says: str) -> None:
    (sentence,) = heard.after(getattr(heard.thread, do), work)
    assert [name for name, words in WORDS.items() if words in sentence] == [says]
    assert heard.thread.wait(60)


def test_what_cannot_be_read_hides_no_trouble_with_writing_and_is_not_its_end(heard: Heard) -> None:
    heard.after(heard.thread.read, failing(sqlite3.SQLITE_IOERR))
    heard.after(heard.thread.write, lambda store: None)
    assert len(heard.told) == 1  # nothing had waited, so nothing is kept again
    full = threading.Event()
    full.set()

    def write(store: Store) -> None:
        if full.is_set():
            failing(FULL)(store)

    heard.after(heard.thread.write, write)
    heard.after(heard.thread.write, write)
    assert len(heard.told) == 2 and WORDS["kept"] in heard.told[1]
    full.clear()
    heard.after(heard.thread.write, lambda store: None)
    assert len(heard.told) == 3 and "kept again" in heard.told[2]
    assert heard.thread.wait(60)


def test_at_the_end_one_write_that_fails_takes_no_other_with_it(heard: Heard) -> None:
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
