"""Small buttons with a vector icon."""

from functools import lru_cache

from PySide6.QtCore import QByteArray, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.widgets.label import as_tooltip
from app.widgets.theme import Theme

SIDE = 30
ICON_SIZE = 18  # side of the square that icons are drawn in

# SVG elements in a square of side `ICON_SIZE`
ICONS = {
    "sidebar": '<rect x="2" y="3" width="14" height="12" rx="2.5"/><path d="M7 3V15"/>',
    "new": '<path d="M9 4H5L3.5 5.5V13L5 14.5H12.5L14 13V9M7.5 10.5L8 8.5L13.5 3L15 4.5L9.5 10Z"/>',
    "sliders": '<path d="M2.5 5H9.7M13.3 5H15.5M2.5 9H4.7M8.3 9H15.5M2.5 13H10.7M14.3 13H15.5"/>'
    '<circle cx="11.5" cy="5" r="1.8"/><circle cx="6.5" cy="9" r="1.8"/><circle cx="12.5" cy="13" r="1.8"/>',
    "folder": '<path d="M2.5 6V4.5L3.3 3.8H6.5L8.2 5.6H14.7L15.5 6.4V13.2L14.7 14H3.3L2.5 13.2Z"/>',
    "pin": '<path d="M6.2 3H11.8L11 4.2V7.5L13 10.2H5L7 7.5V4.2ZM9 10.2V15"/>',
    "opened": '<path d="M5.5 7.5L9 11L12.5 7.5"/>',
    "closed": '<path d="M7.5 5.5L11 9L7.5 12.5"/>',
    "search": '<circle cx="8" cy="8" r="4.5"/><path d="M11.3 11.3L14.5 14.5"/>',
    "close": '<path d="M5.5 5.5L12.5 12.5M12.5 5.5L5.5 12.5"/>',
    "clip": '<path d="M13.5 7.5L8 13L5.6 13.4L4.3 12.1L4.7 9.7L10.6 3.8L12.2 3.5L13.6 4.9'
    'L13.3 6.5L8 11.8L6.8 11.9L6.4 11.2L6.7 10.3L11 6"/>',
}


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
    _renderer(icon, color.name()).render(painter, QRectF(0, 0, ICON_SIZE, ICON_SIZE))


@lru_cache
def _renderer(icon: str, color: str) -> QSvgRenderer:
    style = f'fill="none" stroke="{color}" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round"'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {ICON_SIZE} {ICON_SIZE}" {style}>{ICONS[icon]}</svg>'
    return QSvgRenderer(QByteArray(svg.encode()))
