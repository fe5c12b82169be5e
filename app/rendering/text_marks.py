"""Marks in the text of a part: the selection, search hits, and underlines.

Underlines show the sources of tokens, or where two replies differ. Both are offsets in the Markdown, so visible characters are
mapped to their source. Rendering drops Markdown syntax but keeps the order of words, so each word is searched for after the
previous one. A word that isn't found (such as an entity or an escaped character) is searched for character by character.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtCore import Slot
from PySide6.QtGui import QColor, QResizeEvent, QTextCharFormat, QTextCursor, QTextDocument, QTextOption
from PySide6.QtWidgets import QFrame, QTextEdit, QWidget

from app.rendering.blocks import Block, CodeBlock, MathBlock, RuleBlock, TableBlock, TextBlock, TextSpan, plain_text, qt_length
from app.rendering.streaming import StreamingMarkdown
from app.storage.reply import Supplier
from app.text.language import tr
from app.widgets.theme import SMALL, Theme

MAX_SYNTAX = 8  # Markdown characters before a space
MAX_SKIP = 600  # characters between two words, such as an address or the delimiter row of a table
_fence = re.compile(r"[ \t>]*(?:(?:[-+*]|\d{1,9}[.)])[ \t]+)*(?:```|~~~)")
TextRange = tuple[int, int]  # start and end (exclusive)
UnderlineKind = Supplier | Literal["differs"]
Underline = tuple[int, int, UnderlineKind]  # start, end (exclusive), and kind


@dataclass(frozen=True, slots=True)
class MappedText:
    """A run of a block's plain text, and the offset of its source in the Markdown."""

    start: int
    source: int
    length: int


def map_blocks(text: str, markdown: StreamingMarkdown, number: int) -> Iterator[tuple[int, tuple[MappedText, ...]]]:
    """Yield index and mapping of each block with the same origin as block `number`."""
    origins = markdown.origins
    blocks = markdown.blocks
    index = bisect_right(origins, number, key=lambda origin: origin.block) - 1
    end = origins[index + 1].block if index + 1 < len(origins) else len(blocks)
    source_map = SourceMap(text, origins[index].start, origins[index].end)
    for block in range(origins[index].block, end):
        yield block, source_map.map(blocks[block])


class SourceMap:
    """A map from consecutive blocks to their source in the Markdown."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._at = start
        self._end = min(end, len(text))
        self._mapped: list[MappedText] = []
        self._shown = 0  # characters of the block so far

    def map(self, block: Block) -> tuple[MappedText, ...]:
        self._mapped, self._shown = [], 0
        match block:
            case TextBlock():
                self._map_spans(block.spans)
            case TableBlock():
                for row in block.rows:
                    for cell in row:
                        self._map_spans(cell)
                        self._shown += 1
            case CodeBlock():
                self._map_code(block)
            case MathBlock():
                self._map_formula(block.latex)
            case RuleBlock():
                self._skip_line()
        return tuple(self._mapped)

    def _map_spans(self, spans: Sequence[TextSpan]) -> None:
        for span in spans:
            if span.math:
                self._map_formula(span.text)
                continue
            for word in re.findall(r"\S+\s*|\s+", span.text):
                self._map_word(word)
            if span.link and span.link != span.text:
                place = self._text.find(span.link, self._at, min(self._end, self._at + MAX_SKIP))
                self._at = place + len(span.link) if place >= 0 else self._at

    def _map_word(self, word: str) -> None:
        bare = word.rstrip()
        if not bare:
            near = range(self._at, min(self._end, self._at + MAX_SYNTAX))
            self._at = next((place for place in near if self._text[place].isspace()), self._at)
        place = self._find(bare) if bare else self._at
        if place >= 0:
            gap = min(len(word) - len(bare), 1) if self._text[place + len(bare) : place + len(bare) + 1].isspace() else 0
            self._add(place, len(bare) + gap)
            self._shown += len(word) - len(bare) - gap
        else:
            for char in word:
                place = self._find(char)
                if place >= 0:
                    self._add(place, 1)
                else:
                    self._shown += 1

    def _map_code(self, block: CodeBlock) -> None:
        if _fence.match(self._text, self._at):
            self._skip_line()
        place = self._find(block.text)
        if place >= 0:  # the lines aren't indented in the source
            self._add(place, len(block.text))
            return
        lines = block.text.split("\n")
        for number, line in enumerate(lines):
            place = self._find(line)
            ends = number < len(lines) - 1 and place >= 0 and self._text[place + len(line) : place + len(line) + 1] == "\n"
            if place >= 0:
                self._add(place, len(line) + ends)  # including the line break, so that adjacent lines form one run
            self._shown += 1 - ends if place >= 0 else len(line) + 1

    def _map_formula(self, latex: str) -> None:
        """Map a formula, which is shown as one character."""
        place = self._text.find(latex[:80], self._at, self._end)
        if place >= 0:
            self._mapped.append(MappedText(self._shown, place, 1))
            self._at = place + len(latex)
        self._shown += 1

    def _skip_line(self) -> None:
        self._at = self._text.find("\n", self._at, self._end) + 1 or self._end

    def _find(self, text: str) -> int:
        return self._text.find(text, self._at, min(self._end, self._at + len(text) + MAX_SKIP))

    def _add(self, place: int, length: int) -> None:
        last = self._mapped[-1] if self._mapped else None
        if last is not None and (last.start + last.length, last.source + last.length) == (self._shown, place):
            self._mapped[-1] = MappedText(last.start, last.source, last.length + length)
        elif length:
            self._mapped.append(MappedText(self._shown, place, length))
        self._shown += length
        self._at = place + length


@dataclass(frozen=True, slots=True)
class TextMarks:
    """The marks of one part, as offsets in its document."""

    selected: tuple[TextRange, ...] = ()
    hits: tuple[TextRange, ...] = ()
    current_hit: TextRange | None = None
    underlines: tuple[Underline, ...] = ()


NO_MARKS = TextMarks()


def extra_selections(document: QTextDocument, marks: TextMarks, theme: Theme) -> list[QTextEdit.ExtraSelection]:
    kinds = {kind for _, _, kind in marks.underlines}
    formats = {kind: underline_format(theme, kind) for kind in kinds}
    found = [_extra_selection(document, (first, last), formats[kind]) for first, last, kind in marks.underlines]
    colors = theme.colors
    for hit in marks.hits:
        current = hit == marks.current_hit
        form = _format(colors.current_hit if current else colors.hit)
        form.setForeground(QColor(colors.on_hit))
        form.setFontUnderline(current)
        found.append(_extra_selection(document, hit, form))
    found += [_extra_selection(document, selected, _format(colors.selection)) for selected in marks.selected]
    return found


def underline_format(theme: Theme, kind: UnderlineKind) -> QTextCharFormat:
    """Return the text format of an underline."""
    colors = theme.colors
    styles = QTextCharFormat.UnderlineStyle
    style, color, background = {
        "drafter": (styles.SingleUnderline, colors.drafted, colors.drafted_ground),
        "lookup": (styles.DotLine, colors.copied, colors.copied_ground),
        "differs": (styles.WaveUnderline, colors.on_hit, colors.hit),
    }.get(kind, (styles.DashUnderline, colors.own, ""))
    form = _format(background) if background else QTextCharFormat()
    form.setUnderlineStyle(style)
    form.setUnderlineColor(QColor(color))
    if kind == "differs":
        form.setForeground(QColor(colors.on_hit))
    return form


def underline_block(
    block: Block, mapping: Sequence[MappedText], between: Callable[[int, int], Iterable[Underline]]
) -> list[Underline]:
    """Return a block's underlines. `between` returns those of a source range."""
    found: list[Underline] = []
    for mapped in mapping:
        for first, last, kind in between(mapped.source, mapped.source + mapped.length):
            if kind == "unknown":
                continue
            kind = "target" if kind == "prefill" else kind
            start, end = (mapped.start + place - mapped.source for place in (first, last))
            if found and found[-1][1:] == (start, kind):
                start = found.pop()[0]
            found.append((start, end, kind))
    text = plain_text(block)
    if text.isascii():
        return found
    at = offset = 0
    moved: list[Underline] = []
    for start, end, kind in found:
        offset += qt_length(text[at:start])
        length = qt_length(text[start:end])
        moved.append((offset, offset + length, kind))
        offset, at = offset + length, end
    return moved


def _format(background: str) -> QTextCharFormat:
    form = QTextCharFormat()
    form.setBackground(QColor(background))
    return form


def cursor_at(document: QTextDocument, first: int, last: int | None = None) -> QTextCursor:
    """Return a cursor at an offset, with a selection up to `last` if given."""
    end = document.characterCount() - 1
    cursor = QTextCursor(document)
    cursor.setPosition(min(first, end))
    if last is not None:
        cursor.setPosition(min(last, end), QTextCursor.MoveMode.KeepAnchor)
    return cursor


def _extra_selection(document: QTextDocument, part: TextRange, form: QTextCharFormat) -> QTextEdit.ExtraSelection:
    made = QTextEdit.ExtraSelection()
    made.cursor = cursor_at(document, *part)
    made.format = form
    return made


class SourceLegend(QTextEdit):
    """A legend of token sources, visible while they are shown."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        theme.set_font(self, SMALL)
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setWordWrapMode(QTextOption.WrapMode.WordWrap)
        self.setAccessibleName(tr("Legend for token sources"))
        self.document().setDocumentMargin(0)
        self.viewport().setAutoFillBackground(False)
        for changed in (theme.changed, theme.token_sources_changed, theme.text_resized):
            changed.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        self.setVisible(self._theme.shows_token_sources)
        self.clear()
        cursor = self.textCursor()
        plain = QTextCharFormat()
        plain.setForeground(QColor(self._theme.colors.secondary))
        labels: dict[Supplier, str] = {
            "drafter": tr("Drafted and accepted"),
            "lookup": tr("Copied from earlier text"),
            "target": tr("From the target model"),
        }
        self.setMinimumWidth(max(self.fontMetrics().horizontalAdvance(label) for label in labels.values()) + 8)
        for source, label in labels.items():
            cursor.insertText("" if cursor.atStart() else "    ", plain)
            form = QTextCharFormat(plain)
            form.merge(underline_format(self._theme, source))
            cursor.insertText(label.replace(" ", "\u00a0"), form)  # wraps between labels only
        self._fit()

    def _fit(self) -> None:
        self.document().setTextWidth(max(self.minimumWidth(), self.viewport().width()))
        self.setFixedHeight(round(self.document().size().height()) + 2)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit()
