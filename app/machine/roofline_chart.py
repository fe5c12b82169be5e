"""The roofline: how many operations a second a pass could do at most, by how much it computes on every byte it reads."""

from math import floor, log10

from PySide6.QtCore import QPointF, QRectF, Qt, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.language import figures, tr
from app.widgets.theme import Theme
from mlx_engine.events import Phase, Roofline

HEIGHT = 220
LEFT, RIGHT, TOP, BOTTOM = 90, 16, 14, 40
UNITS = ((1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s"), (1.0, "FLOP/s"))


class RooflineChart(QWidget):
    """Both scales are logarithmic. A dot is a pass as measured; the thin line above it leads to what it could reach."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.found: Roofline | None = None
        self.names: dict[str, str] = {}
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("Roofline of this machine"))
        self.setFont(theme.small())
        theme.changed.connect(self._redraw)

    def show_roofline(self, found: Roofline | None, names: dict[str, str]) -> None:
        """Draw this one, with words for its passes."""
        self.found, self.names = found, names
        if found is not None:
            shares = [
                tr("{phase}: {share} of the possible", phase=names[phase.name], share=f"{found.reached(phase):.0%}")
                for phase in found.phases
            ]
            self.setAccessibleDescription(", ".join(shares))
        self.setVisible(found is not None and bool(found.phases))
        self.update()

    @Slot()
    def _redraw(self) -> None:
        self.setFont(self._theme.small())
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.found is None or not self.found.phases:
            return
        colors, found = self._theme.colors, self.found
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        scale = _Scale(found, QRectF(LEFT, TOP, self.width() - LEFT - RIGHT, self.height() - TOP - BOTTOM))
        self._draw_grid(painter, scale)
        ridge = found.facts.compute / found.facts.bandwidth
        corner = min(max(ridge, scale.least), scale.most)
        roof = [(at, min(found.facts.compute, at * found.facts.bandwidth)) for at in (scale.least, corner, scale.most)]
        painter.setPen(QPen(QColor(colors.secondary), 2))
        painter.drawPolyline(QPolygonF([scale.point(*each) for each in roof]))
        taken: list[QRectF] = []
        for phase in found.phases:
            intensity = phase.operations / phase.bytes
            at = scale.point(intensity, phase.operations / phase.seconds)
            painter.setPen(QPen(QColor(colors.accent), 1, Qt.PenStyle.DotLine))
            painter.drawLine(at, scale.point(intensity, phase.operations / found.floor_s(phase)))
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colors.accent))
            painter.drawEllipse(at, 5, 5)
            self._draw_name(painter, at, phase, taken)
        painter.end()

    def _draw_name(self, painter: QPainter, at: QPointF, phase: Phase, taken: list[QRectF]) -> None:
        """Beside its dot and a little lower, under the roof, where no other name stands."""
        name, metrics = self.names[phase.name], painter.fontMetrics()
        wide, high = metrics.horizontalAdvance(name) + 2, metrics.height()
        left = at.x() + 10 if at.x() + 10 + wide < self.width() - RIGHT else at.x() - 10 - wide
        area = QRectF(left, at.y() + 1, wide, high)
        while any(area.intersects(other) for other in taken) and area.bottom() + high < self.height() - BOTTOM:
            area.translate(0, high)
        taken.append(area)
        painter.setPen(QColor(self._theme.colors.text))
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, name)

    def _draw_grid(self, painter: QPainter, scale: "_Scale") -> None:
        colors, area = self._theme.colors, scale.area
        metrics = painter.fontMetrics()
        for power in range(floor(log10(scale.lowest)), floor(log10(scale.highest)) + 1):
            value = 10.0**power
            y = scale.point(scale.least, value).y()
            if not area.top() <= y <= area.bottom():
                continue
            painter.setPen(QPen(QColor(colors.line), 1))
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
            painter.setPen(QColor(colors.faint))
            label = QRectF(0, y - metrics.height() / 2, LEFT - 8, metrics.height())
            painter.drawText(label, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, _rate(value))
        painter.setPen(QColor(colors.faint))
        for power in range(floor(log10(scale.least)), floor(log10(scale.most)) + 1):
            x = scale.point(10.0**power, scale.lowest).x()
            if area.left() <= x <= area.right():
                word = figures(10.0**power, 6)
                painter.drawText(QPointF(x - metrics.horizontalAdvance(word) / 2, area.bottom() + metrics.ascent() + 4), word)
        foot = QRectF(area.left(), self.height() - metrics.height() - 2, area.width(), metrics.height())
        painter.drawText(foot, Qt.AlignmentFlag.AlignRight, tr("operations on every byte that is read"))


class _Scale:
    """Where a pass stands in the chart."""

    def __init__(self, found: Roofline, area: QRectF) -> None:
        self.area = area
        intensities = [phase.operations / phase.bytes for phase in found.phases]
        self.least, self.most = min(intensities) / 3, max(*intensities, found.facts.compute / found.facts.bandwidth) * 3
        rates = [phase.operations / phase.seconds for phase in found.phases]
        roof = min(found.facts.compute, self.least * found.facts.bandwidth)
        self.lowest = min(*rates, roof) / 1.5
        self.highest = max(*rates, found.facts.compute) * 2

    def point(self, intensity: float, rate: float) -> QPointF:
        x = log10(intensity / self.least) / log10(self.most / self.least)
        y = log10(rate / self.lowest) / log10(self.highest / self.lowest)
        return QPointF(self.area.left() + x * self.area.width(), self.area.bottom() - y * self.area.height())


def _rate(value: float) -> str:
    unit, name = next(each for each in UNITS if value >= each[0] or each[0] == 1.0)
    return f"{value / unit:g} {name}"
