"""Paragraphs, headings, lists, quotes, and formulas in one document."""

import unicodedata
from collections.abc import Sequence
from math import ceil

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, Qt, QUrl
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFont,
    QFontMetrics,
    QPainter,
    QPaintEvent,
    QPen,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QTextEdit

from app.rendering.blocks import OBJECT, MathBlock, ParagraphBlock, RuleBlock, TextBlock, TextSpan
from app.rendering.page_links import link_tip
from app.rendering.text_marks import TextMarks, cursor_at, extra_selections
from app.text.language import tr
from app.widgets.controls import as_tooltip
from app.widgets.formulas import DISPLAY, LATEX, OBJECT_TYPE, FormulaRenderer
from app.widgets.theme import DEEPEST_INDENT, INDENT, QUOTE, Theme

MARKER_GAP = 8
LINE_HEIGHT = 142  # percent
HEADING_SIZES = {1: 1.45, 2: 1.25, 3: 1.1}

_quote_property = QTextFormat.Property.UserProperty + 1
_marker_property = QTextFormat.Property.UserProperty + 2
_task_property = QTextFormat.Property.UserProperty + 3
_rule_property = QTextFormat.Property.UserProperty + 4


def prepare_document(view: QTextEdit | QPlainTextEdit, name: str) -> None:
    """Make a view show only its read-only text. The transcript handles the mouse."""
    view.setReadOnly(True)
    view.setFrameShape(QFrame.Shape.NoFrame)
    view.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    view.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
    view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    view.setAccessibleName(name)
    view.document().setDocumentMargin(0)
    view.document().setUndoRedoEnabled(False)
    view.viewport().setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)


def make_selectable(view: QTextEdit | QPlainTextEdit) -> None:
    """Allow selecting text by mouse and keyboard in a view outside a transcript."""
    view.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse | Qt.TextInteractionFlag.TextSelectableByKeyboard)
    view.viewport().setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, False)


class DocumentView(QTextEdit):
    """A read-only document with formulas and marks, as tall as its text."""

    def __init__(self, theme: Theme, name: str) -> None:
        super().__init__()
        self._theme = theme
        self.formulas_pending = False  # some formulas haven't been typeset yet
        prepare_document(self, name)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setLineWrapMode(QTextEdit.LineWrapMode.FixedPixelWidth)  # the width of a hidden viewport is wrong
        self.document().setDefaultFont(theme.text_font)
        self._formulas = FormulaRenderer(theme.typesetter, lambda: (theme.code_font, theme.colors.code), self.document())
        self.viewport().setAutoFillBackground(False)

    def fit(self, width: int) -> int:
        """Lay out at a width, and return the height."""
        if self.lineWrapColumnOrWidth() != width:
            self.setLineWrapColumnOrWidth(width)
        return ceil(self.document().size().height())

    def mark(self, marks: TextMarks) -> None:
        self.setExtraSelections(extra_selections(self.document(), marks, self._theme))

    def enable_selection(self) -> None:
        make_selectable(self)

    def place_formulas(self) -> None:
        """Lay out newly typeset formulas."""
        document = self.document()
        self.formulas_pending = False
        cursor = document.find(OBJECT)
        while not cursor.isNull():
            form = cursor.charFormat()
            if form.objectType() == OBJECT_TYPE:
                self._align_formula(form)
                cursor.setCharFormat(form)
            cursor = document.find(OBJECT, cursor)
        document.markContentsDirty(0, document.characterCount())

    def insert_spans(self, cursor: QTextCursor, spans: Sequence[TextSpan], base: QTextCharFormat) -> None:
        """Insert spans, with each span's style on top of the `base` format."""
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
            # The font's italic face has a single weight, which Qt emboldens only from Bold.
            form.setFontWeight(QFont.Weight.Bold if span.italic else QFont.Weight.DemiBold)
        form.setFontItalic(span.italic)
        form.setFontStrikeOut(span.strike)
        if span.code:
            form.setFontFamilies(self._theme.code_font.families())
            form.setProperty(QTextFormat.Property.FontPixelSize, round(self._theme.text_pixels * 0.9))
            form.setBackground(QColor(self._theme.colors.bubble))
        if span.link:
            form.setAnchor(True)
            form.setAnchorHref(span.link)
            form.setToolTip(as_tooltip(link_tip(span.link)))
            form.setForeground(QColor(self._theme.colors.accent))
            form.setFontUnderline(True)
        return form

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # the transcript scrolls

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        event.ignore()

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        return None  # never load images or other resources of a reply


class TextView(DocumentView):
    """A document that grows at the end without laying out the text above again."""

    def __init__(self, theme: Theme, quiet: bool = False) -> None:
        """Create an empty view. `quiet` text has the secondary text color."""
        super().__init__(theme, tr("Text"))
        self._quiet = quiet
        self._starts: list[int] = []  # document position of each block

    def __len__(self) -> int:
        return len(self._starts)

    def truncate(self, count: int) -> None:
        """Keep the first `count` blocks."""
        if count >= len(self._starts):
            return
        start = self._starts[count]
        del self._starts[count:]
        cursor = QTextCursor(self.document())
        cursor.setPosition(max(0, start - 1))
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        if start == 0:
            cursor.setBlockFormat(QTextBlockFormat())
            cursor.setBlockCharFormat(QTextCharFormat())

    def append_block(self, block: ParagraphBlock, plain: bool = False) -> None:
        """Add a block at the end. Blocks of `plain` text have no space between them."""
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        form, base = QTextBlockFormat(), QTextCharFormat()
        indent = min(block.quote, DEEPEST_INDENT) * QUOTE + min(block.indent, DEEPEST_INDENT) * INDENT
        if isinstance(block, TextBlock) and block.marker:  # a long number, such as "1969.", needs more space
            indent = max(indent, QFontMetrics(self._theme.text_font).horizontalAdvance(block.marker) + MARKER_GAP)
        form.setLeftMargin(indent)
        top, bottom = vertical_margins(block, plain)
        form.setTopMargin(top)  # Qt ignores it above the first block
        form.setBottomMargin(bottom)
        if block.quote:
            form.setProperty(_quote_property, block.quote)
        match block:
            case TextBlock():
                form.setLineHeight(125 if block.heading else LINE_HEIGHT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
                if is_right_to_left(block):
                    form.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
                    form.setLeftMargin(0)
                    form.setRightMargin(indent)
                if block.marker:
                    form.setProperty(_marker_property, block.marker)
                if block.done is not None:
                    form.setProperty(_task_property, 2 if block.done else 1)
                if block.heading:
                    base.setFont(self._theme.large(HEADING_SIZES.get(block.heading, 1.0)))
                self._start_block(cursor, form, base, quiet=self._quiet or block.quote > 0)
                self.insert_spans(cursor, block.spans, base)
            case RuleBlock():
                form.setProperty(_rule_property, True)
                self._start_block(cursor, form, base, quiet=self._quiet)
            case MathBlock():
                form.setAlignment(Qt.AlignmentFlag.AlignLeft if indent else Qt.AlignmentFlag.AlignHCenter)
                self._start_block(cursor, form, base, quiet=self._quiet)
                self.insert_formula(cursor, block.latex, True, base)
        cursor.endEditBlock()

    def _start_block(self, cursor: QTextCursor, form: QTextBlockFormat, base: QTextCharFormat, quiet: bool) -> None:
        base.setForeground(QColor(self._theme.colors.secondary if quiet else self._theme.colors.text))
        if self._starts:
            cursor.insertBlock(form, base)
        else:
            cursor.setBlockFormat(form)
            cursor.setBlockCharFormat(base)
        self._starts.append(cursor.position())

    # Methods common to all part views

    def position_at(self, point: QPoint) -> int:
        """Return the offset nearest to a point."""
        return self.cursorForPosition(point).position()

    def word_at(self, offset: int, paragraph: bool = False) -> tuple[int, int]:
        """Return the range of the word or paragraph at an offset."""
        cursor = cursor_at(self.document(), offset)
        cursor.select(QTextCursor.SelectionType.BlockUnderCursor if paragraph else QTextCursor.SelectionType.WordUnderCursor)
        start = cursor.selectionStart()
        if paragraph and start > 0:
            start += 1
        return start, max(start, cursor.selectionEnd())

    def link_at(self, point: QPoint) -> str:
        """Return the address of the link at a point, or an empty string."""
        return self.anchorAt(point)

    def rect_of(self, offset: int) -> QRect:
        """Return the rectangle of the character at an offset."""
        return self.cursorRect(cursor_at(self.document(), offset))

    # Drawing

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self.viewport())
        block = self.document().begin()
        while block.isValid():
            form = block.blockFormat()
            if quote := form.intProperty(_quote_property):
                self._paint_quote(painter, block, quote)
            if form.boolProperty(_rule_property):
                area = self.document().documentLayout().blockBoundingRect(block)
                width = area.width() - form.leftMargin()
                painter.fillRect(QRectF(form.leftMargin(), area.center().y(), width, 1), QColor(self._theme.colors.line))
            if marker := form.property(_marker_property):
                self._paint_marker(painter, block, marker, form.intProperty(_task_property))
            block = block.next()
        painter.end()

    def _paint_quote(self, painter: QPainter, block: QTextBlock, depth: int) -> None:
        area = self.document().documentLayout().blockBoundingRect(block)
        gap = 10 if block.previous().blockFormat().intProperty(_quote_property) else 0
        mirrored = block.blockFormat().layoutDirection() == Qt.LayoutDirection.RightToLeft
        for level in range(min(depth, DEEPEST_INDENT)):
            left = self.viewport().width() - level * QUOTE - 3 if mirrored else level * QUOTE
            painter.fillRect(QRectF(left, area.top() - gap, 3, area.height() + gap), QColor(self._theme.colors.line))

    def _paint_marker(self, painter: QPainter, block: QTextBlock, marker: str, task: int) -> None:
        """Draw a bullet or number in the margin, on the baseline of the first line.

        Qt's own lists draw it too low with large line spacing, and their items can't be removed one by one.
        """
        layout = block.layout()
        if not layout.lineCount():
            return
        line = layout.lineAt(0)
        painter.setFont(self._theme.text_font)
        width = 13 if task else painter.fontMetrics().horizontalAdvance(marker)
        form = block.blockFormat()
        if form.layoutDirection() == Qt.LayoutDirection.RightToLeft:
            left = self.viewport().width() - form.rightMargin() + MARKER_GAP
        else:
            left = layout.position().x() + line.x() - MARKER_GAP - width
        baseline = layout.position().y() + line.y() + line.ascent()
        if task:
            self._paint_checkbox(painter, QRectF(left, baseline - 11.5, 13, 13), checked=task == 2)
            return
        painter.setPen(QColor(self._theme.colors.secondary))
        painter.drawText(QPointF(left, baseline), marker)

    def _paint_checkbox(self, painter: QPainter, box: QRectF, checked: bool) -> None:
        colors = self._theme.colors
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(colors.accent if checked else colors.faint), 1.2))
        painter.setBrush(QColor(colors.accent) if checked else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(box, 3, 3)
        if checked:
            painter.setPen(QPen(QColor(colors.on_accent), 1.8, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
            painter.drawPolyline([box.topLeft() + QPointF(x, y) for x, y in ((3.2, 6.8), (5.6, 9.2), (9.8, 4.2))])
        painter.restore()


def vertical_margins(block: ParagraphBlock, plain: bool) -> tuple[int, int]:
    """Return the space above and below a block in pixels. Qt uses the larger one."""
    match block:
        case TextBlock():
            return 0 if plain else 20 if block.heading else 5 if block.marker else 10, 0
        case RuleBlock():
            return 4, 10
        case MathBlock():
            return 10, 4


def is_right_to_left(block: TextBlock) -> bool:
    """Return whether a paragraph's first letter belongs to a right-to-left script."""
    kinds = (unicodedata.bidirectional(char) for span in block.spans for char in span.text[:200])
    return next((kind in ("R", "AL") for kind in kinds if kind in ("L", "R", "AL")), False)
