"""The editor of an earlier message, in place of its bubble."""

from PySide6.QtCore import QEvent, Signal, Slot
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QFrame

from app.session.attachment_reader import AttachmentReader
from app.session.next_message import NextMessage
from app.session.page_choice import PageChoice
from app.text.language import tr
from app.views.chat.file_area import FileArea
from app.views.chat.message_field import MessageField
from app.widgets.controls import IconButton, as_tooltip, button
from app.widgets.layout import column, row
from app.widgets.theme import Theme, set_look

MAX_LINES = 16  # shown before the field scrolls


class MessageEditor(QFrame):
    """The text and files of a message that is being edited.

    Return sends the message, and Esc cancels the edit.
    """

    canceled = Signal()
    attach_requested = Signal()

    def __init__(self, theme: Theme, message: NextMessage, attachments: AttachmentReader, pages: PageChoice | None) -> None:
        super().__init__()
        self._message, self._attachments = message, attachments
        self.field = MessageField(attachments, tr("Message"), MAX_LINES, self)
        self.field.setAccessibleName(tr("Edit your message"))
        self.field.takes_escape = True
        self.field.submitted.connect(message.submit)
        self.field.escaped.connect(self.canceled)
        self.field.focused.connect(self._show_look)
        self.file_area = FileArea(theme, attachments, pages, self)
        self.attach_button = IconButton(theme, "clip", tr("Attach files"))
        self.attach_button.clicked.connect(self.attach_requested)
        self.cancel_button = button(tr("Cancel"), tr("Cancel editing"), "bordered", self.canceled.emit)
        self.send_button = button(tr("Send"), tr("Send the edited message"), "primary", message.submit)
        self.send_button.setToolTip(tr("Keeps this version and its replies"))
        buttons = row(self.attach_button, None, self.cancel_button, self.send_button)
        column(self.file_area, self.field, buttons, spacing=4, margins=(10, 8, 8, 8), parent=self)
        self._show_text()
        self._show_files()
        self.field.textChanged.connect(self._write)
        message.replaced.connect(self._show_text)
        message.changed.connect(self._show_state)
        attachments.changed.connect(self._show_files)
        self._show_state()

    @Slot()
    def _show_text(self) -> None:
        if self._message.is_edit and self._message.text != self.field.toPlainText():
            self.field.pasted.clear()
            self.field.setPlainText(self._message.text)
            self.field.moveCursor(QTextCursor.MoveOperation.End)

    @Slot()
    def _write(self) -> None:
        if self._message.is_edit:
            self._message.write(self.field.toPlainText())
            self._show_state()

    @Slot()
    def _show_files(self) -> None:
        if self._message.is_edit:
            self.file_area.show_message()
            self._show_state()

    @Slot()
    def _show_look(self) -> None:
        waits = bool(self._message.note)
        set_look(self, "composer-waiting" if waits else "composer-active" if self.field.hasFocus() else "composer")
        set_look(self.field, "waiting" if waits else "")

    @Slot()
    def _show_state(self) -> None:
        """Show whether the message can be sent, or waits."""
        self._show_look()
        obstacle = self._message.obstacle
        self.send_button.setEnabled(bool(self._message.text.strip() or self._attachments.files) and not obstacle)
        self.send_button.setToolTip(as_tooltip(obstacle) if obstacle else tr("Keeps this version and its replies"))

    def event(self, event: QEvent) -> bool:
        """Let the bubble's row follow the height of the text."""
        if event.type() == QEvent.Type.LayoutRequest:
            self.updateGeometry()
        return super().event(event)
