"""A table of facts, and the memory that a pair needs."""

from PySide6.QtCore import QSize, Qt, Slot
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from app.text.language import tr, unbroken
from app.views.models.pair_facts import memory_facts, memory_text
from app.widgets.controls import Label, button, small_label
from app.widgets.layout import column
from app.widgets.theme import SMALL, Theme
from mlx_engine.models.fit import Fit

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


class MemoryDetails(QWidget):
    """A sentence about the memory that a pair needs, and a table of details."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.reason = small_label(theme, wrap=True)
        self.toggle = button(tr("Show Memory Details"), look="disclosure")
        self.toggle.setCheckable(True)
        self.toggle.toggled.connect(self._open)
        self.table = FactTable(theme)
        self.table.setAccessibleName(tr("Memory details"))
        self.table.hide()
        column(self.reason, (self.toggle, 0, Qt.AlignmentFlag.AlignLeft), self.table, parent=self)

    def show_fit(self, fit: Fit | None, estimated: bool, macs: int = 1) -> None:
        """Show a fit on this Mac, one of `macs`, or an estimate from the weights' size."""
        self.toggle.setVisible(fit is not None)
        self.table.setVisible(fit is not None and self.toggle.isChecked())
        self.reason.setText(memory_text(fit, estimated, macs))
        if fit is not None:
            self.table.show_facts(memory_facts(fit, estimated))

    @Slot(bool)
    def _open(self, shown: bool) -> None:
        self.toggle.setText(tr("Hide Memory Details") if shown else tr("Show Memory Details"))
        self.toggle.setAccessibleName(self.toggle.text())
        self.table.setVisible(shown)
