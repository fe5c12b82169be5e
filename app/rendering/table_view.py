"""A table that scrolls sideways where it is wide, and costs only the rows in sight where it is long."""

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtGui import (
    QBrush,
    QColor,
    QContextMenuEvent,
    QFontMetricsF,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
    QTextFrameFormat,
    QTextLength,
    QTextTable,
    QTextTableFormat,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QScrollArea, QTextEdit, QWidget

from app.language import tr
from app.rendering.blocks import Span, Table
from app.rendering.formulas import DISPLAY, LATEX, OBJECT_TYPE, MathsObjects
from app.rendering.marks import Marks, Stretch, selections
from app.rendering.parts import OBJECT, units
from app.rendering.text_run import span_format
from app.rendering.tint import NO_TINT, Tint, tint_selections
from app.transcript.stack import Stack
from app.widgets.label import as_tooltip
from app.widgets.theme import Theme

ROWS = 25  # in one document
PADDING = 8
WIDEST = 320  # pixels of a column; longer cells wrap
NARROWEST = 44

Cells = tuple[tuple[Span, ...], ...]


class TableView(QScrollArea):
    """Shows one `Table` and follows it as it grows. Offsets in it are cells, counted row by row."""

    def __init__(self, theme: Theme, block: Table, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(tr("Table"))
        self._rows = _Rows(theme, block)
        self.setWidget(self._rows)
        self.viewport().setAutoFillBackground(False)
        self._rows.setAutoFillBackground(False)

    @property
    def block(self) -> Table:
        return self._rows.block

    def show_block(self, block: Table) -> None:
        """Show this version of the table."""
        self._rows.show_block(block)

    def fit(self, width: int) -> int:
        """The height at this width."""
        wide = self._rows.natural_width
        height = self._rows.fit(wide)
        self._rows.resize(wide, height)
        return height + (self.horizontalScrollBar().sizeHint().height() if wide > width else 0)

    def show_band(self, top: int, bottom: int) -> bool:
        """Build what lies between; whether its height changed."""
        changed = self._rows.show_band(top, bottom)
        if changed:
            self._rows.resize(self._rows.natural_width, self._rows.fit(self._rows.natural_width))
        return changed

    def position_at(self, point: QPoint) -> int:
        """The cell under a point, or the nearest."""
        return self._rows.cell_at(self._rows.mapFrom(self, point))

    def word_at(self, offset: int, paragraph: bool = False) -> tuple[int, int]:
        """A cell is what a double click selects, its row what three do."""
        columns = max(1, len(self.block.alignments))
        row = offset // columns * columns
        return (row, row + columns - 1) if paragraph else (offset, offset)

    def link_at(self, point: QPoint) -> str:
        """The address under a point, empty where there is none."""
        return self._rows.link_at(self._rows.mapFrom(self, point))

    def rect_of(self, offset: int) -> QRect:
        """Where a cell stands."""
        rect = self._rows.rect_of(offset)
        return QRect(self._rows.mapTo(self, rect.topLeft()), rect.size())

    def mark(self, marks: Marks, tint: Tint = NO_TINT) -> None:
        """Lay tint, selection and hits over the cells. The offsets of a tint are those of the table's plain text."""
        self._rows.mark(marks, tint)

    def set_formulas(self) -> None:
        """Formulas have been set: give them their place."""
        self._rows.set_formulas()

    @property
    def waits(self) -> bool:
        """Some of its formulas are not set yet."""
        return self._rows.waits

    def select_alone(self) -> None:
        """Outside a transcript nothing selects across documents: some rows at a time are selected by themselves."""
        self._rows.select_alone()

    def wheelEvent(self, event: QWheelEvent) -> None:
        if abs(event.angleDelta().x()) > abs(event.angleDelta().y()):
            super().wheelEvent(event)
        else:
            event.ignore()


class _Rows(Stack):
    """The rows of a table, some in a document each."""

    def __init__(self, theme: Theme, block: Table) -> None:
        super().__init__()
        self._theme = theme
        self.block = block
        self._marks = Marks()
        self._tint: Tint = NO_TINT
        self._alone = False
        self._widths: list[int] = [NARROWEST] * len(block.alignments)
        self._measured = 0
        self.show_block(block)

    @property
    def natural_width(self) -> int:
        return sum(self._widths) + len(self._widths) + 1

    def show_block(self, block: Table) -> None:
        old, self.block = self.block, block
        same = 0
        if old is not block:
            while same < min(len(old.rows), len(block.rows)) and old.rows[same] is block.rows[same]:
                same += 1
            self._measured = min(self._measured, same)
        wider = self._widen()
        for index in range(len(self.entries)):
            view = self.entries[index].view
            if isinstance(view, TableRows) and (wider or (index + 1) * ROWS > same):
                view.show_rows(self._slice(index), self._widths)
                self.changed(index)
        self.set_count(-(-len(block.rows) // ROWS))

    def build(self, index: int) -> QWidget:
        chunk = TableRows(self._theme, self.block, index == 0)
        chunk.show_rows(self._slice(index), self._widths)
        chunk.mark(self._marks, index * ROWS, self._tint_of(index))
        if self._alone:
            chunk.select_alone()
        return chunk

    def select_alone(self) -> None:
        self._alone = True
        for entry in self.entries:
            if isinstance(entry.view, TableRows):
                entry.view.select_alone()

    def guess(self, index: int, width: int) -> int:
        height = QFontMetricsF(self._theme.text_font).height() + 2 * PADDING + 1
        return round(height * len(self._slice(index)))

    def _slice(self, index: int) -> tuple[Cells, ...]:
        return self.block.rows[index * ROWS : (index + 1) * ROWS]

    def _widen(self) -> bool:
        """Widen the columns where new rows need it."""
        metrics = QFontMetricsF(self._theme.text_font)
        before = list(self._widths)
        for row in self.block.rows[self._measured :]:
            bold = 1.08 if row is self.block.rows[0] else 1.04
            for column, cell in enumerate(row[: len(self._widths)]):
                text = "".join(span.text for span in cell)[:120]
                wanted = metrics.horizontalAdvance(text) * (bold if text else 1) + 2 * PADDING + 4
                self._widths[column] = max(self._widths[column], min(round(wanted), WIDEST))
        self._measured = len(self.block.rows)
        return before != self._widths

    def cell_at(self, point: QPoint) -> int:
        columns = max(1, len(self._widths))
        index = self.index_at(point.y())
        if index is None:
            return 0
        entry = self.entries[index]
        row = index * ROWS
        if isinstance(entry.view, TableRows):
            row += entry.view.row_at(point.y() - entry.top)
        column, left = 0, 0
        while column < columns - 1 and point.x() > left + self._widths[column]:
            left += self._widths[column]
            column += 1
        return min(row, len(self.block.rows) - 1) * columns + column

    def link_at(self, point: QPoint) -> str:
        index = self.index_at(point.y())
        view = self.entries[index].view if index is not None else None
        return view.anchorAt(view.mapFrom(self, point)) if isinstance(view, TableRows) else ""

    def rect_of(self, offset: int) -> QRect:
        columns = max(1, len(self._widths))
        row, column = divmod(offset, columns)
        entry = self.entries[min(row // ROWS, len(self.entries) - 1)]
        inside = entry.view.rect_of(row % ROWS, column) if isinstance(entry.view, TableRows) else QRect(0, 0, 1, 20)
        return inside.translated(0, entry.top)

    def mark(self, marks: Marks, tint: Tint) -> None:
        self._marks, self._tint = marks, tint
        for index, entry in enumerate(self.entries):
            if isinstance(entry.view, TableRows):
                entry.view.mark(marks, index * ROWS, self._tint_of(index))

    def _tint_of(self, index: int) -> list[Tint]:
        """The tint of each cell of some rows, in offsets from the cell's beginning."""
        if not self._tint:
            return []
        at = sum(self._length(row) for row in self.block.rows[: index * ROWS])
        found: list[Tint] = []
        for row in self._slice(index):
            for cell in row:
                size = units("".join(OBJECT if span.math else span.text for span in cell))
                inside = (
                    (max(first - at, 0), min(last - at, size), who)
                    for first, last, who in self._tint
                    if first < at + size and last > at
                )
                found.append(tuple(inside))
                at += size + 1
        return found

    @staticmethod
    def _length(row: Cells) -> int:
        return sum(units("".join(OBJECT if span.math else span.text for span in cell)) + 1 for cell in row)

    @property
    def waits(self) -> bool:
        return any(isinstance(entry.view, TableRows) and entry.view.waiting for entry in self.entries)

    def set_formulas(self) -> None:
        for index, entry in enumerate(self.entries):
            if isinstance(entry.view, TableRows) and entry.view.waiting:
                entry.view.waiting = False
                entry.view.show_rows(self._slice(index), self._widths, again=True)
                self.changed(index)


class TableRows(QTextEdit):
    """Some rows as a table of Qt's."""

    def __init__(self, theme: Theme, block: Table, headed: bool) -> None:
        super().__init__()
        self._theme = theme
        self._alignments = block.alignments
        self._headed = headed
        self._table: QTextTable | None = None
        self._shown: tuple[Cells, ...] = ()
        self._widths: list[int] = []
        self.waiting = False
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(tr("Rows of a table"))
        self.viewport().setAutoFillBackground(False)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.document().setDocumentMargin(0)
        self.document().setUndoRedoEnabled(False)
        self.document().setDefaultFont(theme.text_font)
        self._objects = MathsObjects(theme.typesetter, self)
        self.document().documentLayout().registerHandler(OBJECT_TYPE, self._objects)

    def show_rows(self, rows: tuple[Cells, ...], widths: list[int], again: bool = False) -> None:
        """Bring the table up to date: rows that stay the same stay."""
        same = 0
        while not again and same < min(len(rows), len(self._shown)) and rows[same] is self._shown[same]:
            same += 1
        cursor = QTextCursor(self.document())
        cursor.beginEditBlock()
        if self._table is None or same == 0 or len(rows) < same:
            self.document().clear()
            cursor = QTextCursor(self.document())
            self._table = cursor.insertTable(max(1, len(rows)), len(self._alignments), self._format(widths))
            self._thin_end()
        else:
            if len(self._shown) > same:
                self._table.removeRows(same, len(self._shown) - same)
            if len(rows) > same:
                self._table.appendRows(len(rows) - same)
        for number in range(same, len(rows)):
            self._fill(number, rows[number])
        if self._widths != widths:
            self._table.setFormat(self._format(widths))
        cursor.endEditBlock()
        self._shown, self._widths = rows, list(widths)

    def select_alone(self) -> None:
        """Let the mouse and the keyboard select in it."""
        flags = Qt.TextInteractionFlag
        self.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, False)

    def fit(self, width: int) -> int:
        self.document().setTextWidth(width)
        return round(self.document().size().height())

    def row_at(self, y: int) -> int:
        for row in range(len(self._shown) - 1, 0, -1):
            if self.rect_of(row, 0).top() - PADDING <= y:
                return row
        return 0

    def rect_of(self, row: int, column: int) -> QRect:
        if self._table is None:
            return QRect()
        return self.cursorRect(self._table.cellAt(min(row, self._table.rows() - 1), column).firstCursorPosition())

    def mark(self, marks: Marks, first_row: int, tints: Sequence[Tint] = ()) -> None:
        if self._table is None:
            return
        columns = len(self._alignments)
        begin = first_row * columns
        end = begin + len(self._shown) * columns - 1

        def cells(stretch: Stretch) -> list[int]:
            first, last = stretch
            if first // columns != last // columns:  # over several rows: whole ones
                first, last = first // columns * columns, (last // columns + 1) * columns - 1
            return [cell - begin for cell in range(max(first, begin), min(last, end) + 1)]

        found = []
        for cell, tint in enumerate(tints):
            if tint:
                found += tint_selections(self.document(), tint, self._theme, self._stretch(cell)[0])
        for hit in marks.hits:
            for cell in cells(hit):
                shown = Marks(None, (self._stretch(cell),), self._stretch(cell) if hit == marks.current else None)
                found += selections(self.document(), shown, self._theme)
        if marks.selected is not None:
            for cell in cells(marks.selected):
                found += selections(self.document(), Marks(self._stretch(cell)), self._theme)
        self.setExtraSelections(found)

    def _stretch(self, cell: int) -> Stretch:
        assert self._table is not None
        place = self._table.cellAt(cell // len(self._alignments), cell % len(self._alignments))
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

    def _fill(self, row: int, cells: Cells) -> None:
        assert self._table is not None
        sides = {"left": Qt.AlignmentFlag.AlignLeft, "center": Qt.AlignmentFlag.AlignHCenter, "right": Qt.AlignmentFlag.AlignRight}
        header = self._headed and row == 0
        for column, spans in enumerate(cells[: len(self._alignments)]):
            cell = self._table.cellAt(row, column)
            inner = cell.firstCursorPosition()
            paragraph = QTextBlockFormat()
            paragraph.setAlignment(sides[self._alignments[column]])
            inner.setBlockFormat(paragraph)
            base = QTextCharFormat()
            base.setForeground(QColor(self._theme.colors.text))
            if header:
                base.setFontWeight(600)
                ground = QTextCharFormat()
                ground.setBackground(QColor(self._theme.colors.code))
                cell.setFormat(ground.toTableCellFormat())
            for span in spans:
                if span.math:
                    self._insert_maths(inner, span.text, base)
                else:
                    inner.insertText(span.text, span_format(span, base, self._theme))

    def _insert_maths(self, cursor: QTextCursor, latex: str, base: QTextCharFormat) -> None:
        form = QTextCharFormat(base)
        form.setObjectType(OBJECT_TYPE)
        form.setProperty(LATEX, latex)
        form.setProperty(DISPLAY, False)
        form.setProperty(QTextFormat.Property.FontPixelSize, round(self._theme.text_pixels * 1.06))
        form.setToolTip(as_tooltip(latex))
        form.setVerticalAlignment(self._objects.alignment(form))
        self.waiting = self.waiting or not self._theme.typesetter.known(self._objects.key(form))
        cursor.insertText(OBJECT, form)

    def _thin_end(self) -> None:
        """A document must end in a paragraph; this one is made too thin to see."""
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        thin = QTextBlockFormat()
        thin.setLineHeight(1, QTextBlockFormat.LineHeightTypes.FixedHeight.value)
        cursor.setBlockFormat(thin)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        event.ignore()

    def loadResource(self, kind: int, name: object) -> object:
        return None  # nothing a reply names is ever fetched
