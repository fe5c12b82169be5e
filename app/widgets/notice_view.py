"""A message from the app, such as an error."""

from typing import Literal

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QPushButton

from app.language import tr
from app.widgets.label import Label
from app.widgets.layout import column, row
from app.widgets.theme import set_look


class NoticeView(QFrame):
    """A sentence with buttons below it."""

    def __init__(self, text: str, kind: Literal["info", "error"] = "info") -> None:
        super().__init__()
        error = kind == "error"
        set_look(self, "error" if error else "notice")
        self.label = Label(text)
        self.label.setWordWrap(True)
        self.label.setMinimumWidth(120)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.label.setAccessibleName(tr("Error") if error else tr("Note"))
        set_look(self.label, "danger" if error else "secondary")
        self._buttons = row(None)
        column(self.label, self._buttons, margins=(16, 11, 16, 11), parent=self)

    def add_button(self, made: QPushButton) -> None:
        self._buttons.insertWidget(self._buttons.count() - 1, made)
