"""Tells that a reply is being generated in another chat, and goes there."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QWidget

from app.chat.conductor import Conductor
from app.language import tr
from app.widgets.controls import Label, button
from app.widgets.theme import SMALL, Theme, set_look

MAX_TITLE = 40  # characters


class ElsewhereBar(QFrame):
    """Shown above the composer, which has no Stop button then."""

    def __init__(self, theme: Theme, conductor: Conductor, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._conductor = conductor
        set_look(self, "notice")
        self.label = Label()
        self.label.setWordWrap(True)
        self.label.setAccessibleName(tr("Note"))
        theme.set_font(self.label, SMALL)
        set_look(self.label, "secondary")
        self.go = button(tr("Open Chat"), tr("Open the chat that is generating a reply"), "bordered")
        self.go.clicked.connect(self._open)
        row = QHBoxLayout(self)
        row.setContentsMargins(16, 6, 8, 6)
        row.setSpacing(8)
        row.addWidget(self.label, 1)
        row.addWidget(self.go)
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
