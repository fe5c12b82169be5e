"""The row of the Privacy pane for images and PDFs in chats."""

from pathlib import Path

from PIL import Image
from PySide6.QtWidgets import QWidget

from app.views.settings.chat_files_row import ChatFilesRow
from app.widgets.layout import Form
from tests.app.conftest import Begin


def test_files_of_chats_are_counted(begin: Begin, tmp_path: Path) -> None:
    app = begin()

    def shown() -> str:
        row = ChatFilesRow(app.theme, app.library, Form(app.theme), parent)
        app.until(lambda: bool(row.used.text()))
        return row.used.text()

    parent = QWidget()
    assert shown() == "None in your chats"
    Image.effect_noise((64, 64), 90).save(tmp_path / "photo.png")
    app.attachments.attach([tmp_path / "photo.png"])
    app.until(lambda: len(app.attachments.files) == 1)
    app.ask("What is it?")
    app.until(lambda: shown().startswith("1 file in your chats, "))
