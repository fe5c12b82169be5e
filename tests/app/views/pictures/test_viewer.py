"""The viewer of pictures, with the keyboard."""

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMessageBox, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from app.views.pictures import picture_actions
from app.views.pictures.picture_row import PictureRow, pictures_of
from app.views.pictures.viewer import PictureViewer
from app.widgets.theme import Theme
from tests.app.pictures import landscape, lost, picture

PATIENCE_MS = 120_000


@pytest.fixture
def row(qapp: QApplication) -> Iterator[PictureRow]:
    host = QWidget()
    files = [picture("wide.png"), picture("tall.jpg", 200, 900, "JPEG"), lost()]
    made = PictureRow(Theme(qapp, "light"), pictures_of(files), parent=host)
    host.resize(700, 500)
    host.show()
    yield made
    host.deleteLater()


def viewer_of(row: PictureRow) -> PictureViewer:
    (viewer,) = [one for one in row.window().findChildren(PictureViewer) if one.isVisible()]
    return viewer


def test_the_keyboard_opens_steps_zooms_and_closes(row: PictureRow, qtbot: QtBot) -> None:
    tiles = row.tiles
    QTest.keyClick(tiles[0], Qt.Key.Key_Return)
    viewer = viewer_of(row)
    canvas = viewer.canvas
    assert viewer.windowTitle() == "wide.png" and viewer.place.text() == "1 of 3" and not viewer.previous.isEnabled()
    qtbot.waitUntil(lambda: canvas._is_full, timeout=PATIENCE_MS)
    assert canvas.accessibleName().startswith("Image: wide.png, 320 × 200, ")
    assert viewer.zoom.text() == "100%"  # never enlarged to fit
    QTest.keyClick(canvas, Qt.Key.Key_Plus)
    assert viewer.zoom.text() == "125%"
    QTest.keyClick(canvas, Qt.Key.Key_1)
    QTest.keyClick(canvas, Qt.Key.Key_Minus)
    assert viewer.zoom.text() == "80%"
    QTest.keyClick(canvas, Qt.Key.Key_0)
    assert viewer.zoom.text() == "100%"
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    assert viewer.windowTitle() == "tall.jpg"
    viewer.resize(500, 500)
    qtbot.waitUntil(lambda: canvas._is_full, timeout=PATIENCE_MS)
    assert canvas.zoom < 1 and canvas.verticalScrollBar().maximum() == 0
    QTest.keyClick(canvas, Qt.Key.Key_PageDown)
    assert "missing" in canvas.message.text() and not viewer.next.isEnabled() and not viewer.save_button.isEnabled()
    QTest.keyClick(canvas, Qt.Key.Key_Right)
    QTest.keyClick(canvas, Qt.Key.Key_Left)
    assert viewer.windowTitle() == "tall.jpg"
    QTest.keyClick(tiles[0], Qt.Key.Key_Space)
    assert viewer_of(row) is viewer and viewer.windowTitle() == "wide.png"  # one viewer for a window
    QTest.keyClick(canvas, Qt.Key.Key_Escape)
    assert not viewer.isVisible()


def full(path: Path, data: bytes) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_picture_is_copied_and_saved_as_it_was_received(
    row: PictureRow, qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row.open(1)
    viewer, asked = viewer_of(row), list[tuple[str, dict[str, str]]]()

    def ask(parent: QWidget, title: str, stem: str, formats: dict[str, str]) -> Path:
        asked.append((stem, formats))
        return tmp_path / "saved.jpg"

    monkeypatch.setattr(picture_actions, "ask_save_path", ask)
    viewer.save_button.click()
    assert asked == [("tall", {".jpg": "JPG (*.jpg)"})]
    assert (tmp_path / "saved.jpg").read_bytes() == landscape(200, 900, "JPEG")
    monkeypatch.setattr(Path, "write_bytes", full)
    viewer.save_button.click()
    (warning,) = viewer.findChildren(QMessageBox)
    assert "No space left on device" in warning.text()
    assert (tmp_path / "saved.jpg").read_bytes() == landscape(200, 900, "JPEG"), "the file that was there"
    viewer.copy_button.click()
    qtbot.waitUntil(lambda: viewer.status.text() == "Image copied.", timeout=PATIENCE_MS)
    assert QGuiApplication.clipboard().image().size() == QSize(200, 900)


def test_no_button_is_cut_off_in_a_narrow_viewer(row: PictureRow, qtbot: QtBot) -> None:
    row.tiles[0].click()
    viewer = viewer_of(row)
    for width in (900, 500, 360):
        viewer.resize(width, 420)
        QApplication.processEvents()
        for one in viewer.findChildren(QPushButton):
            assert one.width() >= one.sizeHint().width() and one.visibleRegion().boundingRect().size() == one.size()


def test_actual_size_shows_the_middle_of_a_large_picture(qapp: QApplication, qtbot: QtBot) -> None:
    viewer = PictureViewer(Theme(qapp, "light"))
    qtbot.addWidget(viewer)
    viewer.resize(400, 400)
    viewer.show_pictures(pictures_of([picture("large.png", 2400, 1600)]), 0)
    viewer.show()
    canvas = viewer.canvas
    qtbot.waitUntil(lambda: not canvas.message.isVisible(), timeout=PATIENCE_MS)
    canvas.show_actual_size()
    middle = canvas.mapToScene(canvas.viewport().rect().center())
    assert abs(middle.x() - 1200) < 3 and abs(middle.y() - 800) < 3
