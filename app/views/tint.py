"""Who supplied each token, as a colour and a line under the text: full under drafts that were accepted, dotted under copies of
earlier text, dashed under the target's own."""

from collections.abc import Sequence

from PySide6.QtCore import Slot
from PySide6.QtGui import QColor, QTextCharFormat, QTextCursor, QTextDocument
from PySide6.QtWidgets import QFrame, QTextEdit, QWidget

from app.conversations.suppliers import Supplier, Suppliers
from app.language import tr
from app.rendering.blocks import Block
from app.rendering.parts import plain, units
from app.rendering.tracing import Stretch
from app.views.theme import SMALL, Theme

Run = tuple[int, int, Supplier]  # first offset of a document, the one after the last, who supplied what is between
Tint = tuple[Run, ...]
NO_TINT: Tint = ()
LEGEND: tuple[tuple[Supplier, str], ...] = (
    ("drafter", tr("drafted and accepted")),
    ("lookup", "lookup"),
    ("target", tr("the target’s own")),
)


def runs_of(block: Block, stretches: Sequence[Stretch], suppliers: Suppliers) -> list[Run]:
    """The runs of a block, in offsets as Qt counts them from its beginning; neighbours of one supplier are one."""
    found: list[Run] = []
    for one in stretches:
        for first, last, supplier in suppliers.between(one.source, one.source + one.length):
            if supplier == "unknown":
                continue
            who: Supplier = "target" if supplier == "prefill" else supplier
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


def tint_format(theme: Theme, supplier: Supplier) -> QTextCharFormat:
    """How a supplier's text looks."""
    colours = theme.colours
    styles = QTextCharFormat.UnderlineStyle
    style, colour, ground = {
        "drafter": (styles.SingleUnderline, colours.drafted, colours.drafted_ground),
        "lookup": (styles.DotLine, colours.copied, colours.copied_ground),
    }.get(supplier, (styles.DashUnderline, colours.own, ""))
    made = QTextCharFormat()
    made.setUnderlineStyle(style)
    made.setUnderlineColor(QColor(colour))
    if ground:
        made.setBackground(QColor(ground))
    return made


def tint_selections(document: QTextDocument, tint: Tint, theme: Theme, moved: int = 0) -> list[QTextEdit.ExtraSelection]:
    """The runs as Qt draws them, `moved` by so many offsets."""
    formats: dict[Supplier, QTextCharFormat] = {}
    last_place = document.characterCount() - 1
    found = []
    for first, last, supplier in tint:
        if supplier not in formats:
            formats[supplier] = tint_format(theme, supplier)
        made = QTextEdit.ExtraSelection()
        cursor = QTextCursor(document)
        cursor.setPosition(min(first + moved, last_place))
        cursor.setPosition(min(last + moved, last_place), QTextCursor.MoveMode.KeepAnchor)
        made.cursor = cursor
        made.format = formats[supplier]
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
        """Write it in the colours now in force."""
        self.setVisible(self._theme.tinted)
        self.clear()
        cursor = self.textCursor()
        quiet = QTextCharFormat()
        quiet.setForeground(QColor(self._theme.colours.secondary))
        for number, (supplier, words) in enumerate(LEGEND):
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
