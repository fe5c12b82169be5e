"""Charts in the details of a reply."""

from collections.abc import Iterable, Sequence
from statistics import fmean

from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.storage import wording
from app.storage.speed_history import SpeedPoint
from app.text.language import tr
from app.widgets.theme import SMALL, Theme
from mlx_engine.contract.events import Stats

CHART = QSize(320, 72)
LEGEND_GAP = 6  # space above the legend
LEGEND_SPACING = 18  # space after a label
SQUARE = 14  # distance from a square to its label
BAR_HEIGHT = 10
MAX_BAR_WIDTH = 56.0
SPEED_HEIGHT = 40
LEAST_STEP = 12  # pixels per reply in the narrowest chart


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
        fill_width(self, legend_size(self, self.legend) + QSize(0, BAR_HEIGHT))
        self.setAccessibleName(tr("Prompt"))
        self.setAccessibleDescription("; ".join(self.legend))

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = self._theme.colors
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        draw_bar(painter, QRectF(0, 0, self.width(), BAR_HEIGHT), colors.track, 4)
        if self._reused:
            width = max(8.0, self.width() * self._reused / max(1, self._reused + self._processed))
            draw_bar(painter, QRectF(0, 0, width, BAR_HEIGHT), colors.accent, 4)
        draw_legend(painter, self._theme, BAR_HEIGHT, zip(self.legend, (colors.accent, colors.track), strict=True))
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
        fill_width(self, legend_size(self, self.legend) + QSize(0, CHART.height()))
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
        for (left, width), (accepted, drafted) in zip(places(self.width(), len(self.bars)), self.bars, strict=True):
            for value, color in ((drafted, colors.track), (accepted, colors.accent)):
                height = CHART.height() * value / highest
                draw_bar(painter, QRectF(left, CHART.height() - height, width, height), color, 1.5)
        painter.setPen(QPen(QColor(colors.line), 1))
        painter.drawLine(0, CHART.height(), self.width(), CHART.height())
        draw_legend(painter, self._theme, CHART.height(), zip(self.legend, (colors.accent, colors.track), strict=True))
        painter.end()


class SpeedChart(QWidget):
    """A chart with the speed of each reply of a chat.

    Those that something slowed down have another color.
    """

    def __init__(self, theme: Theme, points: Sequence[SpeedPoint]) -> None:
        super().__init__()
        self._theme = theme
        self.points = points[-(CHART.width() // LEAST_STEP) :]
        self._highest = max(point.tok_s for point in self.points)
        theme.set_font(self, SMALL)
        has_cause = any(point.cause is not None for point in self.points)
        fastest = tr("Speed (max {rate})", rate=wording.rate(self._highest))
        self.legend = (fastest, tr("Slower for a known reason")) if has_cause else (fastest,)
        fill_width(self, legend_size(self, self.legend) + QSize(0, SPEED_HEIGHT))
        self.setAccessibleName(tr("Speed of the replies in this chat"))
        self.setAccessibleDescription(", ".join(wording.rate(point.tok_s) for point in self.points))

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = self._theme.colors
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        for (left, width), point in zip(places(self.width(), len(self.points)), self.points, strict=True):
            height = SPEED_HEIGHT * point.tok_s / self._highest if self._highest > 0 else 0.0
            color = colors.accent if point.cause is None else colors.copied
            draw_bar(painter, QRectF(left, SPEED_HEIGHT - height, width, height), color, 1.5)
        painter.setPen(QPen(QColor(colors.line), 1))
        painter.drawLine(0, SPEED_HEIGHT, self.width(), SPEED_HEIGHT)
        draw_legend(painter, self._theme, SPEED_HEIGHT, zip(self.legend, (colors.accent, colors.copied), strict=False))
        painter.end()


def places(width: int, count: int) -> list[tuple[float, float]]:
    """Return the left edge and width of each bar. Bars and gaps fill a width."""
    step = width / max(1, count)
    bar = min(MAX_BAR_WIDTH, step - (1.0 if step < 6 else max(2.0, step / 4)))
    return [(step * place + (step - bar) / 2, bar) for place in range(count)]


def merge_rounds(accepted: tuple[int, ...], widths: tuple[int, ...], max_bars: int) -> list[tuple[float, float]]:
    """Return the mean accepted and drafted tokens of the rounds in each bar."""
    if not accepted:
        return []
    drafted = tuple(width - 1 for width in widths) or accepted
    size = -(-len(accepted) // max_bars)
    pieces = (slice(at, at + size) for at in range(0, len(accepted), size))
    return [(fmean(accepted[piece]), fmean(drafted[piece])) for piece in pieces]


def draw_bar(painter: QPainter, rect: QRectF, color: str, radius: float) -> None:
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(color))
    painter.drawRoundedRect(rect, radius, radius)


def draw_legend(painter: QPainter, theme: Theme, top: int, parts: Iterable[tuple[str, str]]) -> None:
    """Draw labels, each after a square in its color."""
    x, metrics = 0, painter.fontMetrics()
    for label, color in parts:
        baseline = top + LEGEND_GAP + metrics.ascent()
        draw_bar(painter, QRectF(x, baseline - 9, 9, 9), color, 2)
        painter.setPen(QColor(theme.colors.secondary))
        painter.drawText(x + SQUARE, baseline, label)
        x += SQUARE + metrics.horizontalAdvance(label) + LEGEND_SPACING


def fill_width(chart: QWidget, least: QSize) -> None:
    """Give a chart its height and the width of its panel."""
    chart.setMinimumWidth(least.width())
    chart.setFixedHeight(least.height())
    chart.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)


def legend_size(widget: QWidget, labels: Iterable[str]) -> QSize:
    """Return the size of a legend, at least as wide as a chart."""
    metrics = widget.fontMetrics()
    width = sum(SQUARE + metrics.horizontalAdvance(label) + LEGEND_SPACING for label in labels)
    return QSize(max(CHART.width(), width), LEGEND_GAP + metrics.height())
