"""Signals of the buttons of messages and tool calls."""

from collections.abc import Callable

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from app.storage.chat_tree import Node, Turn


class MessageActions(QObject):
    """Signals of the buttons below messages and in the cards of tool calls."""

    retry = Signal(object)  # Turn
    edit = Signal(object)  # Turn
    resume = Signal(object)  # Turn
    compare = Signal(object)  # Turn
    choose_model = Signal()
    help_requested = Signal(str)  # page and heading
    use_calculator = Signal(object)  # Turn
    version_stepped = Signal(object, int)  # the Node; -1 for the previous version, 1 for the next
    decided = Signal(object, str, str)  # Turn, ID of one of its calls, and a Decision
    call_canceled = Signal(object, str)  # Turn, and ID of one of its calls
    summary_edited = Signal(object, str)  # Node, and its new summary
    compact_undone = Signal()
    page_requested = Signal(object)  # PageRead
    read_aloud = Signal(object)  # Turn whose reply is read, or isn't any more
    reading_changed = Signal()
    can_resume_changed = Signal()
    can_change_summary_changed = Signal()

    editing_changed = Signal()  # `editing`

    can_read_aloud = False  # whether the system has a voice
    reading: Turn | None = None  # whose reply is being read
    can_resume = True  # whether the loaded pair or server can continue replies
    can_change_summary = True  # whether nothing runs in the chat

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.summary_edits: dict[str, str] = {}  # unsaved summaries, by the ID of the message
        self.editing: Node | None = None  # the message that is being edited
        self.make_editor: Callable[[], QWidget] = QWidget

    def set_reading(self, turn: Turn | None) -> None:
        self.reading = turn
        self.reading_changed.emit()

    def set_can_resume(self, can: bool) -> None:
        self.can_resume = can
        self.can_resume_changed.emit()

    def set_can_change_summary(self, can: bool) -> None:
        self.can_change_summary = can
        self.can_change_summary_changed.emit()
