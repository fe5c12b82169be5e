"""Saving and copying a picture, and the menu for both."""

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication, QImage
from PySide6.QtWidgets import QMenu, QMessageBox, QWidget
from shiboken6 import isValid

from app.storage.chat_export import write_file
from app.text.language import tr, translated
from app.widgets.picture_loader import FULL, Result, Shown
from app.widgets.save_dialog import ask_save_path, file_name, png
from app.widgets.theme import Theme
from mlx_engine.contract.attached_images import FORMATS
from mlx_engine.contract.errors import UserError


def copy_picture(theme: Theme, shown: Shown, then: Callable[[str], object] = lambda text: None) -> None:
    """Copy a picture to the clipboard, once it is decoded.

    Args:
        then: gets what to tell the user.
    """

    def copy(result: Result) -> None:
        if isinstance(result, QImage):
            QGuiApplication.clipboard().setImage(result)
            then(tr("Image copied."))
        else:
            then(result)

    theme.pictures.get(shown, FULL, copy)


def save_picture(parent: QWidget, theme: Theme, shown: Shown) -> None:
    """Ask for a file, and save the picture as it was received, or a page as PNG."""
    known = FORMATS.get(shown.format) if not shown.page else None
    extension = known.suffixes[0] if known is not None else ".png"
    stem = file_name(Path(shown.name).stem, tr("Image"))
    if shown.page:
        stem = tr("{name}, page {number}", name=stem, number=shown.page)
    file = ask_save_path(parent, tr("Save Image"), stem, {extension: f"{extension[1:].upper()} (*{extension})"})
    if file is None:
        return

    def save(result: Result) -> None:
        if isinstance(result, QImage):
            _write(parent, file, png(result))
        elif isValid(parent):
            _warn(parent, result)

    if shown.page:
        theme.pictures.get(shown, FULL, save)
    else:
        _write(parent, file, shown.file.data)


def _write(parent: QWidget, file: Path, data: bytes) -> None:
    try:
        write_file(file, data)
    except UserError as error:
        if isValid(parent):
            _warn(parent, translated(error.text))


def _warn(parent: QWidget, why: str) -> None:
    box = QMessageBox(QMessageBox.Icon.Warning, tr("Save Image"), why, QMessageBox.StandardButton.Ok, parent)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    box.open()


def picture_menu(source: QWidget, theme: Theme, shown: Shown, open_it: Callable[[], object]) -> QMenu:
    """Return the context menu of a picture."""
    menu = QMenu(source)
    menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    menu.addAction(tr("Open"), open_it)
    copy = menu.addAction(tr("Copy Image"), lambda: copy_picture(theme, shown))
    save = menu.addAction(tr("Save Image…"), lambda: save_picture(source.window(), theme, shown))
    for action in (copy, save):
        action.setEnabled(not shown.is_lost)
    return menu
