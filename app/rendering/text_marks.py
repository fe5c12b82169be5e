"""What is drawn over the text of a part: the selection, search hits, and underlines.

Underlines show where each token came from, or where two replies differ.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor, QTextDocument
from PySide6.QtWidgets import QTextEdit

from app.conversations.token_sources import Supplier
from app.rendering.blocks import Block, plain_text, qt_length
from app.rendering.source_map import MappedText
from app.widgets.theme import Theme

TextRange = tuple[int, int]  # first offset, and the one after the last
UnderlineKind = Supplier | Literal["differs"]
Underline = tuple[int, int, UnderlineKind]  # a range and what it marks


@dataclass(frozen=True, slots=True)
class TextMarks:
    """The marks of one part, in offsets of its document."""

    selected: tuple[TextRange, ...] = ()
    hits: tuple[TextRange, ...] = ()
    current_hit: TextRange | None = None
    underlines: tuple[Underline, ...] = ()


NO_MARKS = TextMarks()


def extra_selections(document: QTextDocument, marks: TextMarks, theme: Theme) -> list[QTextEdit.ExtraSelection]:
    """Return the marks in Qt's form."""
    kinds = {kind for _, _, kind in marks.underlines}
    formats = {kind: underline_format(theme, kind) for kind in kinds}
    found = [_extra_selection(document, (first, last), formats[kind]) for first, last, kind in marks.underlines]
    colors = theme.colors
    for hit in marks.hits:
        current = hit == marks.current_hit
        form = _format(colors.current_hit if current else colors.hit)
        form.setForeground(QColor(colors.on_hit))
        if current:
            form.setFontUnderline(True)
        found.append(_extra_selection(document, hit, form))
    found += [_extra_selection(document, selected, _format(colors.selection)) for selected in marks.selected]
    return found


def underline_format(theme: Theme, kind: UnderlineKind) -> QTextCharFormat:
    """Return a solid line for accepted drafts, dots for copied text, dashes for the target's own tokens, waves for differences."""
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
    """Return the underlines of a block, in Qt offsets from its start.

    Args:
        block: The block.
        mapping: Where its text comes from.
        between: Returns the underlines between two offsets of the source.
    """
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


def _extra_selection(document: QTextDocument, part: TextRange, form: QTextCharFormat) -> QTextEdit.ExtraSelection:
    made = QTextEdit.ExtraSelection()
    last = document.characterCount() - 1
    cursor = QTextCursor(document)
    cursor.setPosition(min(part[0], last))
    cursor.setPosition(min(part[1], last), QTextCursor.MoveMode.KeepAnchor)
    made.cursor = cursor
    made.format = form
    return made
