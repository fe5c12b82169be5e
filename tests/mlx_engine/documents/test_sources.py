"""The files of chosen folders: which are read, their names, and links and downloads that are avoided."""

import os
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from mlx_engine.documents import document_index
from mlx_engine.documents.document_index import DocumentIndex, _forget
from mlx_engine.documents.document_search import documents_in, find_passages, page_text
from mlx_engine.documents.sources import SourceFile, TooManyFiles, content_of, files_in
from tests.mlx_engine.documents.test_document_index import names_for


def test_links_and_hidden_files_are_left_out(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "private.md").write_text("private")
    (folder / "link.md").symlink_to(outside / "private.md")
    (folder / "folder").symlink_to(outside)
    (folder / ".hidden.md").write_text("hidden")
    (folder / ".git").mkdir()
    (folder / ".git" / "x.md").write_text("hidden")
    os.mkfifo(folder / "pipe.md")
    assert [source.name for source in files_in([str(folder)])] == ["Notes/bees.md", "Notes/cats.txt"]


def test_a_folder_that_is_replaced_by_a_link_is_not_followed(
    index: DocumentIndex, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "a.md").write_text("public")
    (tmp_path / "a.md").write_text("private")
    found = list(files_in([str(folder)]))
    (folder / "sub" / "a.md").unlink()
    (folder / "sub").rmdir()
    (folder / "sub").symlink_to(tmp_path)
    monkeypatch.setattr(document_index, "files_in", lambda *_: iter(found))
    index.update()
    assert not names_for(index, "private")
    [problem] = [one.problem for one in index.read(documents_in) if one.problem]
    assert "“Notes/sub/a.md”" in problem


def test_folders_with_the_same_name_are_told_apart(tmp_path: Path) -> None:
    for parent in ("one", "two"):
        (tmp_path / parent / "Notes").mkdir(parents=True)
        (tmp_path / parent / "Notes" / "a.md").write_text(parent)
    index = DocumentIndex(tmp_path / "documents.sqlite", [str(tmp_path / parent / "Notes") for parent in ("one", "two")])
    index.update()
    assert [index.read(lambda found, name=name: page_text(found, name, 1)) for name in ("Notes/a.md", "Notes 2/a.md")] == [
        "one",
        "two",
    ]


def test_files_that_are_not_on_this_computer_are_not_opened(
    index: DocumentIndex, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opening such a file downloads it. A file that was indexed before stays in the index."""
    online, opened = {"bees.md"}, list[str]()
    lstat, content = os.lstat, content_of

    def dataless(path: str) -> object:
        found = lstat(path)
        flags = 0x40000000 if os.path.basename(path) in online else 0
        return SimpleNamespace(st_mode=found.st_mode, st_mtime_ns=found.st_mtime_ns, st_size=found.st_size, st_flags=flags | 0x20)

    def watched(source: SourceFile, folders: Sequence[str], most: int) -> bytes:
        opened.append(source.name)
        return content(source, folders, most)

    monkeypatch.setattr("mlx_engine.documents.sources.os", SimpleNamespace(**{**vars(os), "lstat": dataless}))
    monkeypatch.setattr(document_index, "content_of", watched)
    changed = []
    monkeypatch.setattr(document_index, "_forget", lambda found, gone: changed.extend(gone := [*gone]) or _forget(found, gone))
    for _ in range(2):
        index.update()
        assert set(opened) == {"Notes/cats.txt"} and not changed, "nothing is written for it again"
        [problem] = [one.problem for one in index.read(documents_in) if one.problem]
        assert problem == "“Notes/bees.md” isn't stored on this Mac. Download it in Finder to search it."
    online.clear()
    index.update()
    assert names_for(index, "honey") == ["Notes/bees.md"] and not [one for one in index.read(documents_in) if one.problem]
    online.add("bees.md")
    index.update()
    assert names_for(index, "honey") == ["Notes/bees.md"]


@pytest.mark.parametrize("twins", [("\u00fc.md", "u\u0308.md"), ("a\u200b.md", "a\\u200b.md"), ("\u00fc/x.md", "u\u0308/x.md")])
def test_files_whose_names_look_the_same_are_numbered(tmp_path: Path, twins: tuple[str, str]) -> None:
    folder = tmp_path / "Notes"
    for name, text in zip(twins, ("Bees.", "Wasps."), strict=True):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    index = DocumentIndex(tmp_path / "documents.sqlite", [str(folder)])
    for _ in range(2):
        index.update()
        names = [one.name for one in index.read(documents_in)]
        assert len(names) == 2 and sum(name.endswith(" 2.md") for name in names) == 1
        found = [index.read(lambda connection, name=name: page_text(connection, name, 1)) for name in names]
        assert sorted(found) == ["Bees.", "Wasps."]


def test_single_files_can_be_chosen(tmp_path: Path) -> None:
    """Other files next to them aren't read, and neither is a link in place of a chosen file."""
    for name in ("bees.md", "wasps.md"):
        (tmp_path / name).write_text(f"All about {name}.")
    chosen = [str(tmp_path / "bees.md"), str(tmp_path / "gone.md")]
    index = DocumentIndex(tmp_path / "index" / "index.sqlite", chosen)
    index.update()
    assert [one.name for one in index.read(documents_in)] == ["bees.md"]
    assert index.read(lambda found: page_text(found, "bees.md", 1)) == "All about bees.md."
    assert [one.text for one in index.read(lambda found: find_passages(found, "wasps", 5))] == []
    [source] = files_in(chosen)
    (tmp_path / "bees.md").unlink()
    (tmp_path / "bees.md").symlink_to(tmp_path / "wasps.md")
    with pytest.raises(OSError):
        content_of(source, [str(tmp_path)], 100)


def test_the_number_of_visited_files_is_limited(index: DocumentIndex, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "photos").mkdir()
    for number in range(3):
        (folder / "photos" / f"{number}.jpg").touch()
    monkeypatch.setattr("mlx_engine.documents.sources._MOST_VISITED", 5)
    with pytest.raises(TooManyFiles):
        list(files_in([str(folder)]))
    index.update()
    assert index.exceeded_limit == 5 and [one.name for one in index.read(documents_in)] == ["Notes/bees.md", "Notes/cats.txt"]
    monkeypatch.setattr("mlx_engine.documents.sources._MOST_VISITED", 6)
    index.update()
    assert not index.exceeded_limit
