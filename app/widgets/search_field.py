"""A search field with a magnifying glass."""

from PySide6.QtCore import QPointF, Signal
from PySide6.QtGui import QColor, QKeyEvent, QPainter, QPaintEvent, Qt
from PySide6.QtWidgets import QLineEdit

from app.widgets.icon_button import ICON_SIZE, draw_icon
from app.widgets.theme import Theme, set_look


class SearchField(QLineEdit):
    """The Down key leads to the results."""

    down_pressed = Signal()

    def __init__(self, theme: Theme, placeholder: str, name: str) -> None:
        super().__init__()
        self._theme = theme
        set_look(self, "search")
        self.setPlaceholderText(placeholder)
        self.setAccessibleName(name)
        self.setClearButtonEnabled(True)
        theme.changed.connect(self.update)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Down:
            self.down_pressed.emit()
        else:
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self)
        painter.translate(QPointF(5, (self.height() - ICON_SIZE) / 2))
        draw_icon(painter, "search", QColor(self._theme.colors.faint))
        painter.end()
