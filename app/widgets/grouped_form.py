"""A form in a rounded frame, for settings that take effect immediately."""

from collections.abc import Sequence

from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractSpinBox,
    QBoxLayout,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QSlider,
    QVBoxLayout,
    QWidget,
)

from app.widgets.controls import small_label
from app.widgets.layout import WRAPPING_TEXT, Form, column, line, row
from app.widgets.theme import SMALL, Theme, set_look

SLIDER_WIDTH = 180
NUMBER_WIDTH = 110  # minimum of number fields, which are equally wide, at the default text size
INDENT = 14  # of rows and of the lines between them


class GroupedForm(Form):
    """Rows with a label and its help on the left, and a control on the right.

    Text fields, and all fields with large text, are below their labels.
    """

    def __init__(self, theme: Theme) -> None:
        self._wholes: list[QHBoxLayout] = []
        self._numbers: list[QAbstractSpinBox] = []
        self._rows_in_frame: QVBoxLayout | None = None
        super().__init__(theme)

    def add_row(
        self, label: str, field: QWidget, *extra: QWidget, below: Sequence[QWidget] = (), help: str = "", tip: str = ""
    ) -> None:
        """Add a field. See `Form.add_row`."""
        natural = isinstance(field, QComboBox | QAbstractButton | QSlider | QAbstractSpinBox)
        if isinstance(field, QSlider):
            field.setMaximumWidth(SLIDER_WIDTH)
        if isinstance(field, QComboBox | QLineEdit | QAbstractSpinBox):
            self._theme.set_font(field, SMALL)
        if isinstance(field, QAbstractSpinBox):
            self._numbers.append(field)
            field.ensurePolished()
            width = max(self._theme.scaled(NUMBER_WIDTH), *(box.sizeHint().width() for box in self._numbers))
            for box in self._numbers:
                box.setMinimumWidth(width)
        if help:
            below = (*below, small_label(self._theme, help, "secondary", wrap=True))
        field.setAccessibleName(field.accessibleName() or label)
        field.setAccessibleDescription(help or tip)
        field.setToolTip(tip)
        name = small_label(self._theme, label, wrap=True)
        name.setBuddy(field)
        if natural:
            texts = column(None, name, *below, None, spacing=3)
            whole = row((texts, 1), row(field, *extra), spacing=16, margins=(INDENT, 9, INDENT, 9))
            self._wholes.append(whole)
        else:
            whole = row((column(name, row((field, 1), *extra), *below, spacing=5), 1), margins=(INDENT, 9, INDENT, 9))
        if self._rows_in_frame is None:
            frame = QFrame()
            set_look(frame, "group")
            self._rows_in_frame = column(spacing=0, parent=frame)
            self.addWidget(frame)
        above = [row(line(), margins=(INDENT, 0, INDENT, 0))] if self._rows_in_frame.count() else []
        part = QWidget()  # the margins of a layout take space even if its widgets are hidden
        column(*above, whole, spacing=0, parent=part)
        self._rows_in_frame.addWidget(part)
        self._parts[field] = [part]
        self._place_labels()

    def _place_labels(self) -> None:
        above = self._theme.text_pixels >= WRAPPING_TEXT
        for whole in self._wholes:
            whole.setDirection(QBoxLayout.Direction.TopToBottom if above else QBoxLayout.Direction.LeftToRight)
            whole.setSpacing(5 if above else 16)
