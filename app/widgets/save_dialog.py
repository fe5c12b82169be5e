"""Saving images and other files, and dialogs to confirm replacing or deleting."""

import re
from collections.abc import Mapping
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, Qt
from PySide6.QtGui import QImage, QImageWriter
from PySide6.QtWidgets import QAbstractButton, QFileDialog, QMessageBox, QWidget

from app.text.language import tr

MAX_NAME = 80  # characters; names in three-byte characters stay within file system limits


def ask_save_path(parent: QWidget, title: str, stem: str, formats: Mapping[str, str]) -> Path | None:
    """Return the chosen file, or None if the user cancels.

    Args:
        parent: the window.
        title: the dialog's title.
        stem: suggested file name without the extension.
        formats: the dialog's text for each extension, including the dot; the first one is the default. A format chosen in the
            dialog determines the extension. With the default format, the user can type another extension of this list.
    """
    default = next(iter(formats))
    written, chosen = QFileDialog.getSaveFileName(parent, title, stem + default, ";;".join(formats.values()))
    if not written:
        return None
    file = Path(written)
    typed = file.suffix.lower()
    extension = next((extension for extension, text in formats.items() if text == chosen), default)
    if extension == default and typed in formats:
        extension = typed
    if typed == extension:
        return file  # the dialog has already asked about replacing the file
    file = file.with_suffix(extension) if typed in formats else file.with_name(file.name + extension)
    return file if not file.exists() or confirm_replace(parent, file) else None


def confirm_replace(parent: QWidget, file: Path) -> bool:
    """Ask before replacing a file whose name was completed after the dialog closed."""
    question = tr("“{name}” already exists. Do you want to replace it?", name=file.name)
    return confirm(parent, tr("Replace File?"), question, tr("Replace"))


def confirm(parent: QWidget, title: str, question: str, action: str) -> bool:
    """Ask for confirmation. `action` is the title of the confirming button."""
    return choose(parent, title, question, action) == action


def choose(parent: QWidget, title: str, question: str, *actions: str) -> str:
    """Return the action that the user chooses, or an empty string for Cancel.

    The last action is the one that loses something.
    """
    ask = QMessageBox(QMessageBox.Icon.Warning, title, "", parent=parent)
    ask.setTextFormat(Qt.TextFormat.PlainText)
    ask.setText(question)
    buttons: dict[QAbstractButton, str] = {}
    for action in actions:
        role = QMessageBox.ButtonRole.DestructiveRole if action == actions[-1] else QMessageBox.ButtonRole.AcceptRole
        buttons[ask.addButton(action, role)] = action
    ask.setDefaultButton(ask.addButton(QMessageBox.StandardButton.Cancel))
    ask.exec()
    return buttons.get(ask.clickedButton(), "")


def file_name(text: str, default: str) -> str:
    """Convert a text to a file name that is valid on every system."""
    words = re.sub(r'[\x00-\x1f\x7f<>:"/\\|?*]+', " ", text).split()
    return " ".join(words)[:MAX_NAME].strip(" .") or default


def png(image: QImage) -> bytes:
    """Return an image as the contents of a PNG file."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    QImageWriter(buffer, QByteArray(b"png")).write(image)
    return bytes(buffer.data().data())
