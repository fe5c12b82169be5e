"""A table that scrolls horizontally and builds only rows near the visible area."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from itertools import accumulate

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFontMetricsF,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextFrameFormat,
    QTextLength,
    QTextTable,
    QTextTableFormat,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QScrollArea

from app.rendering.blocks import Row, TableBlock, qt_length, spans_text
from app.rendering.lazy_stack import LazyStack
from app.rendering.text_marks import NO_MARKS, TextMarks, TextRange, Underline, cursor_at
from app.rendering.text_view import DocumentView
from app.text.language import tr
from app.widgets.theme import Theme

CHUNK_ROWS = 25  # rows per document
PADDING = 8
MAX_COLUMN = 320  # pixels; wider cells wrap
MIN_COLUMN = 44


class TableScroller(QScrollArea):
    """A scroll area that scrolls a table horizontally."""

    def __init__(self, theme: Theme, block: TableBlock) -> None:
        super().__init__()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(tr("Table"))
        self.table = TableView(theme, block)
        self.setWidget(self.table)
        self.viewport().setAutoFillBackground(False)
        self.table.setAutoFillBackground(False)

    def fit(self, width: int) -> int:
        """Lay out at a width, and return the height including the scroll bar."""
        scrolls = self.table.natural_width > width
        return self._resize_table() + (self.horizontalScrollBar().sizeHint().height() if scrolls else 0)

    def show_band(self, top: int, bottom: int) -> bool:
        """Build the rows from `top` to `bottom`. Return whether heights changed."""
        if changed := self.table.show_band(top, bottom):
            self._resize_table()
        return changed

    def _resize_table(self) -> int:
        width = self.table.natural_width
        height = self.table.fit(width)
        self.table.resize(width, height)
        return height

    def wheelEvent(self, event: QWheelEvent) -> None:
        if abs(event.angleDelta().x()) > abs(event.angleDelta().y()):
            super().wheelEvent(event)
        else:
            event.ignore()


class TableView(LazyStack):
    """A table whose rows are built in chunks. Offsets are cell numbers, row by row."""

    def __init__(self, theme: Theme, block: TableBlock) -> None:
        super().__init__()
        self._theme = theme
        self.block = block
        self._columns = max(1, len(block.alignments))
        self._marks = NO_MARKS
        self._selectable = False
        self._widths: list[int] = [MIN_COLUMN] * len(block.alignments)
        self._measured = 0  # rows
        self.show_block(block)

    @property
    def natural_width(self) -> int:
        return sum(self._widths) + len(self._widths) + 1

    def show_block(self, block: TableBlock) -> None:
        """Show a newer version of the table."""
        old, self.block = self.block, block
        same = _same_rows(old.rows, block.rows)
        self._measured = min(self._measured, same)
        wider = self._widen_columns()
        for index, chunk in self._chunks():
            if wider or (index + 1) * CHUNK_ROWS > same:
                chunk.show_rows(self._rows(index), self._widths)
                self.changed(index)
        self.set_count(-(-len(block.rows) // CHUNK_ROWS))

    def build(self, index: int) -> "TableChunk":
        chunk = TableChunk(self._theme, self.block, headed=index == 0)
        chunk.show_rows(self._rows(index), self._widths)
        self._mark_chunk(index, chunk)
        if self._selectable:
            chunk.enable_selection()
        return chunk

    def guess_height(self, index: int, width: int) -> int:
        height = QFontMetricsF(self._theme.text_font).height() + 2 * PADDING + 1
        return round(height * len(self._rows(index)))

    def _rows(self, index: int) -> tuple[Row, ...]:
        return self.block.rows[index * CHUNK_ROWS : (index + 1) * CHUNK_ROWS]

    def _chunks(self) -> Iterator[tuple[int, "TableChunk"]]:
        """Yield the index and view of each chunk that is built."""
        for index, entry in enumerate(self.entries):
            if isinstance(entry.view, TableChunk):
                yield index, entry.view

    def _widen_columns(self) -> bool:
        """Widen columns to fit new rows. Return whether any width changed."""
        metrics = QFontMetricsF(self._theme.text_font)
        before = list(self._widths)
        for row in self.block.rows[self._measured :]:
            slack = 1.08 if row is self.block.rows[0] else 1.04  # bold text is wider
            for column, cell in enumerate(row[: len(self._widths)]):
                text = "".join(span.text for span in cell)[:120]
                wanted = metrics.horizontalAdvance(text) * slack + 2 * PADDING + 4
                self._widths[column] = max(self._widths[column], min(round(wanted), MAX_COLUMN))
        self._measured = len(self.block.rows)
        return before != self._widths

    # Methods common to all part views: see `TextView`

    def position_at(self, point: QPoint) -> int:
        index = self.index_at(point.y())
        if index is None:
            return 0
        entry = self.entries[index]
        row = index * CHUNK_ROWS
        if isinstance(entry.view, TableChunk):
            row += entry.view.row_at(point.y() - entry.top)
        column = bisect_left(list(accumulate(self._widths[:-1])), point.x())
        return min(row, len(self.block.rows) - 1) * self._columns + column

    def word_at(self, offset: int, paragraph: bool = False) -> tuple[int, int]:
        """Return the range of the cell at an offset, or of its row for a paragraph."""
        row = offset // self._columns * self._columns
        return (row, row + self._columns - 1) if paragraph else (offset, offset)

    def link_at(self, point: QPoint) -> str:
        index = self.index_at(point.y())
        view = self.entries[index].view if index is not None else None
        return view.anchorAt(view.mapFrom(self, point)) if isinstance(view, TableChunk) else ""

    def rect_of(self, offset: int) -> QRect:
        row, column = divmod(offset, self._columns)
        entry = self.entries[min(row // CHUNK_ROWS, len(self.entries) - 1)]
        rect = entry.view.rect_of(row % CHUNK_ROWS, column) if isinstance(entry.view, TableChunk) else QRect(0, 0, 1, 20)
        return rect.translated(0, entry.top)

    def mark(self, marks: TextMarks) -> None:
        """Show marks. Underlines use plain-text offsets; other marks use cell numbers."""
        self._marks = marks
        for index, chunk in self._chunks():
            self._mark_chunk(index, chunk)

    def enable_selection(self) -> None:
        self._selectable = True
        for _, chunk in self._chunks():
            chunk.enable_selection()

    @property
    def formulas_pending(self) -> bool:
        return any(chunk.formulas_pending for _, chunk in self._chunks())

    def place_formulas(self) -> None:
        for index, chunk in self._chunks():
            if chunk.formulas_pending:
                chunk.place_formulas()
                self.changed(index)

    def _mark_chunk(self, index: int, chunk: "TableChunk") -> None:
        """Show the marks in a chunk, translated to offsets in its document."""
        begin = index * CHUNK_ROWS * self._columns
        end = begin + len(self._rows(index)) * self._columns

        def ranges(marked: Iterable[TextRange]) -> Iterator[TextRange]:
            for first, last in marked:
                if first // self._columns != last // self._columns:  # a range across rows marks whole rows
                    first, last = self.word_at(first, paragraph=True)[0], self.word_at(last, paragraph=True)[1]
                yield from (chunk.cell_range(cell - begin) for cell in range(max(first, begin), min(last + 1, end)))

        marks = self._marks
        current = next(ranges([marks.current_hit] if marks.current_hit is not None else []), None)
        underlines = tuple(self._underlines(index, chunk)) if marks.underlines else ()
        chunk.mark(TextMarks(tuple(ranges(marks.selected)), tuple(ranges(marks.hits)), current, underlines))

    def _underlines(self, index: int, chunk: "TableChunk") -> Iterator[Underline]:
        at = sum(qt_length(spans_text(cell)) + 1 for row in self.block.rows[: index * CHUNK_ROWS] for cell in row)
        for number, cell in enumerate(cell for row in self._rows(index) for cell in row):
            end = at + qt_length(spans_text(cell))
            start = chunk.cell_range(number)[0]
            for first, last, kind in self._marks.underlines:
                if first < end and last > at:
                    yield start + max(first, at) - at, start + min(last, end) - at, kind
            at = end + 1


class TableChunk(DocumentView):
    """A document with some rows of a table."""

    def __init__(self, theme: Theme, block: TableBlock, headed: bool) -> None:
        super().__init__(theme, tr("Table rows"))
        self._alignments = block.alignments
        self._headed = headed
        self._table: QTextTable | None = None
        self._shown: tuple[Row, ...] = ()
        self._widths: list[int] = []

    def show_rows(self, rows: tuple[Row, ...], widths: list[int]) -> None:
        """Show these rows, and keep those that haven't changed."""
        same = _same_rows(rows, self._shown)
        cursor = QTextCursor(self.document())
        cursor.beginEditBlock()
        if self._table is None or same == 0:
            self.document().clear()
            cursor = QTextCursor(self.document())
            self._table = cursor.insertTable(max(1, len(rows)), len(self._alignments), self._format(widths))
            self._flatten_last_paragraph()
        else:
            if len(self._shown) > same:
                self._table.removeRows(same, len(self._shown) - same)
            if len(rows) > same:
                self._table.appendRows(len(rows) - same)
        for number in range(same, len(rows)):
            self._fill(self._table, number, rows[number])
        if self._widths != widths:
            self._table.setFormat(self._format(widths))
        cursor.endEditBlock()
        self._shown, self._widths = rows, list(widths)

    def row_at(self, y: int) -> int:
        return next((row for row in range(len(self._shown) - 1, 0, -1) if self.rect_of(row, 0).top() - PADDING <= y), 0)

    def rect_of(self, row: int, column: int) -> QRect:
        assert self._table is not None
        return self.cursorRect(self._table.cellAt(min(row, self._table.rows() - 1), column).firstCursorPosition())

    def cell_range(self, cell: int) -> TextRange:
        assert self._table is not None
        place = self._table.cellAt(*divmod(cell, len(self._alignments)))
        return place.firstPosition(), place.lastPosition()

    def _format(self, widths: list[int]) -> QTextTableFormat:
        form = QTextTableFormat()
        form.setCellPadding(PADDING)
        form.setCellSpacing(0)
        form.setBorder(1)
        form.setBorderCollapse(True)
        form.setBorderStyle(QTextFrameFormat.BorderStyle.BorderStyle_Solid)
        form.setBorderBrush(QBrush(QColor(self._theme.colors.line)))
        form.setColumnWidthConstraints([QTextLength(QTextLength.Type.FixedLength, width) for width in widths])
        return form

    def _fill(self, table: QTextTable, row: int, cells: Row) -> None:
        sides = {"left": Qt.AlignmentFlag.AlignLeft, "center": Qt.AlignmentFlag.AlignHCenter, "right": Qt.AlignmentFlag.AlignRight}
        for column, (spans, side) in enumerate(zip(cells, self._alignments, strict=False)):
            cell = table.cellAt(row, column)
            inner = cell.firstCursorPosition()
            paragraph = QTextBlockFormat()
            paragraph.setAlignment(sides[side])
            inner.setBlockFormat(paragraph)
            base = QTextCharFormat()
            base.setForeground(QColor(self._theme.colors.text))
            if self._headed and row == 0:
                base.setFontWeight(600)
                header = QTextCharFormat()
                header.setBackground(QColor(self._theme.colors.code))
                cell.setFormat(header.toTableCellFormat())
            self.insert_spans(inner, spans, base)

    def _flatten_last_paragraph(self) -> None:
        """Hide the empty paragraph that Qt requires at the end of a document."""
        cursor = cursor_at(self.document(), self.document().characterCount())
        flat = QTextBlockFormat()
        flat.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        cursor.setBlockFormat(flat)


def _same_rows(rows: tuple[Row, ...], others: tuple[Row, ...]) -> int:
    """Return the number of leading rows that are the same objects."""
    pairs = zip(rows, others, strict=False)
    return next((number for number, (row, other) in enumerate(pairs) if row is not other), min(len(rows), len(others)))
