"""A view of a reply's blocks. Adjacent text blocks share a document."""

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QRect, QSize, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.rendering.block_underlines import BlockUnderlines
from app.rendering.blocks import (
    Block,
    CodeBlock,
    DocumentPart,
    MathBlock,
    ParagraphBlock,
    RuleBlock,
    TableBlock,
    TextBlock,
    last_offset,
    plain_text,
    plain_text_blocks,
    update_parts,
)
from app.rendering.code_view import CodeView
from app.rendering.lazy_stack import LazyStack
from app.rendering.page_links import CitablePages, with_page_links
from app.rendering.streaming import BlockChange, StreamingMarkdown
from app.rendering.table_view import TableScroller, TableView
from app.rendering.text_marks import NO_MARKS, TextMarks, TextRange
from app.rendering.text_view import TextView, vertical_margins
from app.storage.reply import Suppliers
from app.widgets.theme import DEEPEST_INDENT, INDENT, Theme

GAP = 12
PartView = TextView | CodeView | TableView


class BlocksView(LazyStack):
    """A view that draws only changed blocks and, if lazy, only visible parts.

    `marks_of` returns the selection and search hits of a part. `drawn` counts blocks each time they are drawn.
    """

    resized = Signal()  # a part's height has changed

    def __init__(self, theme: Theme, quiet: bool = False, lazy: bool = False) -> None:
        """Create a view. A `lazy` view draws nothing until `show_band` is called."""
        super().__init__()
        if lazy:
            self._band = (-1, -1)
        self._theme = theme
        self._quiet = quiet
        self._plain = False
        self.citable = CitablePages()  # which are links where they are cited
        self.parts: list[DocumentPart] = []
        self._blocks: list[Block] = []
        self.marks_of: Callable[[int], TextMarks] = lambda part: NO_MARKS
        self._shown_marks: dict[int, TextMarks] = {}  # by part, if not empty
        self._wrapped: set[int] = set()  # parts with wrapped code
        self._underlines = BlockUnderlines(theme, self._blocks)
        self.drawn = 0
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        theme.typesetter.ready.connect(self._place_formulas)
        theme.token_sources_changed.connect(self._mark_all)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(self._blocks)

    def append(self, text: str) -> None:
        """Append Markdown."""
        self._apply(self._underlines.markdown.append(text))

    def show_markdown(self, text: str) -> None:
        """Show Markdown in place of what is shown."""
        self._underlines.markdown = markdown = StreamingMarkdown(text)
        self._apply(BlockChange(0, markdown.blocks))

    def show_plain(self, text: str) -> None:
        """Show plain text, line by line."""
        self._plain = True
        self._apply(BlockChange(0, plain_text_blocks(text)))

    def redraw(self) -> None:
        """Draw everything again in the current colors."""
        for index in range(len(self.entries)):
            self.discard(index)
            self.changed(index)
        self._settle()

    def _apply(self, change: BlockChange) -> None:
        self._blocks[change.first :] = with_page_links(change.blocks, self.citable)
        self._underlines.forget(change.first)
        first_part = update_parts(self.parts, self._blocks, change.first)
        self.set_count(len(self.parts))
        for index in range(first_part, len(self.parts)):
            self._update_part(index, max(0, change.first - self.parts[index].first))
        self._settle()

    def _update_part(self, index: int, unchanged: int) -> None:
        """Show the blocks of a part. The first `unchanged` ones are already drawn."""
        part, entry = self.parts[index], self.entries[index]
        first = self._blocks[part.first]
        entry.gap = self._gap_above(index)
        entry.indent = 0 if part.kind == "text" else min(first.indent + first.quote, DEEPEST_INDENT) * INDENT
        self.changed(index)
        match entry.view, first:
            case TextView() as view, TextBlock() | RuleBlock() | MathBlock():
                if unchanged == part.count == len(view):
                    return
                view.truncate(unchanged)
                self._draw_text(view, part, unchanged)
            case CodeView(language=language) as view, CodeBlock() if language == first.language:
                self.drawn += 1
                view.show_block(first)
            case TableScroller() as view, TableBlock():
                self.drawn += 1
                view.table.show_block(first)
            case None, _:
                return
            case _:
                self.discard(index)
                return
        self._mark(index)

    def _gap_above(self, index: int) -> int:
        first = self.parts[index].first
        above, below = self._blocks[first - 1 : first + 1] if index else (None, None)
        if not isinstance(above, ParagraphBlock) or not isinstance(below, ParagraphBlock):
            return GAP
        return max(vertical_margins(above, self._plain)[1], vertical_margins(below, self._plain)[0])

    def build(self, index: int) -> QWidget:
        part = self.parts[index]
        first = self._blocks[part.first]
        view: TextView | CodeView | TableScroller
        match first:
            case CodeBlock():
                view = CodeView(self._theme, first, index in self._wrapped)
                view.resized.connect(self._part_resized)
                self.drawn += 1
            case TableBlock():
                view = TableScroller(self._theme, first)
                self.drawn += 1
            case _:
                view = TextView(self._theme, self._quiet)
                self._draw_text(view, part, 0)
        self.entries[index].view = view
        if self._band is None and (content := self.part_view(index)) is not None:
            content.enable_selection()
        self._shown_marks.pop(index, None)
        self._mark(index)
        return view

    def discard(self, index: int) -> None:
        if isinstance(view := self.entries[index].view, CodeView):
            (self._wrapped.add if view.wrap.isChecked() else self._wrapped.discard)(index)
        super().discard(index)

    def guess_height(self, index: int, width: int) -> int:
        blocks = self._blocks[self.parts[index].first : self.parts[index].end]
        line = self._theme.text_pixels
        match blocks[0]:
            case CodeBlock(text=text):
                return round((text.count("\n") + 1) * line * 1.1) + 44
            case TableBlock(rows=rows):
                return round(len(rows) * line * 2.4)
        lines = sum(1 + len(plain_text(block)) * line * 0.5 // max(1, width) for block in blocks)
        return round(lines * line * 1.75) + 8 * len(blocks)

    def _draw_text(self, view: TextView, part: DocumentPart, unchanged: int) -> None:
        for block in self._blocks[part.first + unchanged : part.end]:
            assert isinstance(block, ParagraphBlock)
            view.append_block(block, self._plain)
            self.drawn += 1

    # Size

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self.fit(width)

    def sizeHint(self) -> QSize:
        return QSize(200, self.total_height)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        before = self.total_height
        if self.fit(self.width()) != before:
            self.updateGeometry()

    def show_band(self, top: int, bottom: int) -> bool:
        if changed := super().show_band(top, bottom):
            self.updateGeometry()
            self.resized.emit()
        return changed

    def _settle(self) -> None:
        """Build and place the parts that have changed."""
        before = self.total_height
        if self._band is None:
            self._build(0, len(self.entries))
        elif self._width > 0:
            super().show_band(*self._band)
        self._place()
        if self.total_height != before or self._width <= 0:
            self.updateGeometry()
            self.resized.emit()

    @Slot()
    def _part_resized(self) -> None:
        for index, entry in enumerate(self.entries):
            if entry.view is self.sender():
                self.changed(index)
        self._settle()

    @Slot()
    def _place_formulas(self) -> None:
        for index in range(len(self.entries)):
            view = self.part_view(index)
            if isinstance(view, TextView | TableView) and view.formulas_pending:
                view.place_formulas()
                self.changed(index)
        self._settle()

    # Parts

    def part_view(self, index: int) -> PartView | None:
        """Return the view of a part, or None if it isn't built."""
        view = self.entries[index].view if index < len(self.entries) else None
        return view.table if isinstance(view, TableScroller) else view if isinstance(view, TextView | CodeView) else None

    def last_offset_in(self, index: int) -> int:
        return last_offset(self._blocks[self.parts[index].first : self.parts[index].end])

    # Marks

    def update_marks(self) -> None:
        """Show the marks that `marks_of` currently returns."""
        for index, entry in enumerate(self.entries):
            shown = self._shown_marks.get(index, NO_MARKS)
            if entry.view is not None and replace(self.marks_of(index), underlines=shown.underlines) != shown:
                self._mark(index)

    @Slot()
    def _mark_all(self) -> None:
        for index in range(len(self.entries)):
            self._mark(index)

    def _mark(self, index: int) -> None:
        if (view := self.part_view(index)) is None:
            return
        marks = replace(self.marks_of(index), underlines=self._underlines.of_part(self.parts[index]))
        if marks != NO_MARKS or index in self._shown_marks:
            view.mark(marks)
            self._shown_marks[index] = marks

    # Underlines

    def show_sources(self, sources: Suppliers, text: Callable[[], str], start: int = 0) -> None:
        """Underline tokens by source, if enabled.

        Args:
            sources: the source of each character of a reply.
            text: returns the view's Markdown.
            start: offset of the Markdown in the reply.
        """
        self._underlines.show_sources(sources, text, start)
        self._mark_all()

    def mark_difference(self, difference: TextRange | None, text: str) -> None:
        """Mark where the text differs from another reply.

        If the difference isn't visible, such as Markdown syntax or the inside of a formula, the whole line is marked.
        """
        self._underlines.show_difference(difference, text)
        if difference is not None and self.difference is None:
            self._underlines.show_difference((text.rfind("\n", 0, difference[0]) + 1, difference[1]), text)
        self._mark_all()

    @property
    def difference(self) -> tuple[int, int] | None:
        """The part and offset of the first character that differs."""
        parts = enumerate(self.parts if self._underlines.difference else ())
        return next(((at, mark[0]) for at, part in parts for mark in self._underlines.of_part(part) if mark[2] == "differs"), None)

    @property
    def difference_rect(self) -> QRect | None:
        """The first differing character's rectangle, or None if its part isn't built."""
        part, offset = self.difference or (-1, 0)
        view = self.part_view(part) if part >= 0 else None
        if view is None:
            return None
        if isinstance(view, TableView):  # table offsets are cell numbers
            offset = plain_text(view.block)[:offset].count("\n")
        rect = view.rect_of(offset)
        return QRect(view.mapTo(self, rect.topLeft()), rect.size())
