"""A code block: its language, buttons to wrap and copy, colored lines that scroll sideways."""

from math import ceil

from PySide6.QtCore import QPoint, QRect, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QGuiApplication,
    QSyntaxHighlighter,
    QTextCharFormat,
    QTextCursor,
    QTextDocument,
    QTextOption,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPlainTextEdit, QPushButton, QVBoxLayout, QWidget

from app.language import tr
from app.rendering.blocks import Code
from app.rendering.highlight import Highlighter
from app.rendering.marks import Marks, selections
from app.rendering.tint import NO_TINT, Tint, tint_selections
from app.widgets.label import Label
from app.widgets.theme import SMALL, Theme, set_look

COPIED_MS = 1500
BELOW = 12  # pixels under the last line
BORDER = 2


class CodeView(QFrame):
    """Shows one `Code` block and follows it as it grows: only new lines are laid out."""

    resized = Signal()  # its height is no longer what it was

    def __init__(self, theme: Theme, block: Code, wrapped: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.language = block.language
        self._text = ""
        set_look(self, "code")
        self._title = Label(block.language or "text")
        theme.set_font(self._title, SMALL)
        set_look(self._title, "faint")
        self.wrap = _button(tr("Wrap"), tr("Wrap long lines"))
        self.wrap.setCheckable(True)
        self.wrap.setChecked(wrapped)
        self.wrap.toggled.connect(self._set_wrapped)
        self._copy = _button(tr("Copy"), tr("Copy code"))
        self._copy.clicked.connect(self.copy)
        self._lines = _Lines(theme, block.language)
        self._bar = QWidget()
        bar = QHBoxLayout(self._bar)
        bar.setContentsMargins(14, 4, 6, 0)
        bar.setSpacing(2)
        bar.addWidget(self._title)
        bar.addStretch()
        bar.addWidget(self.wrap)
        bar.addWidget(self._copy)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self._bar)
        layout.addWidget(self._lines)
        self._restore = QTimer(self)
        self._restore.setSingleShot(True)
        self._restore.timeout.connect(self._reset_button)
        self._lines.set_wrapped(wrapped)
        self.show_block(block)

    @property
    def text(self) -> str:
        return self._text

    def show_block(self, block: Code) -> None:
        """Show this version of the block."""
        if block.text != self._text:
            self._lines.set_code(block.text)
            self._text = block.text

    def fit(self, width: int) -> int:
        """The height at this width."""
        return self._bar.sizeHint().height() + self._lines.fit(width - BORDER) + BORDER

    # What the transcript asks of every part

    def position_at(self, point: QPoint) -> int:
        """The offset under a point, or the nearest."""
        return self._lines.cursorForPosition(self._lines.viewport().mapFrom(self, point)).position()

    def word_at(self, offset: int, paragraph: bool = False) -> tuple[int, int]:
        """Where the word or line around an offset begins and ends."""
        cursor = QTextCursor(self._lines.document())
        cursor.setPosition(min(offset, self._lines.document().characterCount() - 1))
        cursor.select(QTextCursor.SelectionType.LineUnderCursor if paragraph else QTextCursor.SelectionType.WordUnderCursor)
        return cursor.selectionStart(), cursor.selectionEnd()

    def link_at(self, point: QPoint) -> str:
        """Code has no links."""
        return ""

    def rect_of(self, offset: int) -> QRect:
        """Where the character at an offset stands; scrolls it into view sideways."""
        cursor = QTextCursor(self._lines.document())
        cursor.setPosition(min(offset, self._lines.document().characterCount() - 1))
        bar = self._lines.horizontalScrollBar()
        left = self._lines.cursorRect(cursor).left() + bar.value()
        if not bar.value() <= left < bar.value() + self._lines.viewport().width() - 40:
            bar.setValue(max(0, left - 60))
        rect = self._lines.cursorRect(cursor)
        return QRect(self._lines.viewport().mapTo(self, rect.topLeft()), rect.size())

    def mark(self, marks: Marks, tint: Tint = NO_TINT) -> None:
        """Lay tint, selection and hits over the text."""
        tinted = tint_selections(self._lines.document(), tint, self._theme)
        self._lines.setExtraSelections([*tinted, *selections(self._lines.document(), marks, self._theme)])

    def select_alone(self) -> None:
        """Outside a transcript nothing selects across documents: this one is selected by itself."""
        flags = Qt.TextInteractionFlag
        self._lines.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
        self._lines.viewport().setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, False)

    @Slot()
    def copy(self) -> None:
        """Put the code on the clipboard."""
        QGuiApplication.clipboard().setText(self._text)
        self._copy.setText(tr("Copied"))
        self._restore.start(COPIED_MS)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._lines.wheelEvent(event)

    @Slot()
    def _reset_button(self) -> None:
        self._copy.setText(tr("Copy"))

    @Slot(bool)
    def _set_wrapped(self, wrapped: bool) -> None:
        self._lines.set_wrapped(wrapped)
        self.resized.emit()


def _button(text: str, name: str) -> QPushButton:
    made = QPushButton(text)
    made.setAccessibleName(name)
    made.setCursor(Qt.CursorShape.PointingHandCursor)
    set_look(made, "quiet")
    return made


class _Coloring(QSyntaxHighlighter):
    """Lays the colors that the highlighter found over the lines."""

    def __init__(self, document: QTextDocument, theme: Theme) -> None:
        super().__init__(document)
        self.source: Highlighter | None = None
        self._formats = {}
        for name in ("comment", "keyword", "string", "number", "name", "builtin", "operator"):
            form = QTextCharFormat()
            form.setForeground(QColor(getattr(theme.colors, name)))
            self._formats[name] = form

    def highlightBlock(self, text: str) -> None:
        number = self.currentBlock().blockNumber()
        if self.source is not None and number < len(self.source.lines):
            for run in self.source.lines[number]:
                self.setFormat(run.start, run.length, self._formats[run.color])


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
        self.setAccessibleName(tr("Code"))
        self.document().setDocumentMargin(0)
        self.setViewportMargins(14, 2, 14, BELOW)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self._highlighter = Highlighter(language)
        self._coloring = _Coloring(self.document(), theme)
        self._coloring.source = self._highlighter

    def set_code(self, text: str) -> None:
        before = self._highlighter.lines
        unchanged = self._highlighter.update(text)
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
        for number in range(unchanged, min(touched, len(before), len(after))):
            if before[number] != after[number]:
                self._coloring.rehighlightBlock(self.document().findBlockByNumber(number))

    def set_wrapped(self, wrapped: bool) -> None:
        modes = QPlainTextEdit.LineWrapMode
        self.setLineWrapMode(modes.WidgetWidth if wrapped else modes.NoWrap)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)

    def fit(self, width: int) -> int:
        """The height at this width: of all lines, and of the scroll bar where they are too long."""
        line = self.document().documentLayout().blockBoundingRect(self.document().begin()).height()
        line = max(line / max(1, self.document().begin().lineCount()), self.fontMetrics().lineSpacing())
        below = 4 + BELOW
        if self.lineWrapMode() == QPlainTextEdit.LineWrapMode.WidgetWidth:
            self.resize(width, self.height())
            block = self.document().begin()
            while block.isValid():  # a line that was never drawn has not been wrapped yet
                self.document().documentLayout().blockBoundingRect(block)
                block = block.next()
            lines = self.document().lineCount()
        else:
            lines = self.document().blockCount()
            if self.document().size().width() > width - 28:
                below += self.horizontalScrollBar().sizeHint().height()
        return ceil(lines * line) + below

    def wheelEvent(self, event: QWheelEvent) -> None:
        if abs(event.angleDelta().x()) > abs(event.angleDelta().y()):
            super().wheelEvent(event)
        else:
            event.ignore()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        event.ignore()
