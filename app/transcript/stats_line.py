"""The line beside each reply: how it was decoded, how fast, and why it ended."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from app.conversations import wording
from app.conversations.reply import Reply
from app.language import tr
from app.transcript.stats_popover import StatsPopover
from app.widgets.flow import Flow
from app.widgets.label import Label, as_tooltip
from app.widgets.theme import SMALL, Theme, set_look


class StatsLine(QWidget):
    """A chip for the mode, the figures after it (or below it, `stacked`), wrapping where the window is narrow. Buttons stand on a
    line of their own under both: figures differ in length, and buttons that followed them would break anywhere."""

    def __init__(self, theme: Theme, stacked: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.chip = Label()
        self.facts = Label()
        for label in (self.chip, self.facts):
            theme.set_font(label, SMALL)
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        set_look(self.facts, "secondary")
        self.chip.setAccessibleName(tr("Mode"))
        self.facts.setAccessibleName(tr("Speed"))
        figures = Flow(stacked=stacked)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(figures)
        self._theme = theme
        self._stacked = stacked
        self._reply: Reply | None = None
        figures.addWidget(self.chip)
        figures.addWidget(self.facts)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def add_line(self, line: QWidget) -> None:
        """Put something under the figures."""
        layout = self.layout()
        assert layout is not None
        layout.addWidget(line)

    def show_reply(self, reply: Reply) -> None:
        """Show the figures of a reply as they are now."""
        self._reply = reply
        chip, facts = wording.chip(reply, short=self._stacked), wording.facts(reply, short=self._stacked)
        if chip != self.chip.text():
            self.chip.setText(chip)
            set_look(self.chip, "chip-accent" if chip.startswith("DFlash") else "chip")
        if facts != self.facts.text() or not facts:
            self.facts.setText(facts or " ")  # keeps its line, so that nothing jumps when the first figure comes
        if reply.stats:
            tip = as_tooltip(wording.details(reply.stats))
            self.chip.setToolTip(tip)
            self.facts.setToolTip(tip)

    def show_details(self, corner: QPoint) -> None:
        """Open everything that was measured, with a chart of the rounds; above this point of the screen, where there is room."""
        if self._reply is not None and self._reply.stats is not None:
            StatsPopover(self._theme, self._reply.stats, self).open_at(corner)
