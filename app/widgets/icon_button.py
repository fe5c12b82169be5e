"""Small buttons with a vector icon."""

from collections.abc import Callable

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.widgets.label import as_tooltip
from app.widgets.theme import Theme

SIDE = 30
ICON_SIZE = 18  # side of the square that icons are drawn in


class IconButton(QAbstractButton):
    """`icon` is one of `ICONS`. `name` is for screen readers and the tooltip."""

    def __init__(self, theme: Theme, icon: str, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._icon = icon
        self.setAccessibleName(name)
        self.setToolTip(as_tooltip(name))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        theme.changed.connect(self.update)

    def sizeHint(self) -> QSize:
        return QSize(SIDE, SIDE)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = self._theme.colors
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        hovered = self.isEnabled() and (self.underMouse() or self.isDown())
        if hovered or self.hasFocus():
            painter.setPen(QPen(QColor(colors.accent), 1.5) if self.hasFocus() else Qt.PenStyle.NoPen)
            painter.setBrush(QColor(colors.hover) if hovered else Qt.BrushStyle.NoBrush)
            painter.drawRoundedRect(area, 7, 7)
        color = QColor(colors.text if hovered else colors.secondary if self.isEnabled() else colors.faint)
        painter.translate(area.center() - QPointF(ICON_SIZE / 2, ICON_SIZE / 2))
        draw_icon(painter, self._icon, color)
        painter.end()


def draw_icon(painter: QPainter, icon: str, color: QColor) -> None:
    """Draw an icon in the square of side `ICON_SIZE` at the painter's origin."""
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(QPen(color, 1.5, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin))
    painter.setBrush(Qt.BrushStyle.NoBrush)
    ICONS[icon](painter)


def _points(*pairs: tuple[float, float]) -> list[QPointF]:
    return [QPointF(x, y) for x, y in pairs]


def _sidebar(painter: QPainter) -> None:
    painter.drawRoundedRect(QRectF(2, 3, 14, 12), 2.5, 2.5)
    painter.drawLine(QPointF(7, 3), QPointF(7, 15))


def _new(painter: QPainter) -> None:
    painter.drawPolyline(_points((9, 4), (5, 4), (3.5, 5.5), (3.5, 13), (5, 14.5), (12.5, 14.5), (14, 13), (14, 9)))
    painter.drawPolyline(_points((7.5, 10.5), (8, 8.5), (13.5, 3), (15, 4.5), (9.5, 10), (7.5, 10.5)))


def _sliders(painter: QPainter) -> None:
    for y, knob in ((5, 11.5), (9, 6.5), (13, 12.5)):
        painter.drawLine(QPointF(2.5, y), QPointF(knob - 1.8, y))
        painter.drawLine(QPointF(knob + 1.8, y), QPointF(15.5, y))
        painter.drawEllipse(QPointF(knob, y), 1.8, 1.8)


def _folder(painter: QPainter) -> None:
    painter.drawPolyline(
        _points((2.5, 6), (2.5, 4.5), (3.3, 3.8), (6.5, 3.8), (8.2, 5.6), (14.7, 5.6), (15.5, 6.4), (15.5, 13.2), (14.7, 14))
        + _points((3.3, 14), (2.5, 13.2), (2.5, 6))
    )


def _pin(painter: QPainter) -> None:
    painter.drawPolyline(_points((6.2, 3), (11.8, 3), (11, 4.2), (11, 7.5), (13, 10.2), (5, 10.2), (7, 7.5), (7, 4.2), (6.2, 3)))
    painter.drawLine(QPointF(9, 10.2), QPointF(9, 15))


def _opened(painter: QPainter) -> None:
    painter.drawPolyline(_points((5.5, 7.5), (9, 11), (12.5, 7.5)))


def _closed(painter: QPainter) -> None:
    painter.drawPolyline(_points((7.5, 5.5), (11, 9), (7.5, 12.5)))


def _search(painter: QPainter) -> None:
    painter.drawEllipse(QPointF(8, 8), 4.5, 4.5)
    painter.drawLine(QPointF(11.3, 11.3), QPointF(14.5, 14.5))


def _close(painter: QPainter) -> None:
    painter.drawLine(QPointF(5.5, 5.5), QPointF(12.5, 12.5))
    painter.drawLine(QPointF(12.5, 5.5), QPointF(5.5, 12.5))


def _clip(painter: QPainter) -> None:
    painter.drawPolyline(_points((13.5, 7.5), (8, 13), (5.6, 13.4), (4.3, 12.1), (4.7, 9.7), (10.6, 3.8), (12.2, 3.5)))
    painter.drawPolyline(_points((12.2, 3.5), (13.6, 4.9), (13.3, 6.5), (8, 11.8), (6.8, 11.9), (6.4, 11.2), (6.7, 10.3), (11, 6)))


ICONS: dict[str, Callable[[QPainter], None]] = {
    "sidebar": _sidebar,
    "new": _new,
    "sliders": _sliders,
    "folder": _folder,
    "pin": _pin,
    "opened": _opened,
    "closed": _closed,
    "search": _search,
    "close": _close,
    "clip": _clip,
}
