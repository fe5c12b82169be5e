"""A table of facts."""

from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from app.text.language import tr, unbroken
from app.widgets.controls import Label, small_label
from app.widgets.theme import SMALL, Theme

MAX_WIDTH = 688
WORD_CHARS = 24  # of a word that is never cut off


class _FactLabel(Label):
    """A wrapping label that very long words don't widen."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)

    def minimumSizeHint(self) -> QSize:
        hint = super().minimumSizeHint()
        return QSize(min(hint.width(), WORD_CHARS * self.fontMetrics().averageCharWidth()), hint.height())


class FactTable(QWidget):
    """A table with one row per fact, and the fact's name on the left."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(16)
        self._grid.setVerticalSpacing(8)
        self._grid.setColumnStretch(1, 1)
        self.shown: dict[str, str] = {}

    def show_facts(self, facts: dict[str, str]) -> None:
        if facts == self.shown:
            return
        self._grid.setRowStretch(len(self.shown), 0)
        self._grid.setRowStretch(len(facts), 1)  # extra height goes below the facts, not between them
        self.shown = facts
        for old in self.findChildren(QLabel):
            old.deleteLater()
        for index, (name, text) in enumerate(facts.items()):
            value = _FactLabel(text if name == tr("Location") else unbroken(text))  # a copied path must stay as it is
            self._theme.set_font(value, SMALL)
            value.setAccessibleName(f"{name}: {text}")
            for position, label in enumerate((small_label(self._theme, name, "secondary", wrap=True), value)):
                label.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
                self._grid.addWidget(label, index, position)
