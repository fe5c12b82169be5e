"""What is laid over a part's text: the selection and the hits of a search."""

from dataclasses import dataclass

from PySide6.QtGui import QColor, QTextCursor, QTextDocument
from PySide6.QtWidgets import QTextEdit

from app.widgets.theme import Theme

Stretch = tuple[int, int]  # first offset, and the one after the last


@dataclass(frozen=True, slots=True)
class Marks:
    """Of one part. `current` is the hit that the reader is at."""

    selected: Stretch | None = None
    hits: tuple[Stretch, ...] = ()
    current: Stretch | None = None


NONE = Marks()


def selections(document: QTextDocument, marks: Marks, theme: Theme) -> list[QTextEdit.ExtraSelection]:
    """The marks as Qt draws them."""
    colors = theme.colors
    found = [_stretch(document, hit, colors.current_hit if hit == marks.current else colors.hit) for hit in marks.hits]
    for made, hit in zip(found, marks.hits, strict=True):
        made.format.setForeground(QColor(colors.on_hit))
        if hit == marks.current:
            made.format.setFontUnderline(True)
    if marks.selected is not None:
        found.append(_stretch(document, marks.selected, colors.selection))
    return found


def _stretch(document: QTextDocument, stretch: Stretch, ground: str) -> QTextEdit.ExtraSelection:
    made = QTextEdit.ExtraSelection()
    last = document.characterCount() - 1
    cursor = QTextCursor(document)
    cursor.setPosition(min(stretch[0], last))
    cursor.setPosition(min(stretch[1], last), QTextCursor.MoveMode.KeepAnchor)
    made.cursor = cursor
    made.format.setBackground(QColor(ground))
    return made
