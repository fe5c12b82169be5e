"""The chat database: round trips, search, migration, and files that can't be read."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.storage import database, schema, wording
from app.storage.attachments import Attachment
from app.storage.chat_search import terms_of
from app.storage.chat_tree import Chat
from app.storage.database import FILE, open_store
from app.storage.project import Project
from app.storage.recent_model import RecentModel
from app.storage.reply import Reply
from app.storage.settings import ChatSettings, Preset
from app.storage.store import Snapshot, Store
from app.storage.stored_drafts import StoredDraft
from app.text import language
from app.text.plain_text import clean
from tests.app.chats import chats, same
from tests.app.scripted_engine import commit, done
from tests.examples import sampled

DATABASES = Path(__file__).parent / "databases"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with closing(Store(tmp_path / FILE)) as made:
        yield made


def save(store: Store, chat: Chat) -> None:
    store.save(Snapshot.of(chat, chat.root.below()))


def chat_of(*prompts: str, answer: str = "Yes.") -> Chat:
    chat = Chat()
    for prompt in prompts:
        turn = chat.ask(clean(prompt), "dflash")
        turn.reply.accept(commit(answer), 0.0)
        turn.reply.accept(done(), 0.0)
    return chat


def is_sound(store: Store) -> bool:
    """Check the search index against the messages, and the integrity of the file."""
    store._db.execute("INSERT INTO found (found, rank) VALUES ('integrity-check', 1)")
    return store._db.execute("PRAGMA integrity_check").fetchone() == ("ok",)


# Round trips


def fields_of(reply: Reply | None) -> dict[str, object]:
    """Return the fields of a reply that are kept, without those that `same` compares as text."""
    passing = ("prefill", "rate", "progress", "answer_by", "thinking_by")
    return {name: value for name, value in vars(reply).items() if name not in passing} if reply is not None else {}


@sampled(8)
@given(chats())
def test_a_saved_chat_is_loaded_unchanged(chat: Chat) -> None:
    with closing(Store(None)) as store:
        save(store, chat)
        save(store, chat)  # writing again changes nothing
        loaded = store.load(chat.id)
        assert loaded is not None and same(chat, loaded)
        for one, other in zip(chat.root.below(), loaded.root.below(), strict=True):  # `same` finds no field that is never stored
            assert one.request == other.request and fields_of(one.reply) == fields_of(other.reply)
        assert is_sound(store)


@given(st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["", "ab", "abc", "words go on", "世界你好"])), max_size=8))
def test_the_search_index_follows_every_change(steps: list[tuple[int, str]]) -> None:
    with closing(Store(None)) as store:
        chat = chat_of("start here")
        save(store, chat)
        for step, text in steps:
            turn = chat.turns[-1]
            if step == 0:
                chat.ask(clean(text), "plain")
            elif step == 1:
                turn.reply.accept(commit(text), 0.0)
            elif step == 2:
                turn.reply.accept(done(), 0.0)
            else:
                chat.ask_again(turn, "plain")
            save(store, chat)
            assert is_sound(store)


def test_an_unfinished_reply_is_marked_as_interrupted_and_becomes_searchable(tmp_path: Path) -> None:
    chat = Chat()
    chat.ask("Question", "dflash").reply.accept(commit("Half an answer"), 0.0)
    with closing(Store(tmp_path / FILE)) as store:
        save(store, chat)
        assert store.search("half an") == ()
    with closing(Store(tmp_path / FILE)) as store:
        store.recover()
        loaded = store.load(chat.id)
        assert loaded is not None
        (turn,) = loaded.turns
        assert (turn.reply.answer, turn.reply.reason) == ("Half an answer", "interrupted")
        assert [hit.message for hit in store.search("half an")] == [turn.last.id]
        assert is_sound(store)


def test_the_chosen_version_is_stored(store: Store) -> None:
    chat = chat_of("One")
    chat.ask_again(chat.turns[0], "plain").reply.accept(commit("No."), 0.0)
    save(store, chat)
    first, second = chat.turns[0].asked.children
    store.choose([first.id, second.id], first.id)
    loaded = store.load(chat.id)
    assert loaded.turns[0].last.place == (1, 2) and loaded.turns[0].reply.answer == "Yes."


def test_deleted_chats_and_their_words_are_erased_at_the_next_start(tmp_path: Path) -> None:
    chat, other = chat_of("A secret word: xylophone"), chat_of("Nothing")
    with closing(Store(tmp_path / FILE)) as store:
        save(store, chat)
        save(store, other)
        store.delete([chat.id])
        assert store.search("xylophone") == () and [entry.id for entry in store.chats()] == [other.id]
        store.delete([chat.id], deleted=False)
        assert len(store.search("xylophone")) == 1
        store.delete([chat.id])
    with closing(Store(tmp_path / FILE)) as store:
        store.recover()
        assert [entry.id for entry in store.contents().chats] == [other.id]
        assert store.load(chat.id) is None
        assert store._db.execute("SELECT count(*) FROM message").fetchone() == (2,)
        assert is_sound(store)


@pytest.mark.parametrize("how", [Store.purge, Store.recover])
def test_no_byte_of_a_deleted_chat_is_left_in_the_file(tmp_path: Path, how: Callable[[Store], None]) -> None:
    """The index must not keep trigrams either, since the text could be rebuilt from them."""
    chat, other = chat_of("qzxj", answer="vkwq"), chat_of("lorem ipsum")
    with closing(Store(tmp_path / FILE)) as store:
        save(store, chat)
        save(store, other)
        store.delete([chat.id])
        how(store)
        blocks = b"".join(block for (block,) in store._db.execute("SELECT block FROM found_data"))
        assert [trigram for trigram in (b"qzx", b"zxj", b"vkw", b"kwq") if trigram in blocks] == []
        assert is_sound(store) and len(store.search("lorem")) == 1
    data = (tmp_path / FILE).read_bytes()
    assert b"qzx" not in data and b"vkw" not in data and b"lorem" in data


def test_chats_can_be_listed_where_nothing_can_be_written(tmp_path: Path) -> None:
    chat = Chat()
    chat.ask("Question", "dflash").reply.accept(commit("Half an answer"), 0.0)
    with closing(Store(tmp_path / FILE)) as store:
        save(store, chat)
        store._db.execute("PRAGMA query_only = ON")
        with pytest.raises(sqlite3.OperationalError):
            store.recover()
        assert [entry.id for entry in store.contents().chats] == [chat.id]
        assert store.load(chat.id).turns[0].reply.reason == "interrupted"


def test_folders_and_presets_are_stored(tmp_path: Path) -> None:
    chat = chat_of("One")
    with closing(Store(tmp_path / FILE)) as store:
        save(store, chat)
        store.save_project(Project("f", "Work", 1.0), [chat.id])
        store.save_preset(Preset("Mine", ChatSettings("Be brief.")))
        store.set_open_chat(chat.id)
    with closing(Store(tmp_path / FILE)) as store:
        contents = store.contents()
        assert contents.projects == (Project("f", "Work", 1.0),) and contents.chats[0].project == "f"
        assert contents.presets == (Preset("Mine", ChatSettings("Be brief.")),) and contents.open_chat == chat.id
        store.delete_project("f")
        assert store.chats()[0].project == ""


# Search


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("quick fox", True),
        ("QUICK", True),
        ("uic", True),
        ("fox quick", True),
        ('"quick brown"', True),
        ('"brown quick"', False),
        ("straße", True),
        ("你好", True),
        ("世界你", True),
        ("世", True),
        ("ox", True),
        ("zebra", False),
        ("quick zebra", False),
        ("'; DROP TABLE message; --", False),
        ('a"b"c OR * NEAR(', False),
        ("<b>bold</b>", True),
        ("%", False),
        ("\0", False),
        ("\ud800", False),
        ("", False),
    ],
)
def test_search_finds_parts_of_words_in_any_script(store: Store, words: str, found: bool) -> None:
    save(store, chat_of("The quick brown fox. Straße 世界你好 <b>bold</b>", answer="nothing of it"))
    assert bool(store.search(words)) == found


@given(st.text(max_size=30) | st.text(st.sampled_from('ab"ßİ %_*-\n\0😀'), max_size=12), st.data())
def test_search_finds_a_message_by_any_of_its_parts(text: str, data: st.DataObject) -> None:
    """Quotes would group words that aren't next to each other. A search without words finds nothing."""
    first = data.draw(st.integers(0, len(text)))
    words = text[first : data.draw(st.integers(first, len(text)))].replace('"', " ")
    with closing(Store(None)) as store:
        save(store, chat_of("Some other words"))
        save(store, chat := chat_of(f"before {text} after", answer=""))
        found = store.search(words)
        assert (chat.id in {hit.chat for hit in found}) == bool(found) == bool(terms_of(words))
        store.search(text)


def test_a_hit_is_marked_in_an_excerpt_that_begins_at_a_word(store: Store) -> None:
    save(store, chat_of("another " * 100 + "Needle\nin a haystack " + "y " * 500))
    (hit,) = store.search("needle")
    assert hit.excerpt[hit.start : hit.end] == "Needle"
    assert "Needle in a haystack" in hit.excerpt and len(hit.excerpt) < 200 and hit.excerpt.startswith("…another another")
    (hit,) = store.search("eedle")
    assert hit.excerpt[hit.start - 1 : hit.end] == "Needle"


def test_sql_html_nul_and_lone_surrogates_are_plain_text(store: Store) -> None:
    nasty = "'; DELETE FROM chat; --<script>alert(1)</script>\0 \ud800 \ud83d\ude00 \u202e"
    chat = Chat()
    chat.ask(nasty, "plain").reply.accept(commit(nasty), 0.0)  # not cleaned by the composer
    chat.title = nasty
    save(store, chat)
    loaded = store.load(chat.id)
    assert loaded.turns[0].prompt == loaded.turns[0].reply.answer == clean(nasty)
    assert "\0" not in clean(nasty) and "😀" in clean(nasty) and clean(nasty).encode()
    assert is_sound(store)


def test_a_pasted_megabyte_is_stored_and_found(store: Store) -> None:
    text = "0123456789 abcdefg\n" * 55_000 + "needle"
    save(store, chat_of(text))
    (entry,) = store.chats()
    assert store.load(entry.id).turns[0].prompt == text
    assert len(store.search("needle")) == 1 and len(entry.title) <= 61


# Versions of the database


SUMS = Project(
    "folder-1",
    "Sums",
    1790000000.0,
    ChatSettings(system="Count.", tool_servers=("Documents",)),
    ("/sums",),
    RecentModel("Pair", "/models/target", auto=True),
)


def migrate(steps: tuple[str, ...], file: Path) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as database:
        schema.migrate(database, steps)


def test_every_earlier_version_is_migrated(tmp_path: Path) -> None:
    """`databases/version_N.sql` was written by version N; there is one for every version."""
    assert len(list(DATABASES.glob("version_*.sql"))) == schema.VERSION
    for version in range(1, schema.VERSION + 1):
        folder = tmp_path / str(version)
        folder.mkdir()
        with closing(sqlite3.connect(folder / FILE)) as database:
            database.executescript((DATABASES / f"version_{version}.sql").read_text(encoding="utf-8"))
            assert schema.version_of(database) == version
        opened = open_store(folder)
        assert opened.saves and not opened.notice
        with closing(opened.store) as store:
            assert schema.version_of(store._db) == schema.VERSION
            store.recover()
            contents = store.contents()
            (entry,) = contents.chats
            assert (entry.title, entry.pinned, contents.projects[0].name) == ("What is 7 times 8?", True, "Sums")
            assert entry.archived == (version >= 8)
            chat = store.load(entry.id)
            assert [turn.reply.answer for turn in chat.turns] == ["56.", "It is 63, of cou"]
            assert chat.turns[0].last.place == (2, 2) and chat.turns[1].reply.reason == "interrupted"
            reply = chat.turns[0].reply
            assert (reply.answer_by.encode(), reply.thinking_s) == (("u3", None) if version == 1 else ("p1d2", 1.5))
            assert chat.settings.system == "Be brief." and chat.turns[0].reply.stats.tokens == 3
            assert [preset.name for preset in contents.presets] == ["Short"]
            assert [(call.tool, call.result, call.seconds) for call in reply.calls] == [("calculator", "56", 0.25)] * (version > 2)
            files = chat.turns[1].asked.attachments
            assert [(one.name, len(one.picture.file.data)) for one in files] == [("dot.png", 69)] * (version > 3)
            drafts = [(one.chat, one.edits, one.text, one.open, len(one.attachments)) for one in contents.drafts]
            assert drafts == [
                ("chat-1", "", "And 7 times 10?", False, 1),
                ("chat-1", "message-1", "What is 7 times 80?", True, 0),
                ("", "", "Something else", False, 0),
            ] * (version > 4)
            assert len(store.search("of cou")) == 1
            assert len(store.search("expression")) == (version > 2)
            assert chat.turns[0].last.summary == "The product is known." * (version > 5)
            assert [hit.message for hit in store.search("product is")] == ["message-3"] * (version > 5)
            assert contents.projects[0] == (SUMS if version > 6 else Project("folder-1", "Sums", 1790000000.0))
            assert is_sound(store)


def test_migration_steps_run_in_order_and_keep_the_data(tmp_path: Path) -> None:
    """Two made-up versions follow today's; the second uses what the first created."""
    file = tmp_path / FILE
    with closing(Store(file)) as store:
        save(store, chat_of("12345", answer="67"))
    count = "UPDATE chat SET words = (SELECT sum(length(text)) FROM message WHERE message.chat = chat.id);"
    later = (*schema.STEPS, "ALTER TABLE chat ADD COLUMN words INTEGER; CREATE TABLE more (a TEXT);", count)
    migrate(later, file)
    migrate(later, file)
    with closing(sqlite3.connect(file)) as database:
        assert schema.version_of(database) == schema.VERSION + 2
        assert database.execute("SELECT words FROM chat").fetchone() == (7,)


def test_a_migration_step_that_fails_changes_nothing(tmp_path: Path) -> None:
    file = tmp_path / FILE
    with closing(Store(file)) as store:
        save(store, chat_of("One"))
    with pytest.raises(sqlite3.Error):
        migrate((*schema.STEPS, "ALTER TABLE chat ADD COLUMN half INTEGER; INSERT INTO nowhere VALUES (1);"), file)
    with closing(sqlite3.connect(file)) as database:
        assert schema.version_of(database) == schema.VERSION
        assert "half" not in [row[1] for row in database.execute("PRAGMA table_info(chat)")]


# Files that can't be used


def filled(folder: Path) -> bytes:
    opened = open_store(folder)
    for number in range(20):
        save(opened.store, chat_of(f"Question {number} " + "word " * 200))
    opened.store.close()
    return (folder / FILE).read_bytes()


def damaged_header(data: bytearray) -> None:
    data[:100] = b"x" * 100


def damaged_pages(data: bytearray) -> None:
    data[4096 * 3 : 4096 * 6] = b"\xff" * (3 * 4096)


def cut_short(data: bytearray) -> None:
    del data[len(data) // 2 :]


def test_a_file_that_another_program_has_analyzed_is_used(tmp_path: Path) -> None:
    with closing(Store(tmp_path / FILE)) as store:
        save(store, chat_of("One"))
    with closing(sqlite3.connect(tmp_path / FILE)) as database:
        database.execute("ANALYZE")
    opened = open_store(tmp_path)
    assert opened.notice == "" and len(opened.store.contents().chats) == 1
    opened.store.close()


@pytest.mark.parametrize("harm", [damaged_header, damaged_pages, cut_short])
def test_a_damaged_file_is_moved_aside_unchanged(tmp_path: Path, harm) -> None:  # type: ignore[no-untyped-def]
    data = bytearray(filled(tmp_path))
    harm(data)
    (tmp_path / FILE).write_bytes(data)
    opened = open_store(tmp_path)
    assert opened.saves and "damaged" in opened.notice
    (aside,) = tmp_path.glob("chats set aside*.db")
    assert str(aside) in opened.notice and aside.read_bytes() == bytes(data)
    recovered = len(opened.store.contents().chats)
    assert (f"Recovered {wording.chats(recovered)} " in opened.notice) == (recovered > 0)
    save(opened.store, chat_of("A new beginning"))
    opened.store.close()
    again = open_store(tmp_path)
    assert again.notice == "" and len(again.store.contents().chats) == recovered + 1
    again.store.close()


@pytest.mark.parametrize("locale", language.LANGUAGES)
def test_a_newer_file_is_moved_aside_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locale: str) -> None:
    filled(tmp_path)
    with closing(sqlite3.connect(tmp_path / FILE)) as database:
        database.execute(f"PRAGMA user_version = {schema.VERSION + 6}")
    data = (tmp_path / FILE).read_bytes()
    monkeypatch.setenv(language.VARIABLE, locale)
    language.use()
    try:
        opened = open_store(tmp_path)
        assert (
            language.tr("Your chats were saved by a newer version of Slipstream. Update Slipstream, then import the chats.")
            in opened.notice
        )
    finally:
        monkeypatch.undo()
        language.use()
    assert opened.saves
    (aside,) = tmp_path.glob("chats set aside*.db")
    assert aside.read_bytes() == data
    opened.store.close()


def test_the_write_ahead_log_is_moved_aside_with_its_file(tmp_path: Path) -> None:
    filled(tmp_path)
    holder = sqlite3.connect(tmp_path / FILE)  # like a crash, it leaves its changes in the write-ahead log
    holder.execute("PRAGMA journal_mode = WAL")
    holder.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    holder.commit()
    before = (tmp_path / FILE).read_bytes(), (tmp_path / f"{FILE}-wal").read_bytes()
    opened = open_store(tmp_path)
    assert "newer version of Slipstream" in opened.notice
    (aside,) = tmp_path.glob("chats set aside*.db")
    assert (aside.read_bytes(), aside.with_name(aside.name + "-wal").read_bytes()) == before
    opened.store.close()
    holder.close()


def test_a_file_that_is_not_a_database_is_moved_aside(tmp_path: Path) -> None:
    for content in (b"not a database at all", b"\0" * 5000):
        (tmp_path / FILE).write_bytes(content)
        opened = open_store(tmp_path)
        assert "set aside" in opened.notice
        opened.store.close()
    with closing(sqlite3.connect(tmp_path / "foreign.db")) as database:
        database.execute("CREATE TABLE theirs (a)")
    (tmp_path / "foreign.db").replace(tmp_path / FILE)
    opened = open_store(tmp_path)
    assert "isn't a Slipstream database" in opened.notice
    opened.store.close()
    assert len(list(tmp_path.glob("chats set aside*.db"))) == 3


def test_without_write_permission_chats_are_read_and_nothing_is_saved(tmp_path: Path) -> None:
    data = filled(tmp_path)
    opened = open_store(tmp_path, writable=False)
    assert not opened.saves and "won't be saved" in opened.notice and str(tmp_path) in opened.notice
    assert len(opened.store.contents().chats) == 20 and len(opened.store.search("question 13")) == 1
    save(opened.store, chat_of("Another"))
    opened.store.close()
    assert (tmp_path / FILE).read_bytes() == data


def test_a_database_that_cannot_be_opened_leaves_a_store_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / FILE).mkdir()
    opened = open_store(tmp_path)
    assert not opened.saves and "won't be saved" in opened.notice
    save(opened.store, chat_of("One"))
    assert len(opened.store.chats()) == 1
    opened.store.close()
    assert database.FILE == FILE


def test_a_wrong_number_of_free_pages_is_damage(tmp_path: Path) -> None:
    filled(tmp_path)
    for place in (36, 38, 39):
        data = bytearray((tmp_path / FILE).read_bytes())
        data[place] ^= 0x55
        (tmp_path / "damaged").mkdir(exist_ok=True)
        (tmp_path / "damaged" / FILE).write_bytes(data)
        opened = open_store(tmp_path / "damaged")
        opened.store.close()
        assert "damaged" in opened.notice


def test_a_draft_is_saved_in_place_of_the_one_before(store: Store) -> None:
    file = Attachment("a.txt", "Some words")
    for draft in (StoredDraft("", "", "One"), StoredDraft("", "", "Two", (file,), open=True), StoredDraft("", "", "Two")):
        store.save_draft(draft)
        assert store.contents().drafts == (draft,)
    store.save_draft(StoredDraft("", "", ""))
    assert store.contents().drafts == ()
