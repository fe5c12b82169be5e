"""A button that copies a text."""

from collections.abc import Callable

from PySide6.QtCore import QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QPushButton

from app.language import tr
from app.widgets.button import button

COPIED_MS = 1500


def copy_button(name: str, text: Callable[[], str]) -> QPushButton:
    """Return a button that puts a text on the clipboard and confirms it for a moment."""

    def copy() -> None:
        QGuiApplication.clipboard().setText(text())
        made.setText(tr("Copied"))
        QTimer.singleShot(COPIED_MS, made, lambda: made.setText(tr("Copy")))

    made = button(tr("Copy"), name, clicked=copy)
    return made
