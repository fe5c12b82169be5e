"""Pairs that were deleted and can be brought back, with what that still costs."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.conversations.wording import size
from app.language import tr
from app.models.storage import Storage
from app.widgets.button import button
from app.widgets.label import Label
from app.widgets.theme import SMALL, Theme, set_look


class DeletedBar(QFrame):
    """Shown while there is something to bring back. Each deletion takes its own Undo, the last first."""

    def __init__(self, theme: Theme, storage: Storage, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._storage = storage
        set_look(self, "undo")
        self.label = Label()
        self.label.setWordWrap(True)
        self.label.setAccessibleName(tr("Deleted"))
        theme.set_font(self.label, SMALL)
        self.undo = button(tr("Undo"), tr("Bring back what was deleted last"), "bordered")
        self.undo.clicked.connect(storage.undo)
        self.free = button(tr("Free Now"), tr("Give up bringing back, and free the room now"), "bordered")
        self.free.clicked.connect(storage.free)
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addWidget(self.undo)
        buttons.addWidget(self.free)
        buttons.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(12, 8, 12, 8)
        column.setSpacing(8)
        column.addWidget(self.label)
        column.addLayout(buttons)
        storage.changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Show what was deleted."""
        deleted = self._storage.deleted
        self.setVisible(bool(deleted))
        if deleted:
            room = size(sum(one.bytes for one in deleted))
            names = ", ".join(one.name for one in deleted)
            self.label.setText(tr("{names}: deleted. {room} become free when you quit.", names=names, room=room))
