"""Text that is shown as it is written.

Left to itself Qt takes a text for HTML where it looks so, and then gives it colors and sizes and opens the pictures that it names.
Titles, file names, models' names and what imported files hold are other people's.
"""

import html

from PySide6.QtCore import Qt
from PySide6.QtGui import Qt as Text
from PySide6.QtWidgets import QLabel, QWidget


class Label(QLabel):
    """The app's only kind of label."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(text)


def as_tooltip(text: str) -> str:
    """A text for a tooltip, which has no setting for it."""
    if not Text.mightBeRichText(text):
        return text
    return f"<qt>{html.escape(text).replace(chr(10), '<br>')}</qt>"
