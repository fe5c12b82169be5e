"""The buttons of messages: icons that appear under the pointer, and versions."""

from functools import partial

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.rendering.clipboard import copy_markdown
from app.storage.chat_tree import Node, Turn
from app.text.language import tr
from app.views.transcript.message_actions import MessageActions
from app.views.transcript.stats_line import StatsLine
from app.widgets.controls import CopyButton, IconButton, button, small_label
from app.widgets.layout import row
from app.widgets.theme import Theme


class Revealed:
    """Icons of a message that are drawn only in some cases.

    They are drawn in the last turn, and where the pointer or the focus is. They keep their places, and screen
    readers and the Tab key always find them.
    """

    def __init__(self, message: QWidget, turn: Turn, *icons: IconButton) -> None:
        self._message, self._turn, self._icons = message, turn, icons
        for icon in icons:
            icon.is_drawn = partial(self._draws, icon)

    def _draws(self, icon: IconButton) -> bool:
        return not self._turn.last.children or self._message.underMouse() or icon.hasFocus()

    def update(self) -> None:
        """Draw the icons again: the pointer has moved, or another turn is the last one."""
        for icon in self._icons:
            icon.update()


class VersionStepper(QWidget):
    """A control to step through the versions of a message: "‹ 2 of 3 ›"."""

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
    """The buttons next to a reply's speed. During generation, only versions are shown."""

    def __init__(self, theme: Theme, turn: Turn, actions: MessageActions, stats: StatsLine) -> None:
        super().__init__(stats)
        self._turn, self._actions = turn, actions
        self.details = IconButton(theme, "chart", tr("Details: how this reply was decoded"))
        self.details.setCheckable(True)
        self.details.toggled.connect(stats.show_details)
        self.copy = CopyButton(theme, tr("Copy reply"), lambda: copy_markdown(turn.reply.text))
        self.regenerate = IconButton(theme, "again", tr("Regenerate (keeps this reply)"))
        self.regenerate.clicked.connect(lambda: actions.retry.emit(turn))
        self.compare = IconButton(theme, "columns", tr("Answer this prompt with and without DFlash, side by side"))
        self.compare.clicked.connect(lambda: actions.compare.emit(turn))
        self.resume = button(tr("Continue"), tr("Continue this reply"), "quiet", lambda: actions.resume.emit(turn))
        self.icons = self.details, self.copy, self.regenerate, self.compare
        self._buttons: tuple[QAbstractButton, ...] = (self.details, self.copy, self.regenerate, self.resume, self.compare)
        # Tab follows the order in which widgets get their parent. Icons that aren't drawn leave no gap at the end.
        self.versions = VersionStepper(theme, turn.answered, actions, self) if turn.answered is not None else None
        versions = (self.versions,) if self.versions is not None else ()
        row(*versions, self.resume, *self.icons, spacing=0, parent=self)
        self._available: tuple[bool, ...] = ()
        self._enable_resume()
        actions.can_resume_changed.connect(self._enable_resume)
        self.hide()  # until `refresh`

    @Slot()
    def _enable_resume(self) -> None:
        self.resume.setEnabled(self._actions.can_resume)
        self.resume.setToolTip("" if self._actions.can_resume else tr("This server can't continue a reply."))

    def refresh(self) -> None:
        """Show the buttons that currently apply to the reply."""
        reply, asked = self._turn.reply, self._turn.asked is not None
        ended = not reply.running
        measured = ended and reply.stats is not None
        available = (measured, ended and bool(reply.answer), ended and asked, reply.can_continue, self._turn.can_compare)
        if available == self._available:
            return
        self._available = available
        self.hide()  # lays out the message once instead of once per button
        for made, shown in zip(self._buttons, available, strict=True):
            made.setVisible(shown)
        self.setVisible(any(available) or (self.versions is not None and not self.versions.isHidden()))
