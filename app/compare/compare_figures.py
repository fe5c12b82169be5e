"""The measurements of a comparison: a bar for each mode's speed, and a table."""

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from app.conversations import wording
from app.conversations.comparison_record import ComparisonRecord, spread
from app.conversations.reply import Reply
from app.language import tr
from app.widgets.controls import ThinBar, small_label
from app.widgets.theme import Theme
from mlx_engine.events import Stats
from mlx_engine.requests import Mode

MODES: tuple[Mode, Mode] = ("plain", "dflash")
NOTHING = "–"


def _column_names() -> tuple[str, ...]:
    return ("tok/s", tr("First token"), tr("Rounds"), tr("Tokens/round"), tr("Tokens"))


class CompareFigures(QWidget):
    """One row per mode. All text can be selected."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(18)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        right = Qt.AlignmentFlag.AlignRight
        for column, name in enumerate(_column_names(), 2):
            grid.addWidget(small_label(theme, name, "faint", selectable=True), 0, column, right)
        self.bars: dict[Mode, ThinBar] = {}
        self.cells: dict[Mode, list[QLabel]] = {}
        for row, mode in enumerate(MODES, 1):
            name = wording.mode_names()[mode]
            grid.addWidget(small_label(theme, name, "secondary", selectable=True), row, 0)
            self.bars[mode] = ThinBar(theme, tr("{mode} speed", mode=name), "accent" if mode == "dflash" else "faint")
            grid.addWidget(self.bars[mode], row, 1)
            self.cells[mode] = []
            for column, column_name in enumerate(_column_names(), 2):
                cell = small_label(theme, NOTHING, selectable=True)
                cell.setAccessibleName(f"{name}: {column_name}")
                grid.addWidget(cell, row, column, right)
                self.cells[mode].append(cell)

    def show_running(self, replies: dict[Mode, Reply]) -> None:
        """Show the current run of each mode. A tilde marks an estimated speed."""
        rates: dict[Mode, float | None] = dict.fromkeys(MODES)
        for mode in MODES:
            reply = replies.get(mode)
            if reply is None:
                self._show(mode, [NOTHING] * len(self.cells[mode]))
            elif reply.stats is not None:
                rates[mode] = reply.stats.decode_tok_s
                self._show(mode, _cells(reply.stats, reply.stats.decode_tok_s, reply.stats.ttft_s))
            else:
                rates[mode] = rate = reply.rate.tok_s
                estimate = NOTHING if rate is None else "~" + wording.plain_rate(rate)
                rounds = wording.number(reply.rounds) if mode == "dflash" else NOTHING
                self._show(mode, [estimate, NOTHING, rounds, _number(reply.tokens_per_round, 1), wording.number(reply.tokens)])
        self._show_bars(rates)

    def show_record(self, record: ComparisonRecord) -> None:
        """Show the medians of all runs and the range of their speeds."""
        for mode in MODES:
            side = record.side(mode)
            self._show(mode, _cells(side.stats, side.rate, side.first_token, side.tok_s))
        self._show_bars({mode: record.side(mode).rate for mode in MODES})

    def _show(self, mode: Mode, texts: Sequence[str]) -> None:
        for cell, text in zip(self.cells[mode], texts, strict=True):
            cell.setText(text)

    def _show_bars(self, rates: dict[Mode, float | None]) -> None:
        fastest = max((rate for rate in rates.values() if rate), default=1.0)
        for mode, bar in self.bars.items():
            bar.show_fraction((rates[mode] or 0.0) / fastest)


def _cells(stats: Stats, rate: float | None, first_token: float | None, runs: Sequence[float] = ()) -> list[str]:
    span = spread(runs)
    return [
        NOTHING if rate is None else wording.plain_rate(rate) + (f"  ({span})" if span else ""),
        NOTHING if first_token is None else wording.duration(first_token),
        _number(stats.rounds or None),
        _number(stats.tokens_per_round, 1),
        wording.number(stats.tokens),
    ]


def _number(value: float | None, digits: int = 0) -> str:
    return NOTHING if value is None else wording.number(value, digits)
