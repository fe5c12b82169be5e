"""The store's thread: its notices when something fails, and that no write is lost."""

import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.storage.chat_tree import Chat
from app.storage.database import FILE, OpenedStore, open_store
from app.storage.records import files_in
from app.storage.store import Snapshot, Store
from app.storage.store_thread import BUG_PAGE, DAMAGED_PAGE, UNSAVED_PAGE, Pause, StoreThread
from tests.app.scripted_engine import commit
from tests.app.test_shrinking import large

PATIENCE_MS = 60_000


class NoticedThread:
    """A store's thread and its notices."""

    def __init__(self, qtbot: QtBot) -> None:
        self._qtbot = qtbot
        self.thread = StoreThread(lambda: OpenedStore(Store(None), saves=True))
        self.notices: list[str] = []
        self.pages: list[str] = []
        self.thread.notice.connect(self._note)
        self.thread.saved_again.connect(lambda problem: self.notices.append(f"saved again: {problem}"))
        self.thread.start()

    def _note(self, text: str, page: str) -> None:
        self.notices.append(text)
        self.pages.append(page)

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
    pages = {"kept": UNSAVED_PAGE, "read": UNSAVED_PAGE, "damage": DAMAGED_PAGE, "bug": BUG_PAGE}
    assert heard.pages == [pages[says]]
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


def test_other_jobs_run_while_a_long_one_pauses(heard: NoticedThread, qtbot: QtBot) -> None:
    """Sending and opening waited for the end of an import, an export, or a search."""
    done: list[str] = []
    thread = heard.thread

    def long(name: str) -> Callable[[Store, Pause], str]:
        def work(store: Store, pause: Pause) -> str:
            for step in range(2):
                done.append(f"{name} {step}")
                if name == "first":
                    thread.read(lambda store, step=step: done.append(f"read {step}"), lambda _: None)
                    thread.write(lambda store, step=step: done.append(f"write {step}"))
                pause()
            return name

        return work

    ended: list[str] = []
    thread.read_long(long("first"), ended.append)
    thread.read_long(long("second"), ended.append)
    qtbot.waitUntil(lambda: len(ended) == 2, timeout=PATIENCE_MS)
    assert heard.thread.wait(60)
    assert done[:3] == ["first 0", "read 0", "write 0"] and done[3:6] == ["first 1", "read 1", "write 1"]
    assert done[6:] == ["second 0", "second 1"] and ended == ["first", "second"]


class Poison:
    """A file whose running reply has details that are not JSON."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / FILE
        self.chat = Chat()
        for question in ("First", "Second"):
            self.chat.ask(question, "dflash").reply.accept(commit(f"To {question}"), 0.0)
        with closing(Store(self.file)) as store:
            store.save(Snapshot.of(self.chat, self.chat.root.below()))
        with closing(sqlite3.connect(self.file)) as database:
            database.execute("UPDATE message SET details = '{\"mode' WHERE text = 'To Second'")
            database.commit()


def run(folder: Path, *writes: Callable[[Store], object]) -> list[str]:
    """Run the store's thread from start to end as the app does, and return its notices."""
    thread = StoreThread(lambda: open_store(folder))
    notices: list[str] = []
    thread.notice.connect(lambda text, page: notices.append(text))
    for work in (Store.recover, *writes):
        thread.write(work)
    thread.wait(0)
    thread._run()
    return notices


def test_a_row_that_is_not_json_does_not_stop_saving(tmp_path: Path) -> None:
    """It did, in every later run: the first write of a run failed and was tried again for ever."""
    poison, new = Poison(tmp_path), Chat()
    new.ask("New", "plain")
    with closing(Store(poison.file)) as store:
        store.recover()  # does not raise either
    notices = run(tmp_path, lambda store: store.save(Snapshot.of(new, new.root.below())))
    assert len(notices) == 1 and "damaged" in notices[0] and "Recovered 1 chat " in notices[0]
    assert run(tmp_path) == []
    with closing(open_store(tmp_path).store) as store:
        assert {entry.title for entry in store.chats()} == {"First", "New"}
        loaded = store.load(poison.chat.id)
        assert loaded is not None
        assert [(turn.prompt, turn.reply.answer) for turn in loaded.turns] == [("First", "To First"), ("Second", "To Second")]
    (aside,) = tmp_path.glob("chats set aside*.db")
    with closing(sqlite3.connect(aside)) as database:
        assert ('{"mode',) in database.execute("SELECT details FROM message").fetchall()


@pytest.mark.parametrize("code", [sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY, sqlite3.SQLITE_TOOBIG, None])
def test_a_write_that_can_never_succeed_is_left_out_and_reported_once(heard: NoticedThread, code: int | None) -> None:
    kept: list[int] = []
    for number in range(3):
        heard.after(heard.thread.write, failing(code))
        heard.after(heard.thread.write, lambda store, number=number: kept.append(number))
    assert kept == [0, 1, 2]
    assert len(heard.notices) == 1 and WORDS["bug"] in heard.notices[0]
    assert heard.thread.wait(60)


@pytest.mark.parametrize(
    "code",
    [
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR_FSYNC,
        sqlite3.SQLITE_BUSY_SNAPSHOT,
        sqlite3.SQLITE_READONLY_DBMOVED,
        sqlite3.SQLITE_CANTOPEN_ISDIR,
    ],
)
def test_a_write_that_the_disk_refuses_is_tried_again_without_another_write(
    heard: NoticedThread, code: int, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.storage.store_thread.RETRY_S", 0.01)
    tried: list[None] = []

    def write(store: Store) -> None:
        tried.append(None)
        if len(tried) < 4:
            failing(code)(store)

    heard.thread.write(write)
    qtbot.waitUntil(lambda: len(heard.notices) == 2, timeout=PATIENCE_MS)
    assert WORDS["kept"] in heard.notices[0] and "saved again" in heard.notices[1]
    assert len(tried) == 4
    assert heard.thread.wait(60)


def test_failed_writes_are_repeated_in_the_pauses_of_a_long_job(heard: NoticedThread, monkeypatch: pytest.MonkeyPatch) -> None:
    """They waited for the end of an import."""
    monkeypatch.setattr("app.storage.store_thread.RETRY_S", 0.0)
    full, written = threading.Event(), list[str]()
    full.set()

    def write(store: Store) -> None:
        if full.is_set():
            failing(FULL)(store)
        written.append("write")

    def work(store: Store, pause: Pause) -> None:
        full.clear()
        pause()
        written.append("long job")

    heard.after(heard.thread.write, write)
    heard.after(heard.thread.read_long, work)
    assert heard.thread.wait(60)
    assert written == ["write", "long job"]


@pytest.mark.parametrize(("block", "rows"), [("x'ff'", "> 10"), ("randomblob(40)", "> 10"), ("x'00'", "= 10")])
def test_a_damaged_search_index_is_rebuilt(tmp_path: Path, block: str, rows: str) -> None:
    chat = Chat()
    chat.ask("A needle in a haystack", "plain")
    with closing(Store(tmp_path / FILE)) as store:
        store.save(Snapshot.of(chat, chat.root.below()))
    other = Chat()
    other.ask("Another needle", "plain")

    def write(store: Store) -> None:
        store.save(Snapshot.of(other, other.root.below()))
        assert len(store.search("needle")) == 2

    assert run(tmp_path, lambda store: store._db.execute(f"UPDATE found_data SET block = {block} WHERE id {rows}"), write) == []
    with closing(open_store(tmp_path).store) as store:
        assert len(store.search("needle")) == 2
    assert not list(tmp_path.glob("chats set aside*"))


def cut_image(file: Path, image: bytes) -> None:
    """Damage the list of an image's pages, as a failing disk does: without a change of the file's time."""
    about, data = file.stat(), file.read_bytes()
    page = data.index(image[100_000:100_100]) // 4096 * 4096
    with file.open("r+b") as opened:
        opened.seek(page)
        opened.write(b"\xff" * 4)  # number of the next page
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))


@pytest.mark.parametrize("since", ["closed", "read", "killed", "touched"])
def test_a_launch_reads_images_only_if_the_file_may_have_been_damaged(tmp_path: Path, since: str) -> None:
    """Here the list of an image's pages is damaged, which only a check that reads the pages finds."""
    file, chat = tmp_path / FILE, large(200_000)
    (image,) = files_in(chat).values()
    assert run(tmp_path, lambda store: store.save(Snapshot.of(chat, chat.root.below()))) == []
    if since == "killed":
        open_store(tmp_path).store.close()
    cut_image(file, image)
    if since == "read":
        (notice,) = run(tmp_path, lambda store: store.load(chat.id))
        assert "restart" in notice
    elif since == "touched":
        file.touch()
    notices = run(tmp_path)
    assert bool(notices) == bool([*tmp_path.glob("chats set aside*.db")]) == (since != "closed")
    assert run(tmp_path) == []


def test_chats_are_unsaved_while_the_disk_refuses_them_or_if_they_are_left_out(
    heard: NoticedThread, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.storage.store_thread.RETRY_S", 0.01)
    unsaved: list[frozenset[str]] = []
    heard.thread.unsaved_changed.connect(lambda chats, refusal: unsaved.append(chats))
    full = threading.Event()

    def write(store: Store) -> None:
        if not full.is_set():
            failing(FULL)(store)

    heard.thread.write(lambda store: None, chat_id="saved")
    heard.thread.write(write, chat_id="kept")
    heard.thread.write(lambda store: None, chat_id="later")
    qtbot.waitUntil(lambda: unsaved[-1:] == [{"kept", "later"}], timeout=PATIENCE_MS)
    full.set()
    qtbot.waitUntil(lambda: unsaved[-1:] == [frozenset()], timeout=PATIENCE_MS)
    heard.thread.write(failing(None), chat_id="left out")
    qtbot.waitUntil(lambda: unsaved[-1:] == [{"left out"}], timeout=PATIENCE_MS)
    assert heard.thread.wait(60)
