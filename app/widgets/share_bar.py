"""A horizontal bar that shows a share."""

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.language import tr
from app.widgets.theme import Theme

HEIGHT = 8


class ShareBar(QWidget):
    """Filled by a share from 0 to 1; empty for None. A larger share fills it too."""

    def __init__(self, theme: Theme, name: str, color: str = "accent") -> None:
        super().__init__()
        self._theme, self._color = theme, color
        self.share: float | None = None
        self.setFixedHeight(HEIGHT)
        self.setMinimumWidth(60)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(name)
        self.setAccessibleDescription(tr("not measured"))
        theme.changed.connect(self.update)

    def show_share(self, share: float | None) -> None:
        if share != self.share:
            self.share = share
            self.setAccessibleDescription(tr("not measured") if share is None else f"{share:.0%}")
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(self._theme.colors.bubble))
        painter.drawRoundedRect(QRectF(self.rect()), HEIGHT / 2, HEIGHT / 2)
        if self.share:
            painter.setBrush(QColor(getattr(self._theme.colors, self._color)))
            width = max(HEIGHT, self.width() * min(self.share, 1.0))
            painter.drawRoundedRect(QRectF(0, 0, width, HEIGHT), HEIGHT / 2, HEIGHT / 2)
        painter.end()
