"""A soft edge where scrolled content is cut off."""

from PySide6.QtCore import QEvent, QObject, Qt, Slot
from PySide6.QtGui import QColor, QLinearGradient, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractScrollArea, QWidget

from app.widgets.theme import Theme

HEIGHT = 20  # at the default text size


class SoftEdge(QWidget):
    """A gradient at the bottom of a scroll area, shown while there is more below.

    Args:
        area: the scroll area.
        ground: the name of its background color.
    """

    def __init__(self, theme: Theme, area: QAbstractScrollArea, ground: str = "window") -> None:
        super().__init__(area)
        self._theme, self._area, self._ground = theme, area, ground
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        area.viewport().installEventFilter(self)
        bar = area.verticalScrollBar()
        for signal in (bar.valueChanged, bar.rangeChanged, theme.text_resized):
            signal.connect(self.place)
        theme.changed.connect(self.update)
        self.place()

    @Slot()
    def place(self) -> None:
        bar, seen, height = self._area.verticalScrollBar(), self._area.viewport().geometry(), self._theme.scaled(HEIGHT)
        self.setGeometry(seen.x(), seen.bottom() + 1 - height, seen.width(), height)
        self.setVisible(bar.value() < bar.maximum())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self.place()
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        color = QColor(getattr(self._theme.colors, self._ground))
        fade = QLinearGradient(0, 0, 0, self.height())
        fade.setColorAt(1, color)
        color.setAlpha(0)
        fade.setColorAt(0, color)
        painter = QPainter(self)
        painter.fillRect(self.rect(), fade)
        painter.end()
