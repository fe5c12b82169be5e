"""A thin progress bar."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QProgressBar, QWidget

from app.widgets.theme import Theme

HEIGHT = 6
STEPS = 1000


class ThinBar(QProgressBar):
    """Shows a fraction from 0 to 1; an unknown fraction (None) shows as empty."""

    def __init__(self, theme: Theme, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setRange(0, STEPS)
        self.setTextVisible(False)
        self.setFixedHeight(HEIGHT)
        self.setAccessibleName(name)
        theme.changed.connect(self._set_colors)
        self._set_colors()

    def show_fraction(self, fraction: float | None) -> None:
        self.setValue(round(STEPS * (fraction or 0.0)))

    @Slot()
    def _set_colors(self) -> None:
        colors, radius = self._theme.colors, HEIGHT // 2
        self.setStyleSheet(
            f"QProgressBar {{ background: {colors.bubble}; border: none; border-radius: {radius}px; }}"
            f"QProgressBar::chunk {{ background: {colors.accent}; border-radius: {radius}px; }}"
        )
