"""A read-only document with formulas and marks: what text and tables share."""

from collections.abc import Sequence
from math import ceil

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QColor, QContextMenuEvent, QFont, QTextCharFormat, QTextCursor, QTextFormat, QWheelEvent
from PySide6.QtWidgets import QFrame, QTextEdit

from app.rendering.blocks import OBJECT, TextSpan
from app.rendering.formulas import DISPLAY, LATEX, OBJECT_TYPE, FormulaRenderer
from app.rendering.text_marks import TextMarks, extra_selections
from app.widgets.controls import as_tooltip
from app.widgets.theme import Theme


class DocumentView(QTextEdit):
    """As tall as its text. It ignores the mouse, because the transcript selects across all documents."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self._theme = theme
        self.formulas_pending = False  # the place of some formulas is not final
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(name)
        self.setLineWrapMode(QTextEdit.LineWrapMode.FixedPixelWidth)  # the width of a hidden viewport is wrong
        self.document().setDocumentMargin(0)
        self.document().setUndoRedoEnabled(False)
        self.document().setDefaultFont(theme.text_font)
        self._formulas = FormulaRenderer(theme.typesetter, self.document())
        self.viewport().setAutoFillBackground(False)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def fit(self, width: int) -> int:
        """Lay out at this width. Return the height."""
        if self.lineWrapColumnOrWidth() != width:
            self.setLineWrapColumnOrWidth(width)
        return ceil(self.document().size().height())

    def mark(self, marks: TextMarks) -> None:
        self.setExtraSelections(extra_selections(self.document(), marks, self._theme))

    def enable_selection(self) -> None:
        """Let the mouse and the keyboard select in this document. Outside a transcript, nothing else does."""
        self.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, False)

    def place_formulas(self) -> None:
        """Give formulas that have been typeset their place."""
        document = self.document()
        self.formulas_pending = False
        block = document.begin()
        while block.isValid():
            at = block.text().find(OBJECT)
            while at >= 0:
                cursor = QTextCursor(document)
                cursor.setPosition(block.position() + at)
                cursor.setPosition(block.position() + at + 1, QTextCursor.MoveMode.KeepAnchor)
                form = cursor.charFormat()
                if form.objectType() == OBJECT_TYPE:
                    self._align_formula(form)
                    cursor.setCharFormat(form)
                at = block.text().find(OBJECT, at + 1)
            block = block.next()
        document.markContentsDirty(0, document.characterCount())

    def insert_spans(self, cursor: QTextCursor, spans: Sequence[TextSpan], base: QTextCharFormat) -> None:
        """Insert text in the style of each span on top of that of the paragraph."""
        for span in spans:
            form = self._span_format(span, base)
            if span.math:
                self.insert_formula(cursor, span.text, False, form)
            else:
                cursor.insertText(span.text, form)

    def insert_formula(self, cursor: QTextCursor, latex: str, display: bool, base: QTextCharFormat) -> None:
        form = QTextCharFormat(base)
        form.setObjectType(OBJECT_TYPE)
        form.setProperty(LATEX, latex)
        form.setProperty(DISPLAY, display)
        form.setProperty(QTextFormat.Property.FontPixelSize, round(self._theme.text_pixels * (1.12 if display else 1.06)))
        form.setToolTip(as_tooltip(latex))
        self._align_formula(form)
        cursor.insertText(OBJECT, form)

    def _align_formula(self, form: QTextCharFormat) -> None:
        form.setVerticalAlignment(self._formulas.alignment(form))
        self.formulas_pending = self.formulas_pending or self._formulas.pending(form)

    def _span_format(self, span: TextSpan, base: QTextCharFormat) -> QTextCharFormat:
        form = QTextCharFormat(base)
        if span.bold:
            form.setFontWeight(QFont.Weight.DemiBold)
        form.setFontItalic(span.italic)
        form.setFontStrikeOut(span.strike)
        if span.code:
            form.setFontFamilies(self._theme.code_font.families())
            form.setProperty(QTextFormat.Property.FontPixelSize, round(self._theme.text_pixels * 0.9))
            form.setBackground(QColor(self._theme.colors.bubble))
        if span.link:
            form.setAnchor(True)
            form.setAnchorHref(span.link)
            form.setToolTip(as_tooltip(span.link))
            form.setForeground(QColor(self._theme.colors.accent))
            form.setFontUnderline(True)
        return form

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # the transcript scrolls

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        event.ignore()

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        return None  # nothing that a reply refers to is ever loaded
