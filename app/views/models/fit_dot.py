"""The mark that shows at a glance whether a pair fits: a dot, a ring, or a cross."""

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPen

from app.widgets.theme import Theme
from mlx_engine.models.fit import FitVerdict

DOT = 8  # pixels
LINE = 2  # pixels, of a ring or a cross


def fit_color(verdict: FitVerdict, slow: bool) -> str:
    """Return the name of a fit's color, or an empty string if the fit is unknown."""
    names: dict[FitVerdict, str] = {"comfortable": "fits", "tight": "nearly", "will swap": "danger", "no": "danger", "unknown": ""}
    return "nearly" if slow and verdict in ("comfortable", "tight") else names[verdict]


def draw_dot(painter: QPainter, theme: Theme, color: str, left: float, middle: float) -> None:
    """Draw the mark of a fit, unless the color is empty.

    Its shape says the same as its color: a dot for a pair that fits, a ring for a tight or slow one, and a cross for the rest.
    """
    if not color:
        return
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    shade, center = QColor(getattr(theme.colors, color)), QPointF(left + DOT / 2, middle)
    if color == "fits":
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(shade)
        painter.drawEllipse(center, DOT / 2, DOT / 2)
    else:
        painter.setPen(QPen(shade, LINE, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
        painter.setBrush(Qt.BrushStyle.NoBrush)
        reach = (DOT - LINE) / 2
        if color == "nearly":
            painter.drawEllipse(center, reach, reach)
        else:
            for across in (QPointF(reach, reach), QPointF(reach, -reach)):
                painter.drawLine(center - across, center + across)
    painter.restore()
