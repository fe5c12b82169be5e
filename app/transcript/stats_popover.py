"""How a reply was decoded, round by round: opened from the line beside it."""

from collections.abc import Iterable

from PySide6.QtCore import QPoint, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QFrame, QLabel, QSizePolicy, QVBoxLayout, QWidget

from app.conversations import wording
from app.language import tr
from app.widgets.label import Label
from app.widgets.theme import SMALL, Theme, set_look
from mlx_engine.events import Stats

CHART = QSize(320, 72)
LEGEND = 22
BAR = 10


class StatsPopover(QFrame):
    """Goes away with the next click or Esc."""

    def __init__(self, theme: Theme, stats: Stats, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setAccessibleName(tr("Details of this reply"))
        set_look(self, "popover")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 14, 16, 14)
        layout.setSpacing(10)
        if stats.rounds:
            layout.addWidget(_title(theme, tr("Each round: drafts proposed (its width less one) and accepted")))
            layout.addWidget(RoundsChart(theme, stats))
        if stats.prompt_tokens:
            layout.addWidget(_title(theme, tr("The prompt: reused from earlier turns and read anew")))
            layout.addWidget(PromptBar(theme, stats))
        self.facts = Label(wording.details(stats))
        theme.set_font(self.facts, SMALL)
        self.facts.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        set_look(self.facts, "secondary")
        layout.addWidget(self.facts)

    def open_at(self, corner: QPoint) -> None:
        """Show it with its lower left corner there, or wherever the screen has room."""
        self.adjustSize()
        place = corner - QPoint(0, self.height() + 4)
        screen = self.screen().availableGeometry()
        place.setX(max(screen.left() + 8, min(place.x(), screen.right() - self.width() - 8)))
        if place.y() < screen.top() + 8:
            place.setY(corner.y() + 28)
        self.move(place)
        self.show()


def _title(theme: Theme, text: str) -> QLabel:
    made = Label(text)
    theme.set_font(made, SMALL, bold=True)
    return made


class PromptBar(QWidget):
    """How much of the prompt was there already, and how much had to be read, and how fast."""

    def __init__(self, theme: Theme, stats: Stats, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.reused, self.read = stats.reused_tokens, stats.prompt_tokens - stats.reused_tokens
        self._rate = stats.prompt_tok_s
        self.setFixedSize(CHART.width(), BAR + LEGEND)
        self.setFont(theme.small())
        self.setAccessibleName(tr("Prompt"))
        self.setAccessibleDescription("; ".join(self.legend))

    @property
    def legend(self) -> tuple[str, str]:
        reused, read = wording.number(self.reused), wording.number(self.read)
        if self._rate is None or not self.read:
            return tr("{count} reused", count=reused), tr("{count} read", count=read)
        return tr("{count} reused", count=reused), tr("{count} read at {rate}", count=read, rate=wording.rate(self._rate))

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = self._theme.colors
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        whole = QRectF(0, 0, CHART.width(), BAR)
        painter.setBrush(QColor(colors.track))
        painter.drawRoundedRect(whole, 4, 4)
        if self.reused:
            share = max(8.0, CHART.width() * self.reused / max(1, self.reused + self.read))
            painter.setBrush(QColor(colors.accent))
            painter.drawRoundedRect(QRectF(0, 0, share, BAR), 4, 4)
        _draw_legend(painter, self._theme, BAR, zip(self.legend, (colors.accent, colors.track), strict=True))
        painter.end()


def _draw_legend(painter: QPainter, theme: Theme, top: int, parts: Iterable[tuple[str, str]]) -> None:
    """Words, each after a square of its color."""
    x = 0
    for label, color in parts:
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(color))
        painter.drawRoundedRect(QRectF(x, top + 9, 9, 9), 2, 2)
        painter.setPen(QColor(theme.colors.secondary))
        painter.drawText(x + 14, top + 18, label)
        x += 14 + painter.fontMetrics().horizontalAdvance(label) + 18


class RoundsChart(QWidget):
    """A bar a round: as high as its verify was wide, filled as far as proposals were accepted. Of many rounds, some share a bar."""

    def __init__(self, theme: Theme, stats: Stats, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        rounds = len(stats.accepted_per_round)
        widths = stats.widths if len(stats.widths) == rounds else ()
        self.bars = shared(stats.accepted_per_round, widths, CHART.width() // 4)
        self.setFixedSize(CHART.width(), CHART.height() + LEGEND)
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        theme.set_font(self, SMALL)
        self.setAccessibleName(tr("Acceptance and width of each round"))
        self.setAccessibleDescription(
            tr(
                "{rounds} rounds; accepted {accepted_per_round} to {accepted_per_round_2}",
                rounds=rounds,
                accepted_per_round=min(stats.accepted_per_round, default=0),
                accepted_per_round_2=max(stats.accepted_per_round, default=0),
            )
        )

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = self._theme.colors
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        highest = max((max(accepted, proposed) for accepted, proposed in self.bars), default=1.0) or 1.0
        step = min(14.0, CHART.width() / max(1, len(self.bars)))
        gap = 1.0 if step < 6 else 2.0
        painter.setPen(Qt.PenStyle.NoPen)
        for number, (accepted, proposed) in enumerate(self.bars):
            for value, color in ((proposed, colors.track), (accepted, colors.accent)):
                height = CHART.height() * value / highest
                painter.setBrush(QColor(color))
                painter.drawRoundedRect(QRectF(number * step, CHART.height() - height, step - gap, height), 1.5, 1.5)
        painter.setPen(QPen(QColor(colors.line), 1))
        painter.drawLine(0, CHART.height(), CHART.width(), CHART.height())
        parts = ((tr("accepted"), colors.accent), (tr("proposed, at most {highest}", highest=f"{highest:.0f}"), colors.track))
        _draw_legend(painter, self._theme, CHART.height(), parts)
        painter.end()


def shared(accepted: tuple[int, ...], widths: tuple[int, ...], most: int) -> list[tuple[float, float]]:
    """Accepted and proposed tokens of each bar; more rounds than there is room for share bars, which show their means."""
    if not accepted:
        return []
    proposed = tuple(width - 1 for width in widths) or accepted
    each = -(-len(accepted) // most)
    bars = []
    for at in range(0, len(accepted), each):
        piece, room = accepted[at : at + each], proposed[at : at + each]
        bars.append((sum(piece) / len(piece), sum(room) / len(room)))
    return bars
