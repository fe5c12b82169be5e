"""Says that a reply is being written in another chat, and leads there."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from app.chat.conductor import Conductor
from app.language import tr
from app.widgets.button import button
from app.widgets.label import Label
from app.widgets.theme import SMALL, Theme, set_look

LONGEST = 40  # characters of a title


class ElsewhereBar(QFrame):
    """Above the composer, while Stop is not there."""

    def __init__(self, theme: Theme, conductor: Conductor, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._conductor = conductor
        set_look(self, "notice")
        self.label = Label()
        self.label.setWordWrap(True)
        self.label.setAccessibleName(tr("Note"))
        theme.set_font(self.label, SMALL)
        set_look(self.label, "secondary")
        self.go = button(tr("Go There"), tr("Open the chat in which the reply is being written"), "bordered")
        self.go.clicked.connect(conductor.go_to_written)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 6, 8, 6)
        row.setSpacing(8)
        row.addWidget(self.label, 1)
        row.addWidget(self.go)
        for signal in (conductor.busy_changed, conductor.chat_changed, conductor.library.changed):
            signal.connect(self.refresh)
        if not self._tell():  # else it is shown with what it stands in, not before, as a window
            self.hide()

    @Slot()
    def refresh(self) -> None:
        """Show where a reply is being written, if not here."""
        self.setVisible(self._tell())

    def _tell(self) -> bool:
        title = self._conductor.written_elsewhere
        if title:
            shown = title if len(title) <= LONGEST else title[: LONGEST - 1].rstrip() + "…"
            self.label.setText(tr("A reply is being written in “{title}”.", title=shown))
        return bool(title)
