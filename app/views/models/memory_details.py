"""The memory that a pair needs."""

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QWidget

from app.text.language import tr
from app.views.models.pair_facts import memory_facts, memory_text
from app.widgets.controls import button, small_label
from app.widgets.fact_table import FactTable
from app.widgets.layout import column
from app.widgets.theme import Theme
from mlx_engine.models.fit import Fit


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
