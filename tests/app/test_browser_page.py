"""Pages in replies that are opened in the browser: their files, and when they are deleted."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import QUrl

from app.system import browser_page
from app.system.browser_page import delete_pages, open_page
from tests.app.conftest import Begin


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files that were opened, in `tmp_path`."""
    delete_pages()
    files: list[Path] = []
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(browser_page.QDesktopServices, "openUrl", lambda url: not files.append(Path(QUrl(url).toLocalFile())))
    return files


def test_pages_are_deleted_when_the_app_quits(begin: Begin, opened: list[Path], tmp_path: Path) -> None:
    app = begin()
    assert open_page("<p>Hi</p>", "html") and open_page("<svg/>", "svg")
    assert [file.read_text() for file in opened] == ["<p>Hi</p>", "<svg/>"]
    app.quit()
    assert not list(tmp_path.glob("slipstream-pages-*"))
    assert open_page("<p>Hi</p>", "html") and opened[-1].exists()
    delete_pages()


def test_pages_of_an_app_that_was_killed_are_deleted_at_the_next_launch(begin: Begin, opened: list[Path], tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    old, other = (tmp_path / f"slipstream-pages-{process}-x" for process in (ended.pid, os.getppid()))
    for folder in (old, other):
        folder.mkdir()
        (folder / "page.html").write_text("<p>Hi</p>")
    begin()
    assert not old.exists() and other.exists()


def test_a_full_disk_is_reported_by_the_return_value(opened: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr("tempfile.mkdtemp", refuse)
        assert not open_page("<p>Hi</p>", "html") and not opened
    assert open_page("<p>Hi</p>", "html") and opened[0].exists(), "later there is space again"
    delete_pages()
