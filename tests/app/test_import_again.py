"""Importing a file whose chats are in the library already."""

import json
import random
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.storage import chat_export, chat_import, chatgpt_import
from app.storage.chat_import import ImportOutcome, import_into
from app.storage.chat_tree import Chat
from app.storage.chatgpt_files import ChatGptFiles
from app.storage.recognition import add_missing, outline, overlap
from app.storage.records import chat_from_json, chat_to_json
from app.storage.store import Snapshot, Store
from tests.app.chats import chats, same
from tests.app.conftest import Begin, Session
from tests.app.scripted_engine import commit
from tests.app.test_chats_window import chat_with
from tests.examples import SAMPLE, sampled

files = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
few = settings(files, max_examples=7) if SAMPLE else files


def conversation(number: int, *said: str, dated: bool = True, ids: bool = True) -> dict[str, Any]:
    """Return a conversation of ChatGPT's export, with one branch."""
    mapping: dict[str, Any] = {}
    for at, text in enumerate(said):
        message = {"author": {"role": "assistant" if at % 2 else "user"}, "content": {"content_type": "text", "parts": [text]}}
        if dated:
            message["create_time"] = 1_700_000_000.0 + number
        mapping[f"m{number}-{at}"] = {"message": message, "parent": f"m{number}-{at - 1}" if at else None, "children": []}
    made: dict[str, Any] = {"title": f"Chat {number}", "mapping": mapping, "current_node": f"m{number}-{len(said) - 1}"}
    if dated:
        made |= {"create_time": 1_700_000_000.0 + number, "update_time": 1_700_000_900.0 + number}
    return made | ({"conversation_id": f"c{number}"} if ids else {})


def write(file: Path, data: object) -> Path:
    file.write_text(json.dumps(data))
    return file


def exported(store: Store) -> dict[str, Any]:
    loaded = [(chat, entry) for entry in store.chats() if (chat := store.load(entry.id)) is not None]
    record: dict[str, Any] = json.loads(json.dumps(chat_export.to_json(loaded, {})))
    return record


def counts(outcome: ImportOutcome) -> tuple[int, int, int]:
    """Return the numbers of new chats, of known chats, and of those with new messages."""
    return len(outcome.chats), outcome.known, len(outcome.grown)


def library(*made: Chat) -> Store:
    store = Store(None)
    for chat in made:
        store.save(Snapshot.of(chat, chat.root.below()))
    return store


conversations = st.lists(
    st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=5).filter(str.strip), min_size=1, max_size=5),
    min_size=1,
    max_size=5,
)


@files
@given(conversations, st.booleans(), st.booleans())
def test_an_import_of_the_same_file_adds_nothing(tmp_path: Path, made: list[list[str]], dated: bool, ids: bool) -> None:
    data = [conversation(number, *said, dated=dated, ids=ids) for number, said in enumerate(made)]
    file = write(tmp_path / "conversations.json", data)
    with closing(Store(None)) as store:
        first = counts(import_into(store, file))
        assert first == (len(made), 0, 0)
        before = exported(store)
        assert counts(import_into(store, file)) == (0, len(made), 0)
        assert exported(store) == before
        assert counts(import_into(store, write(tmp_path / "own.json", before))) == (0, len(made), 0)


@few
@given(st.lists(chats(), min_size=1, max_size=4))
def test_an_import_of_an_exported_library_adds_nothing(tmp_path: Path, made: list[Chat]) -> None:
    with closing(library(*made)) as store:
        before = exported(store)
        assert counts(import_into(store, write(tmp_path / "own.json", before))) == (0, len(made), 0)
        assert exported(store) == before
    with closing(Store(None)) as store:  # on another computer
        assert counts(import_into(store, tmp_path / "own.json")) == (len(made), 0, 0)
        assert counts(import_into(store, tmp_path / "own.json")) == (0, len(made), 0)


@files
@given(conversations, st.randoms(use_true_random=False), st.booleans())
def test_only_changed_and_new_chats_of_a_newer_file_are_offered(
    tmp_path: Path, made: list[list[str]], draw: random.Random, own: bool
) -> None:
    data = [conversation(number, *said) for number, said in enumerate(made)]
    with closing(Store(None)) as store:
        import_into(store, write(tmp_path / "old.json", data))
        record = exported(store)
        changed = draw.sample(range(len(made)), draw.randint(0, len(made)))
        for number in changed:
            if own:  # a reply that was edited in the file, or else a message that was added
                message = record["chats"][number]["messages"][-1]
                record["chats"][number]["messages"].append(message | {"id": f"n{number}", "parent": message["id"], "text": "More"})
            else:
                data[number] = conversation(number, *made[number], "More", "And more")
        extra = draw.randint(0, 2)
        new = [conversation(100 + number, "New") for number in range(extra)]
        found = import_into(store, write(tmp_path / "new.json", record if own else data + new))
        assert counts(found) == (0 if own else extra, len(made), len(changed))
        for chat_id, other in found.grown:
            chat = store.load(chat_id)
            assert chat is not None
            store.save(Snapshot.of(chat, add_missing(chat, other)))
        assert counts(import_into(store, tmp_path / "new.json")) == (0, len(made) + (0 if own else extra), 0)


@sampled(8)
@given(chats(), chats())
def test_a_merge_keeps_every_message_and_adds_those_of_the_file(mine: Chat, theirs: Chat) -> None:
    """Both continue the same chat: nothing of either is lost, and the user's branch stays in view."""
    start = Chat("Start")
    start.ask("One", "plain").reply.accept(commit("Answer"), 0.0)
    stored, other = (chat_from_json(chat_to_json(start)) for _ in range(2))
    for chat, more in ((stored, mine), (other, theirs)):
        for node in more.root.children:
            chat.turns[-1].last.add(node)
    was, shown, wanted = chat_to_json(stored), [turn.prompt for turn in stored.turns], list(other.root.below())
    added = add_missing(stored, chat_from_json(chat_to_json(other)))
    kept = {one["id"]: one for one in chat_to_json(stored)["messages"]}
    assert all({**kept[one["id"]], "chosen": 0} == {**one, "chosen": 0} for one in was["messages"])
    assert len(kept) == len(was["messages"]) + len(added)
    assert len(overlap(outline(stored), outline(other)).twins) == len(wanted)
    assert add_missing(stored, other) == []
    if not mine.empty and len(added) < len(wanted):
        assert [turn.prompt for turn in stored.turns] == shown
    elif mine.empty:
        assert [turn.prompt for turn in stored.turns] == [turn.prompt for turn in other.turns]


@pytest.mark.parametrize("dated", [True, False])
def test_chats_that_an_older_version_imported_are_recognized(tmp_path: Path, dated: bool) -> None:
    """It gave random ids to all chats and messages."""
    data = [conversation(number, "Hi", f"Hello {number}", dated=dated) for number in range(3)]
    file = write(tmp_path / "conversations.json", data)
    with closing(Store(None)) as store:
        made = import_into(store, file).chats
    for one in made:
        one.chat.renew_ids()
    with closing(library(*(one.chat for one in made))) as store:
        assert counts(import_into(store, file)) == (0, 3, 0)
        data[1] = conversation(1, "Hi", "Hello 1", "And?", "More", dated=dated)
        found = import_into(store, write(file, data))
        assert counts(found) == (0, 3, 1) and found.grown[0][0] == made[1].chat.id


def test_two_chats_that_begin_alike_are_two(tmp_path: Path) -> None:
    data = [conversation(1, "Hi", "Hello", "One"), conversation(2, "Hi", "Hello", "Two")]
    with closing(Store(None)) as store:
        assert counts(import_into(store, write(tmp_path / "one.json", data[:1]))) == (1, 0, 0)
        assert counts(import_into(store, write(tmp_path / "two.json", data))) == (1, 1, 0)


def test_a_continued_reply_is_no_new_message(tmp_path: Path) -> None:
    chat = Chat()
    chat.ask("One", "plain").reply.accept(commit("Half"), 0.0)
    with closing(library(chat)) as store:
        write(tmp_path / "own.json", exported(store))
        chat.turns[0].reply.accept(commit(" and the rest"), 1.0)
        store.save(Snapshot.of(chat, chat.root.below()))
        assert counts(import_into(store, tmp_path / "own.json")) == (0, 1, 0)


def test_a_message_whose_id_another_chat_has_overwrites_nothing(tmp_path: Path) -> None:
    """Ids in a file that was written by hand may repeat."""
    one, two = Chat(), Chat()
    for chat in (one, two):
        chat.ask("One", "plain").reply.accept(commit("Answer"), 0.0)
    with closing(library(one, two)) as store:
        before = store.load(two.id)
        record = exported(store)
        record["chats"] = [each for each in record["chats"] if each["id"] == one.id]
        last = record["chats"][0]["messages"][-1]
        taken = two.turns[0].last.id
        record["chats"][0]["messages"].append(last | {"id": taken, "parent": last["id"], "text": "Other"})
        ((chat_id, other),) = import_into(store, write(tmp_path / "own.json", record)).grown
        chat = store.load(chat_id)
        assert chat is not None and before is not None
        store.save(Snapshot.of(chat, add_missing(chat, other)))
        after = store.load(two.id)
        assert after is not None and same(before, after)


def test_a_deleted_chat_is_imported_again(tmp_path: Path) -> None:
    file = write(tmp_path / "conversations.json", [conversation(1, "Hi", "Hello")])
    with closing(Store(None)) as store:
        (one,) = import_into(store, file).chats
        store.delete([one.chat.id])
        assert counts(import_into(store, file)) == (1, 0, 0)
        assert counts(import_into(store, file)) == (0, 1, 0)
        store.purge()
        assert counts(import_into(store, file)) == (0, 1, 0)


# In the window


def test_an_import_says_what_was_there_and_adds_messages_on_request(begin: Begin, tmp_path: Path) -> None:
    app = begin()
    library = app.library
    data = [conversation(number, f"Question {number}", "Answer") for number in range(3)]
    file = write(tmp_path / "conversations.json", data)
    library.import_file(file)
    app.until(lambda: app.notices == ["Imported 3 chats."])
    library.import_file(file)
    app.until(lambda: app.notices == ["3 chats already there."])
    assert len(library.entries) == 3
    (one,) = [entry.id for entry in library.entries.values() if entry.title == "Chat 1"]
    app.session.open_chat(one)
    app.until(lambda: app.session.chat.id == one)
    app.ask("My own")
    data[1] = conversation(1, "Question 1", "Answer", "Theirs", "Reply")
    data[2] = conversation(2, "Question 2", "Answer", "Later", "Reply")
    library.import_file(write(file, [*data, conversation(9, "New")]))
    app.until(lambda: app.notices == ["Imported 1 chat. 3 chats already there. New messages in 2 chats."])
    assert app.texts[-1][0] == "My own" and len(library.entries) == 4
    app.press("Add Messages")
    app.until(lambda: app.notices == ["Added the new messages to 2 chats."])
    assert [prompt for prompt, _ in app.texts] == ["Question 1", "My own"]
    assert app.session.chat.turns[1].asked.place == (1, 2), "the file's messages are a version"
    (two,) = [entry.id for entry in library.entries.values() if entry.title == "Chat 2"]
    app.session.open_chat(two)
    app.until(lambda: app.session.chat.id == two)
    assert [prompt for prompt, _ in app.texts] == ["Question 2", "Later"]
    library.import_file(file)
    app.until(lambda: app.notices == ["4 chats already there."])


def test_show_opens_an_imported_chat_and_undo_removes_all(begin: Begin, tmp_path: Path) -> None:
    app = begin()
    chat_with(app, "Mine")
    library = app.library
    file = write(tmp_path / "conversations.json", [conversation(number, f"Question {number}") for number in range(60)])
    for act in ("Show", "Undo"):
        library.import_file(file)
        app.until(lambda: "Imported 60 chats." in app.notices)
        assert app.sidebar.undo_bar.isHidden(), "it is said once"
        app.press(act)
        if act == "Show":
            app.until(lambda: app.session.chat.title == "Chat 59")
            listed = app.sidebar.list
            assert listed.viewport().rect().contains(listed.visualRect(listed.currentIndex()))
            app.run("undo_delete")
        assert len(library.entries) == 1


def test_the_notice_undoes_an_import_after_other_changes(begin: Begin, tmp_path: Path) -> None:
    app = begin()
    mine, library = chat_with(app, "Mine"), app.library
    library.import_file(write(tmp_path / "conversations.json", [conversation(number, "Question") for number in range(3)]))
    app.until(lambda: "Imported 3 chats." in app.notices)
    library.archive([mine])
    app.press("Undo")
    assert [*library.entries] == [mine] and library.entries[mine].archived
    app.run("undo_delete")
    assert len(library.entries) == 4


class SlowFile:
    """A file with five chats, whose import waits before the third is read."""

    def __init__(self, session: Session, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.at_third, self.go_on, self.read = threading.Event(), threading.Event(), 0

        def chat_from(one: dict[str, Any], files: ChatGptFiles) -> Chat:
            self.read += 1
            if self.read == 3:
                self.at_third.set()
                self.go_on.wait()
            return original(one, files)

        original = chatgpt_import.chat_from
        monkeypatch.setattr(chatgpt_import, "chat_from", chat_from)
        data = [conversation(number, "Hi") for number in range(5)]
        session.library.import_file(write(folder / "conversations.json", data))
        self.at_third.wait()


def test_an_import_shows_its_progress(begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a thousand chats, nothing was shown for a minute."""
    session, shares = begin(loaded=False), list[float | None]()
    library = session.library
    library.import_changed.connect(lambda: shares.append(library.importing and library.importing.share))
    file = SlowFile(session, tmp_path, monkeypatch)
    session.until(lambda: bool(shares) and (shares[-1] or 0) > 0.1)
    assert library.importing is not None and library.importing.name == "conversations.json"
    file.go_on.set()
    session.until(lambda: len(library.entries) == 5 and library.importing is None)
    reported = [share for share in shares if share is not None]
    assert reported == sorted(reported)


def test_an_import_that_the_store_starts_again_can_be_canceled(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an error of the database, the store rebuilds its index and does its work again."""
    session, errors = begin(loaded=False), [sqlite3.DatabaseError("database disk image is malformed")]
    library, running = session.library, list[bool]()

    def import_once_more(*given: Any) -> ImportOutcome:
        if errors:
            raise errors.pop()
        return import_into(*given)

    monkeypatch.setattr(chat_import, "import_into", import_once_more)
    file = SlowFile(session, tmp_path, monkeypatch)
    library.import_changed.connect(lambda: running.append(library.importing is not None))
    session.until(lambda: bool(running))
    library.cancel_imports()
    file.go_on.set()
    session.until(lambda: library.importing is None and bool(session.notices or library.entries))
    assert running[0] and not library.entries and session.notices == ["Import canceled. No chats were added."]


@pytest.mark.parametrize("quits", [False, True])
def test_a_canceled_import_adds_nothing(begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quits: bool) -> None:
    """Quitting cancels it, too: it would keep the app from ending."""
    session = begin(loaded=False)
    library = session.library
    file = SlowFile(session, tmp_path, monkeypatch)
    if quits:
        session.services.close()
    else:
        library.cancel_imports()
    file.go_on.set()
    session.until(lambda: library.importing is None)
    assert not library.entries and file.read == 3
    if not quits:
        assert session.notices == ["Import canceled. No chats were added."]
        session.until(lambda: not library.importing)
        library.import_file(tmp_path / "conversations.json")
        session.until(lambda: len(library.entries) == 5)
