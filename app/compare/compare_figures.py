"""The figures of a comparison: both rates as bars on one scale, and a row of numbers each."""

from collections.abc import Sequence

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QGridLayout, QLabel, QSizePolicy, QWidget

from app.conversations import wording
from app.conversations.comparison_record import ComparisonRecord, spread
from app.conversations.reply import Reply
from app.language import tr
from app.widgets.label import Label
from app.widgets.theme import SMALL, Theme, set_look
from mlx_engine.events import Stats
from mlx_engine.requests import Mode

MODES: tuple[Mode, Mode] = ("plain", "dflash")


def _column_names() -> tuple[str, ...]:
    return ("tok/s", tr("first token"), tr("rounds"), tr("tokens/round"), tr("tokens"))


NOTHING = "–"


class CompareFigures(QWidget):
    """Text in it can be selected and copied."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(18)
        grid.setVerticalSpacing(4)
        grid.setColumnStretch(1, 1)
        for column, name in enumerate(_column_names(), 2):
            grid.addWidget(_label(theme, "faint", name), 0, column, Qt.AlignmentFlag.AlignRight)
        self.bars: dict[Mode, _Bar] = {}
        self.cells: dict[Mode, list[QLabel]] = {}
        for row, mode in enumerate(MODES, 1):
            grid.addWidget(_label(theme, "secondary", wording.mode_names()[mode]), row, 0)
            self.bars[mode] = _Bar(theme, mode)
            grid.addWidget(self.bars[mode], row, 1)
            self.cells[mode] = [_label(theme, "", NOTHING) for _ in _column_names()]
            for column, cell in enumerate(self.cells[mode], 2):
                cell.setAccessibleName(f"{wording.mode_names()[mode]}: {_column_names()[column - 2]}")
                grid.addWidget(cell, row, column, Qt.AlignmentFlag.AlignRight)

    def show_running(self, replies: dict[Mode, Reply], runs: dict[Mode, list[Stats]]) -> None:
        """Show what is known while runs go on: medians need their end, so this is the run that was last, live with a tilde."""
        rates: dict[Mode, float | None] = {}
        for mode in MODES:
            reply = replies.get(mode)
            if reply is None:
                rates[mode] = None
                self._show(mode, (NOTHING,) * len(_column_names()))
            elif reply.stats is not None:
                rates[mode] = reply.stats.decode_tok_s
                self._show(mode, _cells(reply.stats, reply.stats.decode_tok_s, reply.stats.ttft_s, ()))
            else:
                rates[mode] = reply.rate.tok_s
                live = "~" + wording.plain_rate(reply.rate.tok_s) if reply.rate.tok_s is not None else NOTHING
                rounds = wording.number(reply.rounds) if mode == "dflash" else NOTHING
                per_round = NOTHING if reply.tokens_per_round is None else wording.number(reply.tokens_per_round, 1)
                self._show(mode, (live, NOTHING, rounds, per_round, wording.number(reply.tokens)))
        self._scale(rates)

    def show_record(self, record: ComparisonRecord) -> None:
        """Show medians over the runs, and how far they lie apart."""
        for mode in MODES:
            side = record.side(mode)
            self._show(mode, _cells(side.stats, side.rate, side.first_token, side.tok_s))
        self._scale({mode: record.side(mode).rate for mode in MODES})

    def _show(self, mode: Mode, texts: Sequence[str]) -> None:
        for cell, text in zip(self.cells[mode], texts, strict=True):
            cell.setText(text)

    def _scale(self, rates: dict[Mode, float | None]) -> None:
        fastest = max((rate for rate in rates.values() if rate), default=0.0)
        for mode, bar in self.bars.items():
            bar.show_share((rates[mode] or 0.0) / fastest if fastest else 0.0)


def _cells(stats: Stats, rate: float | None, first: float | None, runs: Sequence[float]) -> tuple[str, ...]:
    apart = spread(runs)
    return (
        NOTHING if rate is None else wording.plain_rate(rate) + (f"  ({apart})" if apart else ""),
        NOTHING if first is None else wording.duration(first),
        wording.number(stats.rounds) if stats.rounds else NOTHING,
        NOTHING if stats.tokens_per_round is None else wording.number(stats.tokens_per_round, 1),
        wording.number(stats.tokens),
    )


def _label(theme: Theme, kind: str, text: str) -> QLabel:
    made = Label(text)
    theme.set_font(made, SMALL)
    made.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    if kind:
        set_look(made, kind)
    return made


class _Bar(QWidget):
    def __init__(self, theme: Theme, mode: Mode) -> None:
        super().__init__()
        self._theme = theme
        self._mode = mode
        self._share = 0.0
        self.setMinimumWidth(40)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.setAccessibleName(tr("Rate of {mode_names} as a bar", mode_names=wording.mode_names()[mode]))
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(160, 16)

    def show_share(self, share: float) -> None:
        if share != self._share:
            self._share = share
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = self._theme.colors
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        room = QRectF(0, self.height() / 2 - 4, self.width(), 8)
        painter.setBrush(QColor(colors.bubble))
        painter.drawRoundedRect(room, 4, 4)
        if self._share:
            painter.setBrush(QColor(colors.accent if self._mode == "dflash" else colors.faint))
            painter.drawRoundedRect(QRectF(room.topLeft(), QSize(max(8, round(room.width() * self._share)), 8)), 4, 4)
        painter.end()
