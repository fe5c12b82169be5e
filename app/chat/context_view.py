"""How full the context is, beside the composer: a short bar, and the tokens that are left."""

from PySide6.QtCore import QRectF, QSize, Qt, Slot
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.chat.context_meter import ContextMeter, Room
from app.conversations.wording import number
from app.language import tr
from app.widgets.label import Label
from app.widgets.theme import SMALL, Theme, set_look

BAR = QSize(56, 4)


class ContextView(QWidget):
    """Quiet while there is room, plain when there is little, and a sentence when the message no longer fits."""

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
                "The context is what the model can see at once: the whole chat and the reply. When it is full, a reply stops "
                "there, and the next message cannot be answered. Then start a new chat, or edit an earlier message. Nothing is "
                "ever left out unseen."
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
        """Show what the meter says."""
        room = self._meter.room
        self._bar.show_room(room)
        self.label.setText(sentence(room) if room is not None else " ")
        set_look(
            self.label, "danger" if room is not None and room.too_long else "secondary" if room and room.nearly_full else "faint"
        )
        self._bar.setVisible(room is not None)


def sentence(room: Room) -> str:
    """What there is to say of the room in a context."""
    about = "" if room.exact else "~"
    if room.too_long and room.draft:
        over = number(1 - room.left)
        return tr(
            "Too long by {about}{over} of {limit} tokens: shorten it, or start a new chat",
            about=about,
            over=over,
            limit=number(room.limit),
        )
    if room.too_long:
        return tr("The context of {limit} tokens is full: start a new chat, or edit an earlier message", limit=number(room.limit))
    if room.nearly_full:
        return tr(
            "{about}{left} token{left_2} left, then the reply stops",
            about=about,
            left=number(room.left),
            left_2="" if room.left == 1 else "s",
        )
    return tr(
        "{about}{used} of {limit} tokens used · {left} left",
        about=about,
        used=number(room.used),
        limit=number(room.limit),
        left=number(room.left),
    )


class _Bar(QWidget):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._room: Room | None = None
        self.setFixedSize(BAR)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        theme.changed.connect(self.update)

    def show_room(self, room: Room | None) -> None:
        if room != self._room:
            self._room = room
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        colors = self._theme.colors
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colors.track))
        painter.drawRoundedRect(QRectF(self.rect()), 2, 2)
        if self._room is not None and self._room.used:
            full = colors.danger if self._room.too_long else colors.accent
            painter.setBrush(QColor(full))
            painter.drawRoundedRect(QRectF(0, 0, max(4.0, self.width() * self._room.share), self.height()), 2, 2)
        painter.end()
