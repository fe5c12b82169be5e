"""The table of a comparison of drafters."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from app.storage import wording
from app.storage.drafters_record import DrafterRow
from app.storage.reply import Reply
from app.text.language import number, tr, translated
from app.widgets.controls import ThinBar, as_tooltip, small_label
from app.widgets.layout import column, row
from app.widgets.theme import Theme

UNKNOWN = "–"


class DrafterTable(QWidget):
    """A table with one row each for plain decoding, lookup, and every drafter.

    Args:
        theme: colors and fonts.
        drafters: repos or folder names of the drafters.
    """

    def __init__(self, theme: Theme, drafters: Sequence[str]) -> None:
        super().__init__()
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(8)
        grid.setColumnStretch(1, 1)
        right = Qt.AlignmentFlag.AlignRight
        titles = (tr("tok/s"), tr("Tokens/round"), tr("Memory"), tr("Text"))
        for index, title in enumerate(titles, 2):
            grid.addWidget(small_label(theme, title, "faint"), 0, index, right)
        self.rows = [_Row(theme, name, titles) for name in ("", "", *drafters)]
        for at, one in enumerate(self.rows, 1):
            grid.addLayout(one.title, at, 0)
            grid.addWidget(one.bar, at, 1)
            for index, cell in enumerate(one.cells, 2):
                grid.addWidget(cell, at, index, right | Qt.AlignmentFlag.AlignVCenter)
        self.rows[0].show_name(wording.mode_names()["plain"])
        self.rows[1].show_name(tr("Lookup"))

    def show_reply(self, at: int, kind: str, reply: Reply) -> None:
        """Show the speed of the reply in progress in a row."""
        self.rows[at].show_rate(reply.rate.tok_s, reply.tokens_per_round)
        if at > 1:
            self.rows[at].show_name(kind)

    def show_rows(self, rows: dict[int, DrafterRow], best: DrafterRow | None) -> None:
        """Show the results so far by row, and mark the fastest once it is known."""
        fastest = max((one.tok_s or 0.0 for one in rows.values()), default=0.0)
        for at, one in rows.items():
            self.rows[at].show_result(one, fastest, one is best)


class _Row:
    """The name, speed bar, and figures of one kind of drafts."""

    def __init__(self, theme: Theme, repo: str, titles: tuple[str, ...]) -> None:
        self.name = small_label(theme, repo)
        self.chip = small_label(theme, tr("Fastest"), "chip-accent")
        self.chip.hide()
        self.detail = small_label(theme, repo, "faint", elided=True)
        self.detail.hide()
        self.title = column(row(self.name, self.chip, None), self.detail, spacing=2)
        self._repo = repo
        self.bar = ThinBar(theme, tr("Speed"), "faint")
        self.cells: list[QLabel] = [small_label(theme, UNKNOWN, selectable=True) for _ in titles]
        self._titles = titles

    def show_name(self, name: str) -> None:
        self.name.setText(name)
        self.detail.setVisible(bool(self._repo))
        for title, cell in zip(self._titles, self.cells, strict=True):
            cell.setAccessibleName(f"{name}: {title}")

    def show_rate(self, tok_s: float | None, tokens_per_round: float | None) -> None:
        self.cells[0].setText(UNKNOWN if tok_s is None else "~" + wording.plain_rate(tok_s))
        self.cells[1].setText(UNKNOWN if tokens_per_round is None else number(tokens_per_round, 1))

    def show_result(self, one: DrafterRow, fastest: float, is_best: bool) -> None:
        if one.kind:
            self.show_name(one.kind)
        self.chip.setVisible(is_best)
        self.bar.color = "accent" if is_best else "faint"
        self.bar.show_fraction((one.tok_s or 0.0) / fastest if fastest else 0.0)
        texts = (
            UNKNOWN if one.tok_s is None else wording.plain_rate(one.tok_s),
            UNKNOWN if one.tokens_per_round is None else number(one.tokens_per_round, 1),
            wording.size(one.bytes) if one.bytes else UNKNOWN,
            one.text,
        )
        for cell, text in zip(self.cells, texts, strict=True):
            cell.setText(text)
        if one.problem is not None:
            self.cells[-1].setToolTip(as_tooltip(translated(one.problem)))
