"""The field of a message. Return sends, and Shift-Return starts a new line."""

from PySide6.QtCore import QMimeData, Qt, Signal
from PySide6.QtGui import QDropEvent, QFocusEvent, QKeyEvent
from PySide6.QtWidgets import QWidget

from app.session.attachment_reader import AttachmentReader
from app.text.language import number, tr
from app.views.chat.dropped import Dropped, dropped, files_in, image_link, is_image
from app.views.chat.long_pastes import LongPastes
from app.widgets.growing_field import MAX_LINES, GrowingField


class MessageField(GrowingField):
    """A field that attaches files.

    Args:
        attachments: gets files, images, and long texts that are pasted or dropped.
        placeholder: what an empty field shows.
        max_lines: those shown before the field scrolls.
    """

    escaped = Signal()  # Esc was pressed, while `takes_escape`
    paged = Signal(int)  # scroll the chat: -1 up, 1 down
    focused = Signal()  # it has got or lost the focus

    takes_escape = False

    def __init__(
        self, attachments: AttachmentReader, placeholder: str, max_lines: int = MAX_LINES, parent: QWidget | None = None
    ) -> None:
        super().__init__(placeholder, max_lines, parent)
        self._attachments = attachments
        self.pasted = LongPastes(self, attachments)
        self._dropping = False
        self.setAccessibleName(tr("Message"))

    def attach(self, found: Dropped) -> None:
        """Attach what was pasted or dropped."""
        reader = self._attachments
        if found.files:
            reader.attach(found.files)
        elif found.image:
            place = len(reader.files) + len(reader.reading) + 1
            reader.attach_data(found.image, found.name or tr("Image {number}", number=number(place)))
        elif found.link:
            reader.refused.emit(tr("This image is on a web page. Save it first, then attach the file."))

    def canInsertFromMimeData(self, source: QMimeData) -> bool:
        return bool(files_in(source)) or is_image(source) or super().canInsertFromMimeData(source)

    def insertFromMimeData(self, source: QMimeData) -> None:
        """Attach pasted or dropped files and images, and long texts.

        A pasted link stays a link.
        """
        if files_in(source) or is_image(source) or (self._dropping and image_link(source)):
            self.attach(dropped(source))
        elif self._dropping or not self.pasted.attach(source.text()):
            super().insertFromMimeData(source)

    def dropEvent(self, event: QDropEvent) -> None:
        self._dropping = True
        super().dropEvent(event)
        self._dropping = False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.takes_escape:
            self.escaped.emit()
            return
        step = (event.key() == Qt.Key.Key_PageDown) - (event.key() == Qt.Key.Key_PageUp)
        # Scroll the chat if the whole text is visible. On a Mac these keys have the keypad modifier.
        if step and self.verticalScrollBar().maximum() == 0 and not event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier:
            self.paged.emit(step)
            return
        super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focused.emit()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focused.emit()
