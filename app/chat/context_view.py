"""Shows how full the context is: a short bar and the number of tokens."""

from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.chat.context_meter import ContextMeter, ContextUse
from app.conversations.wording import number
from app.language import tr
from app.widgets.label import Label
from app.widgets.theme import SMALL, Theme, set_look

BAR = QSize(56, 4)


class ContextView(QWidget):
    """Stands out more the fuller the context is."""

    def __init__(self, theme: Theme, meter: ContextMeter, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._meter = meter
        self._bar = _Bar(theme)
        self.label = Label()
        theme.set_font(self.label, SMALL)
        self.label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.label.setAccessibleName(tr("Context"))
        self.setToolTip(
            tr(
                "The context is everything the model sees at once: the whole chat and the reply. When it is full, the reply stops. "
                "Start a new chat, or edit an earlier message."
            )
        )
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(8)
        row.addWidget(self._bar)
        row.addWidget(self.label)
        meter.changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        use = self._meter.use
        self._bar.show_use(use)
        self.label.setText(sentence(use) if use is not None else " ")
        set_look(self.label, "danger" if use is not None and use.full else "secondary" if use and use.nearly_full else "faint")
        self._bar.setVisible(use is not None)


def sentence(use: ContextUse) -> str:
    about = "" if use.exact else "~"
    limit = number(use.limit)
    if use.full and use.draft:
        over = number(1 - use.left)
        return tr("{about}{over} tokens over the limit of {limit}. Shorten the message.", about=about, over=over, limit=limit)
    if use.full:
        return tr("Context full ({limit} tokens). Start a new chat, or edit an earlier message.", limit=limit)
    if use.left == 1:
        return tr("{about}1 token left", about=about)
    if use.nearly_full:
        return tr("{about}{left} tokens left", about=about, left=number(use.left))
    return tr(
        "{about}{used} of {limit} tokens used · {left} left", about=about, used=number(use.used), limit=limit, left=number(use.left)
    )


class _Bar(QWidget):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._use: ContextUse | None = None
        self.setFixedSize(BAR)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        theme.changed.connect(self.update)

    def show_use(self, use: ContextUse | None) -> None:
        if use != self._use:
            self._use = use
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = self._theme.colors
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colors.track))
        painter.drawRoundedRect(QRectF(self.rect()), 2, 2)
        if self._use is not None and self._use.used:
            full = colors.danger if self._use.full else colors.accent
            painter.setBrush(QColor(full))
            painter.drawRoundedRect(QRectF(0, 0, max(4.0, self.width() * self._use.share), self.height()), 2, 2)
        painter.end()
