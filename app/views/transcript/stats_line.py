"""The statistics below a reply, and their details."""

from collections.abc import Iterable, Sequence
from statistics import fmean

from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QSizePolicy, QWidget

from app.storage import wording
from app.storage.reply import Reply
from app.text.language import tr
from app.widgets.controls import Label, as_tooltip, small_label
from app.widgets.layout import Flow, column
from app.widgets.theme import SMALL, Theme, set_look
from mlx_engine.contract.events import Stats


class StatsLine(QWidget):
    """A chip with the speed, and why the reply ended.

    If `stacked`, a chip with the mode, and statistics below.
    """

    def __init__(self, theme: Theme, stacked: bool = False) -> None:
        super().__init__()
        self._theme = theme
        self._stacked = stacked
        self._reply: Reply | None = None
        self._details: StatsDetails | None = None
        self.chip = small_label(theme, elided=True)
        self.facts = _Facts()
        theme.set_font(self.facts, SMALL)
        set_look(self.facts, "secondary")
        self.chip.setAccessibleName(tr("Mode"))
        self.facts.setAccessibleName(tr("Speed"))
        self.figures = Flow(stacked=stacked)
        self.figures.addWidget(self.chip)
        self.figures.addWidget(self.facts)
        self.lines = column(self.figures, spacing=2, parent=self)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)

    def show_reply(self, reply: Reply) -> None:
        self._reply = reply
        chip, facts = wording.chip(reply, short=self._stacked), wording.facts(reply, short=self._stacked)
        drafts = chip.startswith(wording.drafting(reply))
        if not self._stacked:
            chip, facts = wording.pill(reply), wording.remarks(reply)
        if chip != self.chip.text():
            self.chip.setText(chip)
        set_look(self.chip, "chip-accent" if drafts else "chip")
        if facts != self.facts.text() or not facts:
            self.facts.setText(facts or " ")  # keep the height, so that nothing moves when statistics arrive
        if reply.stats:
            tip = as_tooltip("\n".join((*wording.speed(reply), wording.details(reply.stats))))
            self.chip.setToolTip(tip)
            self.facts.setToolTip(tip)

    @Slot(bool)
    def show_details(self, shown: bool) -> None:
        """Show or hide all statistics and charts below the line."""
        if self._details is not None:
            self._details.hide()
            self._details.deleteLater()
            self._details = None
        if shown and self._reply is not None and self._reply.stats is not None:
            self._details = StatsDetails(self._theme, self._reply.stats, self._reply.step_stats, wording.speed(self._reply))
            self.lines.addWidget(self._details)


class _Facts(Label):
    """A label that wraps only if there is too little space for one line."""

    def __init__(self) -> None:
        super().__init__()
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)

    def sizeHint(self) -> QSize:
        return QSize(self.fontMetrics().horizontalAdvance(self.text()) + 2, self.fontMetrics().height())


CHART = QSize(320, 72)
LEGEND_GAP = 6  # space above the legend
LEGEND_SPACING = 18  # space after a label
SQUARE = 14  # distance from a square to its label
BAR_HEIGHT = 10
MAX_BAR_WIDTH = 14.0


class StatsDetails(QFrame):
    """A panel with charts and all statistics of a reply."""

    def __init__(self, theme: Theme, stats: Stats, steps: Sequence[Stats] = (), speed: Sequence[str] = ()) -> None:
        super().__init__()
        self.setAccessibleName(tr("Details of this reply"))
        set_look(self, "notice")
        charts: list[QWidget] = []
        if stats.accepted_per_round:
            charts += [small_label(theme, tr("Drafted and accepted tokens per round"), bold=True), RoundsChart(theme, stats)]
        if stats.prompt_tokens and (stats.reused_tokens or stats.measured_by == "engine"):
            charts += [small_label(theme, tr("Reused and processed prompt tokens"), bold=True), PromptBar(theme, stats)]
        lines = ["\n".join((*speed, wording.details(stats))), *([wording.steps(steps)] if steps else [])]
        self.facts = small_label(theme, "\n\n".join(lines), "secondary", wrap=True, selectable=True)
        column(*charts, self.facts, spacing=10, margins=(16, 14, 16, 14), parent=self)


class PromptBar(QWidget):
    """A bar that shows the reused and processed tokens of the prompt."""

    def __init__(self, theme: Theme, stats: Stats) -> None:
        super().__init__()
        self._theme = theme
        self._reused, self._processed = stats.reused_tokens, stats.prompt_tokens - stats.reused_tokens
        count = wording.number(self._processed)
        processed = tr("{count} processed", count=count)
        if stats.prompt_tok_s is not None and self._processed:
            processed = tr("{count} processed at {rate}", count=count, rate=wording.rate(stats.prompt_tok_s))
        self.legend = tr("{count} reused", count=wording.number(self._reused)), processed
        theme.set_font(self, SMALL)
        _fill_width(self, _legend_size(self, self.legend) + QSize(0, BAR_HEIGHT))
        self.setAccessibleName(tr("Prompt"))
        self.setAccessibleDescription("; ".join(self.legend))

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = self._theme.colors
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        _draw_bar(painter, QRectF(0, 0, self.width(), BAR_HEIGHT), colors.track, 4)
        if self._reused:
            width = max(8.0, self.width() * self._reused / max(1, self._reused + self._processed))
            _draw_bar(painter, QRectF(0, 0, width, BAR_HEIGHT), colors.accent, 4)
        _draw_legend(painter, self._theme, BAR_HEIGHT, zip(self.legend, (colors.accent, colors.track), strict=True))
        painter.end()


class RoundsChart(QWidget):
    """A chart with one bar per round: drafted tokens, with accepted ones filled."""

    def __init__(self, theme: Theme, stats: Stats) -> None:
        super().__init__()
        self._theme = theme
        accepted = stats.accepted_per_round
        widths = stats.widths if len(stats.widths) == len(accepted) else ()
        self.bars = merge_rounds(accepted, widths, CHART.width() // 4)
        theme.set_font(self, SMALL)
        highest = max((max(accepted, drafted) for accepted, drafted in self.bars), default=0.0)
        self.legend = tr("Accepted"), tr("Drafted (max {highest})", highest=wording.number(highest))
        _fill_width(self, _legend_size(self, self.legend) + QSize(0, CHART.height()))
        self.setAccessibleName(tr("Drafted and accepted tokens per round"))
        least, most = min(accepted, default=0), max(accepted, default=0)
        self.setAccessibleDescription(
            tr("{rounds} rounds; {least} to {most} accepted", rounds=len(accepted), least=least, most=most)
        )

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = self._theme.colors
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        highest = max((max(accepted, drafted) for accepted, drafted in self.bars), default=1.0) or 1.0
        step = min(MAX_BAR_WIDTH, self.width() / max(1, len(self.bars)))
        gap = 1.0 if step < 6 else 2.0
        for number, (accepted, drafted) in enumerate(self.bars):
            for value, color in ((drafted, colors.track), (accepted, colors.accent)):
                height = CHART.height() * value / highest
                _draw_bar(painter, QRectF(number * step, CHART.height() - height, step - gap, height), color, 1.5)
        painter.setPen(QPen(QColor(colors.line), 1))
        painter.drawLine(0, CHART.height(), self.width(), CHART.height())
        _draw_legend(painter, self._theme, CHART.height(), zip(self.legend, (colors.accent, colors.track), strict=True))
        painter.end()


def merge_rounds(accepted: tuple[int, ...], widths: tuple[int, ...], max_bars: int) -> list[tuple[float, float]]:
    """Return the mean accepted and drafted tokens of the rounds in each bar."""
    if not accepted:
        return []
    drafted = tuple(width - 1 for width in widths) or accepted
    size = -(-len(accepted) // max_bars)
    pieces = (slice(at, at + size) for at in range(0, len(accepted), size))
    return [(fmean(accepted[piece]), fmean(drafted[piece])) for piece in pieces]


def _draw_bar(painter: QPainter, rect: QRectF, color: str, radius: float) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(color))
    painter.drawRoundedRect(rect, radius, radius)


def _draw_legend(painter: QPainter, theme: Theme, top: int, parts: Iterable[tuple[str, str]]) -> None:
    """Draw labels, each after a square in its color."""
    x, metrics = 0, painter.fontMetrics()
    for label, color in parts:
        baseline = top + LEGEND_GAP + metrics.ascent()
        _draw_bar(painter, QRectF(x, baseline - 9, 9, 9), color, 2)
        painter.setPen(QColor(theme.colors.secondary))
        painter.drawText(x + SQUARE, baseline, label)
        x += SQUARE + metrics.horizontalAdvance(label) + LEGEND_SPACING


def _fill_width(chart: QWidget, least: QSize) -> None:
    """Give a chart its height and the width of its panel."""
    chart.setMinimumWidth(least.width())
    chart.setFixedHeight(least.height())
    chart.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)


def _legend_size(widget: QWidget, labels: Iterable[str]) -> QSize:
    """Return the size of a legend, at least as wide as a chart."""
    metrics = widget.fontMetrics()
    width = sum(SQUARE + metrics.horizontalAdvance(label) + LEGEND_SPACING for label in labels)
    return QSize(max(CHART.width(), width), LEGEND_GAP + metrics.height())
