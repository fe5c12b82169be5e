"""A switch, which is on or off."""

from PySide6.QtCore import QEasingCurve, QRectF, QSize, Qt, QVariantAnimation, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.widgets.theme import SMALL, Theme

TRACK, QUIET_TRACK, GAP = QSize(32, 18), QSize(24, 14), 8  # at the default text size
SLIDE_MS = 120


class Switch(QAbstractButton):
    """A switch whose knob position and color show its state.

    Args:
        quiet: whether it is small, because other things matter more.
    """

    def __init__(self, theme: Theme, label: str, parent: QWidget | None = None, *, quiet: bool = False) -> None:
        super().__init__(parent)
        self._theme, self._quiet = theme, quiet
        self.setText(label)
        self.setAccessibleName(label)
        self.setCheckable(True)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        theme.set_font(self, SMALL)
        theme.changed.connect(self.update)
        self._slide = QVariantAnimation(self)
        self._slide.setDuration(SLIDE_MS)
        self._slide.setEasingCurve(QEasingCurve.Type.OutCubic)
        self._slide.valueChanged.connect(self.update)
        self.toggled.connect(self._move)

    @Slot(bool)
    def _move(self, checked: bool) -> None:
        self._slide.stop()
        if self._theme.animates and self.isVisible():
            self._slide.setStartValue(0.0 if checked else 1.0)
            self._slide.setEndValue(1.0 if checked else 0.0)
            self._slide.start()
        self.update()

    @property
    def _position(self) -> float:
        """The knob's position, from 0 (off) to 1 (on)."""
        if self._slide.state() == QVariantAnimation.State.Running:
            return float(self._slide.currentValue())
        return 1.0 if self.isChecked() else 0.0

    @property
    def _track(self) -> tuple[int, int]:
        """The width and height of the track."""
        size = QUIET_TRACK if self._quiet else TRACK
        return self._theme.scaled(size.width()), self._theme.scaled(size.height())

    def sizeHint(self) -> QSize:
        metrics, (width, height) = self.fontMetrics(), self._track
        return QSize(width + GAP + metrics.horizontalAdvance(self.text()) + 4, max(height, metrics.height()) + 8)

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = self._theme.colors
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if not self.isEnabled():
            painter.setOpacity(0.5)
        width, height = self._track
        text_area = self.rect().adjusted(2, 0, -width - GAP, 0)
        stands_out = self.underMouse() if self._quiet else self.isChecked()
        painter.setPen(QColor(colors.text if stands_out else colors.secondary))
        painter.drawText(text_area, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self.text())
        track = QRectF(self.width() - width - 2, (self.height() - height) / 2, width, height)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colors.accent if self.isChecked() else colors.track))
        painter.drawRoundedRect(track, height / 2, height / 2)
        size = height - 4
        left = track.left() + 2 + self._position * (track.width() - size - 4)
        painter.setBrush(QColor(colors.knob))
        painter.drawEllipse(QRectF(left, track.top() + 2, size, size))
        if self.hasFocus():
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.setPen(QColor(colors.accent))
            painter.drawRoundedRect(track.adjusted(-1.5, -1.5, 1.5, 1.5), height / 2 + 1.5, height / 2 + 1.5)
        painter.end()
