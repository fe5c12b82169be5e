"""Export and import: Slipstream's JSON without loss, ChatGPT's trees, and files that are neither."""

import itertools
import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from app.storage import chat_export, chat_import
from app.storage.chat_export import to_markdown
from app.storage.chat_tree import Chat
from app.storage.project import Project
from app.storage.records import chat_from_json, chat_to_json
from app.storage.salvage import ImportedChats
from app.storage.store import ChatSummary, Snapshot, Store
from app.text.plain_text import clean
from mlx_engine.contract.errors import UserError
from mlx_engine.contract.events import Failed
from tests.app.chats import chats, same
from tests.app.scripted_engine import commit, done
from tests.examples import SAMPLE, sampled

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def summary(chat: Chat, folder: str = "", pinned: bool = False, archived: bool = False) -> ChatSummary:
    return ChatSummary(chat.id, chat.title, chat.created, chat.changed, folder, pinned, archived=archived)


# Slipstream's JSON


@sampled(5)
@given(st.lists(st.tuples(chats(), st.booleans(), st.booleans(), st.booleans()), min_size=1, max_size=3))
def test_what_is_exported_as_json_is_imported_without_loss(made: list[tuple[Chat, bool, bool, bool]]) -> None:
    folder = Project("f", "Work & play", 5.0)
    rows = [(chat, summary(chat, "f" if inside else "", pinned, archived)) for chat, inside, pinned, archived in made]
    text = json.dumps(chat_export.to_json(rows, {"f": folder}), ensure_ascii=False)
    back = chat_import.from_json(json.loads(text), "a file")
    assert all(same(one, other.chat) for (one, _), other in zip(rows, back.chats, strict=True))
    marks = [(one.project, one.pinned, one.archived) for one in back.chats]
    assert marks == [(row.project, row.pinned, row.archived) for _, row in rows]
    assert back.projects == ([folder] if any(inside for _, inside, *_ in made) else [])


def places(value: object) -> list[tuple[Any, Any]]:
    """Return every container of parsed JSON with each of its keys or indexes."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [(value, key) for key in keys] + [place for key in keys for place in places(value[key])]  # type: ignore[index]


def stored(imported: ImportedChats) -> None:
    """Store what was imported, as one transaction, and read it again."""
    with closing(Store(None)) as store:
        snapshots = [Snapshot.of(one.chat, one.chat.root.below(), one.project, one.pinned) for one in imported.chats]
        store.save_all(snapshots, imported.projects)
        assert len(store.contents().chats) == len(imported.chats)
        for one in imported.chats:
            loaded = store.load(one.chat.id)
            assert loaded is not None and same(one.chat, loaded)
            to_markdown(loaded)


@given(chats(), st.data())
def test_import_refuses_an_export_only_for_values_of_its_structure(chat: Chat, data: st.DataObject) -> None:
    """Any value in a field of details, settings or folders is read, if need be as the default."""
    record = json.loads(json.dumps(chat_export.to_json([(chat, summary(chat, "f"))], {"f": Project("f", "Work", 5.0)})))
    (chat_record,) = record["chats"]
    structure = [record, record["chats"], chat_record, chat_record["messages"], *chat_record["messages"]]
    container, key = data.draw(st.sampled_from(places(record)))
    container[key] = data.draw(json_values)
    try:
        imported = chat_import.from_json(record, "a file")
    except UserError:
        assert any(container is part for part in structure), key
        return
    stored(imported)


@pytest.mark.parametrize("value", [[], {}, 7, None, [["f"]]])
def test_a_chat_whose_folder_is_not_text_has_none(value: object) -> None:
    chat = Chat()
    chat.ask("One", "plain")
    record = chat_export.to_json([(chat, summary(chat, "f"))], {"f": Project("f", "Work", 5.0)})
    record["chats"][0]["folder"] = value
    assert chat_import.from_json(record, "a file").chats[0].project == ""


@sampled(8)
@given(chats(), st.data())
def test_a_field_of_another_type_loses_no_other_field(chat: Chat, data: st.DataObject) -> None:
    """It lost all statistics of a reply."""
    record = json.loads(json.dumps(chat_to_json(chat)))
    all_stats = [one["details"]["stats"] for one in record["messages"] if one.get("details", {}).get("stats")]
    assume(all_stats)
    stats = data.draw(st.sampled_from(all_stats))
    key = data.draw(st.sampled_from(sorted(stats)))
    expected = chat_to_json(chat_from_json(record))
    if data.draw(st.booleans()):
        del stats[key]
    else:
        stats[key] = "x"
    found = chat_to_json(chat_from_json(record))
    for one, other in zip(found["messages"], expected["messages"], strict=True):
        for part in (one, other):
            if part.get("details", {}).get("stats"):
                part["details"]["stats"].pop(key)
    assert found == expected


def test_a_request_without_a_valid_mode_is_plain() -> None:
    chat = Chat()
    chat.ask("One", "dflash")
    record = chat_to_json(chat)
    record["messages"][1]["details"]["request"]["mode"] = record["messages"][1]["details"]["mode"] = "fast"
    (turn,) = chat_from_json(record).turns
    assert turn.request.mode == turn.reply.mode == "plain"


def test_numbers_are_limited_and_negative_times_left_out() -> None:
    chat = Chat()
    chat.ask("One", "plain").reply.reason = "eos"
    record = chat_to_json(chat) | {"created": 1e30, "changed": 10**400}
    record["messages"][1]["details"] |= {"tokens": 2**70, "thinking_s": -1.0}
    read = chat_from_json(record)
    assert read.created == read.changed == 4e9
    assert read.turns[0].reply.tokens == 2**64 - 1 and read.turns[0].reply.thinking_s is None


@given(json_values)
def test_any_other_json_is_refused(value: object) -> None:
    with pytest.raises(UserError):
        chat_import.from_json(value, "a file")


def test_messages_that_are_not_a_tree_are_refused() -> None:
    chat = Chat()
    chat.ask("One", "plain")
    chat.ask("Two", "plain")
    record = chat_to_json(chat)
    for harm in ("circle", "orphan", "twice"):
        broken = json.loads(json.dumps(record))
        messages = broken["messages"]
        if harm == "circle":
            messages[0]["parent"] = messages[3]["id"]
        elif harm == "orphan":
            messages[2]["parent"] = "missing"
        else:
            messages[1]["id"] = messages[0]["id"]
        with pytest.raises(UserError):
            chat_from_json(broken)


def test_lone_surrogates_and_nul_in_a_file_are_replaced(tmp_path: Path) -> None:
    chat = Chat("Title")
    chat.ask("One", "plain")
    record = chat_export.to_json([(chat, summary(chat))], {})
    record["chats"][0]["messages"][0]["text"] = "a\0b\ud800c\ud83d\ude00"
    (tmp_path / "chats.json").write_text(json.dumps(record))
    (back,) = chat_import.read(tmp_path / "chats.json").chats
    assert back.chat.turns[0].prompt == clean("a\0b\ud800c😀") == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c😀"


# Files


def test_the_file_name_decides_the_format(tmp_path: Path) -> None:
    rows = []
    for title in ("One", "Two"):
        chat = Chat(title)
        chat.ask("Question", "plain").reply.accept(commit("Answer"), 0.0)
        rows.append((chat, summary(chat)))
    assert chat_export.export(rows, {}, tmp_path / "all.json").startswith("Exported 2 chats")
    assert len(chat_import.read(tmp_path / "all.json").chats) == 2
    chat_export.export(rows[:1], {}, tmp_path / "one.md")
    assert "## You\n\nQuestion\n\n## Slipstream\n\nAnswer" in (tmp_path / "one.md").read_text()
    with pytest.raises(UserError, match="Can't write"):
        chat_export.export(rows, {}, tmp_path / "nowhere" / "x.md")
    with pytest.raises(UserError, match="No chats to export"):
        chat_export.export([], {}, tmp_path / "x.md")
    assert not list(tmp_path.glob(".*"))


def test_markdown_has_the_shown_branch_and_how_replies_ended() -> None:
    chat = Chat("Primes")
    turn = chat.ask("Is 9 prime?", "dflash")
    turn.reply.accept(commit("hm", channel="thinking"), 0.0)
    turn.reply.accept(commit("Yes."), 0.0)
    again = chat.ask_again(turn, "plain")
    again.reply.accept(commit("No, it is"), 0.0)
    again.reply.accept(done(reason="cancelled"), 0.0)
    chat.ask("And 11?", "dflash").reply.accept(Failed("error", "The memory ran out."), 0.0)
    text = to_markdown(chat)
    assert text.startswith("# Primes\n") and "Yes." not in text and "hm" not in text
    assert "No, it is\n\n*(stopped)*" in text and "*(The memory ran out.)*" in text


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "isn't a valid JSON file"),
        (b"{", "isn't a valid JSON file"),
        (b"\xff\xfe\x00", "isn't a valid JSON file"),
        (b"[" * 100_000, "isn't a valid JSON file"),
        (b"[]", "no chats"),
        (b'{"a": 1}', "no chats"),
        (b'{"format": "slipstream-chats", "version": 99, "chats": [], "folders": []}', "newer version of Slipstream"),
        (b'{"format": "slipstream-chats", "version": 1}', "damaged"),
        (b'{"format": "slipstream-chats", "version": 1, "chats": [7], "folders": []}', "isn't a Slipstream chat"),
        (b"PK\x03\x04 nonsense", "archive .* is damaged"),
        (b"SQLite format 3\0 nonsense", "damaged"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, says: str) -> None:
    (tmp_path / "f").write_bytes(content)
    with pytest.raises(UserError, match=says):
        chat_import.read(tmp_path / "f")
    with pytest.raises(UserError, match="Can't read"):
        chat_import.read(tmp_path / "missing")


def test_a_database_that_was_moved_aside_can_be_imported_and_stays_unchanged(tmp_path: Path) -> None:
    file = tmp_path / "chats set aside.db"
    chat = Chat("Kept")
    chat.ask("One", "plain").reply.accept(commit("Half"), 0.0)
    with closing(Store(file)) as store:
        store.save_project(Project("f", "Work", 1.0))
        store.save(Snapshot.of(chat, chat.root.below(), "f", True))
    before = file.read_bytes()
    back = chat_import.read(file)
    (one,) = back.chats
    assert (one.chat.title, one.project, one.pinned, back.projects[0].name) == ("Kept", "f", True, "Work")
    assert one.chat.turns[0].reply.reason == "interrupted"
    assert file.read_bytes() == before


def test_everything_readable_in_a_damaged_database_is_imported(tmp_path: Path) -> None:
    """Damage each page in turn (in `make test`, every third): nearly every chat is read from nearly every file."""
    with closing(Store(tmp_path / "whole.db")) as store:
        for number in range(12):
            chat = Chat()
            chat.ask(f"Question {number} " + "word " * 300, "plain").reply.accept(commit("Yes."), 0.0)
            store.save(Snapshot.of(chat, chat.root.below()))
    whole = (tmp_path / "whole.db").read_bytes()
    numbers = range(1, len(whole) // 4096, 3 if SAMPLE else 1)
    found: list[int] = []
    for number, harm in zip(numbers, itertools.cycle((b"\xff" * 4096, bytes(4096))), strict=False):
        file = tmp_path / "damaged.db"
        file.write_bytes(whole[: 4096 * number] + harm + whole[4096 * (number + 1) :])
        try:
            imported = chat_import.read(file)
        except UserError as error:
            assert "damaged" in str(error)
            found.append(0)
            continue
        chats = [one.chat for one in imported.chats]
        assert all(f"Question {one.turns[0].prompt.split()[1]} word" in one.turns[0].prompt for one in chats if one.turns[0].asked)
        assert len(chats) == 12 or "damaged" in imported.remark
        found.append(len(chats))
    assert sum(one >= 8 for one in found) >= 0.9 * len(found), found


def test_a_message_whose_parent_is_lost_stays_in_its_chat(tmp_path: Path) -> None:
    chat = Chat("Three")
    for prompt in ("One", "Two", "Three"):
        chat.ask(prompt, "plain").reply.accept(commit(f"To {prompt}"), 0.0)
    file = tmp_path / "f.db"
    with closing(Store(file)) as store:
        store.save(Snapshot.of(chat, chat.root.below()))
    with closing(sqlite3.connect(file)) as database:
        database.execute("DROP TABLE found")  # the search index is not needed
        database.execute("DROP TRIGGER message_removed")
        database.execute("DELETE FROM message WHERE text = 'To One'")
        database.commit()
    imported = chat_import.read(file)
    assert [(turn.prompt, turn.reply.answer) for turn in imported.chats[0].chat.turns] == [
        ("One", ""),
        ("Two", "To Two"),
        ("Three", "To Three"),
    ]
    assert "damaged" in imported.remark


@pytest.mark.parametrize("cycle", [False, True])
def test_messages_with_any_row_number_are_imported(tmp_path: Path, cycle: bool) -> None:
    """Rows with negative numbers were left out, and a child stored before its parent lost its place."""
    chat = Chat("Three")
    for prompt in ("One", "Two", "Three"):
        chat.ask(prompt, "plain").reply.accept(commit(f"To {prompt}"), 0.0)
    file = tmp_path / "f.db"
    with closing(Store(file)) as store:
        store.save(Snapshot.of(chat, chat.root.below()))
    with closing(sqlite3.connect(file)) as database:
        database.execute("UPDATE message SET number = -number")
        database.execute("UPDATE message SET number = 7 WHERE text = 'Two'")
        if cycle:
            database.execute("UPDATE message SET parent = (SELECT id FROM message WHERE text = 'To Three') WHERE text = 'Two'")
        database.commit()
    imported = chat_import.read(file)
    (found,) = imported.chats
    texts = [node.text or (node.reply.answer if node.reply else "") for node in found.chat.root.below()]
    assert sorted(texts) == ["One", "Three", "To One", "To Three", "To Two", "Two"]
    if not cycle:
        assert texts == ["One", "To One", "Two", "To Two", "Three", "To Three"] and imported.remark == ""
        with closing(Store(file)) as store:
            loaded = store.load(chat.id)
        assert loaded is not None and [turn.prompt for turn in loaded.turns] == ["One", "Two", "Three"]


def packed(file: Path, *, harm: str) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", "[" + "1, " * 5000 + "1]")
    data = bytearray(file.read_bytes())
    if harm == "stream":
        data[60:100] = b"\xff" * 40
    else:
        for at in (6, data.index(b"PK\1\2") + 8):  # the flag of a password
            data[at] |= 1
    file.write_bytes(data)


@pytest.mark.parametrize("harm", ["stream", "password"])
def test_an_archive_that_cannot_be_unpacked_is_refused(tmp_path: Path, harm: str) -> None:
    packed(tmp_path / "export.zip", harm=harm)
    with pytest.raises(UserError, match="is damaged" if harm == "stream" else "Can't unpack"):
        chat_import.read(tmp_path / "export.zip")


def test_a_file_that_would_fill_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small archive may contain a huge file, and short JSON many values."""
    file = tmp_path / "export.zip"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", "[" + "[]," * 5000 + "{}]")
    with pytest.raises(UserError, match="contains no chats"):
        chat_import.read(file)
    monkeypatch.setattr(chat_import, "MAX_VALUES", 10_001)
    with pytest.raises(UserError, match="is too large"):
        chat_import.read(file)
    monkeypatch.setattr(chat_import, "MAX_VALUES", 10_002)
    with pytest.raises(UserError, match="contains no chats"):
        chat_import.read(file)
    monkeypatch.setattr(chat_import, "MAX_BYTES", 15_000)
    with pytest.raises(UserError, match="is too large"):
        chat_import.read(file)


@pytest.mark.parametrize("created", ["NaN", "1e999", "-5", "9" * 400, "true", '"x"'])
def test_a_folder_with_any_date_can_be_stored(created: str) -> None:
    folder = f'{{"id": "f", "name": "n", "created": {created}}}'
    text = f'{{"format": "slipstream-chats", "version": 1, "chats": [], "folders": [{folder}]}}'
    imported = chat_import.from_json(json.loads(text), "a file")
    with closing(Store(None)) as store:
        store.save_all([], imported.projects)
        assert 0 <= store.contents().projects[0].created <= 4e9


def test_an_import_is_all_or_nothing_and_keeps_existing_folders() -> None:
    chat = Chat()
    chat.ask("One", "plain")
    bad = Snapshot.of(chat, chat.root.below(), "nowhere")  # a folder that doesn't exist
    with closing(Store(None)) as store:
        store.save_project(Project("f", "Renamed since", 1.0))
        with pytest.raises(sqlite3.IntegrityError):
            store.save_all([bad], [Project("g", "New", 2.0)])
        store.save_all([], [Project("f", "As it was", 2.0)])
        assert store.contents().projects == (Project("f", "Renamed since", 1.0),)


# ChatGPT


def message(role: str, *parts: object, **more: object) -> dict[str, object]:
    content = {"content_type": "text", "parts": list(parts)}
    return {"author": {"role": role}, "content": content, "create_time": 1700000000.5, "metadata": {}, "recipient": "all"} | more


CONVERSATION = {
    "title": "Divisors",
    "create_time": 1700000000.0,
    "update_time": 1700000900.0,
    "current_node": "a2",
    "mapping": {
        "root": {"id": "root", "message": None, "parent": None, "children": ["sys"]},
        "sys": {
            "message": message("system", "", metadata={"is_visually_hidden_from_conversation": True}),
            "parent": "root",
            "children": ["u1", "u1b"],
        },
        "u1": {"message": message("user", "How many divisors has 196?"), "parent": "sys", "children": ["a1", "t1"]},
        "a1": {"message": message("assistant", "Eight."), "parent": "u1", "children": []},
        "t1": {
            "message": message("assistant", content={"content_type": "thoughts", "thoughts": [{"content": "14 squared."}]}),
            "parent": "u1",
            "children": ["call"],
        },
        "call": {
            "message": message(
                "assistant", content={"content_type": "code", "language": "python", "text": "f(196)"}, recipient="python"
            ),
            "parent": "t1",
            "children": ["out"],
        },
        "out": {"message": message("tool", "9"), "parent": "call", "children": ["a2"]},
        "a2": {"message": message("assistant", "Nine.", metadata={"model_slug": "gpt-4o"}), "parent": "out", "children": []},
        "u1b": {
            "message": message("user", {"content_type": "image_asset_pointer"}, "What is this?"),
            "parent": "sys",
            "children": [],
        },
    },
}


def test_a_chatgpt_tree_is_read_with_its_branches(tmp_path: Path) -> None:
    (tmp_path / "conversations.json").write_text(json.dumps([CONVERSATION, {"mapping": {}, "title": "Empty"}]))
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as archive:
        archive.write(tmp_path / "conversations.json", "conversations.json")
    for name in ("conversations.json", "export.zip"):
        found = chat_import.read(tmp_path / name)
        chat = found.chats[0].chat
        assert len(found.chats) == 1 and "Skipped 1 chat" in found.remark
        assert (chat.title, chat.created, chat.changed) == ("Divisors", 1700000000.0, 1700000900.0)
        (turn,) = chat.turns
        assert (turn.prompt, turn.reply.answer, turn.reply.thinking) == ("How many divisors has 196?", "Nine.", "14 squared.")
        assert turn.last.place == (2, 2) and turn.asked.place == (1, 2)
        first, second = chat.root.children
        assert first.children[0].reply.answer == "Eight."
        assert second.text == "[image asset pointer]\n\nWhat is this?"
        chat.choose(second)
        (unanswered,) = chat.turns
        assert unanswered.answered is None and unanswered.reply.reason == "unanswered"
        assert [one.content for one in unanswered.request.messages] == [second.text]


@given(st.data())
def test_import_reads_a_conversation_after_any_damaged_one(data: st.DataObject) -> None:
    broken = json.loads(json.dumps([CONVERSATION, CONVERSATION]))
    ids = st.sampled_from(sorted(CONVERSATION["mapping"]))
    for _ in range(data.draw(st.integers(1, 4))):
        container, key = data.draw(st.sampled_from(places(broken[0])))
        container[key] = data.draw(json_values | st.lists(ids, max_size=3) | ids)
    imported = chat_import.from_json(broken, "a file")
    stored(imported)
    last = imported.chats[-1].chat
    assert last.title == "Divisors" and [(turn.prompt, turn.reply.answer) for turn in last.turns] == [
        ("How many divisors has 196?", "Nine.")
    ]


def test_a_very_deep_chat_is_read(tmp_path: Path) -> None:
    mapping: dict[str, object] = {}
    for number in range(3000):
        role = "user" if number % 2 == 0 else "assistant"
        above, below = (str(number - 1) if number else None), [str(number + 1)] if number < 2999 else []
        mapping[str(number)] = {"message": message(role, f"Text {number}"), "parent": above, "children": below}
    (deep,) = chat_import.from_json([{"mapping": mapping, "title": "Deep", "current_node": "2999"}], "a file").chats
    chat = deep.chat
    assert len(chat.turns) == 1500
    (back,) = chat_import.from_json(json.loads(json.dumps(chat_export.to_json([(chat, summary(chat))], {}))), "a file").chats
    assert same(chat, back.chat)
