"""What the reader can do with a message."""

from PySide6.QtCore import QObject, QPoint, Signal
from PySide6.QtWidgets import QPushButton, QWidget

from app.conversations.chat_tree import Node, Turn
from app.language import tr
from app.transcript.stats_line import StatsLine
from app.widgets.controls import button, copy_button, small_label
from app.widgets.layout import Flow, row
from app.widgets.theme import Theme


class MessageActions(QObject):
    """Emits what the reader chooses below a message."""

    retry = Signal(object)  # Turn
    edit = Signal(object)  # Turn
    resume = Signal(object)  # Turn
    compare = Signal(object)  # Turn
    version_stepped = Signal(object, int)  # the Node shown; -1 for its previous version, 1 for the next


class VersionStepper(QWidget):
    """Steps through the versions of a message, "‹ 2 of 3 ›". Visible if there are several."""

    def __init__(self, theme: Theme, node: Node, actions: MessageActions, parent: QWidget) -> None:
        super().__init__(parent)
        place, count = node.place
        self.setVisible(count > 1)
        if count < 2:
            return
        self.label = small_label(theme, tr("{place} of {count}", place=place, count=count), "secondary")
        self.label.setAccessibleName(tr("Version {place} of {count}", place=place, count=count))
        stepped = actions.version_stepped
        before = button("‹", tr("Previous version"), "arrow", lambda: stepped.emit(node, -1))
        after = button("›", tr("Next version"), "arrow", lambda: stepped.emit(node, 1))
        for arrow, enabled in ((before, place > 1), (after, place < count)):
            arrow.setToolTip(arrow.accessibleName())
            arrow.setEnabled(enabled)
        row(before, self.label, after, spacing=2, parent=self)


class ReplyActions(QWidget):
    """Buttons below a reply. While the reply is generated, only its versions are shown, if there are several."""

    def __init__(self, theme: Theme, turn: Turn, actions: MessageActions, stats: StatsLine) -> None:
        super().__init__(stats)
        self._turn = turn
        self.details = button(
            tr("Details"), tr("How this reply was decoded"), clicked=lambda: stats.show_details(self.mapToGlobal(QPoint()))
        )
        self.copy = copy_button(tr("Copy reply"), lambda: turn.reply.answer.strip())
        self.regenerate = button(tr("Regenerate"), tr("Regenerate reply"), clicked=lambda: actions.retry.emit(turn))
        self.regenerate.setToolTip(tr("Regenerate (keeps this reply)"))
        self.resume = button(tr("Continue"), tr("Continue this reply"), clicked=lambda: actions.resume.emit(turn))
        self.compare = button(tr("Compare"), tr("Compare both modes on this prompt"), clicked=lambda: actions.compare.emit(turn))
        self.compare.setToolTip(tr("Answer this prompt with and without DFlash, side by side"))
        self.versions = VersionStepper(theme, turn.answered, actions, self) if turn.answered is not None else None
        self._buttons: tuple[QPushButton, ...] = (self.details, self.copy, self.regenerate, self.resume, self.compare)
        flow = Flow(self, gap=2)
        for widget in (*self._buttons, *([self.versions] if self.versions is not None else [])):
            flow.addWidget(widget)
        self._available: tuple[bool, ...] = ()
        self.hide()  # until `refresh`

    def refresh(self) -> None:
        """Show the buttons that apply to the reply now."""
        reply, asked = self._turn.reply, self._turn.asked is not None
        ended = not reply.running
        measured = ended and reply.stats is not None
        available = (measured, ended and bool(reply.answer), ended and asked, reply.can_continue, measured and asked)
        if available == self._available:
            return
        self._available = available
        self.hide()  # so that the message is laid out once, not once per button
        for made, shown in zip(self._buttons, available, strict=True):
            made.setVisible(shown)
        self.setVisible(any(available) or (self.versions is not None and not self.versions.isHidden()))
