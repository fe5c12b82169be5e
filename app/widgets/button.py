"""Push buttons as they look everywhere."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from app.widgets.theme import set_look


def button(text: str, name: str, kind: str = "quiet") -> QPushButton:
    """A push button in one of the looks of the style sheet."""
    made = QPushButton(text)
    made.setAccessibleName(name)
    made.setCursor(Qt.CursorShape.PointingHandCursor)
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click must not take the focus from where one writes
    set_look(made, kind)
    return made
