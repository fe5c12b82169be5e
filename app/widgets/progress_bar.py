"""A thin bar, as they look everywhere."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QProgressBar, QWidget

from app.widgets.theme import Theme

HEIGHT = 6
STEPS = 1000


class ThinBar(QProgressBar):
    """Filled by a fraction from 0 to 1; None: how far is not known."""

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setRange(0, STEPS)
        self.setTextVisible(False)
        self.setFixedHeight(HEIGHT)
        self.setAccessibleName(name)
        theme.changed.connect(self._color)
        self._color()

    def show_fraction(self, fraction: float | None) -> None:
        self.setValue(round(STEPS * (fraction or 0.0)))

    @Slot()
    def _color(self) -> None:
        colors = self._theme.colors
        self.setStyleSheet(
            f"QProgressBar {{ background: {colors.bubble}; border: none; border-radius: {HEIGHT // 2}px; }}"
            f"QProgressBar::chunk {{ background: {colors.accent}; border-radius: {HEIGHT // 2}px; }}"
        )
