"""What a color and a line under the text say of it. Who supplied a token: full under drafts that were accepted, dotted under
copies of earlier text, dashed under the target's own. And, waved, where two replies part."""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

from PySide6.QtCore import Slot
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor, QTextDocument
from PySide6.QtWidgets import QFrame, QTextEdit, QWidget

from app.conversations.token_sources import Supplier
from app.language import tr
from app.rendering.blocks import Block
from app.rendering.parts import plain, units
from app.rendering.tracing import Stretch
from app.widgets.theme import SMALL, Theme

Told = Supplier | Literal["differs"]
Run = tuple[int, int, Told]  # first offset of a document, the one after the last, what is said of the text between
Tint = tuple[Run, ...]
NO_TINT: Tint = ()


def _legend_words() -> tuple[tuple[Supplier, str], ...]:
    return (
        ("drafter", tr("drafted and accepted")),
        ("lookup", "lookup"),
        ("target", tr("the target’s own")),
    )


def runs_of(block: Block, stretches: Sequence[Stretch], between: Callable[[int, int], Iterable[Run]]) -> list[Run]:
    """The runs of a block, in offsets as Qt counts them from its beginning; neighbours that say the same are one. `between` gives
    those between two places of the source."""
    found: list[Run] = []
    for one in stretches:
        for first, last, told in between(one.source, one.source + one.length):
            if told == "unknown":
                continue
            who: Told = "target" if told == "prefill" else told
            start, end = one.at + first - one.source, one.at + last - one.source
            if found and found[-1][1:] == (start, who):
                found[-1] = (found[-1][0], end, who)
            else:
                found.append((start, end, who))
    text = plain(block)
    if text.isascii():
        return found
    at = counted = 0
    moved: list[Run] = []
    for start, end, who in found:
        counted += units(text[at:start])
        width = units(text[start:end])
        moved.append((counted, counted + width, who))
        counted, at = counted + width, end
    return moved


def tint_format(theme: Theme, told: Told) -> QTextCharFormat:
    """How text looks of which this is said."""
    colors = theme.colors
    styles = QTextCharFormat.UnderlineStyle
    style, color, ground = {
        "drafter": (styles.SingleUnderline, colors.drafted, colors.drafted_ground),
        "lookup": (styles.DotLine, colors.copied, colors.copied_ground),
        "differs": (styles.WaveUnderline, colors.on_hit, colors.hit),
    }.get(told, (styles.DashUnderline, colors.own, ""))
    made = QTextCharFormat()
    made.setUnderlineStyle(style)
    made.setUnderlineColor(QColor(color))
    if ground:
        made.setBackground(QColor(ground))
    if told == "differs":
        made.setForeground(QColor(colors.on_hit))
    return made


def tint_selections(document: QTextDocument, tint: Tint, theme: Theme, moved: int = 0) -> list[QTextEdit.ExtraSelection]:
    """The runs as Qt draws them, `moved` by so many offsets."""
    formats: dict[Told, QTextCharFormat] = {}
    last_place = document.characterCount() - 1
    found = []
    for first, last, told in tint:
        if told not in formats:
            formats[told] = tint_format(theme, told)
        made = QTextEdit.ExtraSelection()
        cursor = QTextCursor(document)
        cursor.setPosition(min(first + moved, last_place))
        cursor.setPosition(min(last + moved, last_place), QTextCursor.MoveMode.KeepAnchor)
        made.cursor = cursor
        made.format = formats[told]
        found.append(made)
    return found


class TintLegend(QTextEdit):
    """What the lines mean; there only while they are."""

    def __init__(self, theme: Theme, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        theme.set_font(self, SMALL)
        self.setReadOnly(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setTabChangesFocus(True)
        self.setAccessibleName(tr("Legend of the token tint"))
        self.document().setDocumentMargin(0)
        self.viewport().setAutoFillBackground(False)
        theme.changed.connect(self.refresh)
        theme.tint_changed.connect(self.refresh)
        theme.text_resized.connect(self.refresh)
        self.refresh()

    @Slot()
    def refresh(self) -> None:
        """Write it in the colors now in force."""
        self.setVisible(self._theme.tinted)
        self.clear()
        cursor = self.textCursor()
        quiet = QTextCharFormat()
        quiet.setForeground(QColor(self._theme.colors.secondary))
        for number, (supplier, words) in enumerate(_legend_words()):
            cursor.insertText("    " if number else "", quiet)
            form = QTextCharFormat(quiet)
            form.merge(tint_format(self._theme, supplier))
            cursor.insertText(words, form)
        self.setMinimumWidth(120)
        self._fit()

    def _fit(self) -> None:
        self.document().setTextWidth(max(120, self.viewport().width()))
        self.setFixedHeight(round(self.document().size().height()) + 2)

    def resizeEvent(self, event: object) -> None:
        super().resizeEvent(event)  # type: ignore[arg-type]
        self._fit()
