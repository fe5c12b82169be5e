"""Paragraphs, headings, lists, quotes and formulas in one document."""

import unicodedata
from math import ceil

from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, QSize, Qt, QUrl
from PySide6.QtGui import (
    QColor,
    QContextMenuEvent,
    QFont,
    QPainter,
    QPaintEvent,
    QPen,
    QTextBlock,
    QTextBlockFormat,
    QTextCharFormat,
    QTextCursor,
    QTextFormat,
    QTextLength,
    QWheelEvent,
)
from PySide6.QtWidgets import QFrame, QSizePolicy, QTextEdit, QWidget

from app.language import tr
from app.rendering.blocks import Maths, Rule, Span, Text
from app.rendering.formulas import DISPLAY, LATEX, OBJECT_TYPE, MathsObjects
from app.rendering.marks import Marks, selections
from app.rendering.parts import OBJECT
from app.rendering.tint import NO_TINT, Tint, tint_selections
from app.widgets.label import as_tooltip
from app.widgets.theme import DEEPEST_INDENT, INDENT, QUOTE, Theme

MARKER_GAP = 8
LINE_HEIGHT = 142  # per cent
HEADINGS = {1: 1.45, 2: 1.25, 3: 1.1}

_quote_property = QTextFormat.Property.UserProperty + 1
_marker_property = QTextFormat.Property.UserProperty + 2
_task_property = QTextFormat.Property.UserProperty + 3


class TextRun(QTextEdit):
    """As tall as its text. Blocks are appended and cut off at the end; what stands above is never laid out again.

    The mouse belongs to the transcript, which selects across all of its documents.
    """

    def __init__(self, theme: Theme, quiet: bool = False, first: bool = True, parent: QWidget | None = None) -> None:
        """`quiet` text is in the secondary color; a run that is not the `first` keeps its distance from the one above."""
        super().__init__(parent)
        self._theme = theme
        self._quiet = quiet
        self.first = first
        self._starts: list[int] = []
        self._waiting = False  # for formulas
        self._fitted = -1, -1  # width and height
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        self.setTextInteractionFlags(Qt.TextInteractionFlag.NoTextInteraction)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setAccessibleName(tr("Text"))
        document = self.document()
        document.setDocumentMargin(0)
        document.setUndoRedoEnabled(False)
        document.setDefaultFont(theme.text_font)
        self._objects = MathsObjects(theme.typesetter, self)
        document.documentLayout().registerHandler(OBJECT_TYPE, self._objects)
        self.viewport().setAutoFillBackground(False)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

    def __len__(self) -> int:
        return len(self._starts)

    def truncate(self, count: int) -> None:
        """Keep the first `count` blocks."""
        if count >= len(self._starts):
            return
        self._fitted = -1, -1
        start = self._starts[count]
        del self._starts[count:]
        cursor = QTextCursor(self.document())
        cursor.setPosition(max(0, start - 1))
        cursor.movePosition(QTextCursor.MoveOperation.End, QTextCursor.MoveMode.KeepAnchor)
        cursor.removeSelectedText()
        if start == 0:
            cursor.setBlockFormat(QTextBlockFormat())
            cursor.setBlockCharFormat(QTextCharFormat())

    def append_block(self, block: Text | Rule | Maths, typed: bool = False) -> None:
        """Add a block at the end. What was `typed` has no paragraphs, only lines."""
        self._fitted = -1, -1
        cursor = QTextCursor(self.document())
        cursor.movePosition(QTextCursor.MoveOperation.End)
        cursor.beginEditBlock()
        first = not self._starts
        match block:
            case Text():
                self._append_text(cursor, block, typed)
            case Rule():
                self._append_rule(cursor, block, first)
            case Maths():
                form = QTextBlockFormat()
                form.setAlignment(Qt.AlignmentFlag.AlignHCenter if not block.indent + block.quote else Qt.AlignmentFlag.AlignLeft)
                form.setTopMargin(self._above(10, first))
                form.setBottomMargin(4)
                form.setLeftMargin(_left(block))
                base = QTextCharFormat()
                base.setForeground(QColor(self._color(quiet=False)))
                self._new_block(cursor, form, base, first)
                self._insert_maths(cursor, block.latex, True, base)
        cursor.endEditBlock()

    def fit(self, width: int) -> int:
        """The height at this width."""
        if self._fitted[0] != width:
            self.document().setTextWidth(width)
            self._fitted = width, ceil(self.document().size().height())
        return self._fitted[1]

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self.fit(width)

    def sizeHint(self) -> QSize:
        return QSize(200, self.fit(max(self.width(), 100)))

    def minimumSizeHint(self) -> QSize:
        return QSize(0, 0)

    def select_alone(self) -> None:
        """Outside a transcript nothing selects across documents: this one is selected by itself."""
        flags = Qt.TextInteractionFlag
        self.setTextInteractionFlags(flags.TextSelectableByMouse | flags.TextSelectableByKeyboard)
        self.viewport().setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents, False)

    @property
    def waits(self) -> bool:
        """Some of its formulas are not set yet."""
        return self._waiting

    def set_formulas(self) -> None:
        """Formulas have been set: give them their place."""
        document = self.document()
        self._waiting = False
        block = document.begin()
        while block.isValid():
            at = block.text().find(OBJECT)
            while at >= 0:
                cursor = QTextCursor(document)
                cursor.setPosition(block.position() + at)
                cursor.setPosition(block.position() + at + 1, QTextCursor.MoveMode.KeepAnchor)
                form = cursor.charFormat()
                if form.objectType() == OBJECT_TYPE:
                    form.setVerticalAlignment(self._objects.alignment(form))
                    cursor.setCharFormat(form)
                    self._waiting = self._waiting or not self._theme.typesetter.known(self._objects.key(form))
                at = block.text().find(OBJECT, at + 1)
            block = block.next()
        document.markContentsDirty(0, document.characterCount())
        self._fitted = -1, -1

    # What the transcript asks of every part

    def position_at(self, point: QPoint) -> int:
        """The offset under a point, or the nearest."""
        return self.cursorForPosition(point).position()

    def word_at(self, offset: int, paragraph: bool = False) -> tuple[int, int]:
        """Where the word or paragraph around an offset begins and ends."""
        cursor = QTextCursor(self.document())
        cursor.setPosition(min(offset, self.document().characterCount() - 1))
        cursor.select(QTextCursor.SelectionType.BlockUnderCursor if paragraph else QTextCursor.SelectionType.WordUnderCursor)
        start = cursor.selectionStart()
        if paragraph and start > 0:
            start += 1
        return start, max(start, cursor.selectionEnd())

    def link_at(self, point: QPoint) -> str:
        """The address under a point, empty where there is none."""
        return self.anchorAt(point)

    def rect_of(self, offset: int) -> QRect:
        """Where the character at an offset stands."""
        cursor = QTextCursor(self.document())
        cursor.setPosition(min(offset, self.document().characterCount() - 1))
        return self.cursorRect(cursor)

    def mark(self, marks: Marks, tint: Tint = NO_TINT) -> None:
        """Lay tint, selection and hits over the text."""
        tinted = tint_selections(self.document(), tint, self._theme)
        self.setExtraSelections([*tinted, *selections(self.document(), marks, self._theme)])

    # Drawing

    def _color(self, quiet: bool) -> str:
        return self._theme.colors.secondary if quiet or self._quiet else self._theme.colors.text

    def _above(self, wanted: int, first: bool) -> int:
        return 0 if first and self.first else wanted

    def _append_text(self, cursor: QTextCursor, block: Text, typed: bool) -> None:
        form = QTextBlockFormat()
        form.setLineHeight(LINE_HEIGHT if not block.heading else 125, QTextBlockFormat.LineHeightTypes.ProportionalHeight.value)
        first = not self._starts
        form.setTopMargin(0 if typed else self._above(20 if block.heading else 5 if block.marker else 10, first))
        if right_to_left(block):
            form.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
            form.setRightMargin(_left(block))
        else:
            form.setLeftMargin(_left(block))
        if block.quote:
            form.setProperty(_quote_property, block.quote)
        if block.marker:
            form.setProperty(_marker_property, block.marker)
        if block.done is not None:
            form.setProperty(_task_property, 2 if block.done else 1)
        base = QTextCharFormat()
        if block.heading:
            base.setFont(self._theme.large(HEADINGS.get(block.heading, 1.0)))
        base.setForeground(QColor(self._color(quiet=bool(block.quote))))
        self._new_block(cursor, form, base, first)
        for span in block.spans:
            if span.math:
                self._insert_maths(cursor, span.text, False, self._span(span, base))
            else:
                cursor.insertText(span.text, self._span(span, base))

    def _append_rule(self, cursor: QTextCursor, block: Rule, first: bool) -> None:
        form = QTextBlockFormat()
        form.setTopMargin(self._above(4, first))
        form.setBottomMargin(10)
        form.setLeftMargin(_left(block))
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

    def _insert_maths(self, cursor: QTextCursor, latex: str, display: bool, base: QTextCharFormat) -> None:
        form = QTextCharFormat(base)
        form.setObjectType(OBJECT_TYPE)
        form.setProperty(LATEX, latex)
        form.setProperty(DISPLAY, display)
        form.setProperty(QTextFormat.Property.FontPixelSize, round(self._theme.text_pixels * (1.12 if display else 1.06)))
        form.setToolTip(as_tooltip(latex))
        form.setVerticalAlignment(self._objects.alignment(form))
        self._waiting = self._waiting or not self._theme.typesetter.known(self._objects.key(form))
        cursor.insertText(OBJECT, form)

    def _span(self, span: Span, base: QTextCharFormat) -> QTextCharFormat:
        return span_format(span, base, self._theme)

    def wheelEvent(self, event: QWheelEvent) -> None:
        event.ignore()  # the transcript scrolls, not the paragraph

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        event.ignore()

    def loadResource(self, kind: int, name: QUrl | str) -> object:
        return None  # nothing a reply names is ever fetched

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
        for level in range(min(depth, DEEPEST_INDENT)):
            mirrored = block.blockFormat().layoutDirection() == Qt.LayoutDirection.RightToLeft
            left = self.viewport().width() - level * QUOTE - 3 if mirrored else level * QUOTE
            bar = QRectF(left, area.top() - gap, 3, area.height() + gap)
            painter.fillRect(bar, QColor(self._theme.colors.line))

    def _paint_marker(self, painter: QPainter, block: QTextBlock, marker: str, task: int) -> None:
        """Bullets and numbers hang in the margin, on the baseline of the first line. (Qt's own lists put them lower where lines
        are spaced out, and would make an item impossible to cut off alone.)"""
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
        colors = self._theme.colors
        if task:
            self._paint_box(painter, QRectF(left, baseline - 11.5, 13, 13), ticked=task == 2)
            return
        painter.setPen(QColor(colors.secondary))
        painter.drawText(QPointF(left, baseline), marker)

    def _paint_box(self, painter: QPainter, box: QRectF, ticked: bool) -> None:
        colors = self._theme.colors
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(colors.accent if ticked else colors.faint), 1.2))
        painter.setBrush(QColor(colors.accent) if ticked else Qt.BrushStyle.NoBrush)
        painter.drawRoundedRect(box, 3, 3)
        if ticked:
            painter.setPen(QPen(QColor(colors.on_accent), 1.8, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap))
            painter.drawPolyline([box.topLeft() + QPointF(x, y) for x, y in ((3.2, 6.8), (5.6, 9.2), (9.8, 4.2))])
        painter.restore()


def span_format(span: Span, base: QTextCharFormat, theme: Theme) -> QTextCharFormat:
    """The look of a span on top of its paragraph's."""
    form = QTextCharFormat(base)
    colors = theme.colors
    if span.bold:
        form.setFontWeight(QFont.Weight.DemiBold)
    form.setFontItalic(span.italic)
    form.setFontStrikeOut(span.strike)
    if span.code:
        form.setFontFamilies(theme.code_font.families())
        form.setProperty(QTextFormat.Property.FontPixelSize, round(theme.text_pixels * 0.9))
        form.setBackground(QColor(colors.bubble))
    if span.link:
        form.setAnchor(True)
        form.setAnchorHref(span.link)
        form.setToolTip(as_tooltip(span.link))
        form.setForeground(QColor(colors.accent))
        form.setFontUnderline(True)
    return form


def right_to_left(block: Text) -> bool:
    """Whether the first letter of a paragraph belongs to a script that runs to the left."""
    kinds = (unicodedata.bidirectional(char) for span in block.spans for char in span.text[:200])
    return next((kind in ("R", "AL") for kind in kinds if kind in ("L", "R", "AL")), False)


def _left(block: Text | Rule | Maths) -> int:
    return min(block.quote, DEEPEST_INDENT) * QUOTE + min(block.indent, DEEPEST_INDENT) * INDENT
