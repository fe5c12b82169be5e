"""The area below the chat: the composer, the context meter, and a note about a reply in another chat."""

from PySide6.QtCore import Qt, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QBoxLayout, QFrame, QWidget

from app.chat.composer import Composer
from app.chat.conductor import Conductor
from app.chat.context_meter import ContextMeter, ContextUse
from app.conversations.wording import number
from app.language import tr
from app.rendering.text_marks import SourceLegend
from app.widgets.controls import ThinBar, button, small_label
from app.widgets.layout import column, row
from app.widgets.style_sheet import SCROLL_BAR
from app.widgets.theme import COLUMN, MARGIN, Theme, set_look

NARROW = 620  # stacks legend and meter below this width
MAX_TITLE = 40  # characters


class Foot(QWidget):
    """As wide as the chat's column."""

    def __init__(self, theme: Theme, conductor: Conductor, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.composer = Composer(theme, conductor.attachments)
        self._meter = ContextMeter(conductor, self)
        self.context = ContextView(theme, self._meter)
        self.elsewhere = ElsewhereBar(theme, conductor)
        self.legend = SourceLegend(theme)
        self.notes = row((self.legend, 1), spacing=0, margins=(18, 0, 18, 0))
        self.notes.addWidget(self.context, 0, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
        inner = QWidget()
        inner.setMaximumWidth(COLUMN + 24)
        column(self.elsewhere, self.composer, self.notes, spacing=5, parent=inner)
        row(None, (inner, 1000), None, spacing=0, margins=(MARGIN - 8, 4, MARGIN - 8 + SCROLL_BAR, 8), parent=self)
        self.composer.field.textChanged.connect(self._set_draft)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        directions = QBoxLayout.Direction
        self.notes.setDirection(directions.TopToBottom if self.width() < NARROW else directions.LeftToRight)

    @Slot()
    def _set_draft(self) -> None:
        self._meter.set_draft(self.composer.text)


class ContextView(QWidget):
    """Shows how full the context is: a short bar and the number of tokens. Stands out more the fuller the context is."""

    def __init__(self, theme: Theme, meter: ContextMeter) -> None:
        super().__init__()
        self._meter = meter
        self._bar = ThinBar(theme, tr("Context"))
        self.label = small_label(theme, selectable=True)
        self.label.setAccessibleName(tr("Context"))
        self.setToolTip(tr("The context holds the whole chat and the reply. When the context is full, the reply stops."))
        row(self._bar, self.label, parent=self)
        meter.changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        use = self._meter.use
        full = use is not None and use.full
        self._bar.color = "danger" if full else "accent"
        self._bar.show_fraction(use.share if use is not None else None)
        self._bar.update()
        self._bar.setVisible(use is not None)
        self.label.setText(sentence(use) if use is not None else " ")
        set_look(self.label, "danger" if full else "secondary" if use is not None and use.nearly_full else "faint")


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
    left, used = number(use.left), number(use.used)
    if use.nearly_full:
        return tr("{about}{left} tokens left", about=about, left=left)
    return tr("{about}{used} of {limit} tokens used · {left} left", about=about, used=used, limit=limit, left=left)


class ElsewhereBar(QFrame):
    """Tells that a reply is being generated in another chat. The composer has no Stop button then."""

    def __init__(self, theme: Theme, conductor: Conductor) -> None:
        super().__init__()
        self._conductor = conductor
        set_look(self, "notice")
        self.label = small_label(theme, look="secondary", wrap=True)
        self.label.setAccessibleName(tr("Note"))
        self.go = button(tr("Open Chat"), tr("Open the chat that is generating a reply"), "bordered", self._open)
        row((self.label, 1), self.go, margins=(16, 6, 8, 6), parent=self)
        self.hide()  # must not be shown without a parent
        for signal in (conductor.busy_changed, conductor.chat_changed, conductor.library.changed):
            signal.connect(self.refresh)

    @Slot()
    def refresh(self) -> None:
        title = self._conductor.replying_elsewhere
        shown = title if len(title) <= MAX_TITLE else title[: MAX_TITLE - 1].rstrip() + "…"
        self.label.setText(tr("A reply is being generated in “{title}”.", title=shown))
        self.setVisible(bool(title))

    @Slot()
    def _open(self) -> None:
        if (chat := self._conductor.reply_job.chat) is not None:
            self._conductor.open_chat(chat.id)
