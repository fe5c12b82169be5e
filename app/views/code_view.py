"""A code block: its language, a Copy button, coloured lines that scroll sideways."""

from math import ceil

from PySide6.QtCore import Qt, QTimer, Slot
from PySide6.QtGui import QColor, QGuiApplication, QSyntaxHighlighter, QTextCharFormat, QTextCursor, QTextDocument, QWheelEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from app.rendering.blocks import Code
from app.rendering.highlight import Highlighter
from app.views.theme import Theme, look

COPIED_MS = 1500
BELOW = 12  # pixels under the last line


class CodeView(QFrame):
    """Shows one `Code` block and follows it as it grows: only new lines are laid out."""

    def __init__(self, theme: Theme, block: Code, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.language = block.language
        self._text = ""
        look(self, "code")
        self._title = QLabel(block.language or "text")
        self._title.setFont(theme.small())
        look(self._title, "faint")
        self._copy = QPushButton("Copy")
        self._copy.setAccessibleName("Copy code")
        self._copy.setCursor(Qt.CursorShape.PointingHandCursor)
        look(self._copy, "quiet")
        self._copy.clicked.connect(self.copy)
        self._lines = _Lines(theme, block.language)
        bar = QHBoxLayout()
        bar.setContentsMargins(14, 4, 6, 0)
        bar.addWidget(self._title)
        bar.addStretch()
        bar.addWidget(self._copy)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(bar)
        layout.addWidget(self._lines)
        self._restore = QTimer(self)
        self._restore.setSingleShot(True)
        self._restore.timeout.connect(self._reset_button)
        self.show_block(block)

    @property
    def text(self) -> str:
        return self._text

    def show_block(self, block: Code) -> None:
        """Show this version of the block."""
        if block.text != self._text:
            self._lines.set_code(block.text)
            self._text = block.text

    @Slot()
    def copy(self) -> None:
        """Put the code on the clipboard."""
        QGuiApplication.clipboard().setText(self._text)
        self._copy.setText("Copied")
        self._restore.start(COPIED_MS)

    @Slot()
    def _reset_button(self) -> None:
        self._copy.setText("Copy")


class _Colouring(QSyntaxHighlighter):
    """Lays the colours that the highlighter found over the lines."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        super().__init__(document)
        self.source: Highlighter | None = None
        self._formats = {}
        for name in ("comment", "keyword", "string", "number", "name", "builtin", "operator"):
            form = QTextCharFormat()
            form.setForeground(QColor(getattr(theme.colours, name)))
            self._formats[name] = form

    def highlightBlock(self, text: str) -> None:
        number = self.currentBlock().blockNumber()
        if self.source is not None and number < len(self.source.lines):
            for run in self.source.lines[number]:
                self.setFormat(run.start, run.length, self._formats[run.colour])


class _Lines(QPlainTextEdit):
    def __init__(self, theme: Theme, language: str) -> None:
        super().__init__()
        self._shown = ""
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFont(theme.code_font)
        self.setUndoRedoEnabled(False)
        self.setAccessibleName("Code")
        self.document().setDocumentMargin(0)
        self.setViewportMargins(14, 2, 14, BELOW)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard)
        self._highlighter = Highlighter(language)
        self._colouring = _Colouring(self.document(), theme)
        self._colouring.source = self._highlighter
        self.horizontalScrollBar().rangeChanged.connect(self._fit)

    def set_code(self, text: str) -> None:
        before = self._highlighter.lines
        self._highlighter.update(text)
        old, self._shown = self._shown, text
        if old and text.startswith(old):
            cursor = QTextCursor(self.document())
            cursor.movePosition(QTextCursor.MoveOperation.End)
            touched = cursor.blockNumber()
            cursor.insertText(text[len(old) :])
        else:
            touched = 0
            self.setPlainText(text)
        after = self._highlighter.lines
        for number in range(min(touched, len(before), len(after))):
            if before[number] != after[number]:
                self._colouring.rehighlightBlock(self.document().findBlockByNumber(number))
        self._fit()

    @Slot()
    def _fit(self) -> None:
        lines = self.document().blockCount()
        line = self.document().documentLayout().blockBoundingRect(self.document().begin()).height()
        height = ceil(lines * max(line, self.fontMetrics().lineSpacing())) + 4 + BELOW
        if self.horizontalScrollBar().maximum() > 0:
            height += self.horizontalScrollBar().sizeHint().height()
        if height != self.maximumHeight():
            self.setFixedHeight(height)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if abs(event.angleDelta().x()) > abs(event.angleDelta().y()):
            super().wheelEvent(event)
        else:
            event.ignore()
