"""Push buttons in the looks of the style sheet."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from app.widgets.theme import set_look


def button(text: str, name: str = "", look: str = "quiet", clicked: Callable[[], object] | None = None) -> QPushButton:
    """Return a push button. `name` is for screen readers and defaults to the text."""
    made = QPushButton(text)
    made.setAccessibleName(name or text)
    made.setCursor(Qt.CursorShape.PointingHandCursor)
    made.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # a click leaves the keyboard focus in the text field
    set_look(made, look)
    if clicked is not None:
        made.clicked.connect(clicked)
    return made
