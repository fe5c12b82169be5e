"""Dropped files, and images, which can't be attached yet."""

from pathlib import Path

from PySide6.QtCore import QMimeData, QPoint, QPointF, Qt, QUrl
from PySide6.QtGui import QDragEnterEvent, QDragLeaveEvent, QDropEvent, QImage

from app.storage.attached_files import read
from tests.app.conftest import Start

LEFT, NONE, COPY = Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, Qt.DropAction.CopyAction


def test_files_dragged_over_the_window_highlight_it_and_images_are_refused(start: Start, tmp_path: Path) -> None:
    app = start()
    note = tmp_path / "note.md"
    note.write_text("A note.")
    data = QMimeData()
    data.setText("Only text")
    app.window.event(QDragEnterEvent(QPoint(9, 9), COPY, data, LEFT, NONE))
    assert app.window.drop_target.isHidden()
    image = QMimeData()
    image.setImageData(QImage(4, 4, QImage.Format.Format_RGB32))
    app.window.event(QDragEnterEvent(QPoint(9, 9), COPY, image, LEFT, NONE))
    assert app.window.drop_target.isVisible()
    data.setUrls([QUrl.fromLocalFile(str(note))])
    for last in (QDragLeaveEvent(), QDropEvent(QPointF(9, 9), COPY, data, LEFT, NONE)):
        app.window.event(QDragEnterEvent(QPoint(9, 9), COPY, data, LEFT, NONE))
        assert app.window.drop_target.isVisible() and app.window.drop_target.geometry().contains(app.window.rect().center())
        app.window.drop_target.event(last)
        assert app.window.drop_target.isHidden()
    app.until(lambda: [file.name for file in app.attachments.files] == ["note.md"])

    said: list[str] = []
    app.services.notices.posted.connect(lambda notice: said.append(notice.text))
    field = app.window.composer.field
    assert field.canInsertFromMimeData(image)
    field.insertFromMimeData(image)
    assert said == ["Slipstream can't read images yet."] and field.toPlainText() == ""
    app.window.drop_target.event(QDropEvent(QPointF(9, 9), COPY, image, LEFT, NONE))
    assert len(said) == 2
    image.setText("A cell of a table")  # copied together with its picture
    field.insertFromMimeData(image)
    assert field.toPlainText() == "A cell of a table" and len(said) == 2


def test_svg_files_are_text(tmp_path: Path) -> None:
    (tmp_path / "icon.svg").write_text("<svg/>")
    assert read(tmp_path / "icon.svg").text == "<svg/>"
