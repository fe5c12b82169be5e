"""What prompts and replies in the transcript have in common."""

from collections.abc import Callable
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPoint, Qt
from PySide6.QtGui import QEnterEvent
from PySide6.QtWidgets import QAbstractButton, QWidget

from app.rendering.blocks_view import BlocksView
from app.text.language import tr
from app.views.transcript.reply_actions import Revealed

GAP = 22  # pixels above replies and lines
PROMPT_GAP = 4  # above prompts: the row of icons at the end of a reply is mostly empty


@dataclass(frozen=True)
class MenuEntry:
    """An entry in the menu of a message."""

    title: str
    run: Callable[[], object]
    enabled: bool = True
    checked: bool | None = None  # None if it can't be checked


class MessageView(QWidget):
    """A message with text areas that can be selected and searched, and with icons.

    Tab stops at a message that has a name. The arrow keys move from there to its buttons.
    """

    revealed: Revealed | None = None

    def __init__(self, name: str = "") -> None:
        super().__init__()
        if name:
            self.setAccessibleName(name)
            self.setAccessibleDescription(tr("The Left and Right keys move to its buttons"))
            self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    @property
    def action_buttons(self) -> list[QAbstractButton]:
        """The buttons of the message in the order of the arrow keys.

        Those that don't apply now are included.
        """
        return []

    @property
    def menu_entries(self) -> list[MenuEntry]:
        """What the menu of the message offers now."""
        return []

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.show_pointed(True)

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.show_pointed(False)

    def show_pointed(self, pointed: bool) -> None:
        """Show the icons if the pointer is over the message."""
        if self.revealed is not None and self.revealed.pointed != pointed:
            self.revealed.pointed = pointed
            self.revealed.update()

    def show_icons(self) -> None:
        """Draw the icons again, which may appear or disappear."""
        if self.revealed is not None:
            self.revealed.update()

    def areas(self) -> dict[int, BlocksView]:
        """Return the text areas, by number."""
        return {}

    def show_band(self, top: int, bottom: int) -> bool:
        """Build the text from `top` to `bottom`. Return whether heights changed."""
        changed = False
        for area in self.areas().values():
            above = area.mapTo(self, QPoint()).y()
            changed = area.show_band(top - above, bottom - above) or changed
        return changed
