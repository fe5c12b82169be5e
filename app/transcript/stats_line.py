"""The line below a reply: how it was decoded, how fast, and why it ended."""

from PySide6.QtCore import QPoint, QSize, Qt
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.conversations import wording
from app.conversations.reply import Reply
from app.language import tr
from app.transcript.stats_popover import StatsPopover
from app.widgets.controls import Label, as_tooltip, small_label
from app.widgets.layout import Flow, column
from app.widgets.theme import SMALL, Theme, set_look


class StatsLine(QWidget):
    """A chip with the mode, and figures after it, or below it if `stacked`. Buttons get a line of their own."""

    def __init__(self, theme: Theme, stacked: bool = False) -> None:
        super().__init__()
        self._theme = theme
        self._stacked = stacked
        self._reply: Reply | None = None
        self.chip = small_label(theme, selectable=True)
        self.facts = _Facts()
        theme.set_font(self.facts, SMALL)
        set_look(self.facts, "secondary")
        self.chip.setAccessibleName(tr("Mode"))
        self.facts.setAccessibleName(tr("Speed"))
        figures = Flow(stacked=stacked)
        figures.addWidget(self.chip)
        figures.addWidget(self.facts)
        self._layout = column(figures, spacing=2, parent=self)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def add_line(self, line: QWidget) -> None:
        """Add a widget below the figures."""
        self._layout.addWidget(line)

    def show_reply(self, reply: Reply) -> None:
        """Show the current figures of a reply."""
        self._reply = reply
        chip, facts = wording.chip(reply, short=self._stacked), wording.facts(reply, short=self._stacked)
        if chip != self.chip.text():
            self.chip.setText(chip)
            set_look(self.chip, "chip-accent" if chip.startswith("DFlash") else "chip")
        if facts != self.facts.text() or not facts:
            self.facts.setText(facts or " ")  # keeps its height, so that nothing moves when the first figure arrives
        if reply.stats:
            tip = as_tooltip(wording.details(reply.stats))
            self.chip.setToolTip(tip)
            self.facts.setToolTip(tip)

    def show_details(self, corner: QPoint) -> None:
        """Show all statistics and a chart of the rounds, above this point of the screen if there is space."""
        if self._reply is not None and self._reply.stats is not None:
            StatsPopover(self._theme, self._reply.stats, self).open_at(corner)


class _Facts(Label):
    """Takes one line if there is space, and otherwise wraps."""

    def __init__(self) -> None:
        super().__init__()
        self.setWordWrap(True)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)

    def sizeHint(self) -> QSize:
        return QSize(self.fontMetrics().horizontalAdvance(self.text()) + 2, self.fontMetrics().height())
