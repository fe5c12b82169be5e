"""The roofline chart: operations per second against operations per byte."""

from math import floor, log10

from PySide6.QtCore import QPointF, QRectF, Qt, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen, QPolygonF
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.conversations.wording import percent
from app.language import figures, tr
from app.widgets.theme import Theme
from mlx_engine.events import Phase, Roofline

HEIGHT = 220
LEFT, RIGHT, TOP, BOTTOM = 90, 16, 14, 40
UNITS = ((1e12, "TFLOP/s"), (1e9, "GFLOP/s"), (1e6, "MFLOP/s"), (1.0, "FLOP/s"))


class RooflineChart(QWidget):
    """A dot is a measured pass, and the dotted line above it ends at its limit."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._found: Roofline | None = None
        self._names: dict[str, str] = {}
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("Roofline of this computer"))
        self.setFont(theme.small())
        theme.changed.connect(self._redraw)

    def show_roofline(self, found: Roofline | None, names: dict[str, str]) -> None:
        """Draw a roofline, with the names of its phases."""
        self._found, self._names = found, names
        if found is not None:
            shares = [
                tr("{phase}: {share} of the limit", phase=names[phase.name], share=percent(found.reached(phase)))
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
        if self._found is None or not self._found.phases:
            return
        colors, found = self._theme.colors, self._found
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        scale = _Scale(found, QRectF(LEFT, TOP, self.width() - LEFT - RIGHT, self.height() - TOP - BOTTOM))
        self._draw_grid(painter, scale)
        ridge = min(max(found.facts.compute / found.facts.bandwidth, scale.min_intensity), scale.max_intensity)
        roof = [
            scale.point(intensity, min(found.facts.compute, intensity * found.facts.bandwidth))
            for intensity in (scale.min_intensity, ridge, scale.max_intensity)
        ]
        painter.setPen(QPen(QColor(colors.secondary), 2))
        painter.drawPolyline(QPolygonF(roof))
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
        """Draw a name next to its dot, moved down if another name is in the way."""
        name, metrics = self._names[phase.name], painter.fontMetrics()
        width, height = metrics.horizontalAdvance(name) + 2, metrics.height()
        left = at.x() + 10 if at.x() + 10 + width < self.width() - RIGHT else at.x() - 10 - width
        area = QRectF(left, at.y() + 1, width, height)
        while any(area.intersects(other) for other in taken) and area.bottom() + height < self.height() - BOTTOM:
            area.translate(0, height)
        taken.append(area)
        painter.setPen(QColor(self._theme.colors.text))
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, name)

    def _draw_grid(self, painter: QPainter, scale: "_Scale") -> None:
        colors, area = self._theme.colors, scale.area
        metrics = painter.fontMetrics()
        for power in range(floor(log10(scale.min_rate)), floor(log10(scale.max_rate)) + 1):
            rate = 10.0**power
            y = scale.point(scale.min_intensity, rate).y()
            if area.top() <= y <= area.bottom():
                painter.setPen(QPen(QColor(colors.line), 1))
                painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))
                painter.setPen(QColor(colors.faint))
                label = QRectF(0, y - metrics.height() / 2, LEFT - 8, metrics.height())
                painter.drawText(label, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, _rate(rate))
        painter.setPen(QColor(colors.faint))
        for power in range(floor(log10(scale.min_intensity)), floor(log10(scale.max_intensity)) + 1):
            x = scale.point(10.0**power, scale.min_rate).x()
            if area.left() <= x <= area.right():
                text = figures(10.0**power, 6)
                painter.drawText(QPointF(x - metrics.horizontalAdvance(text) / 2, area.bottom() + metrics.ascent() + 4), text)
        title = QRectF(area.left(), self.height() - metrics.height() - 2, area.width(), metrics.height())
        painter.drawText(title, Qt.AlignmentFlag.AlignRight, tr("operations per byte read"))


class _Scale:
    """Maps intensity (operations per byte) and rate (operations per second) to pixels."""

    def __init__(self, found: Roofline, area: QRectF) -> None:
        self.area = area
        intensities = [phase.operations / phase.bytes for phase in found.phases]
        self.min_intensity = min(intensities) / 3
        self.max_intensity = max(*intensities, found.facts.compute / found.facts.bandwidth) * 3
        rates = [phase.operations / phase.seconds for phase in found.phases]
        self.min_rate = min(*rates, found.facts.compute, self.min_intensity * found.facts.bandwidth) / 1.5
        self.max_rate = max(*rates, found.facts.compute) * 2

    def point(self, intensity: float, rate: float) -> QPointF:
        x = log10(intensity / self.min_intensity) / log10(self.max_intensity / self.min_intensity)
        y = log10(rate / self.min_rate) / log10(self.max_rate / self.min_rate)
        return QPointF(self.area.left() + x * self.area.width(), self.area.bottom() - y * self.area.height())


def _rate(value: float) -> str:
    unit, name = next(each for each in UNITS if value >= each[0] or each[0] == 1.0)
    return f"{value / unit:g} {name}"
