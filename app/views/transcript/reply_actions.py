"""The buttons of messages: icons that appear under the pointer, and versions."""

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget

from app.rendering.clipboard import copy_markdown
from app.storage.chat_tree import Node, Turn
from app.text.language import tr
from app.views.transcript.message_actions import MessageActions
from app.views.transcript.stats_line import StatsLine
from app.widgets.controls import CopyButton, ElidedLabel, IconButton, Label, button, small_label
from app.widgets.layout import row
from app.widgets.theme import Theme


class Revealed:
    """Icons and figures of a message that are drawn only in some cases.

    They are drawn in the last turn, and in the message with the pointer or the focus. They keep their places, and
    screen readers always find them. Tab reaches the icons of the last turn, and the arrow keys those of any message.

    Attributes:
        pointed: whether the pointer is over the message.
    """

    def __init__(self, message: QWidget, turn: Turn, *parts: IconButton | Label) -> None:
        self._message, self._turn, self._parts = message, turn, parts
        self.pointed = False
        for part in parts:
            assert isinstance(part, IconButton | ElidedLabel)
            part.is_drawn = self._draws
        self.update()

    def _draws(self) -> bool:
        focus = QApplication.focusWidget()
        focused = focus is not None and (focus is self._message or self._message.isAncestorOf(focus))
        return self._in_last_turn or self.pointed or focused

    @property
    def _in_last_turn(self) -> bool:
        return not self._turn.last.children

    def update(self) -> None:
        """Draw the parts again after the pointer, the focus, or the last turn has changed."""
        policy = Qt.FocusPolicy.TabFocus if self._in_last_turn else Qt.FocusPolicy.NoFocus
        for part in self._parts:
            if isinstance(part, IconButton):
                part.setFocusPolicy(policy)
            else:
                part.setAttribute(Qt.WidgetAttribute.WA_NoSystemBackground, not self._draws())
            part.update()


class VersionStepper(QWidget):
    """A control to step through the versions of a message: "‹ 2 of 3 ›"."""

    def __init__(self, theme: Theme, node: Node, actions: MessageActions, parent: QWidget) -> None:
        super().__init__(parent)
        place, count = node.place
        self.setVisible(count > 1)
        self.arrows: tuple[QAbstractButton, ...] = ()
        if count < 2:
            return
        self.label = small_label(theme, tr("{place} of {count}", place=place, count=count), "secondary")
        self.label.setAccessibleName(tr("Version {place} of {count}", place=place, count=count))
        stepped = actions.version_stepped
        before = button("‹", tr("Previous version"), "arrow", lambda: stepped.emit(node, -1))
        after = button("›", tr("Next version"), "arrow", lambda: stepped.emit(node, 1))
        self.arrows = before, after
        for arrow, enabled in ((before, place > 1), (after, place < count)):
            arrow.setToolTip(arrow.accessibleName())
            arrow.setEnabled(enabled)
        row(before, self.label, after, spacing=2, parent=self)


class ReplyActions(QWidget):
    """The icons after a reply's speed. During generation, only versions are shown.

    Attributes:
        lead: the versions and Continue, which are always drawn, before the speed.
    """

    def __init__(self, theme: Theme, turn: Turn, actions: MessageActions, stats: StatsLine) -> None:
        super().__init__(stats)
        self._turn, self._actions = turn, actions
        self.details = IconButton(theme, "chart", tr("Details: how this reply was decoded"))
        self.details.setCheckable(True)
        self.details.toggled.connect(stats.show_details)
        self.copy = CopyButton(theme, tr("Copy reply"), lambda: copy_markdown(turn.reply.text))
        self.read_aloud = IconButton(theme, "speaker", tr("Read aloud"))
        self.read_aloud.setCheckable(True)
        self.read_aloud.clicked.connect(lambda: actions.read_aloud.emit(turn))
        self.regenerate = IconButton(theme, "again", tr("Regenerate (keeps this reply)"))
        self.regenerate.clicked.connect(lambda: actions.retry.emit(turn))
        self.compare = IconButton(theme, "columns", tr("Answer this prompt with and without DFlash, side by side"))
        self.compare.clicked.connect(lambda: actions.compare.emit(turn))
        self.resume = button(tr("Continue"), tr("Continue this reply"), "quiet", lambda: actions.resume.emit(turn))
        self.icons = self.details, self.copy, self.read_aloud, self.regenerate, self.compare
        self.titles: dict[QAbstractButton, str] = {  # in the message's menu
            self.copy: tr("Copy Reply"),
            self.read_aloud: "",  # see `_show_reading`
            self.regenerate: tr("Regenerate"),
            self.resume: tr("Continue"),
            self.compare: tr("Compare"),
            self.details: tr("Details"),
        }
        self._buttons: tuple[QAbstractButton, ...] = (*self.icons, self.resume)
        # Icons and figures that aren't drawn leave no gap before what always is.
        self.lead = QWidget(stats)
        self.versions = VersionStepper(theme, turn.answered, actions, self.lead) if turn.answered is not None else None
        versions = (self.versions,) if self.versions is not None else ()
        row(*versions, self.resume, spacing=0, parent=self.lead)
        row(*self.icons, spacing=0, parent=self)
        self.in_order: list[QAbstractButton] = [*(arrow for one in versions for arrow in one.arrows), self.resume, *self.icons]
        self._available: tuple[bool, ...] = ()
        self._enable_resume()
        actions.can_resume_changed.connect(self._enable_resume)
        self._show_reading()
        actions.reading_changed.connect(self._show_reading)
        self.hide()  # until `refresh`
        self.lead.hide()

    @Slot()
    def _enable_resume(self) -> None:
        self.resume.setEnabled(self._actions.can_resume)
        self.resume.setToolTip("" if self._actions.can_resume else tr("This server can't continue a reply."))

    @Slot()
    def _show_reading(self) -> None:
        is_read = self._actions.reading is self._turn
        self.read_aloud.setChecked(is_read)
        self.read_aloud.set_name(tr("Stop reading aloud") if is_read else tr("Read aloud"))
        self.titles[self.read_aloud] = tr("Stop Reading Aloud") if is_read else tr("Read Aloud")

    def refresh(self) -> None:
        """Show the buttons that currently apply to the reply."""
        reply, asked = self._turn.reply, self._turn.asked is not None
        ended = not reply.running
        measured = ended and reply.stats is not None
        answered = ended and bool(reply.answer)
        speaks = answered and self._actions.can_read_aloud
        available = (measured, answered, speaks, ended and asked, self._turn.can_compare, reply.can_continue)
        if available == self._available:
            return
        self._available = available
        self.hide()  # lays out the message once instead of once per button
        for made, shown in zip(self._buttons, available, strict=True):
            made.setVisible(shown)
        icons = [icon for icon in self.icons if not icon.isHidden()]
        self.setVisible(bool(icons))
        self.lead.setVisible(reply.can_continue or (self.versions is not None and not self.versions.isHidden()))
