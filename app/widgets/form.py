"""Rows of a settings page: a label, a field, buttons, and a line of help."""

from PySide6.QtWidgets import QGridLayout, QWidget

from app.widgets import layout
from app.widgets.label import Label, small_label, styled_label
from app.widgets.theme import Theme

SPACING = 14  # above a label


class Form(QGridLayout):
    """Builds the rows from top to bottom."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self.setHorizontalSpacing(16)
        self.setVerticalSpacing(4)
        self.setColumnStretch(1, 1)

    def add_heading(self, text: str) -> None:
        self.addWidget(styled_label(self._theme, text, bold=True), self._next_row(), 0, 1, 2)

    def add_row(self, label: str, field: QWidget, *extra: QWidget) -> None:
        """Add a field; an empty label is for one that has its own, such as a check box."""
        row = self._next_row()
        if label:
            name = small_label(self._theme, label, bold=True)
            name.setBuddy(field)
            field.setAccessibleName(label)
            self.addWidget(name, row, 0)
        self.addLayout(layout.row((field, 1), *extra), row, 1)

    def add_below(self, widget: QWidget) -> None:
        """Add a widget below the last field."""
        self.addWidget(widget, self.rowCount(), 1)

    def add_help(self, text: str = "") -> Label:
        """Add a line of secondary text below the last field."""
        line = small_label(self._theme, text, "secondary", wrap=True)
        self.add_below(line)
        return line

    def _next_row(self) -> int:
        row = self.rowCount()
        if self.count():
            self.setRowMinimumHeight(row, SPACING)
            row += 1
        return row
