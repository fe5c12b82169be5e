"""Asking where a file shall be written. No file is ever replaced that the user was not asked about."""

import re
from collections.abc import Mapping
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from app.language import tr

MOST_NAME = 80  # characters; three bytes each still make a name


def ask_save_path(parent: QWidget, title: str, stem: str, kinds: Mapping[str, str]) -> Path | None:
    """A file's place, or None when the user thought better of it.

    `kinds` maps each ending, with its dot, to the dialog's words for it, the usual one first. A kind that was chosen decides the
    ending; else a known ending that was typed does.
    """
    usual = next(iter(kinds))
    written, chosen = QFileDialog.getSaveFileName(parent, title, stem + usual, ";;".join(kinds.values()))
    if not written:
        return None
    file = Path(written)
    typed = file.suffix.lower()
    ending = next((ending for ending, words in kinds.items() if words == chosen), usual)
    if ending == usual and typed in kinds:
        ending = typed
    if typed == ending:
        return file  # the dialog has asked, if the file is there
    file = file.with_suffix(ending) if typed in kinds else file.with_name(file.name + ending)
    return file if not file.exists() or confirm_replace(parent, file) else None


def confirm_replace(parent: QWidget, file: Path) -> bool:
    """Ask about a file whose name the dialog did not know yet when it asked."""
    ask = QMessageBox(QMessageBox.Icon.Warning, tr("Replace?"), "", parent=parent)
    ask.setTextFormat(Qt.TextFormat.PlainText)
    ask.setText(tr("There is a file “{name}” already. Replace it?", name=file.name))
    yes = ask.addButton(tr("Replace"), QMessageBox.ButtonRole.DestructiveRole)
    ask.setDefaultButton(ask.addButton(QMessageBox.StandardButton.Cancel))
    ask.exec()
    return ask.clickedButton() is yes


def file_name(text: str, otherwise: str) -> str:
    """Of a text what every system takes as a file's name."""
    words = re.sub(r'[\x00-\x1f\x7f<>:"/\\|?*]+', " ", text).split()
    return " ".join(words)[:MOST_NAME].strip(" .") or otherwise
