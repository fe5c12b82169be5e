"""Which of several versions of a message is shown: "‹ 2 of 3 ›"."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QWidget

from app.conversations.chat_tree import Node
from app.language import tr
from app.widgets.label import Label, as_tooltip
from app.widgets.theme import SMALL, Theme, set_look


class Versions(QWidget):
    """Two arrows around the count; shown only where there is more than one version."""

    stepped = Signal(object, int)  # the Node shown, and -1 or 1

    def __init__(self, theme: Theme, node: Node, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._node = node
        self._theme = theme
        self._built = False
        self.refresh()

    def _build(self) -> None:
        """Most messages have one version: their parts are made when there is something to show."""
        self._built = True
        self.label = Label()
        self._theme.set_font(self.label, SMALL)
        set_look(self.label, "secondary")
        self.before = self._arrow("‹", tr("Previous version"), -1)
        self.after = self._arrow("›", tr("Next version"), 1)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(2)
        for part in (self.before, self.label, self.after):
            row.addWidget(part)

    def refresh(self) -> None:
        """Count the versions anew."""
        place, count = self._node.place
        self.setVisible(count > 1)
        if count < 2:
            return
        if not self._built:
            self._build()
        self.label.setText(tr("{place} of {count}", place=place, count=count))
        self.label.setAccessibleName(tr("Version {place} of {count}", place=place, count=count))
        self.before.setEnabled(place > 1)
        self.after.setEnabled(place < count)

    def _arrow(self, sign: str, name: str, step: int) -> QPushButton:
        made = QPushButton(sign)
        made.setAccessibleName(name)
        made.setToolTip(as_tooltip(name))
        made.setProperty("step", step)
        set_look(made, "arrow")
        made.clicked.connect(self._step)
        return made

    @Slot()
    def _step(self) -> None:
        step = self.sender().property("step")
        self.stepped.emit(self._node, step)
