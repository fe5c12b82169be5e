"""Chips of files in the composer, and pictures in the user's messages."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.storage.attachments import Attachment
from app.storage.chat_tree import Chat
from app.views.chat.file_area import FILES_HEIGHT
from app.views.pictures.viewer import PictureViewer
from app.views.transcript.attachment_chips import AttachmentChips
from app.views.transcript.message_views import PromptView
from app.views.transcript.transcript import Transcript
from app.widgets.theme import Theme
from mlx_engine.contract.token_counts import TokenCount
from tests.app.conftest import Begin, Start
from tests.app.pictures import document, landscape, lost, picture

FILES = [picture("lake.png"), document(), picture("tall.gif", 200, 900, "GIF", 4), Attachment("notes.txt", "Hello", 5)]


@pytest.fixture
def chips(qapp: QApplication) -> Iterator[AttachmentChips]:
    made = AttachmentChips(Theme(qapp, "light"), editable=True)
    made.resize(600, 200)
    made.show_files(FILES, {FILES[0]: TokenCount(66, 8192, True)})
    made.show()
    yield made
    made.deleteLater()


def test_chips_say_what_they_are(chips: AttachmentChips) -> None:
    shown = [(chip.open_button.text(), chip.facts.text()) for chip in chips.chips]
    assert [name for name, _ in shown] == ["lake.png", "report.pdf", "tall.gif", "notes.txt"]
    assert shown[0][1].startswith("66 tokens · 320 × 200 · ")
    assert shown[1][1].endswith("3 pages") and shown[2][1].endswith("first frame only")
    assert chips.chips[0].open_button.accessibleName() == f"Image: lake.png, 320 × 200, {shown[0][1].split(' · ')[2]}"
    assert chips.chips[1].open_button.accessibleName() == "Attached: report.pdf. Show pages"


def test_chips_are_moved_and_removed_with_the_keyboard_and_keep_the_focus(chips: AttachmentChips, qtbot: QtBot) -> None:
    files, requests = list(FILES), list[str]()

    def move(one: Attachment, place: int) -> None:
        files.remove(one)
        files.insert(place, one)
        chips.show_files(files, {})

    chips.moved.connect(move)
    chips.removed.connect(lambda one: requests.append(one.name))
    first = chips.chips[0]
    chips.activateWindow()
    qtbot.waitUntil(chips.isActiveWindow, timeout=120_000)
    first.open_button.setFocus()
    for _ in range(2):
        QTest.keyClick(first.open_button, Qt.Key.Key_Right, Qt.KeyboardModifier.AltModifier)
    assert [one.name for one in files] == ["report.pdf", "tall.gif", "lake.png", "notes.txt"] and chips.chips[2] is first
    QTest.keyClick(first.open_button, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert chips.chips[1] is first and first.open_button.hasFocus()
    QTest.keyClick(first.open_button, Qt.Key.Key_Delete)
    assert requests == ["lake.png"]
    menu = first.menu()
    assert [action.text() for action in menu.actions() if action.isEnabled() and action.text()] == [
        "Open",
        "Copy Image",
        "Save Image…",
        "Move Left",
        "Move Right",
        "Remove",
    ]
    menu.deleteLater()
    chips.chips[0].open_button.setFocus()
    QTest.keyClick(chips.chips[0].open_button, Qt.Key.Key_Left, Qt.KeyboardModifier.AltModifier)
    assert chips.chips[0].file.name == "report.pdf"


def test_a_picture_opens_among_the_others_and_a_pdf_asks_for_its_pages(chips: AttachmentChips) -> None:
    asked = list[str]()
    chips.pages_requested.connect(lambda one: asked.append(one.name))
    chips.chips[1].open_button.click()
    chips.chips[2].open_button.click()
    (viewer,) = chips.findChildren(PictureViewer)
    assert asked == ["report.pdf"] and viewer.windowTitle() == "tall.gif" and viewer.place.text() == "2 of 2"
    viewer.close()


@pytest.mark.parametrize("width", [300, 900])
def test_pictures_in_a_message_have_their_place_before_they_are_decoded(width: int, qapp: QApplication, qtbot: QtBot) -> None:
    transcript = Transcript(Theme(qapp, "light"))
    qtbot.addWidget(transcript)
    transcript.resize(width, 700)
    transcript.show()
    files = (picture(), picture("b.png", 640, 400), lost())
    turns = [Chat().ask("Where is this?", "dflash", attachments=files[:1]), Chat().ask("", "dflash", attachments=files)]
    transcript.show_turns(turns)
    prompts = [entry.view for entry in transcript.column.entries if isinstance(entry.view, PromptView)]
    heights = [entry.height for entry in transcript.column.entries]
    assert not any(transcript._theme.pictures._results.values())
    loader = transcript._theme.pictures
    qtbot.waitUntil(lambda: len(loader._results) == 2 and not loader._waiting, timeout=120_000)
    transcript.settle()
    assert [entry.height for entry in transcript.column.entries] == heights
    for prompt, count in zip(prompts, (1, 3), strict=True):
        tiles = prompt.pictures.tiles
        assert len(tiles) == count and all(tile.geometry().right() < prompt.width() for tile in tiles)
        assert max(tile.geometry().bottom() for tile in tiles) < prompt.pictures.height()
        assert abs(tiles[0].width() / tiles[0].height() - 1.6) < 0.05
    assert prompts[1].pictures.tiles[2].accessibleName() == "Image: gone.png, Missing"


def test_many_files_scroll_in_the_composer_and_new_ones_are_shown(start: Start) -> None:
    app = start()
    app.window.resize(700, 500)
    area, reader = app.window.composer.file_area, app.attachments
    assert not area.isVisible()
    for number in range(12):
        reader.attach_data(landscape(100 + number, 60), f"{number}.png")
    app.until(lambda: len(reader.files) == 12 and len(reader.counts) == 12)
    bar = area.verticalScrollBar()
    app.until(lambda: bar.maximum() > 0 and bar.value() == bar.maximum())
    assert area.height() <= app.theme.scaled(FILES_HEIGHT) and app.window.transcript.height() > 150
    chips = app.window.composer.files.chips
    app.until(lambda: not chips[-1].visibleRegion().isEmpty() and chips[0].visibleRegion().isEmpty())  # once it is laid out
    bar.setValue(0)
    reader.remove(reader.files[5])
    QApplication.processEvents()
    assert bar.value() == 0
    for one in list(reader.files[1:]):
        reader.remove(one)
    app.until(lambda: bar.maximum() == 0)
    reader.remove(reader.files[0])
    assert not area.isVisible()


def test_files_that_cannot_be_attached_are_named_in_one_notice(begin: Begin, tmp_path: Path) -> None:
    app = begin()
    bad = [tmp_path / f"{number}.png" for number in range(9)]
    for file in bad:
        file.write_bytes(b"\x89PNG\r\n\x1a\n")
    app.attachments.attach(bad)
    app.until(lambda: not app.attachments.reading)
    (notice,) = app.notices
    lines = notice.split("\n")
    assert [f"“{number}.png”" in line for number, line in enumerate(lines[:5])] == [True] * 5
    assert lines[5:] == ["4 more files can't be attached."]
