"""Random damage to the chat database: no chat is lost in silence, and saving works afterwards."""

import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.storage import chat_import, wording
from app.storage.attachments import Attachment
from app.storage.chat_tree import Chat
from app.storage.database import FILE, OpenedStore, _why_unusable, open_store
from app.storage.project import Project
from app.storage.salvage import DatabaseFiles, ImportedChats, read_database
from app.storage.settings import ChatSettings, Preset
from app.storage.store import Snapshot, Store
from app.storage.store_thread import StoreThread
from mlx_engine.contract.errors import UserError
from tests.app.scripted_engine import commit, done
from tests.examples import SAMPLED

CASES = 30 if settings().max_examples < SAMPLED else 1000
COLUMNS = {
    "chat": ("id", "title", "folder", "pinned", "created", "changed", "deleted", "settings"),
    "message": ("id", "chat", "parent", "chosen", "text", "thinking", "created", "running", "details", "suppliers"),
    "folder": ("id", "name", "created", "settings"),
    "preset": ("name", "settings"),
    "note": ("value",),
}
VALUES = (None, 0, 1, -5, 2.5, 1e300, "", "x", "{", "[]", "null", '{"mode": 7}', '{"stats": {}}', "9" * 5000, b"", b"\xff\xfe")

Texts = dict[str, list[str]]  # the texts of a chat's messages, by the chat's id
Harm = Callable[[Path, random.Random], None]


def texts_of(chat: Chat) -> list[str]:
    return sorted(node.reply.answer if node.reply else node.text for node in chat.root.below())


def chat_of(title: str, pages: int = 1) -> Chat:
    chat = Chat(title, ChatSettings(system="Be brief."))
    for number in range(2):
        file = Attachment("notes.txt", f"Notes on {title}", 20)
        turn = chat.ask(f"{title}: question {number} " + "word " * 800 * (pages - 1), "dflash", attachments=(file,))
        turn.reply.accept(commit(f"{title}: answer {number}"), 0.0)
        if number == 0:
            turn.reply.accept(done(), 0.0)
    again = chat.ask_again(chat.turns[0], "plain")
    again.reply.accept(commit(f"{title}: another answer"), 0.0)
    again.reply.accept(done(), 0.0)
    return chat


WORK = Project("f", "Work", 1.0, ChatSettings(system="Be kind."), ("/work",))


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Texts]:
    """Return a database with chats, a folder and a preset, and the texts of its chats."""
    file = tmp_path_factory.mktemp("sound") / FILE
    chats = [chat_of(f"Chat {number}", pages=1 + number % 2) for number in range(5)]
    with closing(Store(file)) as store:
        store.save_project(WORK)
        store.save_preset(Preset("Mine", ChatSettings(system="Be brief.")))
        for number, chat in enumerate((*chats, chat_of("Deleted"))):
            store.save(Snapshot.of(chat, chat.root.below(), "f" if number == 1 else "", pinned=number == 2), open_now=True)
        store.delete([entry.id for entry in store.chats() if entry.title == "Deleted"])
    return file, {chat.id: texts_of(chat) for chat in chats}


# Ways to damage a file


def flip_bytes(file: Path, source: random.Random) -> None:
    data = bytearray(file.read_bytes())
    for _ in range(source.choice((1, 1, 1, 10, 200))):
        data[source.randrange(len(data))] ^= 1 << source.randrange(8)
    file.write_bytes(data)


def flip_records(file: Path, source: random.Random) -> None:
    """Change bytes where pages have their structure: at the beginning, and just before a text."""
    data = bytearray(file.read_bytes())
    at = source.randrange(len(data) // 4096) * 4096 + source.randrange(60)
    texts = (data.find(mark, source.randrange(len(data))) for mark in (b"Chat ", b'{"', b"user", b"assistant"))
    for place in (at, *(text - source.randrange(1, 90) for text in texts)):
        if source.random() < 0.5:
            data[place] = source.randrange(256)
    file.write_bytes(data)


def truncate(file: Path, source: random.Random) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: source.choice((source.randrange(len(data)), source.randrange(len(data) // 4096) * 4096))])


def overwrite_pages(file: Path, source: random.Random) -> None:
    data = bytearray(file.read_bytes())
    pages = len(data) // 4096
    for _ in range(source.choice((1, 1, 4))):
        at = source.randrange(pages) * 4096
        other = source.randrange(pages) * 4096
        data[at : at + 4096] = source.choice((bytes(4096), b"\xff" * 4096, source.randbytes(4096), data[other : other + 4096]))
    file.write_bytes(data)


def change_values(file: Path, source: random.Random) -> None:
    """Store values of other types and malformed JSON, as if the tables had no constraints."""
    with closing(sqlite3.connect(file)) as database:
        definitions = database.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").fetchall()
        database.execute("PRAGMA writable_schema = ON")
        database.execute("PRAGMA ignore_check_constraints = ON")
        loose = "replace(replace(sql, ' STRICT', ''), ' NOT NULL', '')"
        database.execute(f"UPDATE sqlite_schema SET sql = {loose} WHERE type = 'table'")
        database.commit()
    with closing(sqlite3.connect(file)) as database:
        for _ in range(source.choice((1, 1, 1, 5))):
            table = source.choice(("chat", "message", "message", "message", "folder", "preset", "note"))
            (rows,) = database.execute(f"SELECT count(*) FROM {table}").fetchone()
            where = f"rowid = (SELECT rowid FROM {table} LIMIT 1 OFFSET {source.randrange(rows)})"
            try:
                change = f"UPDATE {table} SET {source.choice(COLUMNS[table])} = ? WHERE {where}"
                database.execute(change, (source.choice(VALUES),))
                if source.random() < 0.3:
                    text = source.choice(COLUMNS[table])
                    database.execute(f"UPDATE {table} SET {text} = CAST(x'4368ff' AS TEXT) WHERE {where}")
            except sqlite3.Error:  # an id that exists, for example
                continue
        database.commit()
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA writable_schema = ON")
        for name, sql in definitions:
            database.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (sql, name))
        database.commit()


def break_index(file: Path, source: random.Random) -> None:
    """Damage the search index, or remove parts of the schema."""
    harm = (
        f"UPDATE found_data SET block = x'{source.randbytes(40).hex()}'",
        "DELETE FROM found_data WHERE id > 10",
        "UPDATE found_data SET block = x'00' WHERE id = 10",
        "DELETE FROM found_config",
        "DROP TABLE found",
        "DROP TABLE preset",
        "DROP TRIGGER message_changed",
        "DROP VIEW ended",
        "UPDATE sqlite_schema SET sql = CAST(x'ff' AS TEXT) WHERE name = 'preset'",
        "UPDATE sqlite_schema SET rootpage = 999 WHERE name = 'message'",
        f"PRAGMA user_version = {source.choice((-1, 0, 1))}",
    )
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA writable_schema = ON")
        database.execute(source.choice(harm))
        database.commit()


def change_header(file: Path, source: random.Random) -> None:
    """Change bytes of the file's header. SQLite interprets most of them."""
    data = bytearray(file.read_bytes())
    for _ in range(source.choice((1, 1, 2))):
        data[source.randrange(16, 100)] = source.choice((0, 3, 4, 255, source.randrange(256)))
    file.write_bytes(data)


IN_PLACE = (flip_bytes, flip_records, change_values)  # these may change a text, or whether a chat counts as deleted
HARMS: tuple[Harm, ...] = (*IN_PLACE, truncate, overwrite_pages, break_index, change_header)


# One run of the app


class Run:
    """The store's thread from start to end, and what it told the user and delivered."""

    def __init__(self, folder: Path, new: Chat) -> None:
        self.notices: list[str] = []
        self.opened: OpenedStore | None = None
        self.read: dict[str, Chat] = {}
        self.listed: dict[str, str] = {}  # folder by chat
        self.projects: set[str] = set()
        self.failed = 0

        def opened() -> OpenedStore:
            self.opened = open_store(folder)
            return self.opened

        thread = StoreThread(opened)
        thread.notice.connect(lambda text, page: self.notices.append(text))
        thread.read(self._look, lambda _: None)  # as ChatLibrary.load does: a list, then `recover`
        thread.write(Store.recover)
        thread.read(self._load_all, lambda _: None)
        thread.write(lambda store: store.save(Snapshot.of(new, new.root.below()), open_now=True))
        thread.wait(0)
        thread._run()

    def _look(self, store: Store) -> None:
        contents = store.contents()
        self.listed = {entry.id: entry.project for entry in contents.chats}
        self.projects = {folder.id for folder in contents.projects}

    def _load_all(self, store: Store) -> None:
        for entry in store.chats():
            chat = store.load(entry.id)
            assert chat is not None
            assert entry.project in self.projects | {""}
            self.read[entry.id] = chat
            store.search("answer")


@settings(max_examples=CASES, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(st.sampled_from(HARMS), st.integers(0, 2**32))
def test_no_chat_is_lost_in_silence_and_saving_goes_on(sound: tuple[Path, Texts], tmp_path: Path, harm: Harm, seed: int) -> None:
    whole, chats = sound
    folder = tmp_path / "data"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copyfile(whole, folder / FILE)
    harm(folder / FILE, random.Random(seed))
    damaged = (folder / FILE).read_bytes()

    first, second = chat_of("After the damage"), chat_of("In the next run")
    run = Run(folder, first)
    kept = [file.read_bytes() for file in folder.glob("chats set aside*.db")]
    told = bool(run.notices) and kept == [damaged]
    for chat_id, texts in chats.items():
        intact = chat_id in run.read and len(texts_of(run.read[chat_id])) == len(texts)
        assert intact or told, (chat_id, run.notices)
    if harm not in IN_PLACE:
        assert told or {one: texts_of(run.read[one]) for one in chats} == chats
        assert all(chat.title != "Deleted" for chat in run.read.values())

    again = Run(folder, second)
    assert again.notices == []
    assert {first.id, *run.read} <= again.read.keys()
    assert texts_of(again.read[first.id]) == texts_of(first)
    with closing(open_store(folder).store) as store:
        loaded = store.load(second.id)
        assert loaded is not None and texts_of(loaded) == texts_of(second)


# Single ways to damage a file


@pytest.mark.parametrize("place", [18, 19])
@pytest.mark.parametrize("version", [3, 255])
def test_a_header_that_sqlite_only_reads_or_refuses_is_set_aside(
    sound: tuple[Path, Texts], tmp_path: Path, place: int, version: int
) -> None:
    """SQLite opens a file with a later write version, but changes nothing in it, now or ever."""
    whole, chats = sound
    data = bytearray(whole.read_bytes())
    data[place] = version
    (tmp_path / FILE).write_bytes(data)
    run = Run(tmp_path, chat_of("New"))
    assert run.opened and run.opened.saves and "damaged" in run.opened.notice
    assert f"Recovered {wording.chats(len(chats))} " in run.opened.notice
    (aside,) = tmp_path.glob("chats set aside*.db")
    assert aside.read_bytes() == data
    assert {one: texts_of(run.read[one]) for one in chats} == chats
    again = Run(tmp_path, chat_of("Newer"))
    assert again.notices == [] and len(again.read) == len(chats) + 1


def test_a_name_that_is_not_utf_8_sets_the_file_aside(sound: tuple[Path, Texts], tmp_path: Path) -> None:
    """Opening it raises a UnicodeDecodeError, which is not an error of the disk."""
    whole, _ = sound
    file = tmp_path / FILE
    shutil.copyfile(whole, file)
    with closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA writable_schema = ON")
        database.execute("UPDATE sqlite_schema SET name = CAST(x'ff' AS TEXT) WHERE name = 'preset'")
        database.commit()
    with pytest.raises(UnicodeDecodeError):
        _why_unusable(file)
    opened = open_store(tmp_path)
    opened.store.close()
    assert opened.saves and "damaged" in opened.notice
    assert len([*tmp_path.glob("chats set aside*.db")]) == 1


def test_the_notice_says_what_was_not_recovered(
    sound: tuple[Path, Texts], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    whole, chats = sound
    lost = next(iter(chats))
    for number, (harm, texts) in enumerate(
        (
            (
                "UPDATE message SET parent = 'gone' WHERE chat <> ? AND parent IS NOT NULL",
                ("Some chats or messages may be missing.", 5),
            ),
            ("DELETE FROM message WHERE chat = ?", ("Not recovered: 1 chat.", 4)),
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        shutil.copyfile(whole, folder / FILE)
        with closing(sqlite3.connect(folder / FILE)) as database:
            database.execute(harm, (lost,))
            database.execute("UPDATE message SET parent = 'gone' WHERE chat <> ? AND parent IS NOT NULL", (lost,))
            database.commit()
        opened = open_store(folder)
        opened.store.close()
        (aside,) = folder.glob("chats set aside*.db")
        recovered = f"Recovered {wording.chats(texts[1])} and moved the old file to {aside}."
        assert opened.notice == f"Your chat database is damaged. {recovered} {texts[0]}"
    assert [record.exc_text for record in caplog.records if record.exc_info] == []


@pytest.mark.parametrize("harm", [b"x" * 100, b"SQLite format 3\0" + b"x" * 100])
def test_the_notice_says_that_nothing_was_recovered(tmp_path: Path, caplog: pytest.LogCaptureFixture, harm: bytes) -> None:
    (tmp_path / FILE).write_bytes(harm)
    opened = open_store(tmp_path)
    opened.store.close()
    (aside,) = tmp_path.glob("chats set aside*.db")
    assert opened.notice == f"Your chat database is damaged. Nothing could be recovered. The old file was moved to {aside}."
    assert [record.exc_text for record in caplog.records if record.exc_info] == []


def test_pages_that_cannot_be_read_leave_no_traceback(
    sound: tuple[Path, Texts], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(sqlite3.connect(sound[0])) as database:
        (root,) = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'message'").fetchone()
    data, start = bytearray(sound[0].read_bytes()), (root - 1) * 4096
    first = start + int.from_bytes(data[start + 12 :][:2], "big")
    below = int.from_bytes(data[first:][:4], "big")  # page with the table's first rows
    data[(below - 1) * 4096 : below * 4096] = b"\xff" * 4096
    (tmp_path / FILE).write_bytes(data)
    open_store(tmp_path).store.close()
    assert "A table is damaged" in caplog.text
    assert [record.exc_text for record in caplog.records if record.exc_info] == []


def test_a_wrong_row_number_hides_only_its_own_row(sound: tuple[Path, Texts], tmp_path: Path) -> None:
    file = tmp_path / FILE
    shutil.copyfile(sound[0], file)
    with closing(sqlite3.connect(file)) as database:
        (root,) = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'chat'").fetchone()
    page = bytearray(file.read_bytes())
    second = (root - 1) * 4096 + int.from_bytes(page[(root - 1) * 4096 + 10 :][:2], "big")  # of the cells on the table's only page
    number = second + (2 if page[second] & 0x80 else 1)  # after the length of the row
    assert page[(root - 1) * 4096] == 13 and page[number] == 2
    page[number] = 127
    file.write_bytes(page)
    found = read_database(file)
    assert {"Chat 0", "Chat 2", "Chat 3", "Chat 4"} <= {one.chat.title for one in found.chats}
    assert len(found.chats) >= 5 and "damaged" in found.remark


def test_a_wrong_number_above_the_rows_hides_none_of_them(sound: tuple[Path, Texts], tmp_path: Path) -> None:
    """A search by number then takes the wrong way, but all rows can be read in order."""
    whole, chats = sound
    with closing(sqlite3.connect(whole)) as database:
        (root,) = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'message'").fetchone()
    page, start = bytearray(whole.read_bytes()), (root - 1) * 4096
    assert page[start] == 5, "the table has one page only"
    first = start + int.from_bytes(page[start + 12 :][:2], "big")
    page[first + 4] = 1  # after the number of the page below
    file = tmp_path / FILE
    file.write_bytes(page)
    found = read_database(file)
    assert sorted(texts_of(one.chat) for one in found.chats) == sorted(chats.values())


@pytest.mark.parametrize("action", ["SELECT RAISE(ABORT, 'no')", "DELETE FROM message"])
def test_a_trigger_named_like_the_search_index_sets_the_file_aside(sound: tuple[Path, Texts], tmp_path: Path, action: str) -> None:
    """It could keep every chat from being saved, in every later run."""
    whole, chats = sound
    shutil.copyfile(whole, tmp_path / FILE)
    with closing(sqlite3.connect(tmp_path / FILE)) as database:
        database.execute(f"CREATE TRIGGER found_too BEFORE INSERT ON message BEGIN {action}; END")
    run = Run(tmp_path, new := chat_of("New"))
    assert run.opened and "damaged" in run.opened.notice and run.read.keys() == chats.keys()
    again = Run(tmp_path, chat_of("Newer"))
    assert again.notices == [] and new.id in again.read


@pytest.mark.parametrize("part", ["", "-wal"])
@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_pipe_or_device_is_set_aside(tmp_path: Path, kind: str, part: str) -> None:
    place = tmp_path / f"{FILE}{part}"
    {"pipe": lambda: os.mkfifo(place), "device": lambda: place.symlink_to("/dev/zero")}[kind]()
    run = Run(tmp_path, new := chat_of("New"))
    assert run.opened and run.opened.saves and "The chat file isn't a Slipstream database." in run.opened.notice
    assert len([*tmp_path.glob(f"chats set aside*.db{part}")]) == 1
    again = Run(tmp_path, chat_of("Newer"))
    assert again.notices == [] and new.id in again.read


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_something_other_than_a_file_that_can_not_be_written_is_not_read(tmp_path: Path, kind: str) -> None:
    place = tmp_path / FILE
    {"pipe": lambda: os.mkfifo(place), "device": lambda: place.symlink_to("/dev/zero"), "folder": place.mkdir}[kind]()
    opened = open_store(tmp_path, writable=False)
    assert not opened.saves and opened.notice
    opened.store.close()
    with pytest.raises(UserError, match=r"Can't read|isn't a regular file"):
        chat_import.read(place)


def test_the_notice_says_that_no_chat_was_recovered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / FILE).write_bytes(b"x" * 100)
    monkeypatch.setattr("app.storage.database.read_database", lambda file: ImportedChats(DatabaseFiles(file), lost=2))
    opened = open_store(tmp_path)
    opened.store.close()
    assert "Nothing could be recovered. The old file was moved to" in opened.notice
