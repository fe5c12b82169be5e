"""A card with the text of a tool call that can't be read."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFrame, QWidget

from app.rendering.blocks_view import BlocksView
from app.text.language import sentences, tr
from app.widgets.controls import ElidedButton, as_tooltip
from app.widgets.layout import column, row
from app.widgets.theme import Theme, set_look


def unreadable_call_title() -> str:
    return tr("The model wrote a tool call that can't be read")


class UnreadableCall(QWidget):
    """A card that says so, with the text folded below it.

    Args:
        body: the text, as a code block.
    """

    def __init__(self, theme: Theme, body: BlocksView) -> None:
        super().__init__()
        self.body = body
        self.header = ElidedButton("", "pair")
        self.header.setCheckable(True)
        self.header.setToolTip(as_tooltip(unreadable_call_title()))  # large text in a narrow window is elided
        self.header.toggled.connect(self._show_body)
        card = QFrame()
        set_look(card, "code")
        row(self.header, None, margins=(6, 6, 14, 6), parent=card)
        column(card, body, spacing=6, parent=self)
        body.resized.connect(self.updateGeometry)
        self.setAccessibleName(unreadable_call_title())
        self._show_body(False)

    def open(self) -> None:
        self.header.setChecked(True)

    @Slot(bool)
    def _show_body(self, shown: bool) -> None:
        title = unreadable_call_title()
        self.header.setText(f"{'▾' if shown else '▸'}  {title}")
        self.header.setAccessibleName(sentences(title, tr("Hide text") if shown else tr("Show text")))
        self.body.setVisible(shown)
        self.updateGeometry()
