"""Erasing what documents no longer contain: first text, then words step by step."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlx_engine.contract.errors import WorkCancelled
from mlx_engine.documents import document_index, index_file
from mlx_engine.documents.document_index import DocumentIndex
from tests.mlx_engine.documents.test_document_index import content, names_for

SECRET = "Xylophonist quagmire. "
TRACES = (b"ylophon", b"quagmir", b"secret.txt")


def traces(place: Path) -> set[bytes]:
    """Return what the files of an index still have of a secret document."""
    files = b"".join(file.read_bytes() for file in place.iterdir())
    return {trace for trace in (*TRACES, SECRET.encode()) if trace in files}


@pytest.fixture
def place(index: DocumentIndex, folder: Path, tmp_path: Path) -> Path:
    """Return the folder of an index of a document that is gone since."""
    (folder / "secret.txt").write_text(SECRET * 100)
    index.update()
    assert traces(tmp_path / "index") == {*TRACES, SECRET.encode()}
    (folder / "secret.txt").unlink()
    return tmp_path / "index"


def test_the_text_of_a_removed_document_is_erased_at_once_and_its_words_later(index: DocumentIndex, place: Path) -> None:
    index.update()
    assert SECRET.encode() not in traces(place)
    index.erase_deleted()
    assert not traces(place)
    index.delete()
    assert list(place.iterdir()) == []


def test_an_update_does_not_write_all_of_the_index_again(
    index: DocumentIndex, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_index, "purge", lambda found: pytest.fail("slow"))
    index.update()
    assert not names_for(index, "quagmire")


def test_words_that_an_ended_program_left_are_erased(index: DocumentIndex, folder: Path, place: Path) -> None:
    index.update()
    again = DocumentIndex(place / "documents.sqlite", [str(folder)])
    again.update()
    again.erase_deleted()
    assert not traces(place)


def test_updates_go_on_between_the_steps(index: DocumentIndex, folder: Path, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_file, "_TIMEOUT_S", 0.01)  # no waiting for a lock
    monkeypatch.setattr(index_file, "_STEP_PAGES", 1)
    for number in range(8):
        (folder / f"{number}.txt").write_text(f"{number} " + " ".join(f"word{each}" for each in range(4000)))
        index.update()
    other, steps, purge = DocumentIndex(place / "documents.sqlite", [str(folder)]), list[int](), document_index.purge

    def watched(found: sqlite3.Connection) -> Iterator[None]:
        for step, _ in enumerate(purge(found)):
            steps.append(step)
            if step < 3:
                (folder / "new.txt").write_text(f"new{step}")
                other.update()
                assert names_for(index, f"new{step}") == ["Notes/new.txt"]
            yield

    monkeypatch.setattr(document_index, "purge", watched)
    index.erase_deleted()
    assert len(steps) > 8 and not traces(place)


@settings(deadline=None, max_examples=20)  # files and SQLite, whose time varies
@given(changes=st.lists(st.one_of(st.tuples(st.integers(0, 3), st.booleans()), st.integers(0, 4)), max_size=8))
def test_nothing_stays_after_any_updates_and_canceled_erasing(
    changes: list[tuple[int, bool] | int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A change writes or removes a file with secret words. A number cancels erasing after so many steps."""
    top = tmp_path_factory.mktemp("place")
    folder, place = top / "Notes", top / "index"
    folder.mkdir()
    (folder / "other.txt").write_text(" ".join(f"word{each}" for each in range(2000)))
    index = DocumentIndex(place / "documents.sqlite", [str(folder)])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_file, "_STEP_PAGES", 1)
        for time, change in enumerate(changes):
            if isinstance(change, int):
                erase_until(index, change)
                continue
            number, is_written = change
            if is_written:
                (folder / f"{number}.txt").write_text(SECRET * time + " ".join(f"w{time}x{each}" for each in range(300)))
            else:
                (folder / f"{number}.txt").unlink(missing_ok=True)
            index.update()
        for number in range(4):
            (folder / f"{number}.txt").unlink(missing_ok=True)
        index.update()
        before = content(place / "documents.sqlite")
        index.erase_deleted()
    assert not traces(place) and content(place / "documents.sqlite") == before


def erase_until(index: DocumentIndex, step: int) -> None:
    """Erase, and cancel after so many steps."""

    class Cancel(threading.Event):
        left = step

        def is_set(self) -> bool:
            self.left -= 1
            return self.left < 0

    with suppress(WorkCancelled):
        index.erase_deleted(Cancel())


def test_damage_that_erasing_finds_is_repaired_by_the_next_update(index: DocumentIndex, place: Path) -> None:
    index.update()
    with closing(sqlite3.connect(place / "documents.sqlite", isolation_level=None)) as found:
        found.execute("UPDATE parts_data SET block = x'ffffffffff' WHERE id > 10")
    with pytest.raises(sqlite3.DatabaseError):
        index.erase_deleted()
    index.update()
    index.erase_deleted()
    assert not traces(place) and names_for(index, "honey") == ["Notes/bees.md"]
