"""Formulas in a document: set in a thread of their own, drawn sharp at any pixel ratio, in the color of the text."""

import queue
import threading
import weakref
from collections import OrderedDict
from math import ceil

from PySide6.QtCore import QByteArray, QObject, QPointF, QRect, QRectF, QSizeF, Qt, QTimer, Signal, Slot
from PySide6.QtGui import (
    QColor,
    QFontMetricsF,
    QPainter,
    QPixmap,
    QPyTextObject,
    QTextCharFormat,
    QTextDocument,
    QTextFormat,
)
from PySide6.QtSvg import QSvgRenderer

from app.rendering.typesetting import Formula, typeset

OBJECT_TYPE = QTextFormat.ObjectTypes.UserObject + 1
LATEX = QTextFormat.Property.UserProperty + 10
DISPLAY = QTextFormat.Property.UserProperty + 11
SMALLEST = 0.5  # a formula wider than its column is drawn smaller, down to this
KEPT = 300  # pictures

WRAP = Qt.TextFlag.TextWrapAnywhere

Key = tuple[str, bool, float]


class Typesetter(QObject):
    """Sets formulas and remembers them. Lives in the window's thread; `ready` comes when formulas that were asked for are there."""

    ready = Signal()
    _set = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._formulas: dict[Key, Formula | None] = {}
        self._asked: set[Key] = set()
        self._work: queue.SimpleQueue[Key | None] = queue.SimpleQueue()
        self._pictures: OrderedDict[tuple[Key, str, float, float], QPixmap] = OrderedDict()
        self._thread: threading.Thread | None = None
        self._soon = QTimer(self)  # several formulas, one new layout
        self._soon.setSingleShot(True)
        self._soon.setInterval(15)
        self._soon.timeout.connect(self.ready)
        self._set.connect(self._heard, Qt.ConnectionType.QueuedConnection)

    def known(self, key: Key) -> bool:
        """Whether this formula has been set, or found to be broken."""
        return key in self._formulas

    @property
    def idle(self) -> bool:
        """Everything that was asked for is there."""
        return not self._asked and not self._soon.isActive()

    def formula(self, key: Key) -> Formula | None:
        """The formula, or None while it is not there yet or if it is broken; asks for it."""
        if key not in self._formulas and key not in self._asked:
            self._asked.add(key)
            if self._thread is None:
                self._thread = threading.Thread(target=_work, args=(self._work, weakref.ref(self)), name="typesetter", daemon=True)
                self._thread.start()
            self._work.put(key)
        return self._formulas.get(key)

    def done(self, key: Key, formula: Formula | None) -> None:
        """Called in the typesetter's thread."""
        self._formulas[key] = formula
        self._set.emit()

    def picture(self, key: Key, color: str, scale: float, ratio: float) -> QPixmap | None:
        """The formula in one color, `ratio` device pixels to a pixel."""
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
        if len(self._pictures) > KEPT:
            self._pictures.popitem(last=False)
        return pixmap

    @Slot()
    def _heard(self) -> None:
        self._asked -= self._formulas.keys()
        if not self._soon.isActive():
            self._soon.start()


def _work(work: "queue.SimpleQueue[Key | None]", owner: "weakref.ref[Typesetter]") -> None:
    while (key := work.get()) is not None:
        formula = typeset(*key)
        typesetter = owner()
        if typesetter is None:
            return
        try:
            typesetter.done(key, formula)
        except RuntimeError:  # the window has gone
            return
        del typesetter


class MathsObjects(QPyTextObject):
    """Draws the formulas of a document."""

    def __init__(self, typesetter: Typesetter, parent: QObject) -> None:
        super().__init__(parent)
        self._typesetter = typesetter

    def key(self, form: QTextFormat) -> Key:
        return form.property(LATEX), bool(form.property(DISPLAY)), float(form.toCharFormat().font().pixelSize())

    def intrinsicSize(self, document: QTextDocument, position: int, form: QTextFormat) -> QSizeF:
        """Room for it on the line: how far it reaches below the baseline depends on how its format is aligned."""
        key = self.key(form)
        formula = self._typesetter.formula(key)
        metrics = QFontMetricsF(form.toCharFormat().font())
        if formula is None:
            if self._typesetter.known(key):
                return _source_box(key, metrics, document).size()
            return QSizeF(min(300.0, 0.45 * key[2] * len(key[0])), metrics.height())
        scale = _scale(formula, document)
        ascent, descent = formula.ascent * scale, formula.descent * scale
        if form.toCharFormat().verticalAlignment() == QTextCharFormat.VerticalAlignment.AlignMiddle:
            quarter = metrics.xHeight() / 4  # Qt puts the middle of the object a quarter of an x above the baseline
            height = 2 * max(ascent - quarter, descent + quarter)
        else:
            height = ascent + metrics.descent()
        return QSizeF(formula.width * scale, height)

    def drawObject(
        self, painter: QPainter, rect: QRectF | QRect, document: QTextDocument, position: int, form: QTextFormat
    ) -> None:
        key = self.key(form)
        formula = self._typesetter.formula(key)
        font = form.toCharFormat().font()
        color = form.toCharFormat().foreground().color()
        block = document.findBlock(position)
        line = block.layout().lineForTextPosition(position - block.position())
        top = document.documentLayout().blockBoundingRect(block).top() - block.layout().boundingRect().top()  # also in a table
        baseline = top + line.y() + line.ascent() if line.isValid() else rect.bottom()
        if formula is None:
            if self._typesetter.known(key):
                painter.setFont(font)
                painter.setPen(color)
                painter.drawText(QRectF(rect.left(), rect.top(), rect.width() + 1, rect.height()), WRAP, source(key))
            return
        scale = _scale(formula, document)
        device = painter.device()
        ratio = device.devicePixelRatioF() if device is not None else 1.0
        picture = self._typesetter.picture(key, color.name(), scale, ratio)
        if picture is not None:
            # On whole device pixels, or it would be blurred.
            top = baseline - formula.ascent * scale
            painter.drawPixmap(QPointF(round(rect.left() * ratio) / ratio, round(top * ratio) / ratio), picture)

    def alignment(self, form: QTextCharFormat) -> QTextCharFormat.VerticalAlignment:
        """Where the formula reaches far below the line, its middle is put near the line's; else it stands like text."""
        formula = self._typesetter.formula(self.key(form))
        deep = formula is not None and formula.descent > QFontMetricsF(form.font()).descent() + 1
        kinds = QTextCharFormat.VerticalAlignment
        return kinds.AlignMiddle if deep else kinds.AlignBaseline


def source(key: Key) -> str:
    """A formula as LaTeX, as it is shown when it cannot be set and as it is copied."""
    return f"$${key[0]}$$" if key[1] else f"${key[0]}$"


def _source_box(key: Key, metrics: QFontMetricsF, document: QTextDocument) -> QRectF:
    room = document.textWidth() if document.textWidth() > 0 else 10_000.0
    return metrics.boundingRect(QRectF(0, 0, room, 100_000), WRAP, source(key))


def _scale(formula: Formula, document: QTextDocument) -> float:
    room = document.textWidth()
    return max(SMALLEST, min(1.0, room / formula.width)) if room > 0 else 1.0
