"""Paragraphs, headings, lists, quotes and tables in one document, so that the mouse can select across them."""

from PySide6.QtCore import QMimeData, QPointF, QRectF, Qt, QUrl
from PySide6.QtGui import (
    QColor,
    QDesktopServices,
    QFont,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextTableFormat,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QSizePolicy, QTextEdit, QWidget

from app.rendering.blocks import Rule, Span, Table, Text
from app.rendering.markdown import is_safe_link
from app.views.theme import Theme

INDENT = 26
QUOTE = 18
MARKER_GAP = 8
LINE_HEIGHT = 142  # per cent
HEADINGS = {1: 1.45, 2: 1.25, 3: 1.1}

_quote_property = QTextFormat.Property.UserProperty + 1
_marker_property = QTextFormat.Property.UserProperty + 2


class TextRun(QTextEdit):
    """As tall as its text. Blocks are appended and cut off at the end; what stands above is never laid out again."""

    def __init__(self, theme: Theme, quiet: bool = False, parent: QWidget | None = None) -> None:
        """`quiet` text is in the secondary colour."""
        super().__init__(parent)
        self._theme = theme
        self._quiet = quiet
        self._starts: list[int] = []
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
            | Qt.TextInteractionFlag.LinksAccessibleByMouse
        )
        self.setAccessibleName("Text")
        document = self.document()
        document.setDocumentMargin(0)
        document.setUndoRedoEnabled(False)
        document.setDefaultFont(theme.text_font)
        self.viewport().setAutoFillBackground(False)
        document.documentLayout().documentSizeChanged.connect(self._fit)
        self._fit()

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

    def append_block(self, block: Text | Rule | Table) -> None:
        """Add a block at the end."""
        selected = self.textCursor()
        anchor, position = selected.anchor(), selected.position()
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        first = not self._starts
        match block:
            case Text():
                self._append_text(cursor, block, first)
            case Rule():
                self._append_rule(cursor, block, first)
            case Table():
                self._starts.append(0)
                self._insert_table(cursor, block)
        cursor.endEditBlock()
        if anchor != position:  # a selection that reaches to the end is not to grow with the text
            selected.setPosition(anchor)
            selected.setPosition(position, QTextCursor.MoveMode.KeepAnchor)
            self.setTextCursor(selected)

    def _append_text(self, cursor: QTextCursor, block: Text, first: bool) -> None:
        form = QTextBlockFormat()
        form.setLineHeight(LINE_HEIGHT if not block.heading else 125, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        above = 0 if first else 20 if block.heading else 5 if block.marker else 10
        form.setTopMargin(above)
        form.setLeftMargin(block.quote * QUOTE + block.indent * INDENT)
        if block.quote:
            form.setProperty(_quote_property, block.quote)
        if block.marker:
            form.setProperty(_marker_property, block.marker)
        base = self._base(block)
        self._new_block(cursor, form, base, first)
        for span in block.spans:
            cursor.insertText(span.text, self._span(span, base))

    def _append_rule(self, cursor: QTextCursor, block: Rule, first: bool) -> None:
        form = QTextBlockFormat()
        form.setTopMargin(0 if first else 4)
        form.setBottomMargin(10)
        form.setLeftMargin(block.quote * QUOTE)
        whole = QTextLength(QTextLength.Type.PercentageLength, 100)
        form.setProperty(QTextFormat.Property.BlockTrailingHorizontalRulerWidth, whole)
        self._new_block(cursor, form, QTextCharFormat(), first)

    def _new_block(self, cursor: QTextCursor, form: QTextBlockFormat, base: QTextCharFormat, first: bool) -> None:
        if first:
            cursor.setBlockFormat(form)
            cursor.setBlockCharFormat(base)
        else:
            cursor.insertBlock(form, base)
        self._starts.append(cursor.position())

    def _base(self, block: Text) -> QTextCharFormat:
        base = QTextCharFormat()
        if block.heading:
            base.setFont(self._theme.large(HEADINGS.get(block.heading, 1.0)))
        base.setForeground(QColor(self._theme.colours.secondary if block.quote or self._quiet else self._theme.colours.text))
        return base

    def _span(self, span: Span, base: QTextCharFormat) -> QTextCharFormat:
        form = QTextCharFormat(base)
        colours = self._theme.colours
        if span.bold:
            form.setFontWeight(QFont.Weight.DemiBold)
        form.setFontItalic(span.italic)
        form.setFontStrikeOut(span.strike)
        if span.code:
            form.setFontFamilies(self._theme.code_font.families())
            form.setProperty(QTextFormat.Property.FontPixelSize, round(self._theme.text_pixels * 0.9))
            form.setBackground(QColor(colours.bubble))
        if span.link:
            form.setAnchor(True)
            form.setAnchorHref(span.link)
            form.setToolTip(span.link)
            form.setForeground(QColor(colours.accent))
            form.setFontUnderline(True)
        return form

    def _insert_table(self, cursor: QTextCursor, block: Table) -> None:
        colours = self._theme.colours
        form = QTextTableFormat()
        form.setCellPadding(7)
        form.setCellSpacing(0)
        form.setBorder(1)
        form.setBorderCollapse(True)
        form.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        form.setBorderBrush(QColor(colours.line))
        form.setHeaderRowCount(1)
        table = cursor.insertTable(len(block.rows), len(block.alignments), form)
        sides = {"left": Qt.AlignmentFlag.AlignLeft, "center": Qt.AlignmentFlag.AlignHCenter, "right": Qt.AlignmentFlag.AlignRight}
        for row, cells in enumerate(block.rows):
            for column, spans in enumerate(cells[: len(block.alignments)]):
                cell = table.cellAt(row, column)
                inner = cell.firstCursorPosition()
                paragraph = QTextBlockFormat()
                paragraph.setAlignment(sides[block.alignments[column]])
                inner.setBlockFormat(paragraph)
                base = QTextCharFormat()
                base.setForeground(QColor(colours.text))
                if row == 0:
                    base.setFontWeight(QFont.Weight.DemiBold)
                    ground = QTextCharFormat()
                    ground.setBackground(QColor(colours.code))
                    cell.setFormat(ground.toTableCellFormat())
                for span in spans:
                    inner.insertText(span.text, self._span(span, base))
        # A document must end in a paragraph; this one is made too thin to see.
        cursor.movePosition(QTextCursor.MoveOperation.End)
        thin = QTextBlockFormat()
        thin.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        cursor.setBlockFormat(thin)

    def _fit(self) -> None:
        height = int(self.document().size().height() + 0.999)
        if height != self.maximumHeight():  # self.height() may be older than what was last asked for
            self.setFixedHeight(height)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # the transcript scrolls, not the paragraph

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        link = self.anchorAt(event.position().toPoint())
        self.viewport().setCursor(Qt.CursorShape.PointingHandCursor if link else Qt.CursorShape.IBeamCursor)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        super().mouseReleaseEvent(event)
        link = self.anchorAt(event.position().toPoint())
        if link and event.button() == Qt.MouseButton.LeftButton and not self.textCursor().hasSelection() and is_safe_link(link):
            QDesktopServices.openUrl(QUrl(link))

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        return None  # nothing a reply names is ever fetched

    def createMimeDataFromSelection(self) -> QMimeData:
        data = QMimeData()
        data.setText(self.selected_text())
        return data

    def selected_text(self) -> str:
        """The selection as plain text, with the bullets and numbers that stand before its lines."""
        cursor = self.textCursor()
        start, end = cursor.selectionStart(), cursor.selectionEnd()
        lines = []
        block = self.document().findBlock(start)
        while block.isValid() and block.position() <= end and cursor.hasSelection():
            text = block.text()[max(0, start - block.position()) : end - block.position()]
            marker = block.blockFormat().property(_marker_property)
            whole = start <= block.position()
            lines.append(f"{marker} {text}" if marker and whole else text)
            block = block.next()
        return "\n".join(lines).replace("\u2028", "\n").replace("\ufdd0", "").replace("\ufdd1", "")

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        painter = QPainter(self.viewport())
        block = self.document().begin()
        while block.isValid():
            form = block.blockFormat()
            if quote := form.intProperty(_quote_property):
                self._paint_quote(painter, block, quote)
            if marker := form.property(_marker_property):
                self._paint_marker(painter, block, marker)
            block = block.next()
        painter.end()

    def _paint_quote(self, painter: QPainter, block: QTextBlock, depth: int) -> None:
        area = self.document().documentLayout().blockBoundingRect(block)
        gap = 10 if block.previous().blockFormat().intProperty(_quote_property) else 0
        for level in range(depth):
            bar = QRectF(level * QUOTE, area.top() - gap, 3, area.height() + gap)
            painter.fillRect(bar, QColor(self._theme.colours.line))

    def _paint_marker(self, painter: QPainter, block: QTextBlock, marker: str) -> None:
        """Bullets and numbers hang in the margin, on the baseline of the first line. (Qt's own lists put them lower where lines
        are spaced out, and would make an item impossible to cut off alone.)"""
        layout = block.layout()
        if not layout.lineCount():
            return
        line = layout.lineAt(0)
        right = layout.position().x() + line.x() - MARKER_GAP
        baseline = layout.position().y() + line.y() + line.ascent()
        painter.setFont(self._theme.text_font)
        painter.setPen(QColor(self._theme.colours.secondary))
        painter.drawText(QPointF(right - painter.fontMetrics().horizontalAdvance(marker), baseline), marker)
