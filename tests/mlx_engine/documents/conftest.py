"""A folder with two documents, and its index."""

from pathlib import Path

import pytest

from mlx_engine.documents.document_index import DocumentIndex


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "Notes"
    folder.mkdir()
    (folder / "bees.md").write_text("# Bees\n\nBees make honey.\n")
    (folder / "cats.txt").write_text("Cats sleep. 猫在睡觉。\n")
    return folder


@pytest.fixture
def index(folder: Path, tmp_path: Path) -> DocumentIndex:
    return DocumentIndex(tmp_path / "index" / "documents.sqlite", [str(folder)])
