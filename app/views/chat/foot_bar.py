"""A note above the composer, with a button."""

from PySide6.QtWidgets import QFrame

from app.text.language import tr
from app.widgets.controls import button, small_label
from app.widgets.layout import row
from app.widgets.theme import Theme, set_look


class FootBar(QFrame):
    """A note with a button above the composer, hidden while it has no text."""

    def __init__(self, theme: Theme, title: str, name: str) -> None:
        super().__init__()
        set_look(self, "notice")
        self.label = small_label(theme, look="secondary", wrap=True)
        self.label.setAccessibleName(tr("Note"))
        self.button = button(title, name, "bordered")
        row((self.label, 1), self.button, margins=(16, 6, 8, 6), parent=self)
        self.hide()  # without a parent, it would be a window

    def show_text(self, text: str) -> None:
        self.label.setText(text)
        self.setVisible(bool(text))
