"""A code block with its language, buttons, and colored lines."""

from itertools import takewhile
from math import ceil
from typing import get_args

from PySide6.QtCore import QPoint, QRect, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QCursor,
    QSyntaxHighlighter,
    QTextCharFormat,
    QTextCursor,
    QTextOption,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QToolTip, QWidget

from app.rendering.blocks import CodeBlock
from app.rendering.highlighting import Highlighter, SyntaxColor
from app.rendering.text_marks import TextMarks, cursor_at, extra_selections
from app.rendering.text_view import make_selectable, prepare_document
from app.system.browser_page import SUFFIXES, open_page
from app.text.language import tr
from app.widgets.controls import button, copy_button, small_label
from app.widgets.layout import column, row
from app.widgets.theme import Theme, set_look

MARGIN = 14  # left and right of the lines
BELOW = 12  # under the last line
BORDER = 2
MAX_MEASURED = 1000  # characters of a line
MAX_COLORED = 5000  # characters of a line: Qt lays out the whole line again whenever it grows


class CodeView(QFrame):
    """A view of one code block that lays out only new lines as the code grows."""

    resized = Signal()  # the height has changed

    def __init__(self, theme: Theme, block: CodeBlock, wrapped: bool = False) -> None:
        super().__init__()
        self._theme = theme
        self.language = block.language
        self.text = ""
        set_look(self, "code")
        self._title = small_label(theme, block.language or "text", "faint")
        self.wrap = button(tr("Wrap"), tr("Wrap long lines"))
        self.wrap.setCheckable(True)
        self.wrap.setChecked(wrapped)
        self.wrap.toggled.connect(self._set_wrapped)
        self.copy = copy_button(tr("Copy code"), lambda: self.text)
        self.open = button(tr("Open in Browser"), clicked=self._open)
        self.open.setToolTip(tr("Open in the browser, which runs its scripts"))
        self.open.setVisible(block.language.lower() in SUFFIXES)
        self._lines = _CodeLines(theme, block.language)
        self._lines.set_wrapped(wrapped)
        self._bar = QWidget()
        row(self._title, None, self.open, self.wrap, self.copy, spacing=2, margins=(MARGIN, 4, 6, 0), parent=self._bar)
        column(self._bar, self._lines, spacing=0, parent=self)
        self.show_block(block)

    def show_block(self, block: CodeBlock) -> None:
        """Show a newer version of the block."""
        if block.text != self.text:
            self._lines.set_code(self.text, block.text)
            self.text = block.text

    def fit(self, width: int) -> int:
        """Lay out at a width, and return the height."""
        return self._bar.sizeHint().height() + self._lines.fit(width - BORDER) + BORDER

    # Methods common to all part views: see `TextView`

    def position_at(self, point: QPoint) -> int:
        return self._lines.cursorForPosition(self._lines.viewport().mapFrom(self, point)).position()

    def word_at(self, offset: int, paragraph: bool = False) -> tuple[int, int]:
        cursor = cursor_at(self._lines.document(), offset)
        cursor.select(QTextCursor.SelectionType.LineUnderCursor if paragraph else QTextCursor.SelectionType.WordUnderCursor)
        return cursor.selectionStart(), cursor.selectionEnd()

    def link_at(self, point: QPoint) -> str:
        return ""  # code has no links

    def rect_of(self, offset: int) -> QRect:
        """Scroll the character at an offset into view. Return its rectangle."""
        cursor = cursor_at(self._lines.document(), offset)
        bar = self._lines.horizontalScrollBar()
        left = self._lines.cursorRect(cursor).left() + bar.value()
        if not bar.value() <= left < bar.value() + self._lines.viewport().width() - 40:
            bar.setValue(max(0, left - 60))
        rect = self._lines.cursorRect(cursor)
        return QRect(self._lines.viewport().mapTo(self, rect.topLeft()), rect.size())

    def mark(self, marks: TextMarks) -> None:
        self._lines.setExtraSelections(extra_selections(self._lines.document(), marks, self._theme))

    def enable_selection(self) -> None:
        make_selectable(self._lines)

    def wheelEvent(self, event: QWheelEvent) -> None:
        self._lines.wheelEvent(event)

    @Slot()
    def _open(self) -> None:
        if not open_page(self.text, self.language.lower()):
            text = tr("Can't open this in a browser. Check that a default browser is set, and that the disk isn't full.")
            QToolTip.showText(QCursor.pos(), text, self.open)

    @Slot(bool)
    def _set_wrapped(self, wrapped: bool) -> None:
        self._lines.set_wrapped(wrapped)
        self.resized.emit()


class _Colors(QSyntaxHighlighter):
    """A Qt highlighter that applies the colors of a `Highlighter`."""

    def __init__(self, lines: QPlainTextEdit, theme: Theme, highlighter: Highlighter) -> None:
        super().__init__(lines.document())
        self._highlighter = highlighter
        self._formats = {}
        for name in get_args(SyntaxColor):
            form = QTextCharFormat()
            form.setForeground(QColor(getattr(theme.colors, name)))
            self._formats[name] = form

    def highlightBlock(self, text: str) -> None:
        number = self.currentBlock().blockNumber()
        if number < len(self._highlighter.lines):
            for run in takewhile(lambda run: run.start < MAX_COLORED, self._highlighter.lines[number]):
                self.setFormat(run.start, run.length, self._formats[run.color])


class _CodeLines(QPlainTextEdit):
    def __init__(self, theme: Theme, language: str) -> None:
        super().__init__()
        prepare_document(self, tr("Code"))
        self.setLineWrapMode(QPlainTextEdit.LineWrapMode.NoWrap)
        self.setFont(theme.code_font)
        self.setViewportMargins(MARGIN, 2, MARGIN, BELOW)
        self._text_width = 0
        self._highlighter = Highlighter(language)
        self._colors = _Colors(self, theme, self._highlighter)

    def set_code(self, old: str, text: str) -> None:
        recolored = self._highlighter.update(text)
        grown = bool(old) and text.startswith(old)
        longest = max(text[old.rfind("\n") + 1 if grown else 0 :].split("\n"), key=len)
        self._text_width = max(self._text_width if grown else 0, self.fontMetrics().horizontalAdvance(longest[:MAX_MEASURED]))
        if grown:
            cursor = QTextCursor(self.document())
            cursor.movePosition(QTextCursor.MoveOperation.End)
            first_new = cursor.blockNumber()
            cursor.insertText(text[len(old) :])  # Qt highlights new lines itself
            for number in recolored:
                if number < first_new:
                    self._colors.rehighlightBlock(self.document().findBlockByNumber(number))
        else:
            self.setPlainText(text)

    def set_wrapped(self, wrapped: bool) -> None:
        modes = QPlainTextEdit.LineWrapMode
        self.setLineWrapMode(modes.WidgetWidth if wrapped else modes.NoWrap)
        self.setWordWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)

    def fit(self, width: int) -> int:
        """Return the height of all lines, plus the scroll bar if a line is too long."""
        layout = self.document().documentLayout()
        first = self.document().begin()
        line = max(layout.blockBoundingRect(first).height() / max(1, first.lineCount()), self.fontMetrics().lineSpacing())
        below = 4 + BELOW
        if self.lineWrapMode() == QPlainTextEdit.LineWrapMode.WidgetWidth:
            self.resize(width, self.height())
            block = first
            while block.isValid():  # wraps lines that haven't been drawn yet
                layout.blockBoundingRect(block)
                block = block.next()
            lines = self.document().lineCount()
        else:
            lines = self.document().blockCount()
            if self._text_width > width - 2 * MARGIN:  # the document knows only the widths of drawn lines
                below += self.horizontalScrollBar().sizeHint().height()
        return ceil(lines * line) + below

    def wheelEvent(self, event: QWheelEvent) -> None:
        if abs(event.angleDelta().x()) > abs(event.angleDelta().y()):
            super().wheelEvent(event)
        else:
            event.ignore()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        event.ignore()
