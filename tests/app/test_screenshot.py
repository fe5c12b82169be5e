"""A screenshot is attached; the program that takes it is a stand-in."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from app.window import screenshot
from app.window.screenshot import Screenshot
from tests.app.conftest import Session
from tests.app.pictures import landscape

Begin = Callable[..., Session]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Replaces the program of macOS by a script, which notes its arguments."""

    def make(script: str) -> Path:
        (tmp_path / "shot.png").write_bytes(landscape())
        (tmp_path / "screencapture").write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/arguments\n{script}\n')
        (tmp_path / "screencapture").chmod(0o755)
        monkeypatch.setattr(screenshot, "PROGRAM", str(tmp_path / "screencapture"))
        return tmp_path / "arguments"

    return make


def test_a_screenshot_is_attached_and_its_file_removed(begin: Begin, program: Callable[[str], Path], tmp_path: Path) -> None:
    arguments = program(f'cp {tmp_path}/shot.png "$3"')
    app, focused = begin(loaded=False), list[int]()
    one = Screenshot(app.attachments, lambda: focused.append(1), app.services)
    one.take()
    one.take()  # does nothing while the first one is being taken
    app.until(lambda: [file.name for file in app.attachments.files] == ["Screenshot"])
    options, file = arguments.read_text().rsplit(maxsplit=1)
    assert options == "-i -x" and Path(file).suffix == ".png" and not Path(file).parent.exists()
    assert focused == [1] and app.attachments.files[0].picture is not None


def test_a_canceled_screenshot_attaches_nothing(
    begin: Begin, program: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = program("exit 1")
    app = begin(loaded=False)
    one = Screenshot(app.attachments, lambda: None, app.services)
    one.take()
    app.until(lambda: arguments.exists() and one._folder is None)
    assert not app.attachments.files and not app.attachments.reading and not app.notices
    monkeypatch.setattr(screenshot, "PROGRAM", "/nowhere/screencapture")
    one.take()
    app.until(lambda: app.notices == ["Can't take a screenshot. Press Shift-Command-4, then attach the file."])


def test_only_a_mac_offers_screenshots(begin: Begin) -> None:
    app = begin(loaded=False)
    assert Screenshot(app.attachments, lambda: None, app.services).command().visible == (sys.platform == "darwin")
