"""What the model thought, behind a line that opens it."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.conversations import wording
from app.conversations.reply import Reply
from app.language import tr
from app.rendering.blocks_view import BlocksView
from app.widgets.button import button
from app.widgets.theme import Theme, set_look

BAR = 13  # pixels from the line at the left to the text


class ThinkingView(QWidget):
    """Open while the model thinks; closes itself when the answer begins, unless the reader has opened or closed it himself."""

    toggled = Signal()

    def __init__(self, theme: Theme, lazy: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = ""
        self._shown = 0
        self._own_will = False  # the reader decided
        self._by_itself = False
        self.header = button("", tr("Show thinking"))
        self.header.setCheckable(True)
        self.header.toggled.connect(self._toggle)
        self.body = BlocksView(theme, quiet=True, lazy=lazy)
        self._frame = QWidget()
        inner = QHBoxLayout(self._frame)
        inner.setContentsMargins(10, 0, 0, 0)
        inner.setSpacing(BAR)
        bar = QFrame()
        set_look(bar, "upright")
        inner.addWidget(bar)
        inner.addWidget(self.body)
        self._frame.hide()
        self.body.resized.connect(self._pass_on)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(6)
        row = QHBoxLayout()
        row.addWidget(self.header)
        row.addStretch(1)
        layout.addLayout(row)
        layout.addWidget(self._frame)

    @property
    def opened(self) -> bool:
        return self.header.isChecked()

    def show_reply(self, reply: Reply) -> None:
        """Show what has been thought so far."""
        over = bool(reply.answer) or not reply.running
        self._text = reply.thinking
        if not self._own_will and self.opened == over:
            self._by_itself = True
            self.header.setChecked(not over)
            self._by_itself = False
        self._title(wording.thoughts(reply, over))
        if self.opened:
            self._fill()

    def open(self) -> None:
        """Show it all, because something in it was looked for."""
        self.header.setChecked(True)

    def redraw(self) -> None:
        """The colors changed."""
        self.body.redraw()

    def _title(self, title: str) -> None:
        text = f"{'▾' if self.opened else '▸'}  {title}"
        if text != self.header.text():
            self.header.setText(text)

    @Slot(bool)
    def _toggle(self, opened: bool) -> None:
        self._own_will = self._own_will or not self._by_itself
        self._title(self.header.text()[3:])
        self.header.setAccessibleName(tr("Hide thinking") if opened else tr("Show thinking"))
        self._frame.setVisible(opened)
        if opened:
            self._fill()
        self.updateGeometry()
        self.toggled.emit()

    @Slot()
    def _pass_on(self) -> None:
        """Qt tells the layouts above one by one, an event later each; they are to know at once."""
        self._frame.updateGeometry()
        self.updateGeometry()

    def _fill(self) -> None:
        if len(self._text) > self._shown:
            self.body.append(self._text[self._shown :])
            self._shown = len(self._text)
