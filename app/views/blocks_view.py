"""A reply's blocks as widgets: neighbouring text in one document, each code block and table in a frame of its own."""

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from app.rendering.blocks import Block, Code, Table
from app.rendering.streaming import Change, StreamingMarkdown
from app.views.code_view import CodeView
from app.views.text_run import INDENT, TextRun
from app.views.theme import Theme


@dataclass
class _Part:
    start: int  # number of its first block
    count: int
    view: TextRun | CodeView
    holder: QWidget
    depth: int = 0
    is_table: bool = False


class BlocksView(QWidget):
    """Draws blocks and, on a change, only those that changed. `drawn` counts every block ever drawn."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._parts: list[_Part] = []
        self._markdown = StreamingMarkdown()
        self.drawn = 0
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(12)

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self._markdown.blocks

    def append(self, text: str) -> None:
        """More Markdown arrived."""
        self.apply(self._markdown.append(text))

    def redraw(self) -> None:
        """Draw all anew, in the colours now in force."""
        blocks = self._markdown.blocks
        for part in self._parts:
            self._drop(part)
        self._parts = []
        self.apply(Change(0, blocks))

    def apply(self, change: Change) -> None:
        """From block `first` on, show `blocks`."""
        self.drawn += len(change.blocks)
        spare = {part.start: part for part in self._parts if part.start >= change.first}
        self._parts = [part for part in self._parts if part.start < change.first]
        last = self._parts[-1] if self._parts else None
        if last is not None and isinstance(last.view, TextRun):
            last.count = min(last.count, change.first - last.start)
            last.view.truncate(last.count)
        for number, block in enumerate(change.blocks, change.first):
            match block:
                case Code():
                    self._show_code(number, block, spare)
                case _:
                    self._show_text(number, block, spare)
        for part in spare.values():
            self._drop(part)

    def _show_code(self, number: int, block: Code, spare: dict[int, _Part]) -> None:
        old = spare.get(number)
        depth = block.indent + block.quote
        if old is not None and isinstance(old.view, CodeView) and (old.view.language, old.depth) == (block.language, depth):
            self._parts.append(spare.pop(number))
            old.view.show_block(block)
        else:
            self._add(_Part(number, 1, *self._hold(CodeView(self._theme, block), depth), depth))

    def _show_text(self, number: int, block: Block, spare: dict[int, _Part]) -> None:
        assert not isinstance(block, Code)
        table = isinstance(block, Table)
        last = self._parts[-1] if self._parts else None
        if table or last is None or last.is_table or not isinstance(last.view, TextRun):
            depth = block.indent + block.quote if isinstance(block, Table) else 0
            view = TextRun(self._theme)
            last = _Part(number, 0, *self._hold(view, depth), depth, table)
            self._add(last)
        assert isinstance(last.view, TextRun)
        last.view.append_block(block)
        last.count += 1

    def _hold(self, view: TextRun | CodeView, depth: int) -> tuple[TextRun | CodeView, QWidget]:
        if not depth:
            return view, view
        holder = QWidget()
        layout = QHBoxLayout(holder)
        layout.setContentsMargins(depth * INDENT, 0, 0, 0)
        layout.addWidget(view)
        return view, holder

    def _add(self, part: _Part) -> None:
        self._layout.insertWidget(len(self._parts), part.holder)
        self._parts.append(part)

    def _drop(self, part: _Part) -> None:
        self._layout.removeWidget(part.holder)
        part.holder.hide()
        part.holder.deleteLater()

    def code_views(self) -> Sequence[CodeView]:
        """The code blocks shown."""
        return [part.view for part in self._parts if isinstance(part.view, CodeView)]
