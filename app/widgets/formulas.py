"""Formulas in documents, typeset in the background without TeX or a browser."""

import queue
import re
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from math import ceil

from PySide6.QtCore import QByteArray, QObject, QPointF, QRect, QRectF, QSizeF, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontMetricsF,
    QPainter,
    QPixmap,
    QPyTextObject,
    QTextCharFormat,
    QTextDocument,
    QTextFormat,
)
from PySide6.QtSvg import QSvgRenderer

MAX_FORMULA = 2000  # characters; a longer formula is shown as text
OBJECT_TYPE = QTextFormat.ObjectTypes.UserObject + 1
LATEX = QTextFormat.Property.UserProperty + 10
DISPLAY = QTextFormat.Property.UserProperty + 11
MIN_SCALE = 0.5  # minimum scale of a formula that is wider than its column
MAX_PICTURES = 300
PADDING = 6  # around the source of a formula that can't be typeset
WRAP = Qt.TextFlag.TextWrapAnywhere

_leftover_command = re.compile(r">[^<]*\\[a-zA-Z]")
_script_after_environment = re.compile(r"(\\begin\{(\w*matrix|array|cases)\}.*?\\end\{\2\})(?=\s*[\^_])", re.DOTALL)
_chemistry = re.compile(r"\\ce\{((?:[^{}]|\{[^{}]*\})*)\}")
_unescaped_brace = re.compile(r"(?<!\\)((?:\\\\)*)([{}])")

FormulaKey = tuple[str, bool, float]  # LaTeX, display style, font size in pixels


@dataclass(frozen=True, slots=True)
class Formula:
    """A typeset formula: SVG text and its size in pixels, measured from the baseline."""

    svg: bytes
    width: float
    ascent: float
    descent: float


_typesetting = threading.Lock()


def typeset(latex: str, display: bool, pixels: float) -> Formula | None:
    """Typeset a formula, or return None if it can't be parsed. Threads take turns."""
    with _typesetting:
        return _typeset(latex, display, pixels)


@lru_cache(maxsize=512)
def _typeset(latex: str, display: bool, pixels: float) -> Formula | None:
    if len(latex) > MAX_FORMULA or not _balanced(latex):
        return None
    latex = _script_after_environment.sub(r"{\1}", _chemistry.sub(_chemical_formula, latex))
    import ziamath
    from ziamath.tex import tex2mml

    ziamath.config.svg2 = False  # Qt doesn't draw SVG symbols
    try:
        if _leftover_command.search(tex2mml(latex, inline=not display)):
            return None
        made = ziamath.Latex(latex, size=pixels, inline=not display)
        box, margin = made.node.bbox, made.margin
        return Formula(made.svg().encode(), box.xmax - box.xmin + 2 * margin, box.ymax + margin, margin - box.ymin)
    except Exception:  # the parser raises many kinds of errors
        return None


def _chemical_formula(match: re.Match[str]) -> str:
    """Convert a formula such as `\\ce{2H2 + O2 -> 2H2O}` to plain LaTeX."""
    text = re.sub(r"(?<=[A-Za-z)\]])(\d+)", r"_{\1}", match[1])
    text = re.sub(r"\^(\d*[+-])", r"^{\1}", text)
    text = text.replace("<=>", r"\rightleftharpoons ").replace("->", r"\rightarrow ")
    return rf"\mathrm{{{text}}}"


def _balanced(latex: str) -> bool:
    depths = list(accumulate(1 if match[2] == "{" else -1 for match in _unescaped_brace.finditer(latex)))
    return min(depths, default=0) >= 0 and depths[-1:] in ([], [0])


class Typesetter(QObject):
    """A background typesetter that emits `ready` when formulas are available."""

    ready = Signal()
    _finished = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._formulas: dict[FormulaKey, Formula | None] = {}
        self._pending: set[FormulaKey] = set()
        self._queue: queue.SimpleQueue[FormulaKey] = queue.SimpleQueue()
        self._pictures: OrderedDict[tuple[FormulaKey, str, float, float], QPixmap] = OrderedDict()
        self._thread: threading.Thread | None = None
        self._soon = QTimer(self, singleShot=True, interval=15)  # several formulas share one layout
        self._soon.timeout.connect(self.ready)
        self._finished.connect(self._update_pending, Qt.ConnectionType.QueuedConnection)

    def known(self, key: FormulaKey) -> bool:
        return key in self._formulas

    @property
    def idle(self) -> bool:
        return not self._pending and not self._soon.isActive()

    def formula(self, key: FormulaKey) -> Formula | None:
        """Return the formula, or None if it is pending or invalid."""
        if key not in self._formulas and key not in self._pending:
            self._pending.add(key)
            if self._thread is None:
                self._thread = threading.Thread(target=_run, args=(self._queue, weakref.ref(self)), name="typesetter", daemon=True)
                self._thread.start()
            self._queue.put(key)
        return self._formulas.get(key)

    def add(self, key: FormulaKey, formula: Formula | None) -> None:
        """Store a formula. Called on the typesetter's thread."""
        self._formulas[key] = formula
        self._finished.emit()

    def picture(self, key: FormulaKey, color: str, scale: float, ratio: float) -> QPixmap | None:
        """Return the formula in one color, with `ratio` device pixels per pixel."""
        formula = self._formulas.get(key)
        if formula is None:
            return None
        name = (key, color, scale, ratio)
        if name in self._pictures:
            self._pictures.move_to_end(name)
            return self._pictures[name]
        width, height = formula.width * scale, (formula.ascent + formula.descent) * scale
        pixmap = QPixmap(max(1, ceil(width * ratio)), max(1, ceil(height * ratio)))
        pixmap.setDevicePixelRatio(ratio)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        QSvgRenderer(QByteArray(formula.svg)).render(painter, QRectF(0, 0, width, height))
        painter.setCompositionMode(QPainter.CompositionMode.CompositionMode_SourceIn)
        painter.fillRect(QRectF(0, 0, width + 1, height + 1), QColor(color))
        painter.end()
        self._pictures[name] = pixmap
        if len(self._pictures) > MAX_PICTURES:
            self._pictures.popitem(last=False)
        return pixmap

    @Slot()
    def _update_pending(self) -> None:
        self._pending -= self._formulas.keys()
        if not self._soon.isActive():
            self._soon.start()


def _run(requests: "queue.SimpleQueue[FormulaKey]", owner: "weakref.ref[Typesetter]") -> None:
    while True:
        key = requests.get()
        formula = typeset(*key)
        typesetter = owner()
        if typesetter is None:
            return
        try:
            typesetter.add(key, formula)
        except RuntimeError:  # the window has been deleted
            return
        del typesetter


class FormulaRenderer(QPyTextObject):
    """A text object handler that draws the formulas of a document.

    A formula that can't be typeset is shown as code, in the font and on the background color that `code` returns.
    """

    def __init__(self, typesetter: Typesetter, code: Callable[[], tuple[QFont, str]], document: QTextDocument) -> None:
        super().__init__(document)
        self._typesetter, self._code = typesetter, code
        document.documentLayout().registerHandler(OBJECT_TYPE, self)

    def _code_font(self, key: FormulaKey) -> QFont:
        font = QFont(self._code()[0])
        font.setPixelSize(round(0.88 * key[2]))
        return font

    def pending(self, form: QTextFormat) -> bool:
        return not self._typesetter.known(_key(form))

    def intrinsicSize(self, document: QTextDocument, position: int, form: QTextFormat) -> QSizeF:
        """Return the size on the line; the alignment sets the depth below the baseline."""
        key = _key(form)
        formula = self._typesetter.formula(key)
        metrics = QFontMetricsF(form.toCharFormat().font())
        if formula is None:
            if self._typesetter.known(key):
                width = (document.textWidth() if document.textWidth() > 0 else 10_000.0) - 2 * PADDING
                source = QFontMetricsF(self._code_font(key)).boundingRect(QRectF(0, 0, width, 100_000), WRAP, _source(key))
                return source.size() + QSizeF(2 * PADDING, PADDING)
            return QSizeF(min(300.0, 0.45 * key[2] * len(key[0])), metrics.height())
        scale = _scale(formula, document)
        ascent, descent = formula.ascent * scale, formula.descent * scale
        if form.toCharFormat().verticalAlignment() == QTextCharFormat.VerticalAlignment.AlignMiddle:
            quarter = metrics.xHeight() / 4  # Qt centers the object a quarter of the x-height above the baseline
            height = 2 * max(ascent - quarter, descent + quarter)
        else:
            height = ascent + metrics.descent()
        return QSizeF(formula.width * scale, height)

    def drawObject(
        self, painter: QPainter, rect: QRectF | QRect, document: QTextDocument, position: int, form: QTextFormat
    ) -> None:
        key = _key(form)
        formula = self._typesetter.formula(key)
        color = form.toCharFormat().foreground().color()
        if formula is None:
            if self._typesetter.known(key):
                box = QRectF(rect)
                painter.setPen(Qt.PenStyle.NoPen)
                painter.setBrush(QColor(self._code()[1]))
                painter.drawRoundedRect(box, PADDING, PADDING)
                painter.setFont(self._code_font(key))
                painter.setPen(color)
                painter.drawText(box.adjusted(PADDING, PADDING / 2, 1 - PADDING, 0), WRAP, _source(key))
            return
        block = document.findBlock(position)
        line = block.layout().lineForTextPosition(position - block.position())
        top = (
            document.documentLayout().blockBoundingRect(block).top() - block.layout().boundingRect().top()
        )  # correct in tables, too
        baseline = top + line.y() + line.ascent() if line.isValid() else rect.bottom()
        scale = _scale(formula, document)
        device = painter.device()
        ratio = device.devicePixelRatioF() if device is not None else 1.0
        picture = self._typesetter.picture(key, color.name(), scale, ratio)
        if picture is not None:
            # Align to device pixels to avoid blurring.
            top = baseline - formula.ascent * scale
            painter.drawPixmap(QPointF(round(rect.left() * ratio) / ratio, round(top * ratio) / ratio), picture)

    def alignment(self, form: QTextCharFormat) -> QTextCharFormat.VerticalAlignment:
        """Center a formula that extends far below the line; align others to the baseline."""
        formula = self._typesetter.formula(_key(form))
        deep = formula is not None and formula.descent > QFontMetricsF(form.font()).descent() + 1
        alignments = QTextCharFormat.VerticalAlignment
        return alignments.AlignMiddle if deep else alignments.AlignBaseline


def _key(form: QTextFormat) -> FormulaKey:
    return form.property(LATEX), bool(form.property(DISPLAY)), float(form.toCharFormat().font().pixelSize())


def _source(key: FormulaKey) -> str:
    return f"$${key[0]}$$" if key[1] else f"${key[0]}$"


def _scale(formula: Formula, document: QTextDocument) -> float:
    width = document.textWidth()
    return max(MIN_SCALE, min(1.0, width / formula.width)) if width > 0 else 1.0
