"""Shows how full the context is: a short bar and the number of tokens."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.chat.context_meter import ContextMeter, ContextUse
from app.conversations.wording import number
from app.language import tr
from app.widgets.controls import ThinBar, small_label
from app.widgets.layout import row
from app.widgets.theme import Theme, set_look


class ContextView(QWidget):
    """Stands out more the fuller the context is."""

    def __init__(self, theme: Theme, meter: ContextMeter, parent: QWidget | None = None) -> None:
        super().__init__(parent)
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
        self._bar.color = "danger" if use is not None and use.full else "accent"
        self._bar.show_fraction(use.share if use is not None else None)
        self._bar.update()
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
