"""The buttons next to a message field: Send and Stop."""

from typing import Literal

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.text.language import tr
from app.widgets.layout import row
from app.widgets.theme import Theme

SIDE = 34  # pixels at the default text size


class SendButton(QAbstractButton):
    """A round button: an arrow for Send or a square for Stop."""

    def __init__(self, theme: Theme, shape: Literal["send", "stop"]) -> None:
        super().__init__()
        self._theme, self._shape = theme, shape
        self._ready = shape == "stop"  # whether pressing the button has an effect
        self.setAccessibleName(tr("Stop") if shape == "stop" else tr("Send"))
        self.setToolTip(tr("Stop (Esc)") if shape == "stop" else tr("Send (Return)"))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        theme.changed.connect(self.update)
        theme.text_resized.connect(self.updateGeometry)

    def set_ready(self, ready: bool) -> None:
        self._ready = ready
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


class SendButtons(QWidget):
    """Stop and Send. During a reply, Send is shown only if there is a message to send."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self.stop, self.send = SendButton(theme, "stop"), SendButton(theme, "send")
        self.stop.hide()
        row(self.stop, self.send, parent=self)

    def show_state(self, running: bool, sendable: bool) -> None:
        """Show one button or both. The other one gets the focus of one that is hidden."""
        for shown, other, visible in ((self.send, self.stop, sendable or not running), (self.stop, self.send, running)):
            if not visible and shown.hasFocus():
                other.show()
                other.setFocus()
            shown.setVisible(visible)
