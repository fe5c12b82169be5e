"""The switch of the composer that lets the model think."""

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen

from app.session.chat_session import ChatSession
from app.session.commands import Commands
from app.session.pair_session import PairLoader
from app.text.language import tr
from app.widgets.controls import ICON_SIZE, IconButton, as_tooltip, draw_icon
from app.widgets.theme import SMALL, Theme

EDGE, GAP = 8, 5  # pixels before the icon and after the name, and between them
INSET = 2  # pixels above and below the pill


class ThinkingButton(IconButton):
    """An icon that becomes a pill with a name while thinking is on."""

    def __init__(self, theme: Theme, session: ChatSession, loader: PairLoader, commands: Commands) -> None:
        super().__init__(theme, "bulb", tr("Thinking"))
        self._session, self._loader, self._command = session, loader, commands["thinking"]
        self._shows_name = True
        self.setCheckable(True)
        theme.set_font(self, SMALL)
        self.clicked.connect(commands.runner("thinking"))
        for signal in (loader.changed, commands.changed):
            signal.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        can_think = self._command.can() is None
        self.setChecked(self._session.thinking)
        self.setEnabled(can_think)
        refused = not can_think and self._loader.pair is not None
        tip = tr("This model can't think before it answers.") if refused else tr("Let the model think before its next reply")
        self.setToolTip(as_tooltip(tip))
        self.setAccessibleDescription(tip)
        self.updateGeometry()
        self.update()

    def show_name(self, shown: bool) -> None:
        """Show the name in the pill, or only the icon."""
        self._shows_name = shown
        self.updateGeometry()

    @property
    def _is_on(self) -> bool:
        return self.isChecked() and self.isEnabled()

    def sizeHint(self) -> QSize:
        size = super().sizeHint()
        if not (self._is_on and self._shows_name):
            return size
        name = self.fontMetrics().horizontalAdvance(self.accessibleName())
        return QSize(2 * EDGE + self._theme.scaled(ICON_SIZE) + GAP + name, size.height())

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._is_on:
            super().paintEvent(event)
            return
        colors, size = self._theme.colors, self._theme.scaled(ICON_SIZE)
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        area = QRectF(self.rect()).adjusted(1, INSET, -1, -INSET)
        hovered = self.underMouse() or self.isDown()
        painter.setPen(QPen(QColor(colors.accent), 1.5) if self.hasFocus() else Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colors.chosen if hovered else colors.accent_ground))
        painter.drawRoundedRect(area, area.height() / 2, area.height() / 2)
        left = EDGE if self._shows_name else area.center().x() - size / 2
        painter.setPen(QColor(colors.accent))
        if self._shows_name:
            name = area.adjusted(EDGE + size + GAP - 1, 0, 0, 0)
            painter.drawText(name, Qt.AlignmentFlag.AlignVCenter | Qt.AlignmentFlag.AlignLeft, self.accessibleName())
        painter.translate(QPointF(left, area.center().y() - size / 2))
        draw_icon(painter, "bulb", QColor(colors.accent), size)
        painter.end()
