"""A reply's tokens with their probabilities, in its details."""

import codecs
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from math import exp

from PySide6.QtCore import QPointF, Qt, Slot
from PySide6.QtGui import QColor, QMouseEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QTextEdit, QWidget

from app.rendering.blocks import qt_length
from app.rendering.text_view import make_selectable, prepare_document
from app.text.language import number, tr
from app.views.transcript.call_card import shown
from app.widgets.controls import small_label
from app.widgets.layout import column
from app.widgets.theme import Theme
from mlx_engine.contract.token_logprobs import PositionLogprobs, TokenLogprob

LINES, LINE_LENGTH = 10, 60  # shown without scrolling, at most, and about how many characters a line has


class TokenProbabilities(QWidget):
    """The tokens as text, and the probabilities of the one at the pointer or cursor."""

    def __init__(self, theme: Theme, positions: Sequence[PositionLogprobs]) -> None:
        super().__init__()
        self._positions = list(positions)  # which a running reply extends
        self.text = TokenText(theme, list(texts_of(self._positions)))
        self.about = small_label(theme, look="secondary", wrap=True, selectable=True)
        self.about.setAccessibleName(tr("Probability of the token"))
        self.about.setText(tr("Point at a token, or move the cursor to it."))
        self.text.chosen = self.show_token
        column(self.text, self.about, spacing=6, parent=self)

    def show_token(self, number: int) -> None:
        self.about.setText(position_text(self._positions[number]))


class TokenText(QTextEdit):
    """Text with every second token shaded. `chosen` is called with a token's number."""

    def __init__(self, theme: Theme, texts: Sequence[str]) -> None:
        super().__init__()
        self._theme = theme
        prepare_document(self, tr("Tokens of the reply"))
        make_selectable(self)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setTabChangesFocus(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        self.viewport().setMouseTracking(True)
        self.chosen: Callable[[int], object] = lambda number: None
        self._starts = list[int]()  # position of each token
        cursor, at = QTextCursor(self.document()), 0
        form, shaded = QTextCharFormat(), QTextCharFormat()
        shaded.setBackground(QColor(theme.colors.accent_ground))
        cursor.beginEditBlock()
        for place, text in enumerate(texts):
            self._starts.append(at)
            cursor.insertText(text, shaded if place % 2 else form)
            at += qt_length(text)
        cursor.endEditBlock()
        self.moveCursor(QTextCursor.MoveOperation.Start)
        self._end = at
        lines = sum(1 + len(line) // LINE_LENGTH for line in "".join(texts).split("\n"))
        self.setFixedHeight((min(lines, LINES) + 1) * self.fontMetrics().lineSpacing())
        self.cursorPositionChanged.connect(self._follow_cursor)

    def token_at(self, position: int) -> int | None:
        """Return the number of the token with a character, or None behind the last one."""
        return bisect_right(self._starts, position) - 1 if 0 <= position < self._end else None

    def _choose(self, position: int) -> None:
        if (number := self.token_at(position)) is not None:
            self.chosen(number)

    @Slot()
    def _follow_cursor(self) -> None:
        self._choose(self.textCursor().position())

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        super().mouseMoveEvent(event)
        at = event.position() + QPointF(self.horizontalScrollBar().value(), self.verticalScrollBar().value())
        self._choose(self.document().documentLayout().hitTest(at, Qt.HitTestAccuracy.ExactHit))


def texts_of(positions: Sequence[PositionLogprobs]) -> Iterator[str]:
    """Yield the text of each token. The last token of a character has all of it."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for one in positions:
        yield shown(decoder.decode(one.chosen.text))


def position_text(position: PositionLogprobs) -> str:
    """Return a token's probability, and those of others in its place."""
    chosen = position.chosen
    others = [_token_text(one) for one in position.top if one.token != chosen.token]
    text = _token_text(chosen)
    return tr("{token} · Others: {others}", token=text, others=", ".join(others)) if others else text


def _token_text(one: TokenLogprob) -> str:
    """Return a token, or the names of its spaces, with its probability."""
    text, share = one.text.decode("utf-8", "backslashreplace"), tr("{count}%", count=number(100 * exp(one.logprob), 1))
    if not text.strip():
        return f"{_space_names(text)} {share}"
    return tr("“{token}” {share}", token=shown(text.replace("\n", "⏎")), share=share)


def _space_names(text: str) -> str:
    """Return what a token without visible characters consists of, such as "space ×4"."""
    names = {" ": tr("space"), "\n": tr("line break"), "\t": tr("tab")}
    groups = [(names.get(char, f"U+{ord(char):04X}"), len(list(same))) for char, same in groupby(text)]
    return ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in groups) or tr("no text")
