"""A table of figures with one row for each of the things compared."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QWidget

from app.text.language import tr
from app.widgets.controls import Label, ThinBar, as_tooltip, small_label
from app.widgets.layout import column, row
from app.widgets.theme import Theme

UNKNOWN = "–"
SPEED_BAR_HEIGHT = 10


class ComparisonTable(QWidget):
    """A table with a name, a speed bar, and figures in each row.

    Args:
        theme: colors and fonts.
        titles: of the columns with figures.
        rows: name of each row, and what is shown below it.
        title: of the names.
        bars: whether there are speed bars.
    """

    def __init__(
        self, theme: Theme, titles: Sequence[str], rows: Sequence[tuple[str, str]], title: str = "", bars: bool = True
    ) -> None:
        super().__init__()
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(6)
        grid.setColumnStretch(1, 1)
        right = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
        grid.addWidget(small_label(theme, title, "faint"), 0, 0)
        for index, text in enumerate(titles, 2):
            grid.addWidget(small_label(theme, text, "faint", selectable=True), 0, index, right)
        self.rows = [TableRow(theme, name, detail, titles) for name, detail in rows]
        for at, one in enumerate(self.rows, 1):
            grid.addLayout(one.title, at, 0)
            if bars:
                grid.addWidget(one.bar, at, 1)
            for index, cell in enumerate(one.cells, 2):
                grid.addWidget(cell, at, index, right)

    def show_speeds(self, speeds: Sequence[float | None], accented: int | None, is_fastest: bool = False) -> None:
        """Show speeds as bars, and highlight a row, perhaps as the fastest."""
        largest = max((speed for speed in speeds if speed), default=1.0)
        for at, (one, speed) in enumerate(zip(self.rows, speeds, strict=True)):
            one.bar.color = "accent" if at == accented else "faint"
            one.bar.show_fraction((speed or 0.0) / largest)
            one.chip.setVisible(is_fastest and at == accented)


class TableRow:
    """A row's name, speed bar, and figures."""

    def __init__(self, theme: Theme, name: str, detail: str, titles: Sequence[str]) -> None:
        self.name = small_label(theme, selectable=True)
        self.chip = small_label(theme, tr("Fastest"), "chip-accent")
        self.chip.hide()
        self.detail = small_label(theme, detail, "faint", elided=True)
        self.title = column(row(self.name, self.chip, None), self.detail, spacing=2)
        self.bar = ThinBar(theme, "", "faint", SPEED_BAR_HEIGHT)
        self.cells: list[Label] = [small_label(theme, UNKNOWN, selectable=True) for _ in titles]
        self._detail, self._titles = detail, titles
        self.show_name(name)

    def show_name(self, name: str) -> None:
        self.name.setText(name)
        self.detail.setVisible(self._detail not in ("", name))
        self.bar.setAccessibleName(tr("{mode} speed", mode=name))
        for title, cell in zip(self._titles, self.cells, strict=True):
            cell.setAccessibleName(f"{name}: {title}")

    def show(self, texts: Sequence[str], hint: str = "") -> None:
        """Show figures, and a hint at the last one."""
        for cell, text in zip(self.cells, texts, strict=True):
            cell.setText(text)
        self.cells[-1].setToolTip(as_tooltip(hint) if hint else "")
