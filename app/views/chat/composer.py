"""The message field. Return sends, and Shift-Return starts a new line."""

from collections.abc import Sequence

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent, QTextCursor
from PySide6.QtWidgets import QFrame, QWidget

from app.session.attachment_reader import AttachmentReader
from app.session.next_message import NextMessage
from app.session.page_choice import PageChoice
from app.text.language import tr
from app.views.chat.dropped import Dropped
from app.views.chat.file_area import FileArea
from app.views.chat.message_editor import MessageEditor
from app.views.chat.message_field import MessageField
from app.widgets.controls import IconButton, as_tooltip
from app.widgets.layout import column, row
from app.widgets.send_button import SendButtons
from app.widgets.theme import Theme, set_look

LONGEST_LINE = 400  # characters that can fit next to the controls
PAD = 8  # around everything


class Composer(QFrame):
    """A field for text and files, with buttons that send and stop.

    While an earlier message is being edited in its bubble, the field shows the unsent message and can't be changed.

    Attributes:
        editor: the editor in the bubble, if there is one.
    """

    stop_requested = Signal()
    edit_canceled = Signal()
    attach_requested = Signal()
    paged = Signal(int)  # scroll the chat: -1 up, 1 down

    def __init__(
        self,
        theme: Theme,
        message: NextMessage,
        attachments: AttachmentReader,
        controls: Sequence[QWidget],
        pages: PageChoice | None = None,
        tool_chips: QWidget | None = None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._theme, self._message, self._attachments, self._pages = theme, message, attachments, pages
        self.editor: MessageEditor | None = None
        set_look(self, "composer")
        self.field = MessageField(attachments, tr("Message Slipstream"), parent=self)
        self.field.submitted.connect(message.submit)
        self.field.focused.connect(self.show_look)
        self.field.paged.connect(self.paged)
        self._buttons = SendButtons(theme)
        self.button, self.stop_button = self._buttons.send, self._buttons.stop
        self.button.clicked.connect(message.submit)
        self.stop_button.clicked.connect(self.stop_requested)
        self.attach_button = IconButton(theme, "clip", tr("Attach files"))
        self.attach_button.clicked.connect(self.attach_requested)
        self.file_area = FileArea(theme, attachments, pages, self)
        self.files = self.file_area.files
        attachments.changed.connect(self._show_files)
        self._busy = False
        bottom = Qt.AlignmentFlag.AlignBottom
        self._controls = (self.attach_button, *controls)
        self._line = row(*((control, 0, bottom) for control in self._controls), (self.field, 1), (self._buttons, 0, bottom))
        chips = (tool_chips,) if tool_chips is not None else ()
        self._column = column(self.file_area, *chips, self._line, spacing=2, margins=(PAD,) * 4, parent=self)
        self.is_stacked = False  # whether the field is above the controls
        self._show_text()
        self.field.textChanged.connect(self._write)
        message.replaced.connect(self._show_text)
        message.changed.connect(self._show_button)
        self._show_button()

    @Slot(object)
    def attach(self, found: Dropped) -> None:
        """Attach what was dropped on the window."""
        self.field.attach(found)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self._arrange()
        return super().event(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    @Slot()
    def _arrange(self) -> None:
        """Put the field above the controls if its text doesn't fit next to them."""
        text = self.text
        taken = sum(one.sizeHint().width() + self._line.spacing() for one in (*self._controls, self._buttons) if not one.isHidden())
        room = self.contentsRect().width() - 2 * PAD - taken - 2 * round(self.field.document().documentMargin()) - 1
        is_long = "\n" in text or len(text) > LONGEST_LINE or self.field.fontMetrics().horizontalAdvance(text) > room
        if is_long == self.is_stacked:
            return
        self.is_stacked = is_long
        place = self._line.indexOf(self._buttons)
        if is_long:
            self._line.removeWidget(self.field)
            self._line.insertStretch(place - 1, 1)
            self._column.insertWidget(self._column.indexOf(self._line), self.field)
        else:
            self._column.removeWidget(self.field)
            self._line.takeAt(place - 1)
            self._line.insertWidget(place - 1, self.field, 1)

    def set_busy(self, busy: bool) -> None:
        self._busy = busy
        self._show_button()

    @Slot()
    def _write(self) -> None:
        if not self._message.is_edit:
            self._message.write(self.field.toPlainText())
        self._arrange()
        self._show_button()

    @Slot()
    def _show_text(self) -> None:
        """Show what may be another message, without the history of the one before."""
        self.field.pasted.clear()
        self._enable()
        text = self._message.draft if self._message.is_edit else self._message.text
        if text != self.text:
            self.field.setPlainText(text)
            self.field.moveCursor(QTextCursor.MoveOperation.End)

    def _enable(self) -> None:
        """Let the user change the unsent message, unless another one is being edited."""
        can = not self._message.is_edit
        for widget in (self.field, self.attach_button, self.files):
            widget.setEnabled(can)

    @Slot()
    def focus(self) -> None:
        self.active_field.setFocus()

    @property
    def active_field(self) -> MessageField:
        """The field that is being written in."""
        return self.editor.field if self.editor is not None else self.field

    @property
    def active_attach_button(self) -> IconButton:
        """The button that attaches files to the message that is being written."""
        return self.editor.attach_button if self.editor is not None else self.attach_button

    def make_editor(self) -> MessageEditor:
        """Return an editor of the message that is being edited, for its bubble."""
        self.editor = editor = MessageEditor(self._theme, self._message, self._attachments, self._pages)
        editor.canceled.connect(self.edit_canceled)
        editor.attach_requested.connect(self.attach_requested)
        editor.field.paged.connect(self.paged)
        return editor

    @property
    def text(self) -> str:
        return self.field.toPlainText()

    @property
    def _has_message(self) -> bool:
        return not self._message.is_edit and bool(self._message.text.strip() or self._attachments.files)

    def show_look(self) -> None:
        """Show whether the field has the focus, and whether its message waits."""
        waits = bool(self._message.note) and not self._message.is_edit
        set_look(self, "composer-waiting" if waits else "composer-active" if self.field.hasFocus() else "composer")
        set_look(self.field, "waiting" if waits else "")

    @Slot()
    def _show_button(self) -> None:
        self.show_look()
        obstacle = "" if self._message.is_edit else self._message.obstacle
        self._buttons.show_state(self._busy, self._has_message and not self._message.note)
        self.button.set_ready(self._has_message and not obstacle)
        self.button.setEnabled(not (obstacle or self._message.is_edit))
        self.button.setToolTip(as_tooltip(obstacle) if obstacle else tr("Send (Return)"))

    @Slot()
    def _show_files(self) -> None:
        if self._message.is_edit:
            self.file_area.show_draft(self._message.draft_files)
        else:
            self.file_area.show_message()
        self._show_button()
