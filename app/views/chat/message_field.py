"""The field of a message. Return sends, and Shift-Return starts a new line."""

from PySide6.QtCore import QEvent, QMimeData, Qt, Signal, Slot
from PySide6.QtGui import QDropEvent, QFocusEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QSizePolicy, QWidget

from app.session.attachment_reader import AttachmentReader
from app.text.language import number, tr
from app.views.chat.dropped import Dropped, dropped, files_in, image_link, is_image
from app.views.chat.long_pastes import LongPastes

MAX_LINES = 8  # shown before the field scrolls


class MessageField(QPlainTextEdit):
    """A field as high as its text, up to a limit.

    Args:
        attachments: gets files, images, and long texts that are pasted or dropped.
        placeholder: what an empty field shows.
        max_lines: those shown before the field scrolls.
    """

    submitted = Signal()
    escaped = Signal()  # Esc was pressed, while `takes_escape`
    paged = Signal(int)  # scroll the chat: -1 up, 1 down
    focused = Signal()  # it has got or lost the focus

    takes_escape = False

    def __init__(
        self, attachments: AttachmentReader, placeholder: str, max_lines: int = MAX_LINES, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._attachments, self._placeholder, self._max_lines = attachments, placeholder, max_lines
        self.pasted = LongPastes(self, attachments)
        self._dropping = False
        self.setAccessibleName(tr("Message"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabChangesFocus(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().setDocumentMargin(2)
        self.setViewportMargins(0, 6, 0, 0)  # centers one line
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self._fit()

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
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and not event.modifiers() & (Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.AltModifier):
            if not event.isAutoRepeat():  # the key may have been pressed in another app
                self.submitted.emit()
            return
        if event.key() == Qt.Key.Key_Escape and self.takes_escape:
            self.escaped.emit()
            return
        if enter:
            self.textCursor().insertBlock()  # Qt would insert U+2028
            self.ensureCursorVisible()
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

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.FontChange:
            self._fit()
            self._fit_placeholder()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()  # the document doesn't report lines that break elsewhere now
        self._fit_placeholder()

    def _fit_placeholder(self) -> None:
        width = self.viewport().width() - 2 * round(self.document().documentMargin())
        self.setPlaceholderText(self.fontMetrics().elidedText(self._placeholder, Qt.TextElideMode.ElideRight, width))

    @Slot()
    def _fit(self) -> None:
        lines = round(self.document().size().height())  # QPlainTextEdit counts in lines
        shown = max(1, min(lines, self._max_lines))
        height = shown * self.fontMetrics().lineSpacing() + 16
        scroll = Qt.ScrollBarPolicy.ScrollBarAsNeeded if lines > self._max_lines else Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.setVerticalScrollBarPolicy(scroll)
        if height != self.maximumHeight():
            self.setFixedHeight(height)
