"""A text field that grows with its text. Return submits it."""

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtGui import QKeyEvent, QKeySequence, QResizeEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QSizePolicy, QWidget

MAX_LINES = 8  # shown before the field scrolls


class GrowingField(QPlainTextEdit):
    """A field as high as its text, up to a limit.

    Args:
        placeholder: what an empty field shows.
        max_lines: those shown before the field scrolls.
    """

    submitted = Signal()

    def __init__(self, placeholder: str, max_lines: int = MAX_LINES, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._placeholder, self._max_lines = placeholder, max_lines
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTabChangesFocus(True)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.document().setDocumentMargin(2)
        self.setViewportMargins(0, 6, 0, 0)  # centers one line
        self.document().documentLayout().documentSizeChanged.connect(self._fit)
        self._fit()

    def event(self, event: QEvent) -> bool:
        undoes = isinstance(event, QKeyEvent) and event.matches(QKeySequence.StandardKey.Undo)
        if event.type() == QEvent.Type.ShortcutOverride and undoes and not self.document().isUndoAvailable():
            return False  # the menu's Undo may bring back a deleted chat
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        enter = event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter)
        if enter and not event.modifiers() & (Qt.KeyboardModifier.ShiftModifier | Qt.KeyboardModifier.AltModifier):
            if not event.isAutoRepeat():  # the key may have been pressed in another app
                self.submitted.emit()
        elif enter:
            self.textCursor().insertBlock()  # Qt would insert U+2028
            self.ensureCursorVisible()
        else:
            super().keyPressEvent(event)

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
