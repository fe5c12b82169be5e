"""The button next to a message field, which sends or stops."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton

from app.text.language import tr
from app.widgets.theme import Theme

SIDE = 34  # pixels at the default text size


class SendButton(QAbstractButton):
    """A round button: an arrow for Send or a square for Stop."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._shape = ""
        self._ready = False  # whether pressing the button has an effect
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        theme.changed.connect(self.update)
        theme.text_resized.connect(self.updateGeometry)

    def show_as(self, shape: str, ready: bool) -> None:
        name = tr("Stop") if shape == "stop" else tr("Send")
        self.setAccessibleName(name)
        self.setToolTip(tr("Stop (Esc)") if shape == "stop" else tr("Send (Return)"))
        self._shape, self._ready = shape, ready
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(1, 1) * self._theme.scaled(SIDE)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = self._theme.colors
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        scale = self.width() / SIDE
        painter.scale(scale, scale)
        area = QRectF(0, 0, SIDE, SIDE)
        ground = colors.accent if self._ready else colors.track
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(ground))
        painter.drawEllipse(area.adjusted(1, 1, -1, -1))
        front = QColor(colors.on_accent if self._ready else colors.window)
        center = area.center()
        if self._shape == "stop":
            painter.setBrush(front)
            painter.drawRoundedRect(QRectF(center.x() - 5, center.y() - 5, 10, 10), 2, 2)
        else:
            painter.setPen(QPen(front, 2.2, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin))
            x, y = center.x(), center.y()
            painter.drawLine(QPointF(x, y + 6), QPointF(x, y - 6))
            painter.drawPolyline([QPointF(x - 5, y - 1), QPointF(x, y - 6), QPointF(x + 5, y - 1)])
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QPen(QColor(colors.text), 1))
            painter.drawEllipse(area.adjusted(0.5, 0.5, -0.5, -0.5))
        painter.end()
