"""An image of a comparison to share."""

import platform

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QRectF, Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QImage, QImageWriter, QPainter, QPainterPath

from app.compare.compare_side import MODES
from app.conversations import wording
from app.conversations.comparison_record import ComparisonRecord, verdict_on
from app.language import figures, tr
from app.widgets.theme import Colors, Theme
from mlx_engine.requests import Mode

WIDTH, HEIGHT, SCALE = 1200, 675, 2  # an aspect ratio that most sites show without cropping
EDGE = 72
BAR = 46
MAX_LINE = 400  # characters of a line


def card(theme: Theme, record: ComparisonRecord) -> QImage:
    """Draw the image in the current colors."""
    image = QImage(WIDTH * SCALE, HEIGHT * SCALE, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(SCALE)
    image.fill(QColor(theme.colors.window))
    painter = QPainter(image)
    painter.setRenderHints(QPainter.RenderHint.Antialiasing | QPainter.RenderHint.TextAntialiasing)
    _Card(painter, theme, record).draw()
    painter.end()
    return image


def png(image: QImage) -> bytes:
    """Encode an image as PNG."""
    buffer = QBuffer()
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    QImageWriter(buffer, QByteArray(b"png")).write(image)
    return bytes(buffer.data().data())


class _Card:
    def __init__(self, painter: QPainter, theme: Theme, record: ComparisonRecord) -> None:
        self._painter = painter
        self._colors: Colors = theme.colors
        self._family = theme.text_font
        self._record = record

    def draw(self) -> None:
        record, colors = self._record, self._colors
        headline, verdict = verdict_on(record)
        room = WIDTH - 2 * EDGE
        self._painter.fillRect(QRectF(0, 0, 10, HEIGHT), QColor(colors.accent))
        self._line(EDGE, 92, "Slipstream", 24, colors.accent, bold=True)
        self._line(EDGE, 92, record.pair, 22, colors.secondary, right=True, width=room * 0.7)
        self._line(EDGE, 172, headline, 52, colors.text, bold=True, width=room)
        prompt = " ".join(record.prompt[:MAX_LINE].split())
        self._line(EDGE, 222, f"“{prompt}”", 24, colors.secondary, width=room)
        fastest = max((record.side(mode).rate or 0.0) for mode in MODES) or 1.0
        for index, mode in enumerate(MODES):
            self._bar(mode, 278 + 104 * index, fastest)
        self._verdict(verdict, 520)
        self._line(EDGE, 610, self._conditions(), 18, colors.faint, width=room)

    def _bar(self, mode: Mode, top: float, fastest: float) -> None:
        side, colors, painter = self._record.side(mode), self._colors, self._painter
        left, room = EDGE + 130, WIDTH - 2 * EDGE - 130 - 190
        middle = top + BAR / 2
        self._line(EDGE, middle + 9, wording.mode_names()[mode], 26, colors.text, bold=mode == "dflash")
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colors.bubble))
        painter.drawRoundedRect(QRectF(left, top, room, BAR), BAR / 2, BAR / 2)
        if side.rate:
            painter.setBrush(QColor(colors.accent if mode == "dflash" else colors.faint))
            painter.drawRoundedRect(QRectF(left, top, max(BAR, room * side.rate / fastest), BAR), BAR / 2, BAR / 2)
        rate = tr("not measured") if side.rate is None else wording.rate(side.rate)
        self._line(EDGE, middle + 10, rate, 30, colors.text, bold=True, right=True, width=190)
        facts = [] if side.first_token is None else [tr("first token {ttft_s}", ttft_s=wording.duration(side.first_token))]
        if side.stats.rounds and side.stats.tokens_per_round:
            facts.append(tr("{count} rounds", count=wording.number(side.stats.rounds)))
            facts.append(tr("{count} tokens/round", count=wording.number(side.stats.tokens_per_round, 1)))
        facts.append(wording.tokens(side.stats.tokens))
        self._line(left + 6, top + BAR + 26, " · ".join(facts), 18, colors.secondary, width=room)

    def _verdict(self, verdict: str, baseline: float) -> None:
        """Draw the verdict, with a check mark if both texts are identical."""
        colors, painter = self._colors, self._painter
        identical = self._record.verdict == "identical"
        icon = QRectF(EDGE, baseline - 27, 34, 34)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colors.accent if identical else colors.track))
        painter.drawEllipse(icon)
        path = QPainterPath()
        if identical:
            path.moveTo(icon.left() + 10, icon.top() + 18)
            path.lineTo(icon.left() + 15.5, icon.top() + 23.5)
            path.lineTo(icon.left() + 25, icon.top() + 12)
        else:
            path.moveTo(icon.left() + 10, icon.center().y())
            path.lineTo(icon.right() - 10, icon.center().y())
        pen = painter.pen()
        pen.setStyle(Qt.PenStyle.SolidLine)
        pen.setColor(QColor(colors.on_accent if identical else colors.window))
        pen.setWidthF(3)
        pen.setCapStyle(Qt.PenCapStyle.RoundCap)
        painter.strokePath(path, pen)
        self._line(EDGE + 50, baseline, verdict, 24, colors.text, width=WIDTH - 2 * EDGE - 50, min_size=17)

    def _conditions(self) -> str:
        record = self._record
        runs = tr("one run each") if record.repeats == 1 else tr("median of {repeats} runs each", repeats=record.repeats)
        sampling = (
            tr("greedy")
            if record.sampling.temperature == 0
            else tr("temperature {temperature}", temperature=figures(record.sampling.temperature))
        )
        machine = f"{platform.system()}, {platform.machine()}"
        return tr(
            "{runs}, one after the other · same seed ({seed}) and settings · {sampling} · {machine}",
            runs=runs,
            seed=record.seed,
            sampling=sampling,
            machine=machine,
        )

    def _line(
        self,
        x: float,
        baseline: float,
        text: str,
        size: int,
        color: str,
        *,
        bold: bool = False,
        right: bool = False,
        width: float = WIDTH,
        min_size: int = 0,
    ) -> None:
        """Draw a line of text that shrinks to `min_size` and is then elided to fit."""
        font = QFont(self._family)
        font.setWeight(QFont.Weight.DemiBold if bold else QFont.Weight.Normal)
        font.setPixelSize(size)
        while min_size and size > min_size and QFontMetricsF(font).horizontalAdvance(text) > width:
            size -= 1
            font.setPixelSize(size)
        metrics = QFontMetricsF(font)
        shown = metrics.elidedText(text[:MAX_LINE], Qt.TextElideMode.ElideRight, width)
        self._painter.setFont(font)
        self._painter.setPen(QColor(color))
        at = WIDTH - EDGE - metrics.horizontalAdvance(shown) if right else x
        self._painter.drawText(round(at), round(baseline), shown)
