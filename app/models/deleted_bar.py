"""Removed pairs that can still be restored."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFrame, QWidget

from app.conversations.wording import size
from app.language import tr
from app.models.storage import Storage
from app.widgets.controls import button, small_label
from app.widgets.layout import column, row
from app.widgets.theme import Theme, set_look


class DeletedBar(QFrame):
    """Visible while a pair can be restored. Undo restores the last one."""

    def __init__(self, theme: Theme, storage: Storage, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._storage = storage
        set_look(self, "undo")
        self.label = small_label(theme, wrap=True)
        self.label.setAccessibleName(tr("Removed"))
        self.undo = button(tr("Undo"), tr("Restore the last removed pair"), "bordered", storage.undo)
        self.purge = button(tr("Free Up Now"), tr("Delete the removed pairs now"), "bordered", storage.purge)
        column(self.label, row(self.undo, self.purge, None), margins=(12, 8, 12, 8), parent=self)
        storage.changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        deleted = self._storage.deleted
        self.setVisible(bool(deleted))
        if deleted:
            names = ", ".join(one.name for one in deleted)
            total = size(sum(one.bytes for one in deleted))
            self.label.setText(tr("{names} removed. {size} will be freed when you quit.", names=names, size=total))
