"""Paragraphs, headings, lists, quotes, and formulas in one document."""

import unicodedata

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import (
    QColor,
    QPainter,
    QPaintEvent,
    QPen,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
    QTextLength,
)

from app.language import tr
from app.rendering.blocks import MathBlock, ParagraphBlock, RuleBlock, TextBlock
from app.rendering.document_view import DocumentView
from app.widgets.theme import DEEPEST_INDENT, INDENT, QUOTE, Theme

MARKER_GAP = 8
LINE_HEIGHT = 142  # percent
HEADING_SIZES = {1: 1.45, 2: 1.25, 3: 1.1}

_quote_property = QTextFormat.Property.UserProperty + 1
_marker_property = QTextFormat.Property.UserProperty + 2
_task_property = QTextFormat.Property.UserProperty + 3


class TextView(DocumentView):
    """Blocks are appended and removed at the end; those above are never laid out again."""

    def __init__(self, theme: Theme, quiet: bool = False) -> None:
        """Create an empty view. `quiet` text has the secondary text color."""
        super().__init__(theme, tr("Text"))
        self._quiet = quiet
        self._starts: list[int] = []  # of each block in the document

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
        """Add a block at the end. `plain` text has lines, not paragraphs with space between them."""
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        form, base = QTextBlockFormat(), QTextCharFormat()
        indent = min(block.quote, DEEPEST_INDENT) * QUOTE + min(block.indent, DEEPEST_INDENT) * INDENT
        form.setLeftMargin(indent)
        top, bottom = vertical_margins(block, plain)
        form.setTopMargin(top)  # Qt ignores it above the first block
        form.setBottomMargin(bottom)
        match block:
            case TextBlock():
                form.setLineHeight(125 if block.heading else LINE_HEIGHT, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
                if is_right_to_left(block):
                    form.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
                    form.setLeftMargin(0)
                    form.setRightMargin(indent)
                if block.quote:
                    form.setProperty(_quote_property, block.quote)
                if block.marker:
                    form.setProperty(_marker_property, block.marker)
                if block.done is not None:
                    form.setProperty(_task_property, 2 if block.done else 1)
                if block.heading:
                    base.setFont(self._theme.large(HEADING_SIZES.get(block.heading, 1.0)))
                self._start_block(cursor, form, base, quiet=self._quiet or block.quote > 0)
                self.insert_spans(cursor, block.spans, base)
            case RuleBlock():
                form.setProperty(
                    QTextFormat.Property.BlockTrailingHorizontalRulerWidth,
                    QTextLength(QTextLength.Type.PercentageLength, 100),
                )
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

    # The interface of every part of a reply

    def position_at(self, point: QPoint) -> int:
        """Return the offset at a point, or the nearest."""
        return self.cursorForPosition(point).position()

    def word_at(self, offset: int, paragraph: bool = False) -> tuple[int, int]:
        """Return the range of the word or paragraph at an offset."""
        cursor = self._cursor(offset)
        cursor.select(QTextCursor.SelectionType.BlockUnderCursor if paragraph else QTextCursor.SelectionType.WordUnderCursor)
        start = cursor.selectionStart()
        if paragraph and start > 0:
            start += 1
        return start, max(start, cursor.selectionEnd())

    def link_at(self, point: QPoint) -> str:
        """Return the address of the link at a point, or empty."""
        return self.anchorAt(point)

    def rect_of(self, offset: int) -> QRect:
        """Return the rectangle of the character at an offset."""
        return self.cursorRect(self._cursor(offset))

    def _cursor(self, offset: int) -> QTextCursor:
        cursor = QTextCursor(self.document())
        cursor.setPosition(min(offset, self.document().characterCount() - 1))
        return cursor

    # Drawing

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self.viewport())
        block = self.document().begin()
        while block.isValid():
            form = block.blockFormat()
            if quote := form.intProperty(_quote_property):
                self._paint_quote(painter, block, quote)
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
    """Return the space above and below a block, in pixels. Between two blocks, only the larger counts."""
    match block:
        case TextBlock():
            return 0 if plain else 20 if block.heading else 5 if block.marker else 10, 0
        case RuleBlock():
            return 4, 10
        case MathBlock():
            return 10, 4


def is_right_to_left(block: TextBlock) -> bool:
    """Return whether the first letter of a paragraph is of a right-to-left script."""
    kinds = (unicodedata.bidirectional(char) for span in block.spans for char in span.text[:200])
    return next((kind in ("R", "AL") for kind in kinds if kind in ("L", "R", "AL")), False)
