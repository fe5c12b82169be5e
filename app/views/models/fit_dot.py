"""The dot that shows at a glance whether a pair fits."""

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QPainter

from app.widgets.theme import Theme
from mlx_engine.models.fit import FitVerdict

DOT = 8  # pixels


def fit_color(verdict: FitVerdict, slow: bool) -> str:
    """Return the name of a fit's color, or an empty string if the fit is unknown."""
    names: dict[FitVerdict, str] = {"comfortable": "fits", "tight": "nearly", "will swap": "danger", "no": "danger", "unknown": ""}
    return "nearly" if slow and verdict in ("comfortable", "tight") else names[verdict]


def draw_dot(painter: QPainter, theme: Theme, color: str, left: float, middle: float) -> None:
    """Draw the dot of a fit, unless the color is empty."""
    if color:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(getattr(theme.colors, color)))
        painter.drawEllipse(QPointF(left + DOT / 2, middle), DOT / 2, DOT / 2)
