"""A thin bar for progress and shares."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QProgressBar

from app.widgets.theme import Theme

HEIGHT = 6
STEPS = 1000


class ThinBar(QProgressBar):
    """Shows a fraction from 0 to 1. None is empty, and more than 1 is full."""

    def __init__(self, theme: Theme, name: str, color: str = "accent") -> None:
        super().__init__()
        self._theme, self.color = theme, color
        self.fraction: float | None = None
        self.setRange(0, STEPS)
        self.setFixedHeight(HEIGHT)
        self.setMinimumWidth(60)
        self.setAccessibleName(name)
        theme.changed.connect(self.update)

    def show_fraction(self, fraction: float | None) -> None:
        self.fraction = fraction
        self.setValue(round(STEPS * min(fraction or 0.0, 1.0)))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.colors.bubble))
        painter.drawRoundedRect(QRectF(self.rect()), HEIGHT / 2, HEIGHT / 2)
        if self.value() > 0:
            painter.setBrush(QColor(getattr(self._theme.colors, self.color)))
            width = max(HEIGHT, self.width() * self.value() / STEPS)
            painter.drawRoundedRect(QRectF(0, 0, width, HEIGHT), HEIGHT / 2, HEIGHT / 2)
        painter.end()
