"""A reply's blocks as widgets: neighbouring text in one document, each code block and table in a frame of its own."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence

from PySide6.QtCore import QRect, QSize, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.conversations.token_sources import Suppliers
from app.rendering.blocks import Block, Code, Maths, Rule, Table, Text
from app.rendering.code_view import CodeView
from app.rendering.marks import NONE, Marks
from app.rendering.parts import Part, as_typed, kind_of, length, plain, units
from app.rendering.streaming import Change, StreamingMarkdown
from app.rendering.table_view import TableView
from app.rendering.text_run import TextRun
from app.rendering.tint import NO_TINT, Run, Tint, runs_of
from app.rendering.tracing import Tracing
from app.transcript.stack import Stack
from app.widgets.theme import DEEPEST_INDENT, INDENT, Theme

GAP = 12
PartView = TextRun | CodeView | TableView


class BlocksView(Stack):
    """Draws blocks and, on a change, only those that changed; parts out of sight are not drawn at all. `drawn` counts every block
    ever drawn."""

    resized = Signal()  # one of its parts changed its height by itself

    def __init__(self, theme: Theme, quiet: bool = False, lazy: bool = False, parent: QWidget | None = None) -> None:
        """`quiet` text is in the secondary color; a `lazy` view builds nothing before it is told what is in sight."""
        super().__init__(parent)
        if lazy:
            self._band = (-1, -1)
        self._theme = theme
        self._quiet = quiet
        self.parts: list[Part] = []
        self.markdown = StreamingMarkdown()
        self._blocks: list[Block] = []
        self._typed = False
        self._marks: dict[int, Marks] = {}
        self._marked: set[int] = set()  # parts that wear some
        self._wrapped: set[int] = set()
        self._suppliers: Suppliers | None = None
        self._text: Callable[[], str] = str
        self._runs: dict[int, list[Run]] = {}  # by block
        self._differs: tuple[int, int] | None = None  # of the text
        self.drawn = 0
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        theme.typesetter.ready.connect(self._set_formulas)
        theme.tint_changed.connect(self._show_tint)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(self._blocks)

    def append(self, text: str) -> None:
        """More Markdown arrived."""
        self.apply(self.markdown.append(text))

    def set_suppliers(self, suppliers: Suppliers, text: Callable[[], str]) -> None:
        """Who supplied the text that is appended; `text` gives all of it."""
        self._suppliers, self._text = suppliers, text
        self._show_tint()

    def mark_difference(self, stretch: tuple[int, int] | None, text: str) -> None:
        """Mark where the text, all of which is shown, is not that of another reply; None for nowhere. Where the place itself is not
        shown, as of a sign of Markdown or inside a formula, its line is marked."""
        self._text = lambda: text
        self._lay_difference(stretch)
        if stretch is not None and self.difference is None:
            self._lay_difference((text.rfind("\n", 0, stretch[0]) + 1, stretch[1]))

    def _lay_difference(self, stretch: tuple[int, int] | None) -> None:
        self._differs = stretch
        self._runs.clear()
        self._show_tint()

    @property
    def difference(self) -> tuple[int, int, int] | None:
        """Where the mark is: the part, the first offset in it and the one after the last."""
        for index in range(len(self.parts) if self._differs else 0):
            for first, last, told in self._tint_of(index):
                if told == "differs":
                    return index, first, last
        return None

    @property
    def difference_rect(self) -> QRect | None:
        """Where its first character stands."""
        place = self.difference
        view = self.part_view(place[0]) if place is not None else None
        if place is None or view is None:
            return None
        offset = place[1]
        if isinstance(view, TableView):  # counts cells
            offset = plain(self._blocks[self.parts[place[0]].first])[:offset].count("\n")
        rect = view.rect_of(offset)
        return QRect(view.mapTo(self, rect.topLeft()), rect.size())

    def show_plain(self, text: str) -> None:
        """Show text as it was typed, line by line."""
        self._typed = True
        self.apply(Change(0, as_typed(text)))

    def redraw(self) -> None:
        """Draw all anew, in the colors now in force."""
        for index in range(len(self.entries)):
            self._forget(index)
            self.changed(index)
        if self._band is None:
            self._build(0, len(self.entries))
        self._settle()

    def apply(self, change: Change) -> None:
        """From block `first` on, show `blocks`."""
        del self._blocks[change.first :]
        for number in [number for number in self._runs if number >= change.first]:
            del self._runs[number]
        self._blocks += change.blocks
        kept = 0
        while self.parts and self.parts[-1].first >= change.first:
            self.parts.pop()
        if self.parts:
            kept = self._shorten(self.parts[-1], change.first)
        touched = max(0, len(self.parts) - 1)
        for number in range(change.first, len(self._blocks)):
            block = self._blocks[number]
            if not self.parts or not self.parts[-1].takes(block):
                self.parts.append(Part(kind_of(block), number, 0))
            self.parts[-1].add(block)
        self.set_count(len(self.parts))
        for index in range(touched, len(self.parts)):
            self._bring_up_to_date(index, kept if index == touched else 0)
        self._settle()

    def _shorten(self, part: Part, end: int) -> int:
        """Let a part end before this block; how many of its blocks stay."""
        if part.first + part.count > end:
            part.count, part.chars = 0, 0
            for block in self._blocks[part.first : end]:
                part.add(block)
        return part.count

    def _bring_up_to_date(self, index: int, kept: int) -> None:
        """Show what a part is now; its first `kept` blocks are as they were."""
        part, entry = self.parts[index], self.entries[index]
        blocks = self._blocks[part.first : part.first + part.count]
        after_text = index > 0 and self.parts[index - 1].kind == "text"
        entry.gap = 0 if part.kind == "text" and after_text else GAP
        first = blocks[0]
        entry.indent = 0 if part.kind == "text" else min(first.indent + first.quote, DEEPEST_INDENT) * INDENT
        self.changed(index)
        view = entry.view
        match view, first:
            case TextRun(), Text() | Rule() | Maths():
                if kept == part.count == len(view):
                    return
                view.first = not after_text
                view.truncate(kept)
                self._draw(view, part, kept)
            case CodeView(language=language), Code() if language == first.language:
                self.drawn += 1
                view.show_block(first)
            case TableView(), Table():
                self.drawn += 1
                view.show_block(first)
            case None, _:
                return
            case _:
                self._forget(index)
                return
        self._mark(index)

    def build(self, index: int) -> QWidget:
        part = self.parts[index]
        first = self._blocks[part.first]
        view: PartView
        match first:
            case Code():
                view = CodeView(self._theme, first, index in self._wrapped)
                view.resized.connect(self._part_resized)
                self.drawn += 1
            case Table():
                view = TableView(self._theme, first)
                self.drawn += 1
            case _:
                view = TextRun(self._theme, self._quiet, index == 0 or self.parts[index - 1].kind != "text")
                self._draw(view, part, 0)
        if self._band is None:
            view.select_alone()
        self.entries[index].view = view
        self._mark(index)
        return view

    def drop(self, index: int) -> None:
        view = self.entries[index].view
        self._wrapped.discard(index)
        if isinstance(view, CodeView) and view.wrap.isChecked():
            self._wrapped.add(index)

    def guess(self, index: int, width: int) -> int:
        part = self.parts[index]
        blocks = self._blocks[part.first : part.first + part.count]
        line = self._theme.text_pixels
        first = blocks[0]
        if isinstance(first, Code):
            return round((first.text.count("\n") + 1) * line * 1.1) + 44
        if isinstance(first, Table):
            return round(len(first.rows) * line * 2.4)
        lines = sum(1 + len(plain(block)) * line * 0.5 // max(1, width) for block in blocks)
        return round(lines * line * 1.75) + 8 * len(blocks)

    def _draw(self, view: TextRun, part: Part, kept: int) -> None:
        for number in range(part.first + kept, part.first + part.count):
            block = self._blocks[number]
            assert isinstance(block, Text | Rule | Maths)
            view.append_block(block, typed=self._typed)
            self.drawn += 1

    # Size

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self.fit(width)

    def sizeHint(self) -> QSize:
        return QSize(200, self.total)

    def minimumSizeHint(self) -> QSize:
        return QSize(0, 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        before = self.total
        if self.fit(self.width()) != before:
            self.updateGeometry()

    def show_band(self, top: int, bottom: int) -> bool:
        changed = super().show_band(top, bottom)
        if changed:
            self.updateGeometry()
            self.resized.emit()
        return changed

    def _settle(self) -> None:
        before = self.total
        if self._width > 0:
            if self._band is None:
                self._build(0, len(self.entries))
            else:
                super().show_band(*self._band)
            self._place()
        elif self._band is None:
            self._build(0, len(self.entries))
        if self.total != before or self._width <= 0:
            self.updateGeometry()
            self.resized.emit()

    @Slot()
    def _part_resized(self) -> None:
        for index, entry in enumerate(self.entries):
            if entry.view is self.sender():
                self.changed(index)
        self._settle()

    @Slot()
    def _set_formulas(self) -> None:
        waited = False
        for index, entry in enumerate(self.entries):
            view = entry.view
            if isinstance(view, TextRun | TableView) and view.waits:
                view.set_formulas()
                self.changed(index)
                waited = True
        if waited:
            self._settle()

    # Marks

    def set_marks(self, marks: dict[int, Marks]) -> None:
        """Selection and hits, by part."""
        before, self._marks = self._marks, marks
        for index in before.keys() | marks.keys():
            if index < len(self.entries) and before.get(index) != marks.get(index):
                self._mark(index)

    def _mark(self, index: int) -> None:
        view = self.entries[index].view
        marks, tint = self._marks.get(index, NONE), self._tint_of(index) if view is not None else NO_TINT
        bare = marks is NONE and not tint
        if isinstance(view, TextRun | CodeView | TableView) and (not bare or index in self._marked):
            view.mark(marks, tint)
            (self._marked.discard if bare else self._marked.add)(index)

    # Tint

    @Slot()
    def _show_tint(self) -> None:
        for index in range(len(self.entries)):
            self._mark(index)

    def _tint_of(self, index: int) -> Tint:
        """What is to be said of the text of a part, and is known."""
        if self._differs is None and (self._suppliers is None or not self._theme.tinted):
            return NO_TINT
        part, found, at = self.parts[index], [], 0
        for number in range(part.first, part.first + part.count):
            found += [(at + first, at + last, told) for first, last, told in self._runs_of(number)]
            at += units(plain(self._blocks[number])) + 1
        return tuple(found)

    def _runs_of(self, number: int) -> list[Run]:
        """Those of a block, and of all blocks that come from the same piece of the source."""
        if number not in self._runs:
            origins, text = self.markdown.origins, self._text()
            place = bisect_right(origins, number, key=lambda origin: origin.block) - 1
            origin = origins[place]
            until = origins[place + 1].block if place + 1 < len(origins) else len(self._blocks)
            known = not any(sign in text for sign in "\r\0")  # which are not shown as they were written
            tracing = Tracing(text, origin.start, origin.end)
            for one in range(origin.block, until):
                block = self._blocks[one]
                self._runs[one] = runs_of(block, tracing.trace(block), self._told) if known else []
        return self._runs.get(number, [])

    def _told(self, start: int, end: int) -> Iterable[Run]:
        """What is said of the text between two places: where it differs, or else who supplied it."""
        if self._differs is not None:
            first, last = max(start, self._differs[0]), min(end, self._differs[1])
            return [(first, last, "differs")] if first < last else []
        return self._suppliers.between(start, end) if self._suppliers is not None else []

    def part_view(self, index: int) -> PartView | None:
        """The view of a part, None while there is none."""
        view = self.entries[index].view if index < len(self.entries) else None
        return view if isinstance(view, TextRun | CodeView | TableView) else None

    def part_length(self, index: int) -> int:
        """The greatest offset in a part."""
        part = self.parts[index]
        return length(self._blocks[part.first : part.first + part.count])

    def code_views(self) -> Sequence[CodeView]:
        """The code blocks shown."""
        return [entry.view for entry in self.entries if isinstance(entry.view, CodeView)]
