"""The index of documents: up to date after every change, and made again after every damage."""

import os
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlx_engine.contract.errors import UserError, WorkCancelled
from mlx_engine.documents import document_index
from mlx_engine.documents.document_index import MOST_FILES, DocumentIndex
from mlx_engine.documents.document_search import documents_in, find_passages
from mlx_engine.documents.index_file import delete_others, index_in

TEXTS = st.sampled_from(
    ["", "one two", "# Head\n\nthree", "two " * 900, "北京大学 in Beijing", "a\fb\fc", "\0", "a\f" + "long page " * 2_500]
)
NAMES = st.sampled_from(["a.md", "b.txt", "sub/c.py", "sub/d", "ü.md"])
CHANGES = st.lists(st.tuples(NAMES, st.one_of(st.none(), TEXTS), st.booleans()), min_size=1, max_size=8)


def content(file: Path) -> dict[str, list[tuple]]:
    """Return everything in an index, without row numbers: texts, passages, and all indexed words."""
    passages = (
        "SELECT name, number, first, heading, text FROM passage JOIN page ON page.id = passage.page "
        "JOIN document ON document.id = page.document ORDER BY name, number, first"
    )
    with closing(sqlite3.connect(file)) as index:
        found = {"passages": index.execute(passages).fetchall()}
        found["documents"] = index.execute("SELECT name, size, digest, problem FROM document ORDER BY name").fetchall()
        found["pages"] = index.execute("SELECT count(*) FROM page").fetchall()
        for table in ("words", "parts"):
            index.execute(f"CREATE VIRTUAL TABLE temp.terms USING fts5vocab('main', '{table}', 'row')")
            found[table] = index.execute("SELECT * FROM temp.terms ORDER BY term").fetchall()
            index.execute("DROP TABLE temp.terms")
    return found


def names_for(index: DocumentIndex, query: str) -> list[str]:
    return [passage.document for passage in index.read(lambda found: find_passages(found, query, 9))]


@settings(deadline=None, max_examples=40)  # files and SQLite, whose time varies
@given(changes=CHANGES)
def test_an_index_is_as_if_made_from_scratch_after_any_changes(
    changes: list[tuple[str, str | None, bool]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    place = tmp_path_factory.mktemp("place")
    folder = place / "Notes"
    (folder / "sub").mkdir(parents=True)
    index = DocumentIndex(place / "old.sqlite", [str(folder)])
    for time, (name, text, updates) in enumerate(changes, 1):
        if text is None:
            (folder / name).unlink(missing_ok=True)
        else:
            (folder / name).write_text(text)
            os.utime(folder / name, (time, time))
        if updates:
            index.update()
    index.update()
    DocumentIndex(place / "new.sqlite", [str(folder)]).update()
    assert content(place / "old.sqlite") == content(place / "new.sqlite")


def test_only_changed_files_are_read_again(index: DocumentIndex, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    real = document_index.read_document
    monkeypatch.setattr(
        document_index, "read_document", lambda data, name, cancel: (read.append(name), real(data, name, cancel))[1]
    )
    index.update()
    assert read == ["Notes/bees.md", "Notes/cats.txt"]
    index.update()
    os.utime(folder / "bees.md", (1, 1))  # another time, the same content
    index.update()
    assert len(read) == 2
    (folder / "cats.txt").write_text("Cats hunt mice.\n")
    index.update()
    assert read[2:] == ["Notes/cats.txt"]
    assert names_for(index, "mice") == ["Notes/cats.txt"] and not names_for(index, "sleep")


def garbage(file: Path) -> None:
    file.write_bytes(b"no database " * 1000)


def holes(file: Path) -> None:
    data = bytearray(file.read_bytes())
    for at in range(4096, len(data), 512):
        data[at : at + 200] = b"\xaa" * 200
    file.write_bytes(data)


def half(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def version(number: int) -> Callable[[Path], None]:
    def change(file: Path) -> None:
        with closing(sqlite3.connect(file)) as index:
            index.execute(f"PRAGMA user_version = {number}")

    return change


def without_words(file: Path) -> None:
    with closing(sqlite3.connect(file)) as index:
        index.execute("DROP TABLE words")


def broken_words(file: Path) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as index:
        index.execute("UPDATE words_data SET block = x'ffffffffff' WHERE id > 1")


DAMAGES = [garbage, holes, half, version(0), version(99), without_words, broken_words, Path.unlink]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("is_open", [True, False])
def test_a_damaged_index_is_made_again(
    index: DocumentIndex, folder: Path, tmp_path: Path, damage: Callable[[Path], None], is_open: bool
) -> None:
    index.update()
    file = tmp_path / "index" / "documents.sqlite"
    before = content(file)
    damage(file)
    again = index if is_open else DocumentIndex(file, [str(folder)])
    again.update()
    with suppress(sqlite3.Error):  # a search may be the first to find the damage
        names_for(again, "honey")
    again.update()
    assert names_for(again, "honey") == ["Notes/bees.md"]
    assert content(file) == before


def test_what_can_be_read_later_is_tried_again(index: DocumentIndex, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = document_index.read_document

    def stopped(data: bytes, name: str, cancel: threading.Event | None) -> None:
        raise UserError("media_stopped", "Reading “{name}” was stopped. Try again.", name=name)

    monkeypatch.setattr(document_index, "read_document", stopped)
    index.update()
    assert [one.problem[:20] for one in index.read(documents_in)] == ["Reading “Notes/bees.", "Reading “Notes/cats."]
    monkeypatch.setattr(document_index, "read_document", real)
    index.update()
    assert [(one.pages, one.problem) for one in index.read(documents_in)] == [(1, ""), (1, "")]


def test_a_canceled_update_keeps_what_is_done(index: DocumentIndex) -> None:
    cancel = threading.Event()
    with pytest.raises(WorkCancelled):
        index.update(lambda done, total: cancel.set() if done else None, cancel)
    assert [one.name for one in index.read(documents_in)] == ["Notes/bees.md"]


def test_a_canceled_update_looks_at_no_more_folders_and_forgets_nothing(
    index: DocumentIndex, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        (folder / name).mkdir()
    index.update()
    cancel, visited = threading.Event(), list[str]()

    def walk(place: str) -> Iterator[tuple[str, list[str], list[str]]]:
        for found in os.walk(place):
            visited.append(found[0])
            cancel.set()
            yield found

    monkeypatch.setattr("mlx_engine.documents.sources.os", SimpleNamespace(**{**vars(os), "walk": walk}))
    with pytest.raises(WorkCancelled):
        index.update(cancel=cancel)
    assert len(visited) == 1 and len(index.read(documents_in)) == 2


def test_a_canceled_update_interrupts_its_statements(index: DocumentIndex, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlx_engine.documents.index_file._LOOK_EVERY", 1)
    index.update()
    cancel = threading.Event()
    monkeypatch.setattr(document_index, "files_in", lambda *_: (cancel.set(), iter(()))[1])  # then all are forgotten
    with pytest.raises(WorkCancelled):
        index.update(cancel=cancel)
    assert len(index.read(documents_in)) == 2


def test_a_search_that_finds_damage_deletes_nothing(index: DocumentIndex, tmp_path: Path) -> None:
    """The next update searches again: another program may have made the index again since."""
    file = tmp_path / "index" / "documents.sqlite"
    index.update()
    whole = file.read_bytes()
    broken_words(file)
    with pytest.raises(sqlite3.Error):
        names_for(index, "honey")
    with closing(sqlite3.connect(file)) as made_again, closing(sqlite3.connect(tmp_path / "whole.sqlite")) as source:
        (tmp_path / "whole.sqlite").write_bytes(whole)
        source.backup(made_again)
        made_again.execute("UPDATE document SET problem = 'made again'")
        made_again.commit()
    index.update()
    assert [one.problem for one in index.read(documents_in)] == ["made again"] * 2 and names_for(index, "honey")


def test_two_programs_share_an_index(index: DocumentIndex, folder: Path, tmp_path: Path) -> None:
    other = DocumentIndex(tmp_path / "index" / "documents.sqlite", [str(folder)])
    threads = [threading.Thread(target=one.update) for one in (index, other)]
    for number in range(40):
        (folder / f"{number}.md").write_text(f"file {number}")
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(index.read(documents_in)) == 42 and len(names_for(index, "file")) == 9
    fresh = tmp_path / "fresh.sqlite"
    DocumentIndex(fresh, [str(folder)]).update()
    assert content(fresh) == content(tmp_path / "index" / "documents.sqlite")


def test_a_search_sees_the_same_documents_during_an_update(
    index: DocumentIndex, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlx_engine.documents.index_file._TIMEOUT_S", 0.01)  # the update doesn't wait for the search
    index.update()
    other = DocumentIndex(tmp_path / "index" / "documents.sqlite", [str(folder)])

    def search(found: sqlite3.Connection) -> list[list[str]]:
        before = find_passages(found, "honey", 5)
        (folder / "bees.md").unlink()
        other.update()
        return [[one.text for one in passages] for passages in (before, find_passages(found, "honey", 5))]

    before, during = index.read(search)
    assert before == during != [] and not names_for(index, "honey")


def test_a_full_disk_is_reported_and_deletes_nothing(index: DocumentIndex, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    index.update()
    full = sqlite3.OperationalError("database or disk is full")
    full.sqlite_errorcode = sqlite3.SQLITE_FULL

    def fail(*_: object) -> None:
        raise full

    monkeypatch.setattr(document_index, "files_in", fail)
    with pytest.raises(sqlite3.OperationalError, match="full"):
        index.update()
    assert (tmp_path / "index" / "documents.sqlite").exists()


NO_DAMAGE = [
    "INTERRUPT",
    "PROTOCOL",
    "PERM",
    "BUSY",
    "LOCKED",
    "NOMEM",
    "IOERR",
    "FULL",
    "CANTOPEN",
    "READONLY",
    "MISUSE",
    "TOOBIG",
]


@pytest.mark.parametrize("code", [*(getattr(sqlite3, f"SQLITE_{name}") for name in NO_DAMAGE), None])
def test_an_error_that_shows_no_damage_deletes_nothing(
    index: DocumentIndex, monkeypatch: pytest.MonkeyPatch, code: int | None
) -> None:
    index.update()
    error = sqlite3.OperationalError("unusual")
    if code is not None:
        error.sqlite_errorcode = code

    def fail(*_: object) -> None:
        raise error

    deleted: list[Path] = []
    monkeypatch.setattr(document_index, "delete_index", deleted.append)
    monkeypatch.setattr(document_index, "files_in", fail)
    with pytest.raises(sqlite3.OperationalError, match="unusual"):
        index.update()
    with pytest.raises(sqlite3.OperationalError, match="unusual"):
        index.read(fail)
    assert not deleted


def test_each_version_has_its_own_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    this = index_in(tmp_path, ["/papers"])
    monkeypatch.setattr("mlx_engine.documents.index_file._VERSION", 99)
    other = index_in(tmp_path, ["/papers"])
    assert this != other
    for file in (this, other):
        file.touch()
    delete_others(tmp_path, [other])
    assert [*tmp_path.iterdir()] == [other], "old text doesn't stay after an update"


def test_the_number_of_files_is_limited_without_pictures(
    index: DocumentIndex, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MOST_FILES == 20_000
    for name in ("a.jpg", "b.PNG", "c.zip"):
        (folder / name).write_bytes(b"\0")
    monkeypatch.setattr(document_index, "MOST_FILES", 2)
    index.update()
    assert not index.exceeded_limit and len(index.read(documents_in)) == 2
    (folder / "d").write_text("too many")
    index.update()
    assert index.exceeded_limit == 2 and [one.name for one in index.read(documents_in)] == ["Notes/bees.md", "Notes/cats.txt"]


def test_a_search_does_not_wait_for_another_programs_update(
    index: DocumentIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mlx_engine.documents.index_file._TIMEOUT_S", 0.01)
    index.update()
    with closing(sqlite3.connect(tmp_path / "index" / "documents.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert names_for(index, "honey") == ["Notes/bees.md"]


# The search


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("honey", ["Notes/bees.md"]),
        ("Does a bee make honey?", ["Notes/bees.md"]),  # stems
        ("CATS", ["Notes/cats.txt"]),
        ("睡觉", ["Notes/cats.txt"]),
        ("猫睡觉了吗", ["Notes/cats.txt"]),
        ("lee", ["Notes/cats.txt"]),  # inside a word
        ('"honey" AND (NOT', ["Notes/bees.md"]),
        ("bees.md", ["Notes/bees.md"]),
        ("zebra", []),
        ("?!", []),
        ("", []),
    ],
)
def test_queries(index: DocumentIndex, query: str, found: list[str]) -> None:
    index.update()
    assert names_for(index, query) == found


@pytest.mark.parametrize(
    ("query", "other_words", "found"),
    [
        ("insects", "", []),
        ("insects", "bee bees wasps", ["Notes/bees.md"]),
        ("insects", "lee one", []),  # only words of the query are searched inside words
        ("sleep", "honey", ["Notes/bees.md", "Notes/cats.txt"]),
        ("", "honey", ["Notes/bees.md"]),
    ],
)
def test_passages_are_found_by_other_words_of_a_query(index: DocumentIndex, query: str, other_words: str, found: list[str]) -> None:
    index.update()
    passages = index.read(lambda connection: find_passages(connection, query, 9, other_words))
    assert sorted(passage.document for passage in passages) == found


@given(query=st.text(max_size=60))
@settings(deadline=None)  # SQLite, whose time varies
def test_any_text_can_be_searched(query: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.getbasetemp() / "queries.sqlite"
    assert DocumentIndex(file, []).read(lambda found: find_passages(found, query, 5)) == []


def test_a_term_in_many_passages_does_not_hide_a_rare_one(index: DocumentIndex, folder: Path) -> None:
    (folder / "many.txt").write_text("\f".join(f"common page {number}" for number in range(10_500)) + "\fcommon needle")
    index.update()
    [first, *_] = index.read(lambda found: find_passages(found, "the common needle", 5))
    assert (first.page, first.text) == (10_501, "common needle")
    assert len(index.read(lambda found: find_passages(found, "common", 5))) == 5
    assert len(index.read(lambda found: find_passages(found, "common page", 5))) == 5
    assert len(index.read(lambda found: find_passages(found, "unknown", 5, "common page"))) == 5
