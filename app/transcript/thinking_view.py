"""The model's thinking, behind a line that opens it."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QWidget

from app.conversations import wording
from app.conversations.reply import Reply
from app.language import tr
from app.rendering.blocks_view import BlocksView
from app.widgets.controls import button
from app.widgets.layout import column, line, row
from app.widgets.theme import Theme

LINE_GAP = 13  # pixels from the line at the left to the text


class ThinkingView(QWidget):
    """Open while the model thinks and closed once the answer begins, until the reader opens or closes it."""

    def __init__(self, theme: Theme, lazy: bool = False) -> None:
        super().__init__()
        self._text = ""
        self._shown_chars = 0
        self._toggled_by_reader = False
        self.header = button("", tr("Show thinking"), clicked=self._keep_as_is)
        self.header.setCheckable(True)
        self.header.toggled.connect(self._toggle)
        self.body = BlocksView(theme, quiet=True, lazy=lazy)
        self._frame = QWidget()
        row(line("upright"), self.body, spacing=LINE_GAP, margins=(10, 0, 0, 0), parent=self._frame)
        self._frame.hide()
        self.body.resized.connect(self._update_layouts)
        column(row(self.header, None), self._frame, spacing=6, parent=self)

    @property
    def is_open(self) -> bool:
        return self.header.isChecked()

    def show_reply(self, reply: Reply) -> None:
        """Show the thinking so far."""
        finished = bool(reply.answer) or not reply.running
        self._text = reply.thinking
        if not self._toggled_by_reader:
            self.header.setChecked(not finished)
        self._set_title(wording.thoughts(reply, finished))
        if self.is_open:
            self._show_rest()

    def open(self) -> None:
        self._keep_as_is()
        self.header.setChecked(True)

    @Slot()
    def _keep_as_is(self) -> None:
        self._toggled_by_reader = True

    def _set_title(self, title: str) -> None:
        text = f"{'▾' if self.is_open else '▸'}  {title}"
        if text != self.header.text():
            self.header.setText(text)

    @Slot(bool)
    def _toggle(self, is_open: bool) -> None:
        self._set_title(self.header.text()[3:])
        self.header.setAccessibleName(tr("Hide thinking") if is_open else tr("Show thinking"))
        self._frame.setVisible(is_open)
        if is_open:
            self._show_rest()
        self.updateGeometry()

    @Slot()
    def _update_layouts(self) -> None:
        """Update all enclosing layouts now. Qt would update one per event."""
        self._frame.updateGeometry()
        self.updateGeometry()

    def _show_rest(self) -> None:
        if len(self._text) > self._shown_chars:
            self.body.append(self._text[self._shown_chars :])
            self._shown_chars = len(self._text)
