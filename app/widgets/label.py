"""Labels and tooltips that show text as it is written.

By default Qt interprets text that looks like HTML: it applies its styles and loads its images. Titles, file names, model names and
imported chats come from other people.
"""

import html
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import Qt as Text
from PySide6.QtWidgets import QLabel, QWidget

from app.widgets.theme import SMALL, Theme, set_look


class Label(QLabel):
    """A label with plain text. The app uses no other."""

    def __init__(self, text: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setText(text)


def styled_label(
    theme: Theme,
    text: str = "",
    look: str = "",
    *,
    size: float = 1.0,
    bold: bool = False,
    wrap: bool = False,
    selectable: bool = False,
) -> Label:
    """Return a label. `size` is its share of the text size."""
    label = Label(text)
    theme.set_font(label, size, bold)
    label.setWordWrap(wrap)
    if look:
        set_look(label, look)
    if selectable:
        label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label


small_label = partial(styled_label, size=SMALL)


def as_tooltip(text: str) -> str:
    """Return a text escaped for a tooltip, which cannot be switched to plain text."""
    if not Text.mightBeRichText(text):
        return text
    return f"<qt>{html.escape(text).replace(chr(10), '<br>')}</qt>"
