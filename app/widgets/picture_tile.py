"""A picture that opens when it is clicked."""

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QEnterEvent, QImage, QKeyEvent, QPainter, QPainterPath, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QSizePolicy, QWidget

from app.text.language import tr
from app.widgets.controls import as_tooltip, draw_icon
from app.widgets.picture_loader import Result, Shown, fitted
from app.widgets.theme import SMALL, Theme

THUMBNAIL = QSize(360, 270)  # in which all pictures are decoded, at the default text size
LEAST = 40  # pixels of a side, so that a thin picture can be clicked
MESSAGE = QSize(200, 76)  # of a tile without a picture
RADIUS = 9


def thumbnail_room(widget: QWidget, theme: Theme, least: QSize = THUMBNAIL) -> QSize:
    """Return the size in device pixels in which a picture is decoded for a widget.

    It is the same for most.
    """
    room = THUMBNAIL.expandedTo(least)
    return QSize(theme.scaled(room.width()), theme.scaled(room.height())) * widget.devicePixelRatioF()


class PictureTile(QAbstractButton):
    """A picture of a known size. Click, Space, or Return emits `clicked`.

    Args:
        bound: the largest size, at the default text size.
        square: whether to fill `bound` and cut off the rest.
    """

    def __init__(self, theme: Theme, shown: Shown, bound: QSize = THUMBNAIL, square: bool = False, parent: QWidget | None = None):
        super().__init__(parent)
        self._theme, self.shown, self._bound, self._square = theme, shown, bound, square
        self._drawn = QSize(shown.width, shown.height)  # empty until a picture of unknown size is decoded
        self.setAccessibleName(shown.alt_text)
        self.setToolTip(as_tooltip("\n".join(filter(None, (shown.name, shown.facts)))))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        policy = QSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        theme.set_font(self, SMALL)
        theme.changed.connect(self.update)
        theme.text_resized.connect(self.updateGeometry)
        theme.pictures.decoded.connect(self._update)
        self._learn_size()

    # Size

    @property
    def _room(self) -> QSize:
        return QSize(self._theme.scaled(self._bound.width()), self._theme.scaled(self._bound.height()))

    def sizeHint(self) -> QSize:
        if self._square:
            return self._room
        if self.shown.is_lost:
            return MESSAGE.boundedTo(self._room)
        if self._drawn.isEmpty():
            return self._room
        return fitted(self._drawn.width(), self._drawn.height(), self._room).expandedTo(QSize(LEAST, LEAST))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint() if self._square else QSize(LEAST, LEAST)

    def hasHeightForWidth(self) -> bool:
        return not self._square

    def heightForWidth(self, width: int) -> int:
        hint = self.sizeHint()
        return hint.height() if width >= hint.width() else max(LEAST, round(hint.height() * width / hint.width()))

    # Appearance

    @Slot(object)
    def _update(self, key: object) -> None:
        if key == self.shown.key:
            self._learn_size()
            self.update()

    def _learn_size(self) -> None:
        """Learn a size that is unknown before decoding."""
        if self._drawn.isEmpty() and not self.shown.is_lost and isinstance(found := self._picture, QImage):
            self._drawn = found.size()
            self.updateGeometry()

    @property
    def _picture(self) -> Result | None:
        return self._theme.pictures.get(self.shown, thumbnail_room(self, self._theme, self._bound))

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = self._theme.colors
        found = None if self.shown.is_lost else self._picture
        painter = QPainter(self)
        painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.SmoothPixmapTransform)
        area = QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5)
        radius = RADIUS if not self._square else RADIUS - 2
        outline = QPainterPath()
        outline.addRoundedRect(area, radius, radius)
        painter.fillPath(outline, QColor(colors.bubble))
        painter.save()
        painter.setClipPath(outline)
        if isinstance(found, QImage):
            painter.drawImage(area, found, _part(found, area))
        elif self._square or (found is None and not self.shown.is_lost):
            side = self._theme.scaled(18)
            painter.translate(area.center() - QPointF(side / 2, side / 2))
            draw_icon(painter, "picture", QColor(colors.faint), side)
        else:
            painter.setPen(QColor(colors.secondary))
            message = tr("“{name}” is missing", name=self.shown.name) if self.shown.is_lost else str(found)
            painter.drawText(area.adjusted(10, 6, -10, -6), Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, message)
        painter.restore()
        painter.setBrush(QColor(0, 0, 0, 20) if self.isDown() else Qt.BrushStyle.NoBrush)
        focused = self.hasFocus()
        edge = QRectF(self.rect()).adjusted(1, 1, -1, -1) if focused else area
        line = colors.accent if focused else colors.faint if self.underMouse() else colors.line
        painter.setPen(QPen(QColor(line), 2 if focused else 1))
        painter.drawRoundedRect(edge, radius, radius)
        painter.end()

    # Input

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)


def _part(image: QImage, area: QRectF) -> QRectF:
    """Return the middle part of a picture that fills a tile.

    It is the whole picture, unless it is thin or the tile is square.
    """
    scale = min(image.width() / area.width(), image.height() / area.height())
    part = QRectF(0, 0, area.width() * scale, area.height() * scale)
    part.moveCenter(QRectF(image.rect()).center())
    return part
