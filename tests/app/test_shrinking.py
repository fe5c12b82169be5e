"""Space of erased chats goes back to the disk, while the store answers."""

import os
import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.storage import schema, store, store_thread
from app.storage.attachments import Attachment
from app.storage.chat_tree import Chat
from app.storage.database import FILE, OpenedStore, open_store
from app.storage.pictures import Picture, StoredFile
from app.storage.records import chat_to_json, files_in
from app.storage.store import Snapshot, Store
from app.storage.store_thread import StoreThread
from tests.app.test_pictures import answered

PATIENCE_MS = 60_000


def large(size: int = 8_000_000) -> Chat:
    """Return a chat with a photo of this size."""
    data, chat = os.urandom(size), Chat()
    answered(chat, "What is it?", (Attachment("a.jpg", "", size, picture=Picture(StoredFile.of(data), 2, 2, "JPEG")),))
    return chat


def fill(opened: Store) -> Chat:
    """Save and erase a chat with a large photo between two small ones. Return one of those."""
    kept, gone, last = large(50_000), large(), large(50_000)
    for chat in (kept, gone, last):
        opened.save(Snapshot.of(chat, chat.root.below()))
    opened.delete([gone.id])
    opened.purge()
    return last


def earlier(file: Path) -> None:
    """Create a database of the version before images."""
    with closing(sqlite3.connect(file)) as database:
        schema.migrate(database, schema.STEPS[:3])


@pytest.mark.parametrize("version", ["this", "earlier"])
def test_space_of_erased_chats_is_given_back(tmp_path: Path, version: str) -> None:
    if version == "earlier":
        earlier(tmp_path / FILE)
    with closing(open_store(tmp_path).store) as opened:
        kept = fill(opened)
        steps = 1
        while opened.shrink():
            steps += 1
        assert steps == 2
        assert sum(file.stat().st_size for file in schema.files_of(tmp_path / FILE)) < 2_000_000
        assert not opened.shrink()
        assert opened._db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        again = opened.load(kept.id)
        assert again is not None and chat_to_json(again) == chat_to_json(kept) and files_in(again) == files_in(kept)
        fill(opened)
        while opened.shrink():
            pass
        assert (tmp_path / FILE).stat().st_size < 2_000_000
    again_opened = open_store(tmp_path)
    again_opened.store.close()
    assert again_opened.saves and not again_opened.notice


def test_a_file_of_an_earlier_version_that_cannot_be_rewritten_is_used_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    earlier(tmp_path / FILE)
    with monkeypatch.context() as patched:
        patched.setattr(Store, "_rewrite", lambda opened: None)
        with closing(open_store(tmp_path).store) as opened:
            fill(opened)
            assert not opened.shrink()
    with closing(open_store(tmp_path).store) as opened:
        fill(opened)
        assert opened.shrink()


def test_a_little_free_space_stays_for_later_chats(tmp_path: Path) -> None:
    with closing(Store(tmp_path / FILE)) as opened:
        chat = large(store.FREE_BYTES // 2)
        opened.save(Snapshot.of(chat, chat.root.below()))
        opened.delete([chat.id])
        opened.purge()
        assert not opened.shrink() and opened._value("freelist_count") > 0


def test_the_store_answers_between_steps_of_shrinking(tmp_path: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_thread, "IDLE_S", 0.01)
    monkeypatch.setattr(store, "SHRINK_BYTES", 1 << 18)
    thread = StoreThread(lambda: OpenedStore(Store(tmp_path / FILE), saves=True))
    order: list[str] = []
    original = Store.shrink

    def step(opened: Store) -> bool:
        more = original(opened)
        if more:
            order.append("step")
            if order.count("step") < 4:
                thread.read(lambda opened: order.append("read"), lambda _: None)
        return more

    monkeypatch.setattr(Store, "shrink", step)
    ended = threading.Event()
    thread.start()
    thread.write(lambda opened: fill(opened))
    thread.read(lambda opened: None, lambda _: ended.set())
    qtbot.waitUntil(ended.is_set, timeout=PATIENCE_MS)
    qtbot.waitUntil(lambda: (tmp_path / FILE).stat().st_size < 2_000_000, timeout=PATIENCE_MS)
    assert order[:6] == ["step", "read"] * 3
    assert thread.wait(60)


@pytest.mark.parametrize("fails", [False, True])
def test_quitting_shrinks_the_file_and_survives_a_failure(
    tmp_path: Path, qtbot: QtBot, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    def fail(opened: Store) -> bool:
        raise sqlite3.OperationalError("database or disk is full")

    if fails:
        monkeypatch.setattr(Store, "shrink", fail)
    thread = StoreThread(lambda: OpenedStore(Store(tmp_path / FILE), saves=True))
    thread.start()
    thread.write(lambda opened: fill(opened))
    assert thread.wait(60)
    assert ((tmp_path / FILE).stat().st_size > 8_000_000) == fails
