"""Images and PDFs of chats in exports, imports, backups, and damaged databases."""

import base64
import json
import os
import shutil
import sqlite3
import tempfile
import tracemalloc
import zipfile
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from app.storage import chat_export, chat_import, chatgpt_import, schema, store
from app.storage.attachments import Attachment
from app.storage.chat_import import import_into
from app.storage.chat_tree import Chat
from app.storage.database import FILE, open_store
from app.storage.pictures import Picture, StoredFile
from app.storage.records import chat_from_json, chat_to_json, files_in, fill
from app.storage.salvage import read_database
from app.storage.store import FileUsage, Snapshot, Store
from mlx_engine.contract.errors import UserError
from tests.app.conftest import Begin
from tests.app.test_pictures import answered, attachments, contents, encoded, rows
from tests.app.test_transfer import message, summary
from tests.examples import sampled

Saved = list[tuple[tuple[Attachment, ...], list[bytes]]]
PHOTO = Attachment("photo.jpg", "", 5, picture=Picture(StoredFile.of(b"photo"), 2, 2, "JPEG"))


def chat_of(attached: tuple[Attachment, ...] = (PHOTO,), *results: bytes) -> Chat:
    chat = Chat()
    answered(chat, "What is it?", attached, *results)
    return chat


def exported(chats: list[Chat]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(chat_export.to_json([(chat, summary(chat)) for chat in chats], {})))
    return found


def imported(into: Store, data: object, folder: Path) -> chat_import.ImportOutcome:
    (folder / "chats.json").write_text(json.dumps(data))
    return import_into(into, folder / "chats.json")


def stored_files(opened: Store, chat: Chat) -> dict[str, bytes]:
    stored = opened.load(chat.id)
    assert stored is not None and not files_in(chat)
    return files_in(stored)


def owned(opened: Store) -> set[str]:
    """Return the digests of the stored files. All have owners."""
    files, owners = rows(opened)
    assert set(files) == {digest for _, digest in owners}
    assert all(StoredFile.of(data).digest == digest for digest, data in files.items())
    return set(files)


@given(st.lists(st.tuples(attachments, st.lists(contents, max_size=2)), min_size=1, max_size=3))
def test_what_is_exported_is_imported_with_its_files_and_recognized_again(
    tmp_path_factory: pytest.TempPathFactory, made: Saved
) -> None:
    chats = [chat_of(attached, *results) for attached, results in made]
    folder, data = tmp_path_factory.getbasetemp(), exported(chats)
    with closing(Store(None)) as opened:
        outcome = imported(opened, data, folder)
        assert [chat_to_json(one.chat) for one in outcome.chats] == [chat_to_json(chat) for chat in chats]
        assert [stored_files(opened, one.chat) for one in outcome.chats] == [files_in(chat) for chat in chats]
        assert owned(opened) == {digest for chat in chats for digest in files_in(chat)}
        outcome = imported(opened, data, folder)
        assert (outcome.known, outcome.chats, outcome.grown) == (len(chats), [], [])
        opened.delete([chat.id for chat in chats])
        opened.purge()
        assert rows(opened) == ({}, set())


@pytest.mark.parametrize("encoded", [None, 3, "no base64", base64.b64encode(b"another").decode(), ""])
def test_a_file_that_is_not_what_its_digest_says_is_lost_and_another_import_restores_it(tmp_path: Path, encoded: object) -> None:
    assert PHOTO.picture is not None
    good = exported([chat_of((PHOTO,), b"result")])
    bad = json.loads(json.dumps(good))
    bad["files"][PHOTO.picture.file.digest] = encoded
    with closing(Store(None)) as opened:
        (one,) = imported(opened, bad, tmp_path).chats
        assert stored_files(opened, one.chat) == {StoredFile.of(b"result").digest: b"result"} and len(owned(opened)) == 1
        outcome = imported(opened, good, tmp_path)
        assert (outcome.known, outcome.grown) == (1, [])
        again = opened.load(one.chat.id)
        assert again is not None and len(files_in(again)) == len(owned(opened)) == 2


def test_sizes_of_images_from_outside_are_valid() -> None:
    data = exported([chat_of()])
    picture = data["chats"][0]["messages"][0]["details"]["attachments"][0]["picture"]
    for number in (0, 1 << 60, -3, "x"):
        picture |= {"width": number, "height": number, "frames": number}
        found = chat_from_json(data["chats"][0]).turns[0].asked
        assert found is not None and found.attachments
        one = found.attachments[0].picture
        assert one is None or 1 <= min(one.width, one.height, one.frames) <= max(one.width, one.height, one.frames) <= 1_000_000


@pytest.mark.parametrize("kind", ["export", "database", "open database", "recovery"])
def test_imports_and_recovery_hold_one_file_at_a_time(tmp_path: Path, kind: str) -> None:
    """Libraries have gigabytes of images and PDFs."""
    file, size, count = tmp_path / ("chats.json" if kind == "export" else FILE), 500_000, 8
    digests = set[str]()
    with closing(Store(tmp_path / FILE)) as source, closing(Store(None)) as into:
        for _ in range(count):
            photo, result = os.urandom(size), os.urandom(size)
            chat = chat_of((Attachment("a.jpg", "", size, picture=Picture(StoredFile.of(photo), 2, 2, "JPEG")),), result)
            source.save(Snapshot.of(chat, chat.root.below()))
            digests |= files_in(chat).keys()
        if kind == "export":
            chats = [chat for one in source.chats() if (chat := source.load(one.id)) is not None]
            chat_export.export([(chat, summary(chat)) for chat in chats], {}, file)
            del chats
        if kind != "open database":
            source.close()
        if kind == "recovery":
            with closing(sqlite3.connect(file)) as database:
                database.execute("PRAGMA user_version = 3")  # so that the definitions are damaged
        del photo, result, chat
        tracemalloc.start()
        try:
            if kind == "recovery":
                opened = open_store(tmp_path)
            else:
                assert len(import_into(into, file).chats) == count
            assert tracemalloc.get_traced_memory()[1] < 2 * count * size / 2
        finally:
            tracemalloc.stop()
        if kind == "recovery":
            with closing(opened.store):
                assert owned(opened.store) == digests
        else:
            assert owned(into) == digests


def test_too_many_files_for_one_export_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chat_export, "MAX_BYTES", 8)
    with pytest.raises(UserError, match="5 bytes of images and PDFs, too much for one file"):
        exported([chat_of()])


def test_an_export_loads_no_files_that_it_does_not_need(begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app, chat, read = begin(loaded=False), chat_of((PHOTO,), b"result"), list[str]()
    app.library.save(chat, chat.root.below())
    original = Store._files
    monkeypatch.setattr(Store, "_files", lambda opened, chat_id: read.append(chat_id) or original(opened, chat_id))
    monkeypatch.setattr(chat_export, "MAX_BYTES", 20)
    app.library.export_chats([chat.id], tmp_path / "chats.json")
    app.until(lambda: any("11 bytes of images and PDFs, too much" in notice for notice in app.notices))
    app.library.export_chats([chat.id], tmp_path / "chats.md")
    app.until((tmp_path / "chats.md").exists)
    assert not read and (tmp_path / "chats.md").read_text() == chat_export.to_markdown(chat)
    monkeypatch.undo()
    app.library.export_chats([chat.id], tmp_path / "chats.json")
    app.until((tmp_path / "chats.json").exists)


def test_an_open_chat_gets_the_images_that_an_import_restores(begin: Begin, tmp_path: Path) -> None:
    """Saving one of its messages again deleted them."""
    chat = chat_of((PHOTO,))
    complete = exported([chat])
    lacking = json.loads(json.dumps(complete)) | {"files": {}}
    app = begin(loaded=False)
    for name, data in (("lacking", lacking), ("complete", complete)):
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
    app.library.import_file(tmp_path / "lacking.json")
    app.until(lambda: "Imported 1 chat." in " ".join(app.notices))
    (entry,) = app.library.entries
    app.session.open_chat(entry)
    app.until(lambda: app.session.chat.id == entry)
    (asked,) = app.session.chat.root.children
    assert files_in(app.session.chat) == {}
    shown: list[object] = []
    app.session.turns_changed.connect(shown.append)
    app.library.import_file(tmp_path / "complete.json")
    app.until(lambda: list(files_in(app.session.chat).values()) == [b"photo"])
    assert shown and app.session.chat.root.children == [asked]


def test_markdown_names_images() -> None:
    text = chat_export.to_markdown(chat_of((PHOTO,), b"result"))
    assert "*(attached: photo.jpg)*" in text and "*(image: 0.png)*" in text


# The database


def test_a_message_and_its_files_are_saved_together_or_not_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    original = store._add_files

    def fail(*given: Any) -> None:
        original(*given)
        raise sqlite3.OperationalError

    with closing(Store(None)) as opened:
        monkeypatch.setattr(store, "_add_files", fail)
        chat = chat_of()
        with suppress(sqlite3.OperationalError):
            opened.save(Snapshot.of(chat, chat.root.below()))
        assert rows(opened) == ({}, set()) and opened.chats() == ()
        monkeypatch.setattr(store, "_add_files", original)
        opened.save(Snapshot.of(chat, chat.root.below()))
        assert len(owned(opened)) == 1 and opened.usage() == FileUsage(1, 5)


def test_a_database_is_opened_or_read_row_by_row_with_its_files(tmp_path: Path) -> None:
    chat = chat_of((PHOTO,), b"result")
    with closing(Store(tmp_path / FILE)) as opened:
        opened.save(Snapshot.of(chat, chat.root.below()))
    found = read_database(tmp_path / FILE)
    with closing(found.files):
        assert not files_in(found.chats[0].chat) and not found.remark
        fill(found.chats[0].chat.root.below(), found.files)
        assert files_in(found.chats[0].chat) == files_in(chat)
    with closing(open_store(tmp_path).store) as opened:
        assert len(owned(opened)) == 2
    with closing(sqlite3.connect(tmp_path / FILE)) as database:
        database.execute("UPDATE file SET data = x'00' WHERE length(data) = 5")
        database.execute("PRAGMA user_version = 3")  # so that the definitions are damaged
        database.commit()
    again = open_store(tmp_path)
    with closing(again.store) as opened:
        assert again.saves and "Recovered 1 chat" in again.notice and len(owned(opened)) == 1
        loaded = opened.load(chat.id)
        assert loaded is not None and files_in(loaded) == {StoredFile.of(b"result").digest: b"result"}
        asked = loaded.turns[0].asked
        assert asked is not None and asked.attachments[0].picture is not None and asked.attachments[0].picture.lost
    assert read_database(next(tmp_path.glob("* set aside *.db"))).remark


def test_a_damaged_index_of_the_files_sets_the_database_aside(tmp_path: Path) -> None:
    with closing(Store(tmp_path / FILE)) as opened:
        chat = chat_of()
        opened.save(Snapshot.of(chat, chat.root.below()))
    with closing(sqlite3.connect(tmp_path / FILE)) as database:
        size = database.execute("PRAGMA page_size").fetchone()[0]
        query = "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_file_1'"
        start = (database.execute(query).fetchone()[0] - 1) * size
        digest = database.execute("SELECT digest FROM file").fetchone()[0].encode()
    data = bytearray((tmp_path / FILE).read_bytes())
    data[data.index(digest, start, start + size)] ^= 1
    (tmp_path / FILE).write_bytes(data)
    opened_again = open_store(tmp_path)
    opened_again.store.close()
    assert "damaged" in opened_again.notice


class Library(RuleBasedStateMachine):
    """A library on the disk, to which anything happens in any order, also a kill."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.opened = Store(self.folder / FILE)
        self.chats: dict[str, Chat] = {}

    def teardown(self) -> None:
        self.opened.close()
        shutil.rmtree(self.folder)

    def save(self, chat: Chat) -> None:
        self.chats[chat.id] = chat
        self.opened.save(Snapshot.of(chat, chat.root.below()))

    def any_chat(self, data: st.DataObject) -> Chat:
        return data.draw(st.sampled_from(list(self.chats.values())))

    @rule(attached=attachments, results=st.lists(contents, max_size=2))
    def a_chat_begins(self, attached: tuple[Attachment, ...], results: list[bytes]) -> None:
        self.save(chat_of(attached, *results))

    @precondition(lambda self: self.chats)
    @rule(data=st.data(), attached=attachments, edits=st.booleans())
    def a_message_is_added_or_edited(self, data: st.DataObject, attached: tuple[Attachment, ...], edits: bool) -> None:
        chat = self.any_chat(data)
        turn = chat.ask("Again", "plain", attachments=attached, after=chat.root if edits else None)
        turn.reply.reason = "eos"
        self.save(chat)

    @precondition(lambda self: self.chats)
    @rule(data=st.data())
    def a_message_is_deleted(self, data: st.DataObject) -> None:
        chat = self.any_chat(data)
        node = data.draw(st.sampled_from(list(chat.root.below()) or [None]))
        if node is not None and node.parent is not None:
            node.parent.drop(node)
            self.opened.delete_message(node.id)

    @precondition(lambda self: self.chats)
    @rule(data=st.data(), now=st.booleans())
    def a_chat_is_deleted(self, data: st.DataObject, now: bool) -> None:
        gone = self.chats.pop(self.any_chat(data).id)
        self.opened.delete([gone.id])
        (self.opened.purge if now else self.opened.recover)()

    @precondition(lambda self: self.chats)
    @rule(data=st.data(), keep=st.booleans())
    def a_chat_is_exported_and_imported(self, data: st.DataObject, keep: bool) -> None:
        chat = self.any_chat(data)
        exports = exported([chat])
        if not keep:
            self.opened.delete([chat.id])
            self.opened.purge()
        outcome = imported(self.opened, exports, self.folder)
        assert (outcome.known, len(outcome.chats), outcome.grown) == ((1, 0, []) if keep else (0, 1, []))

    @rule()
    def the_app_is_killed(self) -> None:
        killed = Path(tempfile.mkdtemp())
        for file in schema.files_of(self.folder / FILE)[:2]:
            if file.exists():
                shutil.copy(file, killed)
        self.teardown()
        self.folder, again = killed, open_store(killed)
        self.opened = again.store
        assert again.saves and not again.notice

    @invariant()
    def each_file_has_an_owner_and_each_owner_its_file(self) -> None:
        assert owned(self.opened) == {digest for chat in self.chats.values() for digest in files_in(chat)}
        for chat in self.chats.values():
            stored = self.opened.load(chat.id)
            assert stored is not None and files_in(stored) == files_in(chat)


TestLibrary = Library.TestCase
TestLibrary.settings = sampled(6)


# ChatGPT's export


def conversation() -> dict[str, Any]:
    pointers = ("file-service://file-A1b2", "sediment://file_00c3", "sediment://file_missing")
    parts = [{"content_type": "image_asset_pointer", "asset_pointer": one} for one in pointers]
    asked = message("user", *parts, "What is it?")
    asked["metadata"] = {"attachments": [{"id": "file-A1b2", "name": "My photo.png"}]}
    return {
        "title": "Photos",
        "conversation_id": "c1",
        "create_time": 5.0,
        "current_node": "2",
        "mapping": {
            "0": {"parent": None, "children": ["1"]},
            "1": {"parent": "0", "children": ["2"], "message": asked},
            "2": {"parent": "1", "children": [], "message": message("assistant", "A dot.")},
        },
    }


@pytest.mark.parametrize("kind", ["zip", "folder", "file"])
def test_images_of_a_chatgpt_export_come_along(tmp_path: Path, kind: str) -> None:
    first, second = encoded("PNG"), encoded("JPEG")
    files = {
        "conversations.json": json.dumps([conversation()]).encode(),
        "file-A1b2-My photo.png": first,
        "user-1/file_00c3-drawing.jpg": second,
        "file_missing.txt": b"no image",
    }
    if kind == "zip":
        with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
            for name, data in files.items():
                archive.writestr(name, data)
    else:
        for name, data in files.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_bytes(data)
    place = {"zip": tmp_path / "export.zip", "folder": tmp_path, "file": tmp_path / "conversations.json"}[kind]
    with closing(Store(None)) as opened:
        (one,) = import_into(opened, place).chats
        assert import_into(opened, place).known == 1 and len(owned(opened)) == 2
        stored = opened.load(one.chat.id)
        assert files_in(one.chat) == {} and stored is not None
    (turn,) = stored.turns
    assert turn.asked is not None and turn.prompt == "[image asset pointer]\n\nWhat is it?"
    assert [(file.name, file.picture and file.picture.file.data) for file in turn.asked.attachments] == [
        ("My photo.png", first),
        ("drawing.jpg", second),
    ]


@pytest.mark.parametrize("better_first", [False, True])
def test_an_export_whose_images_are_incomplete_offers_no_new_messages(tmp_path: Path, better_first: bool) -> None:
    """Another import, with the images, completes the stored messages."""
    (tmp_path / "file-A1b2-My photo.png").write_bytes(first := encoded("PNG"))
    second = tmp_path / "file_00c3-drawing.jpg"
    (tmp_path / "conversations.json").write_text(json.dumps([conversation()]))
    states = [b"damaged", encoded("JPEG")]
    with closing(Store(None)) as opened:
        for number, data in enumerate(reversed(states) if better_first else states):
            second.write_bytes(data)
            outcome = import_into(opened, tmp_path)
            assert (len(outcome.chats), outcome.known, outcome.grown) == ((1, 0, []) if number == 0 else (0, 1, []))
        assert len(owned(opened)) == 2
        (entry,) = opened.chats()
        chat = opened.load(entry.id)
        assert chat is not None
    (turn,) = chat.turns
    assert turn.asked is not None and turn.prompt == "[image asset pointer]\n\nWhat is it?"
    assert [file.picture and file.picture.file.data for file in turn.asked.attachments] == [first, states[1]]


def test_an_import_holds_the_images_of_one_chat_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exports have thousands of images, which together can be larger than the memory."""
    conversations = []
    for number in range(6):
        found = json.loads(json.dumps(conversation()).replace("A1b2", f"A{number}").replace("00c3", f"{number}c"))
        conversations.append(found | {"conversation_id": f"c{number}", "create_time": 5.0 + number})
        (tmp_path / f"file-A{number}-a.png").write_bytes(encoded("PNG", (8 + number, 6)))
        (tmp_path / f"file_{number}c-b.jpg").write_bytes(encoded("JPEG", (8 + number, 6)))
    (tmp_path / "conversations.json").write_text(json.dumps(conversations))
    chats, most = list[Chat](), 0
    original = store._write

    def write(db: sqlite3.Connection, snapshot: Snapshot) -> None:
        nonlocal most
        original(db, snapshot)
        most = max(most, sum(len(files_in(chat)) for chat in chats))

    make = chatgpt_import.chat_from
    monkeypatch.setattr(chatgpt_import, "chat_from", lambda *given: chats.append(make(*given)) or chats[-1])
    monkeypatch.setattr(store, "_write", write)
    with closing(Store(None)) as opened:
        import_into(opened, tmp_path)
        assert most == 2 and len(owned(opened)) == 12


def test_added_messages_of_a_newer_export_have_their_images(begin: Begin, tmp_path: Path) -> None:
    app, data = begin(), conversation()
    (tmp_path / "file-A1b2-a.png").write_bytes(first := encoded("PNG"))
    (tmp_path / "file_00c3-b.jpg").write_bytes(encoded("JPEG"))
    older = json.loads(json.dumps(data))
    (tmp_path / "conversations.json").write_text(json.dumps([older]))
    app.library.import_file(tmp_path)
    app.until(lambda: len(app.library.entries) == 1 and app.library.importing is None)
    part = {"content_type": "image_asset_pointer", "asset_pointer": "file-service://file-A1b2"}
    data["mapping"]["2"]["children"] = ["3"]
    data["mapping"]["3"] = {"parent": "2", "children": [], "message": message("user", part, "And again?")}
    (tmp_path / "conversations.json").write_text(json.dumps([data | {"current_node": "3"}]))
    app.library.import_file(tmp_path)
    app.until(lambda: any("New messages" in text for text in app.notices))
    app.press("Add Messages")
    app.until(lambda: any("Added the new messages" in text for text in app.notices))
    (chat,) = app.library.entries
    app.session.open_chat(chat)
    app.until(lambda: app.session.chat.id == chat)
    added = app.session.chat.turns[-1].asked
    assert added is not None and added.text == "And again?"
    assert [file.picture and file.picture.file.data for file in added.attachments] == [first]
